// Supports gateway files (gateway.yaml) in resource form: `kind: Daemon`, with `spec`, `platforms` or
// `http_port`. This form may name only a port; the host then has a default. Platform settings are at the top
// level or in `spec`.

import { isIPv6 } from 'node:net';
import type { Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import type { GatewayConfig } from './gateway-schema.ts';
import { parseListenAddr } from './listen-addr.ts';

/** Keys that identify the resource form. */
const daemonKeys = ['spec', 'platforms', 'http_port'];

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;

/** Returns true for the resource form, where `listen_addr` and `catalog_path` are optional. */
export function isDaemonForm(root: YamlTree): boolean {
  return daemonKeys.some((key) => memberOf(root, key) !== undefined);
}

/** Returns the platform settings, at the top level or in `spec`. */
export function platformsIn(root: YamlTree): YamlTree | undefined {
  return memberOf(root, 'platforms') ?? memberOf(memberOf(root, 'spec'), 'platforms');
}

/** Returns the tree without the platform settings, which are validated separately. */
export function withoutPlatforms(root: YamlTree): YamlTree {
  if (memberOf(root, 'platforms') !== undefined) return withoutMembers(root, ['platforms']);
  return withMember(root, 'spec', (spec) => withoutMembers(spec, ['platforms']));
}

/** Keys that are also allowed in `spec`, in addition to `platforms`. */
const liftableKeys = ['providers', 'prices'];

/** Moves `liftableKeys` from `spec` to the top level. Reports a key that is in both places. */
export function liftSpecKeys(reader: SchemaReader, root: YamlTree): YamlTree {
  const spec = memberOf(root, 'spec');
  if (root.kind !== 'map' || spec?.kind !== 'map') return root;
  const specPairs = spec.pairs.filter(({ key }) => liftableKeys.includes(key));
  for (const { key, keyOffset, value } of specPairs) {
    if (memberOf(root, key) === undefined) continue;
    reader.recordPosition(`spec.${key}`, keyOffset, value.offset);
    reader.reportKey(`spec.${key}`, `duplicates ${key} at the top level`);
  }
  const liftedPairs = specPairs.filter(({ key }) => memberOf(root, key) === undefined);
  const rootWithoutKeys = withMember(root, 'spec', () => withoutMembers(spec, liftableKeys));
  return rootWithoutKeys.kind === 'map'
    ? { ...rootWithoutKeys, pairs: [...rootWithoutKeys.pairs, ...liftedPairs] }
    : rootWithoutKeys;
}

/** Returns the listen address; undefined if it is invalid. `config` lacks fields that are invalid. */
export function daemonListenAddr(reader: SchemaReader, config: Written<GatewayConfig>): string | undefined {
  const { listen_addr, http_port } = config;
  const { host, port } = config.spec?.server ?? {};
  if (http_port !== undefined && port !== undefined && http_port !== port)
    reader.report('http_port', `contradicts spec.server.port, which is ${port}`);
  if (listen_addr === undefined) {
    // The file contains an invalid `listen_addr`, which the reader has reported.
    if (reader.has('listen_addr')) return undefined;
    const listenHost = host ?? DEFAULT_HOST;
    return `${isIPv6(listenHost) ? `[${listenHost}]` : listenHost}:${port ?? http_port ?? DEFAULT_PORT}`;
  }
  checkContradictions(reader, listen_addr, config);
  return listen_addr;
}

/** Returns the setting that determines the listen address, for messages. */
export function listenSetting({ http_port, spec }: GatewayConfig): string {
  const { host, port } = spec.server;
  if (host !== undefined || port !== undefined) return 'spec.server';
  return http_port === undefined ? 'listen_addr' : 'http_port';
}

function checkContradictions(
  reader: SchemaReader,
  text: string,
  { http_port, spec }: Written<GatewayConfig>,
): void {
  let address: { readonly host: string; readonly port: number };
  try {
    address = parseListenAddr(text);
  } catch {
    // read-gateway.ts reports invalid addresses.
    return;
  }
  const { host, port } = spec?.server ?? {};
  const contradicts = `contradicts listen_addr, which is ${text}`;
  if (http_port !== undefined && http_port !== address.port) reader.report('http_port', contradicts);
  if (port !== undefined && port !== address.port) reader.report('spec.server.port', contradicts);
  if (host !== undefined && host !== address.host) reader.report('spec.server.host', contradicts);
}
