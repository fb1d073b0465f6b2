// Shapes of raw JSON values: each checks the value at a span and adds the edits that repair it, so that everything else
// in the text stays byte for byte. A table of shapes describes a schema (server/lists/item-schema.ts).
//
// SHP1  an accepted value has its shape once the edits are applied.
// SHP2  a refused value leaves no edits behind, so the edits of one draft never overlap.
// SHP3  the last of several members with the same key counts, as in JSON.parse; removing a member removes all of them.

import { textOf } from './json-scanner.ts';
import { changeFound, elementsOf, type Member, membersOf, rawMembers } from './members.ts';
import { type Edit, rawOf, replacing, type Span } from './span.ts';

const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

const MAX_FAULTS = 5;
const MAX_KEY_CHARS = 60;
const MAX_SCALAR_CHARS = 100;

/** Raw JSON text under repair. */
export class Draft {
  readonly bytes: Buffer;
  readonly edits: Edit[] = [];
  /** Descriptions of wrong parts, such as `inputSchema.type is null, not "object"`; the first few. */
  readonly faults: string[] = [];
  readonly #path: string[] = [];

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Notes that the current value is wrong, and returns false. */
  fault(what: string): false {
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${this.#path.join('.') || 'the item'} ${what}`);
    return false;
  }

  /** As `fault`, for the value at `span`. */
  mismatch({ start, end }: Span, expected: string): false {
    return this.fault(`is ${kindOf(this.bytes, start, end)}, not ${expected}`);
  }

  /** Checks the value of a member or element. */
  within(key: string, check: () => boolean): boolean {
    this.#path.push(key.slice(0, MAX_KEY_CHARS));
    const isSound = check();
    this.#path.pop();
    return isSound;
  }
}

/** Whether the value is accepted, with the edits that it needs added; a refusal is noted as a fault. */
export type Shape = (draft: Draft, value: Span) => boolean;

/** Returns the raw JSON that replaces a missing or refused value; undefined refuses the object that holds it. */
export type Repair = (
  bytes: Buffer,
  value: Span | undefined,
  siblings: ReadonlyMap<string, Span>,
) => string | undefined;

export interface RequiredMember {
  readonly shape: Shape;
  readonly repair: Repair;
}

/** A member that has to be there; without a repair the object is refused. */
export function required(shape: Shape, repair: Repair = () => undefined): RequiredMember {
  return { shape, repair };
}

/** An object with these members. A bare shape is an optional member, which is removed when refused. */
export function object(members: Readonly<Record<string, Shape | RequiredMember>>): Shape {
  const rules = Object.entries(members).map(([key, rule]) => {
    const { shape, repair } = typeof rule === 'function' ? { shape: rule, repair: undefined } : rule;
    return { key, shape, repair };
  });
  return (draft, value) => {
    if (draft.bytes[value.start] !== BRACE) return draft.mismatch(value, 'an object');
    if (rules.length === 0) return true;
    const found = membersOf(draft.bytes, value);
    const spans = new Map(found.map((member) => [member.key, member.value]));
    const mark = draft.edits.length;
    const changes: Record<string, string | undefined> = {};
    for (const { key, shape, repair } of rules) {
      const span = spans.get(key);
      if (span === undefined && repair === undefined) continue;
      const isSound = draft.within(key, () =>
        span === undefined ? draft.fault('is missing') : shape(draft, span),
      );
      if (isSound) continue;
      changes[key] = repair?.(draft.bytes, span, spans);
      if (repair === undefined || changes[key] !== undefined) continue;
      draft.edits.length = mark;
      return false;
    }
    addChanges(draft, value, found, changes);
    return true;
  };
}

/** An object whose values all have one shape; `repair` replaces a refused value. */
export function record(shape: Shape, repair: (bytes: Buffer, value: Span) => string): Shape {
  return (draft, value) => {
    if (draft.bytes[value.start] !== BRACE) return draft.mismatch(value, 'an object');
    for (const { key, value: span } of membersOf(draft.bytes, value))
      if (!draft.within(key, () => shape(draft, span)))
        draft.edits.push(replacing(span, repair(draft.bytes, span)));
    return true;
  };
}

/** An array whose elements all have one shape; refused elements are removed. */
export function array(shape: Shape): Shape {
  return (draft, value) => {
    if (draft.bytes[value.start] !== BRACKET) return draft.mismatch(value, 'an array');
    const elements = elementsOf(draft.bytes, value);
    const changes: Record<string, undefined> = {};
    for (const { key, value: span } of elements)
      if (!draft.within(key, () => shape(draft, span))) changes[key] = undefined;
    addChanges(draft, value, elements, changes);
    return true;
  };
}

/** A string that `isWanted` accepts. */
export function text(expected = 'a string', isWanted?: (value: string) => boolean): Shape {
  return (draft, value) => {
    const isText = draft.bytes[value.start] === QUOTE;
    if (isText && (isWanted === undefined || isWanted(textOf(draft.bytes, value.start, value.end))))
      return true;
    return draft.mismatch(value, expected);
  };
}

/** One of these strings. */
export function oneOf(...values: readonly string[]): Shape {
  return text(values.map((value) => JSON.stringify(value)).join(' or '), (value) => values.includes(value));
}

/** A finite number that `isWanted` accepts. */
export function number(expected: string, isWanted: (value: number) => boolean): Shape {
  return (draft, value) => {
    const parsed = isNumberAt(draft.bytes, value.start) ? Number(rawOf(draft.bytes, value)) : Number.NaN;
    return (Number.isFinite(parsed) && isWanted(parsed)) || draft.mismatch(value, expected);
  };
}

export const flag: Shape = (draft, value) =>
  ['true', 'false'].includes(rawOf(draft.bytes, value)) || draft.mismatch(value, 'a boolean');

/** An object with any members. */
export const anyObject: Shape = object({});

function addChanges(
  draft: Draft,
  value: Span,
  found: readonly Member[],
  changes: Readonly<Record<string, string | undefined>>,
): void {
  if (Object.keys(changes).length > 0)
    draft.edits.push(...changeFound(value, found, changes, rawMembers(changes)));
}

function isNumberAt(bytes: Buffer, at: number): boolean {
  const byte = bytes[at] ?? 0;
  return byte === 0x2d || (byte >= 0x30 && byte <= 0x39);
}

/** The value as a message shows it. */
function kindOf(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BRACE) return 'an object';
  if (bytes[start] === BRACKET) return 'an array';
  if (end - start > MAX_SCALAR_CHARS) return bytes[start] === QUOTE ? 'a string' : 'a number';
  return bytes.toString('utf8', start, end);
}
