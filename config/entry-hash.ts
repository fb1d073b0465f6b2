// A short name for the content of a catalog entry: lists are cached under it, and a reload compares it to find
// what has changed. The order of keys does not count, the order of lists does.

import { createHash } from 'node:crypto';
import type { ServerEntry } from './catalog-schema.ts';

/** 16 hexadecimal characters of the SHA-256 of the normalised entry. */
export function entryHash(entry: ServerEntry): string {
  const { tags: _, ...counting } = entry;
  return createHash('sha256').update(canonical(counting)).digest('hex').slice(0, 16);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}
