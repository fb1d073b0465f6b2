// Checks the settings of this gateway as a node of a cluster (several gateways with one database) for rules
// that concern several fields.

import { resolve } from 'node:path';
import type { Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import type { GatewayConfig } from './gateway-schema.ts';
import { parseListenAddr } from './listen-addr.ts';

type WrittenNode = Written<GatewayConfig>['node'];

export function checkNode(reader: SchemaReader, { node, store }: Written<GatewayConfig>): void {
  for (const field of ['address', 'bind'] as const) {
    const fault = addressFault(node?.[field], field === 'address');
    if (fault !== undefined) reader.report(`node.${field}`, fault);
  }
  const hasAddress = reader.has('node.address');
  if (hasAddress && !reader.has('node.secret'))
    reader.report('node.address', 'needs node.secret, which authenticates the gateways');
  for (const field of ['bind', 'tls'])
    if (!hasAddress && reader.has(`node.${field}`))
      reader.report(`node.${field}`, 'has no effect without node.address', 'warning');
  if (hasAddress && store?.postgres === undefined && !reader.isFaulty('store'))
    reader.report('node.address', 'has no effect without store.postgres', 'warning');
}

/** Resolves paths relative to the folder of the gateway file. */
export function withAbsoluteFiles(node: WrittenNode, folder: string): WrittenNode {
  if (node?.tls === undefined) return node;
  const absolute = (path: string | undefined) => (path === undefined ? undefined : resolve(folder, path));
  const { cert, key, ca } = node.tls;
  return { ...node, tls: { cert: absolute(cert), key: absolute(key), ca: absolute(ca) } };
}

/** Returns the fault of an address. `node.bind` is not advertised, so it may be a wildcard address. */
function addressFault(text: string | undefined, isAdvertised: boolean): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { host, port } = parseListenAddr(text);
    if (port === 0) return 'needs a fixed port: other gateways connect to it';
    if (isAdvertised && (host === '0.0.0.0' || host === '::'))
      return 'is not reachable from other machines; write the address of this machine, and the listen address as node.bind';
    return undefined;
  } catch (error) {
    return (error as TypeError).message;
  }
}
