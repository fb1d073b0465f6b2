// Hash of a catalog entry. It identifies the entry's cached lists, and a reload compares it to detect
// changes.

import { contentHash } from '../content-hash.ts';
import type { ServerEntry } from './catalog-schema.ts';

/** Returns 16 hexadecimal characters. Ignores tags, and credentials, which are derived from other fields. */
export function entryHash(entry: ServerEntry): string {
  const { tags: _, credentials: __, placement, ...counting } = entry;
  // Omits the default placement: hashes that were stored before this field existed stay valid.
  return contentHash(placement === 'node' ? counting : { ...counting, placement });
}
