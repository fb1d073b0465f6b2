// Hash of a catalog entry. It identifies the entry's cached lists, and a reload compares it to detect
// changes.

import { contentHash } from '../content-hash.ts';
import { DEFAULT_INSTALL_SECONDS, type ServerEntry } from './catalog-schema.ts';

/** Defaults that the hash omits, so that hashes stored before these fields existed stay valid. */
const newerDefaults: Readonly<Record<string, unknown>> = {
  placement: 'node',
  install_timeout_seconds: DEFAULT_INSTALL_SECONDS,
};

/** Returns 16 hexadecimal characters. Ignores tags, and credentials, which are derived from other fields. */
export function entryHash(entry: ServerEntry): string {
  const { tags: _, credentials: __, ...counting } = entry;
  const fields = Object.entries(counting).filter(([name, value]) => newerDefaults[name] !== value);
  return contentHash(Object.fromEntries(fields));
}
