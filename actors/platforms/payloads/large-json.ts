// JSON that is too large to be parsed where everybody's calls are served: to build its objects takes long, and many times its
// size. It is gone over in slices, between which others have their turn, and told where the few members stand that are asked
// for; those alone are read. Whoever is sent the whole is sent the bytes.
//
// LJ1  what is accepted here is JSON in full (RFC 8259), nested no deeper than 256 levels.
// LJ2 (A8)  what is gone over at the same time is bounded in bytes.

import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import { MAX_TOKEN, PushScanner } from '../../mcp/jsonrpc/push-scanner.ts';

export const LARGE_BYTES = 256 * 1024;

/** Where the values at some paths stand, in bytes. Small enough to be kept with an event. */
export type Spans = Readonly<Record<string, readonly [start: number, end: number]>>;

/** A millisecond or two. */
const SLICE_BYTES = 128 * 1024;
const READING_BYTES = 128 * 1024 * 1024;

const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

const reading = new Budget(READING_BYTES);

/** Whether to parse it would build a large object. */
export function isLargeJson(bytes: Uint8Array): boolean {
  if (bytes.byteLength < LARGE_BYTES) return false;
  const first = bytes.find((byte) => byte > 0x20);
  return first === BRACE || first === BRACKET;
}

/**
 * Where the values at the paths stand (`a.b`), as far as they are there: of a path into a list the list, of a large list or
 * a large object itself nothing. Undefined for what is no JSON. Rejects with OverloadedError when too much is being read.
 */
export async function spansOf(bytes: Buffer, paths: readonly string[]): Promise<Spans | undefined> {
  const share = new Share();
  const size = Math.min(bytes.length, READING_BYTES);
  if (!reading.take(size, share))
    throw new OverloadedError('too many large events are being received; try again');
  try {
    const spans: Record<string, readonly [number, number]> = Object.create(null);
    return (await noteSpans(bytes, 0, bytes.length, '', paths, spans)) ? spans : undefined;
  } finally {
    reading.give(size, share);
  }
}

/** The values that stand there, each at its path in an object that has nothing else, and read when it is asked for. */
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

/** As it may stand inside another text: what is no UTF-8 in it is replaced, as a parser would have done it. */
export function textOfJson(bytes: Uint8Array): Uint8Array {
  return isUtf8(bytes) ? bytes : Buffer.from(Buffer.from(bytes).toString('utf8'));
}

/** Notes the spans of what stands from `from` to `to`; false when that is no JSON. */
async function noteSpans(
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
    // Of several of one name the last counts, as for a parser.
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
      await noteSpans(bytes, start, end, `${path}.`, rest, spans);
    } else if (end - start < LARGE_BYTES || first === QUOTE) spans[path] = [start, end];
  }
  return true;
}

/** Of a name as raw JSON in Latin-1. */
function nameOf(rawName: string): string {
  try {
    return String(JSON.parse(Buffer.from(rawName, 'latin1').toString('utf8')));
  } catch {
    return '';
  }
}
