// Checks that the certificates for connections between nodes are readable and consistent. The gateway loads
// this module only if the node settings contain certificates.

import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import type { GatewayConfig } from './gateway-schema.ts';

const tlsFiles = ['cert', 'key', 'ca'] as const;

/** Reports unreadable or invalid certificate files. `node` is a part of the file, without defaults. */
export async function checkNodeFiles(reader: SchemaReader, { node }: Written<GatewayConfig>): Promise<void> {
  const { tls } = node ?? {};
  if (tls === undefined || reader.isFaulty('node.tls')) return;
  const found: Partial<Record<(typeof tlsFiles)[number], Buffer>> = {};
  for (const name of tlsFiles) {
    const path = tls[name] ?? '';
    try {
      found[name] = await readFile(path);
    } catch (error) {
      reader.report(`node.tls.${name}`, `${path}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
  if (reader.isFaulty('node.tls')) return;
  const { cert, key, ca } = found;
  // The files are checked separately: a combined check would not show which file is invalid.
  for (const [field, context] of [
    ['cert', { cert }],
    ['ca', { ca }],
    ['key', { cert, key }],
  ] as const) {
    if (field === 'ca' && ca?.includes('-----BEGIN CERTIFICATE-----') !== true) {
      reader.report('node.tls.ca', `${tls.ca}: has no certificate in PEM`);
      continue;
    }
    try {
      createSecureContext(context);
    } catch (error) {
      const why = /mismatch/.test(String(error))
        ? 'is not the key of node.tls.cert'
        : 'cannot be used as PEM';
      reader.report(`node.tls.${field}`, `${tls[field]}: ${why}`);
      // The key is checked against the certificate, so it cannot be checked without one.
      if (field === 'cert') return;
    }
  }
}
