// The name under which the lists of a catalog entry are cached; a reload compares it to find what has changed.

import { contentHash } from '../content-hash.ts';
import type { ServerEntry } from './catalog-schema.ts';

/** 16 hexadecimal characters; the tags of an entry do not count. */
export function entryHash(entry: ServerEntry): string {
  const { tags: _, placement, ...counting } = entry;
  // One that says nothing of its place has the name that it had before there were any.
  return contentHash(placement === 'node' ? counting : { ...counting, placement });
}
