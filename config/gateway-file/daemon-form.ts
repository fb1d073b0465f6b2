// The form of a resource in which the daemon's configuration is often given, read as the gateway file has it: a port
// without a host, and settings of platforms where either form has them.

import { isIPv6 } from 'node:net';
import type { Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import type { GatewayConfig } from './gateway-schema.ts';
import { parseListenAddr } from './listen-addr.ts';

/** Keys that make a gateway file one of this form. */
const daemonKeys = ['spec', 'platforms', 'http_port'];

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;

/** Whether the file is of this form: then neither `listen_addr` nor `catalog_path` need be there. */
export function isDaemonForm(root: YamlTree): boolean {
  return daemonKeys.some((key) => memberOf(root, key) !== undefined);
}

/** The settings of platforms, which may stand in `spec` too. */
export function platformsIn(root: YamlTree): YamlTree | undefined {
  return memberOf(root, 'platforms') ?? memberOf(memberOf(root, 'spec'), 'platforms');
}

/** The tree without the settings of platforms, of which only `platformsIn` are read. */
export function withoutPlatforms(root: YamlTree): YamlTree {
  if (memberOf(root, 'platforms') !== undefined) return withoutMembers(root, ['platforms']);
  return withMember(root, 'spec', (spec) => withoutMembers(spec, ['platforms']));
}

/** What may stand in `spec` as well, beside `platforms`. */
const anywhere = ['providers', 'prices'];

/** The tree with all of what may stand in `spec` as well where it is read. */
export function withAllOnTop(reader: SchemaReader, root: YamlTree): YamlTree {
  const spec = memberOf(root, 'spec');
  if (root.kind !== 'map' || spec?.kind !== 'map') return root;
  const moved = spec.pairs.filter(({ key }) => anywhere.includes(key));
  for (const { key, keyOffset, value } of moved) {
    if (memberOf(root, key) === undefined) continue;
    reader.place(`spec.${key}`, keyOffset, value.offset);
    reader.reportKey(`spec.${key}`, `is there twice: ${key} stands beside spec too`);
  }
  const own = moved.filter(({ key }) => memberOf(root, key) === undefined);
  const rest = withMember(root, 'spec', () => withoutMembers(spec, anywhere));
  return rest.kind === 'map' ? { ...rest, pairs: [...rest.pairs, ...own] } : rest;
}

/** Where a file of this form listens, as `listen_addr` says it; undefined when that was written badly. */
export function daemonListenAddr(reader: SchemaReader, config: Written<GatewayConfig>): string | undefined {
  const { listen_addr, http_port } = config;
  const { host, port } = config.spec?.server ?? {};
  if (http_port !== undefined && port !== undefined && http_port !== port)
    reader.report('http_port', `contradicts spec.server.port, which is ${port}`);
  if (listen_addr === undefined) {
    if (reader.has('listen_addr')) return undefined;
    const written = host ?? DEFAULT_HOST;
    return `${isIPv6(written) ? `[${written}]` : written}:${port ?? http_port ?? DEFAULT_PORT}`;
  }
  checkAgainst(reader, listen_addr, config);
  return listen_addr;
}

/** Which setting says where to listen, for whoever has to change it. */
export function listenSetting({ http_port, spec }: GatewayConfig): string {
  const { host, port } = spec.server;
  if (host !== undefined || port !== undefined) return 'spec.server';
  return http_port === undefined ? 'listen_addr' : 'http_port';
}

function checkAgainst(reader: SchemaReader, text: string, { http_port, spec }: Written<GatewayConfig>): void {
  let address: { readonly host: string; readonly port: number };
  try {
    address = parseListenAddr(text);
  } catch {
    // That is reported where it stands.
    return;
  }
  const { host, port } = spec?.server ?? {};
  const contradicts = `contradicts listen_addr, which is ${text}`;
  if (http_port !== undefined && http_port !== address.port) reader.report('http_port', contradicts);
  if (port !== undefined && port !== address.port) reader.report('spec.server.port', contradicts);
  if (host !== undefined && host !== address.host) reader.report('spec.server.host', contradicts);
}
