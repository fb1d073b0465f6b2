// Shapes of raw JSON values: each checks a value and adds the edits that repair it. Other bytes stay unchanged. A
// table of shapes describes a schema (server/lists/item-schema.ts).
//
// - a repaired value matches its shape once the edits are applied; an accepted value requires no edits.
// - a refused value adds no edits, so edits in a draft never overlap.
// - the last of several members with the same key counts, like in JSON.parse; a removal removes all of them.

import { changeFound, elementsOf, type Member, membersOf, rawMembers } from './members.ts';
import { type Edit, replacing, type Span } from './span.ts';

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

  /** Checks a member or element value. */
  within(key: string, check: () => boolean): boolean {
    this.#path.push(key.slice(0, MAX_KEY_CHARS));
    const isSound = check();
    this.#path.pop();
    return isSound;
  }
}

export interface Shape {
  /** Returns true if a parsed value requires no repair; much faster than `repair`. */
  accepts(value: unknown): boolean;
  /** Adds the edits that repair the value; returns false, and notes a fault, for a refused value. */
  repair(draft: Draft, value: Span): boolean;
}

/** Returns the raw JSON that replaces a missing or refused value; undefined refuses the object that holds it. */
export type Substitute = (
  bytes: Buffer,
  value: Span | undefined,
  siblings: ReadonlyMap<string, Span>,
) => string | undefined;

export interface RequiredMember {
  readonly shape: Shape;
  readonly substitute: Substitute;
}

/** A required member; if it has no substitute, the object is refused. */
export function required(shape: Shape, substitute: Substitute = () => undefined): RequiredMember {
  return { shape, substitute };
}

/** An object with the given members. A bare shape is an optional member, which is removed when refused. */
export function object(members: Readonly<Record<string, Shape | RequiredMember>>): Shape {
  const rules = Object.entries(members).map(([key, rule]) =>
    'shape' in rule ? { key, ...rule } : { key, shape: rule, substitute: undefined },
  );
  return {
    accepts: (value) =>
      isObject(value) &&
      rules.every(({ key, shape, substitute }) => {
        const member = value[key];
        return member === undefined ? substitute === undefined : shape.accepts(member);
      }),
    repair: (draft, value) => {
      if (draft.bytes[value.start] !== BRACE) return draft.mismatch(value, 'an object');
      if (rules.length === 0) return true;
      const found = membersOf(draft.bytes, value);
      const spans = new Map(found.map((member) => [member.key, member.value]));
      const mark = draft.edits.length;
      const changes: Record<string, string | undefined> = {};
      for (const { key, shape, substitute } of rules) {
        const span = spans.get(key);
        if (span === undefined && substitute === undefined) continue;
        const isKept = draft.within(key, () =>
          span === undefined ? draft.fault('is missing') : shape.repair(draft, span),
        );
        if (isKept) continue;
        changes[key] = substitute?.(draft.bytes, span, spans);
        if (substitute === undefined || changes[key] !== undefined) continue;
        draft.edits.length = mark;
        return false;
      }
      addChanges(draft, value, found, changes);
      return true;
    },
  };
}

/** An object whose values share a shape; `substitute` replaces a refused value. */
export function record(shape: Shape, substitute: (bytes: Buffer, value: Span) => string): Shape {
  return {
    accepts: (value) => isObject(value) && Object.values(value).every((member) => shape.accepts(member)),
    repair: (draft, value) => {
      const { bytes } = draft;
      if (bytes[value.start] !== BRACE) return draft.mismatch(value, 'an object');
      for (const { key, value: span } of membersOf(bytes, value))
        if (!draft.within(key, () => shape.repair(draft, span)))
          draft.edits.push(replacing(span, substitute(bytes, span)));
      return true;
    },
  };
}

/** An array whose elements share a shape; refused elements are removed. */
export function array(shape: Shape): Shape {
  return {
    accepts: (value) => Array.isArray(value) && value.every((element) => shape.accepts(element)),
    repair: (draft, value) => {
      if (draft.bytes[value.start] !== BRACKET) return draft.mismatch(value, 'an array');
      const elements = elementsOf(draft.bytes, value);
      const changes: Record<string, undefined> = {};
      for (const { key, value: span } of elements)
        if (!draft.within(key, () => shape.repair(draft, span))) changes[key] = undefined;
      addChanges(draft, value, elements, changes);
      return true;
    },
  };
}

/** A value without repairs: accepted or refused. */
export function whole(expected: string, accepts: (value: unknown) => boolean): Shape {
  return {
    accepts,
    repair: (draft, value) =>
      accepts(JSON.parse(draft.bytes.toString('utf8', value.start, value.end))) ||
      draft.mismatch(value, expected),
  };
}

/** One of these strings. */
export function oneOf(...values: readonly unknown[]): Shape {
  const expected = values.map((value) => JSON.stringify(value)).join(' or ');
  return whole(expected, (value) => values.includes(value));
}

export const text = whole('a string', (value) => typeof value === 'string');
export const flag = whole('a boolean', (value) => typeof value === 'boolean');

/** An object with any members. */
export const anyObject: Shape = object({});

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function addChanges(
  draft: Draft,
  value: Span,
  found: readonly Member[],
  changes: Readonly<Record<string, string | undefined>>,
): void {
  if (Object.keys(changes).length > 0)
    draft.edits.push(...changeFound(value, found, changes, rawMembers(changes)));
}

/** The value as a message shows it. */
function kindOf(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BRACE) return 'an object';
  if (bytes[start] === BRACKET) return 'an array';
  if (end - start > MAX_SCALAR_CHARS) return bytes[start] === QUOTE ? 'a string' : 'a number';
  return bytes.toString('utf8', start, end);
}
