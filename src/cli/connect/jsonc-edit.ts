// Inserts and removes members of objects and lists in JSON with comments. Keeps comments, trailing commas,
// order, indentation and line breaks. Removing an inserted member restores the original text, except in an
// object or list that was empty on one line.

import { createScanner, type Node } from 'jsonc-parser';

/** Formatting of the text: line break, and indentation of one level. */
interface Layout {
  readonly lineEnd: string;
  readonly unit: string;
}

/** Text between two members, or between the last member and the closing bracket. */
interface Gap {
  /** Offset after the comma; undefined if the gap has no comma. */
  readonly afterComma: number | undefined;
  /** Offset after the last comment or comma in the gap; otherwise the start of the gap. */
  readonly end: number;
  /** True if the gap has a `//` comment last. */
  readonly isLineComment: boolean;
}

const lineBreak = /\r\n|\n|\r/;

/** Inserts a member as the last one. `key` is undefined for lists. `top` is the node of the whole text. */
export function insertMember(
  text: string,
  top: Node,
  container: Node,
  key: string | undefined,
  value: unknown,
) {
  const { lineEnd, unit } = layoutOf(text, top);
  const members = container.children ?? [];
  const close = endOf(container) - 1;
  const last = members.at(-1);
  const gap = scanGap(text, last === undefined ? container.offset + 1 : endOf(last), close);
  const head = key === undefined ? '' : `${JSON.stringify(key)}: `;
  let member: string;
  let tail = '';
  if (isOnOneLine(text, top, container)) {
    member = `${members.length > 0 ? ' ' : ''}${head}${JSON.stringify(value)}`;
  } else {
    const base = indentAt(text, container.offset);
    const first = members[0];
    const indent = (first && ownIndent(text, first.offset)) ?? base + unit;
    const lines = JSON.stringify(value, undefined, unit).split('\n').join(`${lineEnd}${indent}`);
    member = `${lineEnd}${indent}${head}${lines}`;
    if (!lineBreak.test(text.slice(gap.end, close))) tail = `${lineEnd}${base}`;
  }
  const trailing = gap.afterComma === undefined || last === undefined ? '' : ',';
  const isCommaMissing = last !== undefined && gap.afterComma === undefined;
  const commaAt = last === undefined ? gap.end : endOf(last);
  return [
    text.slice(0, commaAt),
    isCommaMissing ? ',' : '',
    text.slice(commaAt, gap.end),
    member,
    trailing,
    tail,
    text.slice(gap.end),
  ].join('');
}

/** Removes a member from an object or list. */
export function removeMember(text: string, container: Node, member: Node): string {
  const members = container.children ?? [];
  const at = members.indexOf(member);
  const before = members[at - 1];
  const next = members[at + 1];
  const gapAfter = scanGap(text, endOf(member), next?.offset ?? endOf(container) - 1);
  const end = gapAfter.afterComma ?? endOf(member);
  const gapBefore = scanGap(text, before === undefined ? container.offset + 1 : endOf(before), member.offset);
  // A line comment before the member needs its line break, unless another one follows.
  const isEndNeeded = gapBefore.isLineComment && !/^[ \t]*[\r\n]/.test(text.slice(end));
  const start = isEndNeeded ? member.offset : beforeSpace(text, member.offset);
  if (before === undefined || gapAfter.afterComma !== undefined)
    return text.slice(0, start) + text.slice(end);
  // The last member has no comma; remove the comma of the previous one.
  const comma = (gapBefore.afterComma ?? start) - 1;
  return text.slice(0, comma) + text.slice(comma + 1, start) + text.slice(end);
}

/** Returns the node's end offset. */
export function endOf({ offset, length }: Node): number {
  return offset + length;
}

function layoutOf(text: string, top: Node): Layout {
  const first = top.children?.[0];
  const unit = first === undefined ? undefined : ownIndent(text, first.offset);
  return {
    lineEnd: lineBreak.exec(text)?.[0] ?? '\n',
    unit: unit === undefined || unit === '' ? '  ' : unit,
  };
}

/** Returns true if the container is on one line. An empty container is formatted like the whole text. */
function isOnOneLine(text: string, top: Node, container: Node): boolean {
  const containerText = text.slice(container.offset, endOf(container));
  if (lineBreak.test(containerText)) return false;
  if ((container.children ?? []).length > 0) return true;
  return (top.children ?? []).length > 0 && !lineBreak.test(text.slice(top.offset, endOf(top)));
}

/** Returns the indentation before an offset; undefined if other text precedes it on the line. */
function ownIndent(text: string, offset: number): string | undefined {
  const before = text.slice(lineStart(text, offset), offset);
  return /^[ \t]*$/.test(before) ? before : undefined;
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? '';
}

function lineStart(text: string, offset: number): number {
  return Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
}

/** Returns the offset without the spaces, and the line break, before it. */
function beforeSpace(text: string, offset: number): number {
  const [space = ''] = /(?:\r\n|\n|\r)?[ \t]*$/.exec(text.slice(0, offset)) ?? [];
  return offset - space.length;
}

function scanGap(text: string, from: number, to: number): Gap {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let afterComma: number | undefined;
  let end = from;
  let isLineComment = false;
  while (end < to) {
    scanner.scan();
    const at = scanner.getTokenOffset();
    const token = text.slice(at, at + scanner.getTokenLength());
    if (at >= to || token === '') break;
    if (token.trim() === '') continue;
    end = at + token.length;
    isLineComment = token.startsWith('//');
    if (token === ',') afterComma ??= end;
  }
  return { afterComma, end, isLineComment };
}
