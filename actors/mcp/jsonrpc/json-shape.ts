// Shapes of raw JSON values. A shape checks a value, and adds the edits (replacements of byte ranges) that
// repair the value. Tables of shapes describe schemas (servers/lists/item-schema.ts). A repaired value
// matches its shape; an accepted value needs no edits; a rejected value adds none, so a text's edits never
// overlap. For duplicate keys the last member counts, as in JSON.parse; a removal removes all duplicates.

import { changeParsedMembers, elementsOf, type JsonMember, membersOf, rawMembers } from './members.ts';
import { type Edit, replaceSpan, type Span } from './span.ts';

const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

const MAX_FAULTS = 5;
const MAX_KEY_CHARS = 60;
const MAX_SCALAR_CHARS = 100;

/** Raw JSON text, the edits that repair it, and the faults found. */
export class RepairDraft {
  readonly bytes: Buffer;
  readonly edits: Edit[] = [];
  /** The first faults, such as `inputSchema.type is null, not "object"`. */
  readonly faults: string[] = [];
  readonly #path: string[] = [];

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Records a fault of the current value and returns false. */
  fault(problem: string): false {
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${this.#path.join('.') || 'the item'} ${problem}`);
    return false;
  }

  /** Like `fault`, for a value of the wrong type or content. */
  mismatch({ start, end }: Span, expected: string): false {
    return this.fault(`is ${kindOf(this.bytes, start, end)}, not ${expected}`);
  }

  /** Runs `check` for a member or element; its faults then contain the key. */
  within(key: string, check: () => boolean): boolean {
    this.#path.push(key.slice(0, MAX_KEY_CHARS));
    const isAccepted = check();
    this.#path.pop();
    return isAccepted;
  }
}

export interface Shape {
  /** Returns true if a parsed value requires no repair. Much faster than `repair`. */
  accepts(value: unknown): boolean;
  /** Adds the edits that repair the value. Records a fault and returns false for a rejected value. */
  repair(draft: RepairDraft, value: Span): boolean;
}

/** Returns raw JSON to replace a missing or rejected value; undefined to reject the containing object. */
export type Substitute = (
  bytes: Buffer,
  value: Span | undefined,
  siblings: ReadonlyMap<string, Span>,
) => string | undefined;

export interface RequiredMember {
  readonly shape: Shape;
  readonly substitute: Substitute;
}

/** A required member. If there is no substitute for it, the object is rejected. */
export function required(shape: Shape, substitute: Substitute = () => undefined): RequiredMember {
  return { shape, substitute };
}

/** An object with these members. A bare shape is an optional member, removed if rejected. */
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
      const ownMembers = membersOf(draft.bytes, value);
      const spans = new Map(ownMembers.map((member) => [member.key, member.value]));
      const editCount = draft.edits.length;
      const changes: Record<string, string | undefined> = {};
      for (const { key, shape, substitute } of rules) {
        const span = spans.get(key);
        if (span === undefined && substitute === undefined) continue;
        const isAccepted = draft.within(key, () =>
          span === undefined ? draft.fault('is missing') : shape.repair(draft, span),
        );
        if (isAccepted) continue;
        changes[key] = substitute?.(draft.bytes, span, spans);
        if (substitute === undefined || changes[key] !== undefined) continue;
        // The object is rejected: its edits so far are undone.
        draft.edits.length = editCount;
        return false;
      }
      addChanges(draft, value, ownMembers, changes);
      return true;
    },
  };
}

/** An object with values of the same shape. `substitute` replaces a rejected value. */
export function record(shape: Shape, substitute: (bytes: Buffer, value: Span) => string): Shape {
  return {
    accepts: (value) => isObject(value) && Object.values(value).every((member) => shape.accepts(member)),
    repair: (draft, value) => {
      const { bytes } = draft;
      if (bytes[value.start] !== BRACE) return draft.mismatch(value, 'an object');
      for (const { key, value: span } of membersOf(bytes, value))
        if (!draft.within(key, () => shape.repair(draft, span)))
          draft.edits.push(replaceSpan(span, substitute(bytes, span)));
      return true;
    },
  };
}

/** An array with elements of the same shape. Rejected elements are removed. */
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

/** A value that is accepted or rejected as a whole, never repaired. */
export function whole(expected: string, accepts: (value: unknown) => boolean): Shape {
  return {
    accepts,
    repair: (draft, value) =>
      accepts(JSON.parse(draft.bytes.toString('utf8', value.start, value.end))) ||
      draft.mismatch(value, expected),
  };
}

/** One of these values. */
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
  draft: RepairDraft,
  value: Span,
  ownMembers: readonly JsonMember[],
  changes: Readonly<Record<string, string | undefined>>,
): void {
  if (Object.keys(changes).length > 0)
    draft.edits.push(...changeParsedMembers(value, ownMembers, changes, rawMembers(changes)));
}

/** Describes a value for a fault. */
function kindOf(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BRACE) return 'an object';
  if (bytes[start] === BRACKET) return 'an array';
  if (end - start > MAX_SCALAR_CHARS) return bytes[start] === QUOTE ? 'a string' : 'a number';
  return bytes.toString('utf8', start, end);
}
