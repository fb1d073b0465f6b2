// Reads payloads of events. Payloads are untrusted input: a member that is missing or has another type is undefined, never an
// error.

import { randomBytes } from 'node:crypto';
import type { StoredEvent } from '../../store/event.ts';

/** Returns the context of an event without members that the payload does not have. */
export function knownContext(context: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== undefined));
}

/** Returns the W3C traceparent of a new trace, not sampled. */
export function newTrace(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`;
}

/** Returns the parsed payload of a stored event. Throws SyntaxError if the body is not JSON. */
export function storedPayload({ parsed, body }: Pick<StoredEvent, 'parsed' | 'body'>): unknown {
  return parsed ?? JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
}

/** Returns a reader that reads each payload once and keeps the result as long as the payload lives. */
export function readOnce<P, T>(read: (payload: P) => T): (payload: P) => T {
  const results = new WeakMap<object, { readonly result: T }>();
  return (payload) => {
    if (typeof payload !== 'object' || payload === null) return read(payload);
    let known = results.get(payload);
    if (known === undefined) {
      known = { result: read(payload) };
      results.set(payload, known);
    }
    return known.result;
  };
}

/** Split paths. Paths are written in the code or by an operator, so their number is bounded. */
const namesOf = new Map<string, readonly string[]>();

/** The value at a path; undefined where there is none. Elements of a list have their numbers for names. */
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

/** The value at the first of the paths that has a text. */
export function textMember(payload: unknown, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const value = memberOf(payload, path);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

/** The value at a path, if it is a whole number above 0, as those of issues are. */
export function numberMember(payload: unknown, path: string): number | undefined {
  const value = memberOf(payload, path);
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
