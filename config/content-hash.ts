// A short name for the content of a value that was read from a file: two that are equal need no reload. The order of
// keys does not count, the order of lists does, and a member that is undefined is as good as none.

import { createHash } from 'node:crypto';

/** 16 hexadecimal characters of the SHA-256 of `value`, which is made of what JSON is made of. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
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
