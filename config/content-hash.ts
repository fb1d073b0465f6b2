// Hash of a value from a file: equal values need no reload. The order of keys does not count, the order of lists does.

import { createHash } from 'node:crypto';
import { canonical } from './value-schema/schema-parts.ts';

/** Returns 16 hexadecimal characters of the SHA-256 of a JSON value. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
}
