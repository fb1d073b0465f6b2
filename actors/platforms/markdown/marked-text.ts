// Writes styled lines for chats whose markup consists of marks around words, such as *bold*.
//
// These chats have no escape character, and read a mark only at the border of a word. An invisible character
// separates a literal mark that would begin a style from its word, and a styled part of a word from the rest.

import type { TextSpan, TextStyle } from './span.ts';
import { type CodeBlock, isCode, type StyledLine } from './styled-lines.ts';

export interface MarkDialect {
  readonly marks: Readonly<Record<TextStyle, string>>;
  /** Escapes text, also in code. */
  escapeText(text: string): string;
  /** Writes a link. The label is not escaped yet. */
  link(label: string, href: string): string;
}

/** Zero width, no line break. */
const JOINER = '\u2060';
/** Zero width, separates words. */
const SEPARATOR = '\u200b';
const ADDRESS = /(https?:\/\/\S+)/i;
const ENDS_IN_WORD = /[\p{L}\p{N}]$/u;
const BEGINS_WITH_WORD = /^[\p{L}\p{N}]/u;
/** Literal marks that may begin a style. */
const BEGINNING_MARKS = /(?<![\p{L}\p{N}*_~`])([*_~`])\1*(?=[^\s*_~`])/gu;

export function markedText(lines: readonly StyledLine[], dialect: MarkDialect): string {
  return lines.map((line) => (isCode(line) ? blockText(line, dialect) : lineText(line, dialect))).join('\n');
}

function blockText({ code, info }: CodeBlock, { escapeText }: MarkDialect): string {
  const text = `${info.replaceAll('`', '')}\n${code.replaceAll('```', `\`${JOINER}\`${JOINER}\``)}`;
  return `\`\`\`${escapeText(text)}\n\`\`\``;
}

function lineText(spans: readonly TextSpan[], dialect: MarkDialect): string {
  const { marks } = dialect;
  const used = usedMarks(spans, dialect);
  let line = '';
  let open: readonly TextStyle[] = [];
  for (const { text, styles: all, href } of withWholeLinks(spans)) {
    // Code that contains a backtick cannot be marked.
    const styles = text.includes('`') ? all.filter((style) => style !== 'code') : all;
    let kept = 0;
    while (kept < open.length && open[kept] === styles[kept]) kept += 1;
    const closed = open.slice(kept);
    const opened = styles.slice(kept);
    for (const style of closed.toReversed()) line += marks[style];
    const isInWord =
      opened.length > 0 ? ENDS_IN_WORD.test(line) : closed.length > 0 && BEGINS_WITH_WORD.test(text);
    if (isInWord) line += SEPARATOR;
    for (const style of opened) line += marks[style];
    open = styles;
    if (href !== undefined) line += dialect.link(text, href);
    else line += dialect.escapeText(styles.includes('code') ? text : separateMarks(text, used));
  }
  for (const style of open.toReversed()) line += marks[style];
  return line;
}

/** Joins the spans of each link. A link has the styles of its first span. */
function withWholeLinks(spans: readonly TextSpan[]): readonly TextSpan[] {
  const joined: TextSpan[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last?.href !== undefined && last.href === span.href)
      joined.splice(-1, 1, { ...last, text: last.text + span.text });
    else joined.push(span);
  }
  return joined;
}

/** Returns the marks that occur at least twice in the line; a single one begins no style. */
function usedMarks(spans: readonly TextSpan[], { marks }: MarkDialect): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const count = (mark: string) => counts.set(mark, (counts.get(mark) ?? 0) + 1);
  for (const { text, styles } of spans) {
    for (const [mark] of text.matchAll(/[*_~`]/g)) count(mark);
    for (const style of styles) count(marks[style]);
  }
  return new Set([...counts].flatMap(([mark, times]) => (times > 1 ? [mark] : [])));
}

/** Separates literal marks that would begin a style. Addresses stay unchanged. */
function separateMarks(text: string, used: ReadonlySet<string>): string {
  if (used.size === 0) return text;
  const separate = (piece: string) =>
    piece.replace(BEGINNING_MARKS, (run, mark: string) => (used.has(mark) ? run + JOINER : run));
  return text
    .split(ADDRESS)
    .map((piece, index) => (index % 2 === 1 ? piece : separate(piece)))
    .join('');
}
