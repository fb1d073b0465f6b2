// Where things stand in the text of a catalog, and cutting it there. Positions are those of the tokens that the parser kept.

import { type CST, isCollection, isPair, isScalar, type Node, type Pair } from 'yaml';

/** `text` in the place of what stands between two positions. */
export interface Cut {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface Refusal {
  readonly refusal: string;
}

/** Cuts that do not overlap. */
export function cutText(text: string, cuts: readonly Cut[]): string {
  let result = text;
  for (const cut of [...cuts].sort((a, b) => b.start - a.start || b.end - a.end))
    result = result.slice(0, cut.start) + cut.text + result.slice(cut.end);
  return result;
}

export function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

export const lineBreakOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Where the next line begins. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** The white space at the beginning of the line. */
export function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at)))?.[0] ?? '';
}

const gaps = ['space', 'comment', 'newline', 'comma'];

/** The first character of the pair: of its key, or of what belongs to that. */
export function startOf(pair: Pair): number {
  const { start = [], key } = tokensOf(pair);
  return start.find(({ type }) => !gaps.includes(type))?.offset ?? key?.offset ?? 0;
}

/** Whether a comment stands between the pair and what is before it. */
export function hasCommentBefore(pair: Pair): boolean {
  return tokensOf(pair).start?.some(({ type }) => type === 'comment') === true;
}

/** Behind the colon, and behind an anchor or a tag of the value. */
export function colonEnd(pair: Pair): number {
  const last = tokensOf(pair).sep?.findLast(({ type }) => ['map-value-ind', 'anchor', 'tag'].includes(type));
  return last === undefined ? startOf(pair) : last.offset + last.source.length;
}

/** Behind the last character that belongs to the value; comments after it do not. */
export function endOf(pair: Pair): number {
  return Math.max(colonEnd(pair), endOfNode(pair.value));
}

function endOfNode(node: unknown): number {
  if (isPair(node)) return endOf(node);
  if (isCollection(node) && node.flow !== true && node.items.length > 0) return endOfNode(node.items.at(-1));
  return (node as Node | null)?.range?.[1] ?? 0;
}

function tokensOf(pair: Pair): Partial<CST.CollectionItem> {
  return (pair as Pair & { srcToken?: CST.CollectionItem }).srcToken ?? {};
}

/** From a line's beginning: past the comments that stand deeper than the column, and the empty lines before them. */
export function pastDeeperComments(text: string, from: number, column: number): number {
  let end = from;
  for (let at = from; at < text.length; at = lineEnd(text, at)) {
    const [, indent = '', begin] = /^([ \t]*)([^\s]?)/.exec(text.slice(at, lineEnd(text, at))) ?? [];
    if (begin === '') continue;
    if (begin !== '#' || indent.length <= column) break;
    end = lineEnd(text, at);
  }
  return end;
}
