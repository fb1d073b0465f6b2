// Scans JSON that is too large to parse on the event loop: parsing blocks the loop, and the object needs a
// multiple of the text's size in memory. The scan runs in slices, between which other work runs, and finds
// the byte positions of the requested members. Only these members are parsed; consumers of the whole payload
// get the bytes.
//
// Accepts JSON (RFC 8259) nested up to 256 levels. The bytes in concurrent scans are limited.

import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { markLength } from '../../../config/reader/json-text.ts';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import { MAX_TOKEN, PushScanner } from '../../mcp/jsonrpc/push-scanner.ts';

export const LARGE_BYTES = 256 * 1024;

/** Byte positions of values, by path. Small enough to be stored with an event. */
export type Spans = Readonly<Record<string, readonly [start: number, end: number]>>;

/** A slice takes one or two milliseconds. */
const SLICE_BYTES = 128 * 1024;
/** Maximum size of all concurrent scans. */
const MAX_SCANNED_BYTES = 128 * 1024 * 1024;

const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

const scanBudget = new Budget(MAX_SCANNED_BYTES);

/** True if parsing would build a large object. */
export function isLargeJson(bytes: Uint8Array): boolean {
  if (bytes.byteLength < LARGE_BYTES) return false;
  const first = bytes.subarray(markLength(bytes)).find((byte) => byte > 0x20);
  return first === BRACE || first === BRACKET;
}

/**
 * Returns the positions of the values that exist at the paths (`a.b`). A path to a list yields the whole
 * list. Lists and objects of LARGE_BYTES or more are omitted. Returns undefined if the bytes are not JSON.
 * Rejects with an OverloadedError if too many bytes are being scanned.
 */
export async function spansOf(bytes: Buffer, paths: readonly string[]): Promise<Spans | undefined> {
  const share = new Share();
  const size = Math.min(bytes.length, MAX_SCANNED_BYTES);
  if (!scanBudget.acquire(size, share))
    throw new OverloadedError('too many large events are being received; try again');
  try {
    const spans: Record<string, readonly [number, number]> = Object.create(null);
    return (await addSpans(bytes, markLength(bytes), bytes.length, '', paths, spans)) ? spans : undefined;
  } finally {
    scanBudget.release(size, share);
  }
}

/** Returns an object with only these values, each parsed on access. */
export function membersAt(bytes: Uint8Array, spans: Spans): unknown {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const root: Record<string, unknown> = Object.create(null);
  for (const [path, [start, end]] of Object.entries(spans)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at = root;
    for (const name of names) {
      at[name] ??= Object.create(null);
      at = at[name] as Record<string, unknown>;
    }
    const get = () => JSON.parse(all.toString('utf8', start, end)) as unknown;
    Object.defineProperty(at, last, { get, enumerable: true, configurable: true });
  }
  return root;
}

/** Returns the bytes for embedding in other text. Replaces invalid UTF-8, as a parser would. */
export function textOfJson(bytes: Uint8Array): Uint8Array {
  const length = markLength(bytes);
  const text = length === 0 ? bytes : bytes.subarray(length);
  return isUtf8(text) ? text : Buffer.from(Buffer.from(text).toString('utf8'));
}

/** Adds the spans of the values between `from` and `to`. Returns false if these bytes are not JSON. */
async function addSpans(
  bytes: Buffer,
  from: number,
  to: number,
  prefix: string,
  paths: readonly string[],
  spans: Record<string, readonly [number, number]>,
): Promise<boolean> {
  const members = new Map<string, readonly [number, number]>();
  const heads = new Set(paths.map((path) => path.split('.', 1)[0] ?? ''));
  const scanner = new PushScanner((rawName, { start, end }) => {
    const name = rawName.length < MAX_TOKEN ? nameOf(rawName) : '';
    // With duplicate names the last member counts, as in JSON.parse.
    if (heads.has(name)) members.set(name, [from + start, from + end]);
  });
  for (let at = from; at < to; at += SLICE_BYTES) {
    if (at > from) await nextTurn();
    scanner.feed(bytes.subarray(at, Math.min(to, at + SLICE_BYTES)));
  }
  if (!scanner.isComplete) return false;
  for (const [name, [start, end]] of members) {
    const path = prefix + name;
    const deeper = paths.filter((each) => each.startsWith(`${name}.`));
    const first = bytes[start];
    if (deeper.length > 0 && first === BRACE) {
      const rest = deeper.map((each) => each.slice(name.length + 1));
      await addSpans(bytes, start, end, `${path}.`, rest, spans);
    } else if (end - start < LARGE_BYTES || first === QUOTE) spans[path] = [start, end];
  }
  return true;
}

/** Decodes a member name from raw JSON in Latin-1. */
function nameOf(rawName: string): string {
  try {
    return String(JSON.parse(Buffer.from(rawName, 'latin1').toString('utf8')));
  } catch {
    return '';
  }
}
