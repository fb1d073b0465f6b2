// Functions for edits that change only a part of a catalog's text, and keep its formatting and comments
// (edit-catalog.ts). An edit is a list of replacements at positions, which come from the parser's tokens.

import { type CST, isCollection, isPair, isScalar, type Node, type Pair } from 'yaml';

/** Replaces the text between two positions. */
export interface TextReplacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface EditRefusal {
  /** Reason why the file is not edited. */
  readonly refusal: string;
}

/** Applies the replacements, which must not overlap. */
export function applyReplacements(text: string, replacements: readonly TextReplacement[]): string {
  let result = text;
  // Replacements are applied from the end, so that earlier positions stay valid. An insertion at the start of
  // another replacement is applied after it.
  for (const { start, end, text } of [...replacements].sort((a, b) => b.start - a.start || b.end - a.end))
    result = result.slice(0, start) + text + result.slice(end);
  return result;
}

export function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

export const lineBreakOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Returns the end of the line, including its line break. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** Returns the leading white space of the line. */
export function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at)))?.[0] ?? '';
}

/** Types of tokens before a pair that do not belong to it. */
const gaps = ['space', 'comment', 'newline', 'comma'];

/** Returns the start of the pair: its key, or the key's anchor or tag. */
export function startOf(pair: Pair): number {
  const { start = [], key } = tokensOf(pair);
  return start.find(({ type }) => !gaps.includes(type))?.offset ?? key?.offset ?? 0;
}

/** Returns true if a comment precedes the pair. */
export function hasCommentBefore(pair: Pair): boolean {
  return tokensOf(pair).start?.some(({ type }) => type === 'comment') === true;
}

/** Returns the position after the colon, and after an anchor or tag of the value. */
export function colonEnd(pair: Pair): number {
  const last = tokensOf(pair).sep?.findLast(({ type }) => ['map-value-ind', 'anchor', 'tag'].includes(type));
  return last === undefined ? startOf(pair) : last.offset + last.source.length;
}

/** Returns the end of the value, without comments after it. */
export function endOf(pair: Pair): number {
  return Math.max(colonEnd(pair), endOfNode(pair.value));
}

/** The range of a block collection includes the comments after it, so the end of its last item counts. */
function endOfNode(node: unknown): number {
  if (isPair(node)) return endOf(node);
  if (isCollection(node) && node.flow !== true && node.items.length > 0) return endOfNode(node.items.at(-1));
  return (node as Node | null)?.range?.[1] ?? 0;
}

/** Returns the pair's tokens, which the parser adds with the option `keepSourceTokens`. */
function tokensOf(pair: Pair): Partial<CST.CollectionItem> {
  return (pair as Pair & { srcToken?: CST.CollectionItem }).srcToken ?? {};
}

/**
 * Skips comments that are indented deeper than `column`, and the empty lines before them. `from` is the start
 * of a line; returns the start of a later line.
 */
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
