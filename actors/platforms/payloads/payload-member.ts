// Reads members of event payloads. Payloads are untrusted input: a member that is missing or has another type
// is undefined, never an error.

import { randomBytes } from 'node:crypto';
import { parseJson } from '../../../config/reader/json-text.ts';
import type { StoredEvent } from '../../store/event.ts';

/** Returns the event context without members whose value is undefined because the payload has none. */
export function definedContext(
  context: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== undefined));
}

/** Returns the W3C traceparent of a new trace, not sampled. */
export function newTrace(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`;
}

/** Returns a stored event's parsed payload. Throws SyntaxError if the body is not JSON. */
export function storedPayload({ parsed, body }: Pick<StoredEvent, 'parsed' | 'body'>): unknown {
  return parsed ?? parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
}

/** Returns a function that reads each payload once and caches the result as long as the payload exists. */
export function readOnce<P, T>(read: (payload: P) => T): (payload: P) => T {
  const results = new WeakMap<object, { readonly result: T }>();
  return (payload) => {
    if (typeof payload !== 'object' || payload === null) return read(payload);
    let cached = results.get(payload);
    if (cached === undefined) {
      cached = { result: read(payload) };
      results.set(payload, cached);
    }
    return cached.result;
  };
}

/** Split paths. Paths are written in the code or by an operator, so their number is bounded. */
const namesOf = new Map<string, readonly string[]>();

/** Returns the value at a path; undefined if missing. List elements are named by their index. */
export function memberOf(payload: unknown, path: string): unknown {
  let names = namesOf.get(path);
  if (names === undefined) {
    names = path.split('.');
    namesOf.set(path, names);
  }
  let value = payload;
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** Returns the first string among the paths. */
export function textMember(payload: unknown, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const value = memberOf(payload, path);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

/** Returns the value at a path if it is a positive safe integer, as issue numbers are. */
export function numberMember(payload: unknown, path: string): number | undefined {
  const value = memberOf(payload, path);
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Returns the list at a path; empty if missing. */
export function listMember(payload: unknown, path: string): readonly unknown[] {
  const list = memberOf(payload, path);
  return Array.isArray(list) ? list : [];
}
