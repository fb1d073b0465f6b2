// Hash of a catalog entry. The cache stores the lists of a server (tools, prompts, resources) under this
// hash, and a reload restarts the servers whose hash has changed.

import { contentHash } from '../content-hash.ts';
import { DEFAULT_INSTALL_SECONDS, type ServerEntry } from './catalog-schema.ts';

/** Defaults that the hash omits, so that hashes stored before these fields existed stay valid. */
const newerDefaults: Readonly<Record<string, unknown>> = {
  placement: 'node',
  install_timeout_seconds: DEFAULT_INSTALL_SECONDS,
};

/** Returns 16 hexadecimal characters. Ignores tags, and credentials, which are derived from other fields. */
export function entryHash(entry: ServerEntry): string {
  const { tags: _, credentials: __, ...hashed } = entry;
  const fields = Object.entries(hashed).filter(([name, value]) => newerDefaults[name] !== value);
  return contentHash(Object.fromEntries(fields));
}
