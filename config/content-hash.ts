// Hash of a configured value, such as a catalog entry: a reload skips values with an unchanged hash. The
// order of keys does not change the hash; the order of list items does.

import { createHash } from 'node:crypto';
import { canonical } from './value-schema/schema-parts.ts';

/** Returns the first 16 hexadecimal characters of the JSON value's SHA-256. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
}
