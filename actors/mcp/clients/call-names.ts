// Decodes names in messages, such as tool names, for the records of calls (call-recorder.ts). Equal bytes
// give the same string: the history keeps thousands of names, and a new string per call would outlive the
// young generation of the garbage collector (docs/internals.md, "Cost of a call"). The cache has one entry
// per hash value, so its size is fixed, and a client with many names only replaces entries.

import type { Span } from '../jsonrpc/span.ts';

/** Number of entries; a power of two. */
const ENTRIES = 512;
/** Number of bytes in the hash, taken from the name's end: one server's names often begin alike. */
const HASHED_BYTES = 8;
/** Longer names are decoded on each use. */
const MAX_CACHED_BYTES = 200;

interface CachedName {
  readonly raw: Buffer;
  readonly text: string | null;
}

export class CallNames {
  readonly #entries: (CachedName | undefined)[] = new Array(ENTRIES).fill(undefined);
  readonly #decode: (raw: string) => string | null;

  /** `decode` converts the bytes of a name, as raw JSON. It must not throw. */
  constructor(decode: (raw: string) => string | null) {
    this.#decode = decode;
  }

  of(bytes: Buffer, { start, end }: Span): string | null {
    const length = end - start;
    if (length > MAX_CACHED_BYTES) return this.#decode(bytes.toString('utf8', start, end));
    // A 32-bit hash. The entry's number is in its lowest bits.
    let hash = length;
    for (let at = Math.max(start, end - HASHED_BYTES); at < end; at += 1)
      hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (ENTRIES - 1);
    const entry = this.#entries[slot];
    if (entry !== undefined && isEqual(entry.raw, bytes, start, length)) return entry.text;
    // A copy: a slice would retain the whole message.
    const raw = Buffer.from(bytes.subarray(start, end));
    const text = this.#decode(raw.toString('utf8'));
    this.#entries[slot] = { raw, text };
    return text;
  }
}

function isEqual(raw: Buffer, bytes: Buffer, start: number, length: number): boolean {
  if (raw.length !== length) return false;
  for (let at = 0; at < length; at += 1) if (raw[at] !== bytes[start + at]) return false;
  return true;
}
