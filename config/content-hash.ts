// Hash for values from files: equal values need no reload. The order of keys does not change the hash; the
// order of list items does.

import { createHash } from 'node:crypto';
import { canonical } from './value-schema/schema-parts.ts';

/** Returns the first 16 hexadecimal characters of the JSON value's SHA-256. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
}
