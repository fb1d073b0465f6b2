// The members of an object inside a message, and edits that add, replace or take out some of them. The others stay as
// they were received, byte for byte.

import { JsonScanner } from './json-scanner.ts';
import type { Edit, Span } from './span.ts';

export interface Member {
  readonly key: string;
  /** Where the member begins, with the quote of its key. */
  readonly start: number;
  readonly value: Span;
}

const BRACE = 0x7b;
const BRACKET = 0x5b;
const END_BRACE = 0x7d;

/** The members of the object at `span`, in order; none when no object stands there. */
export function membersOf(bytes: Buffer, span: Span | undefined): Member[] {
  if (span === undefined || bytes[span.start] !== BRACE) return [];
  const members: Member[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  scanner.object(1, (key, start) => {
    const valueStart = scanner.pos;
    scanner.value(2);
    members.push({ key, start, value: { start: valueStart, end: scanner.pos } });
  });
  return members;
}

/** The elements of the array at `span`, each as a member whose key is its index; empty if the span has no array. */
export function elementsOf(bytes: Buffer, span: Span | undefined): Member[] {
  if (span === undefined || bytes[span.start] !== BRACKET) return [];
  const elements: Member[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  scanner.array(1, () => {
    const start = scanner.pos;
    scanner.value(2);
    elements.push({ key: String(elements.length), start, value: { start, end: scanner.pos } });
  });
  return elements;
}

/** The value of one member of the object at `span`. */
export function memberOf(bytes: Buffer, span: Span | undefined, key: string): Span | undefined {
  return membersOf(bytes, span).find((member) => member.key === key)?.value;
}

/** Raw JSON by key; undefined takes the member out. */
export type Changes = Readonly<Record<string, string | undefined>>;

export const noChanges: Changes = {};

/**
 * Edits that make the object at `span` hold `changes`. New members stand first, so that they are there
 * even for a reader that stops early.
 */
export function changeMembers(bytes: Buffer, span: Span, changes: Changes): Edit[] {
  return changeFound(span, membersOf(bytes, span), changes, rawMembers(changes));
}

/** The members that changes add, as they are written; '' when there are none. */
export function rawMembers(changes: Changes): string {
  let added = '';
  for (const [key, raw] of Object.entries(changes))
    if (raw !== undefined) added += `${added === '' ? '' : ','}${JSON.stringify(key)}:${raw}`;
  return added;
}

/** The edit that puts members, of which there is at least one, before those of an object that has none of them. */
export function addFirst(bytes: Buffer, { start }: Span, added: string): Edit {
  const inside = start + 1;
  const isEmpty = new JsonScanner(bytes, inside).peek() === END_BRACE;
  return { start: inside, end: inside, text: isEmpty ? added : `${added},` };
}

/** As `changeMembers`, with the object's members and what is added at hand. */
export function changeFound(span: Span, members: readonly Member[], changes: Changes, added: string): Edit[] {
  const inside = span.start + 1;
  const first = members.findIndex(({ key }) => !Object.hasOwn(changes, key));
  let before = members[first];
  if (before === undefined) {
    const end = members.at(-1)?.value.end ?? inside;
    return end === inside && added === '' ? [] : [{ start: inside, end, text: added }];
  }
  const edits: Edit[] = [];
  const head = added === '' ? '' : `${added},`;
  if (head !== '' || first > 0)
    edits.push({ start: inside, end: first > 0 ? before.start : inside, text: head });
  for (let at = first + 1; at < members.length; at += 1) {
    const member = members[at] as Member;
    if (Object.hasOwn(changes, member.key))
      edits.push({ start: before.value.end, end: member.value.end, text: '' });
    before = member;
  }
  return edits;
}
