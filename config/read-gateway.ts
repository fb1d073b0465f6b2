// From the gateway file's tree to a GatewayConfig: the rules that a schema cannot say.

import { dirname, resolve } from 'node:path';
import { fillDefaults, type Written } from './fill-defaults.ts';
import { type GatewayConfig, gatewaySchema } from './gateway-schema.ts';
import { isLoopback, parseListenAddr } from './listen-addr.ts';
import type { SchemaReader } from './schema-reader.ts';
import type { YamlTree } from './yaml-tree.ts';

/** Relative paths are relative to the folder of `file`. With problems reported the result is a best effort. */
export function readGateway(reader: SchemaReader, root: YamlTree, file: string): Written<GatewayConfig> {
  const written = reader.read(gatewaySchema, root, '') as Written<GatewayConfig> | undefined;
  if (written === undefined) return {};
  const config: Written<GatewayConfig> = fillDefaults(gatewaySchema, written);
  checkListenAddr(reader, config.listen_addr);
  checkInspector(reader, config);
  if (written.api_key === '' && !isChosenEmpty(root)) {
    reader.report('api_key', 'is empty, so authentication is off; remove it if that is meant', 'warning');
  }
  const folder = dirname(file);
  return {
    ...config,
    catalog_path: config.catalog_path && resolve(folder, config.catalog_path),
    state_dir: config.state_dir && resolve(folder, config.state_dir),
    allowed_hosts: config.allowed_hosts?.map((host) => host?.toLowerCase()),
    allowed_origins: config.allowed_origins?.map((origin) => origin && asBrowsersWriteIt(origin)),
  };
}

function checkListenAddr(reader: SchemaReader, text: string | undefined): void {
  if (text === undefined) return;
  try {
    parseListenAddr(text);
  } catch (error) {
    reader.report('listen_addr', (error as TypeError).message);
  }
}

/** Whoever can reach the listener can watch: what is asked for in so many words must not be half safe. */
function checkInspector(
  reader: SchemaReader,
  { inspector, listen_addr, api_key }: Written<GatewayConfig>,
): void {
  if (
    inspector?.enabled !== true ||
    inspector.insecure === true ||
    api_key !== '' ||
    listen_addr === undefined
  )
    return;
  const host = /^(.*):\d+$/.exec(listen_addr)?.[1];
  if (host === undefined || isLoopback(host)) return;
  reader.report(
    'inspector.enabled',
    `needs an api_key while the gateway listens on ${listen_addr}; set one, or inspector.insecure: true if everybody there may watch`,
  );
}

/** An empty default, as in `${GATEWAY_API_KEY:-}`, says that no key is fine. */
function isChosenEmpty(root: YamlTree): boolean {
  const pair = root.kind === 'map' ? root.pairs.find(({ key }) => key === 'api_key') : undefined;
  return pair?.value.kind === 'scalar' && /^\$\{\w+:-\}$/.test(String(pair.value.value));
}

/** Lower case, and without the port that the scheme implies. */
function asBrowsersWriteIt(origin: string): string {
  if (!/^https?:/i.test(origin) || !URL.canParse(origin)) return origin.toLowerCase();
  return new URL(origin).origin;
}
