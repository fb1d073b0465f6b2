// Markdown as agents write it, read by markdown-it: CommonMark with tables and strikethrough, and bare addresses as links. The
// parser takes time in proportion to the text, whatever the text is. What it would leave out, since no page shows it, is kept:
//
// MD1  HTML is text; `<br>`, as it stands in cells of tables, is the end of a line.
// MD2  a line that defines a link is left out where the link is used, and is text otherwise.
// MD3  what is nested deeper than anybody nests is text as it was written: the parser would drop it.
// MD4  cells beyond the last column of a table stand in its last cell.

import MarkdownIt, { type StateBlock, type StateCore, type StateInline, type Token } from 'markdown-it';

/** Of the parser's levels: a quotation is one of them, a list two. Well below those at which the parser gives up. */
const MAX_LEVEL = 30;
const DEFINITION =
  /^ {0,3}\[([^\][]{1,200})\]: *<?(https?:\/\/[^\s<>]+|mailto:[^\s<>]+)>?(?: +"([^"\n]*)")? *$/i;
const BREAK = /<br ?\/?>/iy;

const parser = new MarkdownIt({ html: false, linkify: true });
// Which addresses become links is decided where they are written.
parser.validateLink = () => true;
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.linkify.add('ftp:', null).add('//', null).add('mailto:', null);
parser.block.ruler.at('reference', definition);
parser.block.ruler.before('table', 'too-deep', tooDeep);
parser.inline.ruler.before('autolink', 'break', lineBreak);
parser.core.ruler.after('block', 'excess-cells', excessCells);

export type { Token };

/** Throws nothing. */
export function tokensOf(text: string): readonly Token[] {
  return parser.parse(text, { used: usedLabels(text) });
}

/** An address as people read it. */
export const shownAddress = (href: string): string => parser.normalizeLinkText(href);

/** What stands in brackets and is not defined there. */
function usedLabels(text: string): ReadonlySet<string> {
  if (!text.includes(']:')) return new Set();
  const labels = text.matchAll(/\[([^\][]{1,200})\](?!:)/g);
  return new Set([...labels].map(([, label = '']) => parser.utils.normalizeReference(label)));
}

function definition(state: StateBlock, startLine: number, _: number, isSilent: boolean): boolean {
  const line = state.src.slice(lineBegin(state, startLine), state.eMarks[startLine]);
  const [, label = '', address = '', title = ''] = DEFINITION.exec(line) ?? [];
  const name = parser.utils.normalizeReference(label);
  const env = state.env as {
    readonly used?: ReadonlySet<string>;
    references?: Record<string, { title: string; href: string }>;
  };
  if (name === '' || env.used?.has(name) !== true || env.references?.[name] !== undefined) return false;
  if (isSilent) return true;
  env.references ??= {};
  env.references[name] = { title, href: parser.normalizeLink(address) };
  state.line = startLine + 1;
  return true;
}

function tooDeep(state: StateBlock, startLine: number, endLine: number, isSilent: boolean): boolean {
  if (state.level < MAX_LEVEL || isSilent) return false;
  let end = startLine + 1;
  while (end < endLine && (state.isEmpty(end) || (state.sCount[end] ?? 0) >= state.blkIndent)) end += 1;
  state.push('paragraph_open', 'p', 1);
  const inline = state.push('inline', '', 0);
  inline.content = state.getLines(startLine, end, state.blkIndent, false).trim();
  inline.children = [];
  state.push('paragraph_close', 'p', -1);
  state.line = end;
  return true;
}

function excessCells({ tokens, src }: StateCore): void {
  let lines: readonly string[] | undefined;
  let rowLine = 0;
  let cells: Token[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'tr_open') {
      rowLine = token.map?.[0] ?? 0;
      cells = [];
    } else if (token.type === 'td_open') cells.push(tokens[i + 1] as Token);
    else if (token.type === 'tr_close' && cells.length > 0) {
      lines ??= src.split('\n');
      const excess = writtenCells(lines[rowLine] ?? '').slice(cells.length);
      const last = cells.at(-1) as Token;
      if (excess.length > 0) last.content = [last.content, ...excess].join(' | ');
    }
  }
}

/** Of a line of a table's body, within quotations or not. */
function writtenCells(line: string): readonly string[] {
  const row = line.replace(/^[\s>]+/, '').trim();
  const cells = row.split(/(?<!\\)\|/);
  if (cells[0] === '') cells.shift();
  if (cells.at(-1) === '') cells.pop();
  return cells.map((each) => each.replaceAll('\\|', '|').trim());
}

const lineBegin = ({ bMarks, tShift }: StateBlock, line: number) => (bMarks[line] ?? 0) + (tShift[line] ?? 0);

function lineBreak(state: StateInline, isSilent: boolean): boolean {
  BREAK.lastIndex = state.pos;
  const [found] = BREAK.exec(state.src) ?? [];
  if (found === undefined) return false;
  if (!isSilent) state.push('hardbreak', 'br', 0);
  state.pos += found.length;
  return true;
}
