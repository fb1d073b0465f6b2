// Puts a member into an object or a list of a JSON file with comments, and takes one out, without touching anything else:
// comments, trailing commas, order, indentation and line ends stay. Taking out what was put in gives the text as it was,
// but for an object or a list that was empty on one line.

import { createScanner, type Node } from 'jsonc-parser';

/** How the text is laid out, as far as new members have to fit in. */
interface Layout {
  readonly lineEnd: string;
  readonly unit: string;
}

interface Gap {
  /** Behind the comma; undefined where there is none. */
  readonly afterComma: number | undefined;
  /** Behind what stands last before the bracket or the next member: a comment, a comma, or the member before. */
  readonly end: number;
  /** What stands last runs to the end of its line. */
  readonly isLineComment: boolean;
}

const lineBreak = /\r\n|\n|\r/;

/** `key` is left out for a list. `top` is the value of the whole text. */
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

/** The text without one of the members of an object or a list. */
export function removeMember(text: string, container: Node, member: Node): string {
  const members = container.children ?? [];
  const at = members.indexOf(member);
  const before = members[at - 1];
  const next = members[at + 1];
  const own = scanGap(text, endOf(member), next?.offset ?? endOf(container) - 1);
  const end = own.afterComma ?? endOf(member);
  const gap = scanGap(text, before === undefined ? container.offset + 1 : endOf(before), member.offset);
  // The line break that ends a comment stays, unless another one follows.
  const isEndNeeded = gap.isLineComment && !/^[ \t]*[\r\n]/.test(text.slice(end));
  const start = isEndNeeded ? member.offset : beforeSpace(text, member.offset);
  if (before === undefined || own.afterComma !== undefined) return text.slice(0, start) + text.slice(end);
  // It was the last, without a comma of its own: the one before it goes with it.
  const comma = (gap.afterComma ?? start) - 1;
  return text.slice(0, comma) + text.slice(comma + 1, start) + text.slice(end);
}

/** Where the value of a property stands, or the element of a list itself. */
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

/** An empty container is laid out as the text around it. */
function isOnOneLine(text: string, top: Node, container: Node): boolean {
  const own = text.slice(container.offset, endOf(container));
  if (lineBreak.test(own)) return false;
  if ((container.children ?? []).length > 0) return true;
  return (top.children ?? []).length > 0 && !lineBreak.test(text.slice(top.offset, endOf(top)));
}

/** The space before a place when nothing else stands before it on its line. */
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

/** Back over the spaces before a place, and over one line break. */
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
