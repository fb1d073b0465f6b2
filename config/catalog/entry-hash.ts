// The name under which the lists of a catalog entry are cached; a reload compares it to find what has changed.

import { contentHash } from '../content-hash.ts';
import type { ServerEntry } from './catalog-schema.ts';

/** 16 hexadecimal characters. Tags do not count, nor does the list of credentials, which is derived from other fields. */
export function entryHash(entry: ServerEntry): string {
  const { tags: _, credentials: __, placement, ...counting } = entry;
  // One that says nothing of its place has the name that it had before there were any.
  return contentHash(placement === 'node' ? counting : { ...counting, placement });
}
