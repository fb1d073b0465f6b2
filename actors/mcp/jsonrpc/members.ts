// Members of objects in a message, and edits that add, replace or remove members. The other members remain
// unchanged, byte for byte.

import { JsonScanner } from './json-scanner.ts';
import type { Edit, Span } from './span.ts';

export interface JsonMember {
  readonly key: string;
  /** Position of the opening quote of the key. */
  readonly start: number;
  readonly value: Span;
}

const BRACE = 0x7b;
const BRACKET = 0x5b;
const END_BRACE = 0x7d;

/**
 * Returns the members of the object at `span`, in order; empty unless it is an object. The depths for the
 * scanner count from the object, because the depth of the whole message was checked before.
 */
export function membersOf(bytes: Buffer, span: Span | undefined): JsonMember[] {
  if (span === undefined || bytes[span.start] !== BRACE) return [];
  const members: JsonMember[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  scanner.object(1, (key, start) => {
    const valueStart = scanner.pos;
    scanner.value(2);
    members.push({ key, start, value: { start: valueStart, end: scanner.pos } });
  });
  return members;
}

/**
 * Returns the elements of the array at `span` as members with the index as key; empty unless it is an array.
 */
export function elementsOf(bytes: Buffer, span: Span | undefined): JsonMember[] {
  if (span === undefined || bytes[span.start] !== BRACKET) return [];
  const elements: JsonMember[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  scanner.array(1, () => {
    const start = scanner.pos;
    scanner.value(2);
    elements.push({ key: String(elements.length), start, value: { start, end: scanner.pos } });
  });
  return elements;
}

/** Returns one member's value in the object at `span`. */
export function memberOf(bytes: Buffer, span: Span | undefined, key: string): Span | undefined {
  return membersOf(bytes, span).find((member) => member.key === key)?.value;
}

/** New raw JSON per key; undefined removes the member. */
export type Changes = Readonly<Record<string, string | undefined>>;

export const noChanges: Changes = {};

/**
 * Returns the edits that apply `changes` to the object at `span`. New members come first, so that a reader
 * that stops early sees them.
 */
export function changeMembers(bytes: Buffer, span: Span, changes: Changes): Edit[] {
  return changeParsedMembers(span, membersOf(bytes, span), changes, rawMembers(changes));
}

/** Returns the raw JSON of the members that `changes` sets; '' if it only removes members. */
export function rawMembers(changes: Changes): string {
  let addedText = '';
  for (const [key, raw] of Object.entries(changes))
    if (raw !== undefined) addedText += `${addedText === '' ? '' : ','}${JSON.stringify(key)}:${raw}`;
  return addedText;
}

/** Returns the edit that inserts members at the start of the object. `addedText` must not be empty. */
export function addFirst(bytes: Buffer, { start }: Span, addedText: string): Edit {
  const inside = start + 1;
  const isEmpty = new JsonScanner(bytes, inside).peek() === END_BRACE;
  return { start: inside, end: inside, text: isEmpty ? addedText : `${addedText},` };
}

/** Like `changeMembers`, if the members and the added text are already known. */
export function changeParsedMembers(
  span: Span,
  members: readonly JsonMember[],
  changes: Changes,
  addedText: string,
): Edit[] {
  const inside = span.start + 1;
  // Index of the first member that stays. The added text replaces the members before it.
  const first = members.findIndex(({ key }) => !Object.hasOwn(changes, key));
  let before = members[first];
  if (before === undefined) {
    const end = members.at(-1)?.value.end ?? inside;
    return end === inside && addedText === '' ? [] : [{ start: inside, end, text: addedText }];
  }
  const edits: Edit[] = [];
  const head = addedText === '' ? '' : `${addedText},`;
  if (head !== '' || first > 0)
    edits.push({ start: inside, end: first > 0 ? before.start : inside, text: head });
  for (let at = first + 1; at < members.length; at += 1) {
    const member = members[at] as JsonMember;
    if (Object.hasOwn(changes, member.key))
      edits.push({ start: before.value.end, end: member.value.end, text: '' });
    before = member;
  }
  return edits;
}
