// Rewrites Markdown tables as blocks of code with aligned columns, because chats show no tables. It runs
// before a text is split into messages: the later part of a table has no header, and would be no table.

import { inlineLines } from './inline-lines.ts';
import { labelAndAddress } from './link-text.ts';
import { chatTokensOf, type Token } from './parser.ts';
import type { TextSpan } from './span.ts';

/** Wider tables are not aligned, because screens break their lines. */
const MAX_WIDTH = 100;
const DELIMITER_ROW = /^[ \t|:-]*-[ \t|:-]*$/m;
/** East Asian characters and emoji, which take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Extended_Pictographic}/u;
const WITHOUT_WIDTH = /[\p{M}\p{Cf}]/u;

/** Returns the Markdown without tables. Tables in lists and quotations stay. */
export function tablesAsCode(markdown: string): string {
  if (!markdown.includes('|') || !DELIMITER_ROW.test(markdown)) return markdown;
  const text = markdown.replace(/\r\n?/g, '\n');
  const lines = text.split('\n');
  const tokens = chatTokensOf(text);
  const result: string[] = [];
  let copied = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'table_open' || token.level > 0) continue;
    const [from = 0, to = 0] = token.map ?? [];
    result.push(...lines.slice(copied, from), '```', ...tableLines(rowsFrom(tokens, index)), '```');
    copied = to;
  }
  return copied === 0 ? markdown : [...result, ...lines.slice(copied)].join('\n');
}

/** Returns the rows of the table that opens at the index. */
function rowsFrom(tokens: readonly Token[], index: number): readonly (readonly string[])[] {
  const rows: string[][] = [];
  for (let at = index; at < tokens.length && tokens[at]?.type !== 'table_close'; at += 1) {
    const token = tokens[at] as Token;
    if (token.type === 'tr_open') rows.push([]);
    if (token.type === 'inline') rows.at(-1)?.push(cellText(token));
  }
  return rows;
}

/** Returns the text of a cell without marks, on one line. Its backticks cannot close the block. */
function cellText({ children }: Token): string {
  const lines = inlineLines(children ?? [], []);
  return lines
    .map((spans) => spans.map(spanText).join(''))
    .join(' ')
    .replaceAll('`', 'ˋ');
}

const spanText = ({ text, href }: TextSpan) => (href === undefined ? text : labelAndAddress(text, href));

function tableLines(rows: readonly (readonly string[])[]): readonly string[] {
  const [head = [], ...others] = rows;
  const widths = head.map((_, column) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0),
  );
  const isAligned = widths.reduce((sum, width) => sum + width + 3, 0) <= MAX_WIDTH;
  const pad = (cell: string, column: number) =>
    isAligned ? cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)) : cell;
  const lineOf = (row: readonly string[]) => row.map(pad).join(' | ').trimEnd();
  const rule = isAligned ? [widths.map((width) => '-'.repeat(width)).join('-|-')] : [];
  return [lineOf(head), ...rule, ...others.map(lineOf)];
}

/** Returns the number of columns in a fixed-width font. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (WIDE.test(character)) width += 2;
    else if (!WITHOUT_WIDTH.test(character)) width += 1;
  }
  return width;
}
