// Parses Markdown with markdown-it: CommonMark with tables, strikethrough and bare addresses as links, in
// linear time. Text that a page would hide stays visible:
//
// - HTML is text, except `<br>`, which is a line break.
// - A link definition is dropped if used; otherwise it becomes text.
// - Text nested deeper than MAX_LEVEL is not parsed, because the parser would drop it.
// - Cells after the last column are appended to the last cell.
//
// Messages for chats are often plain text with indentation and underlines. There, only fences begin code, and
// only `#` begins a heading. Bare addresses stay text, which chats turn into links.

import MarkdownIt, { type StateBlock, type StateCore, type StateInline, type Token } from 'markdown-it';

/**
 * Maximum nesting in parser levels, well below the parser's own limit. A quotation adds one level, a list
 * two.
 */
const MAX_LEVEL = 30;
const DEFINITION =
  /^ {0,3}\[([^\][]{1,200})\]: *<?(https?:\/\/[^\s<>]+|mailto:[^\s<>]+)>?(?: +"([^"\n]*)")? *$/i;
const COLON = 0x3a;
const ADDRESS_REST = /:\/\/[^\s<>\]`|\\]+/y;
const BREAK = /<br ?\/?>/iy;

const parser = makeParser(true);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.linkify.add('ftp:', null).add('//', null).add('mailto:', null);
const chatParser = makeParser(false).disable(['code', 'lheading']);
chatParser.inline.ruler.before('text', 'address', parseAddress);

export type { Token };

/** Returns the text's tokens. Never throws. */
export function tokensOf(text: string): readonly Token[] {
  return parser.parse(text, { used: usedLabels(text) });
}

/** Returns the tokens of a message for a chat. Never throws. */
export function chatTokensOf(text: string): readonly Token[] {
  return chatParser.parse(text, { used: usedLabels(text) });
}

function makeParser(linkify: boolean): InstanceType<typeof MarkdownIt> {
  // The renderers restrict the addresses of links; the parser accepts all.
  const made = Object.assign(new MarkdownIt({ html: false, linkify }), { validateLink: () => true });
  made.block.ruler.at('reference', parseDefinition);
  made.block.ruler.before('table', 'too-deep', parseTooDeep);
  made.inline.ruler.before('autolink', 'break', parseLineBreak);
  made.core.ruler.after('block', 'excess-cells', joinExcessCells);
  return made;
}

/** Decodes an address for display. */
export const readableAddress = (href: string): string => parser.normalizeLinkText(href);

/** Returns the labels in brackets that are used, not only defined. */
function usedLabels(text: string): ReadonlySet<string> {
  if (!text.includes(']:')) return new Set();
  const labels = text.matchAll(/\[([^\][]{1,200})\](?!:)/g);
  return new Set([...labels].map(([, label = '']) => parser.utils.normalizeReference(label)));
}

function parseDefinition(state: StateBlock, startLine: number, _: number, isSilent: boolean): boolean {
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

function parseTooDeep(state: StateBlock, startLine: number, endLine: number, isSilent: boolean): boolean {
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

function joinExcessCells({ tokens, src }: StateCore): void {
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
      const excess = splitCells(lines[rowLine] ?? '').slice(cells.length);
      const last = cells.at(-1) as Token;
      if (excess.length > 0) last.content = [last.content, ...excess].join(' | ');
    }
  }
}

/** Splits a table row, also inside a quotation. */
function splitCells(line: string): readonly string[] {
  const row = line.replace(/^[\s>]+/, '').trim();
  const cells = row.split(/(?<!\\)\|/);
  if (cells[0] === '') cells.shift();
  if (cells.at(-1) === '') cells.pop();
  return cells.map((each) => each.replaceAll('\\|', '|').trim());
}

const lineBegin = ({ bMarks, tShift }: StateBlock, line: number) => (bMarks[line] ?? 0) + (tShift[line] ?? 0);

/** Keeps a bare address as text, because its underscores and asterisks are no marks. */
function parseAddress(state: StateInline, isSilent: boolean): boolean {
  const { src, pos } = state;
  if (src.charCodeAt(pos) !== COLON || !/https?$/i.test(src.slice(Math.max(0, pos - 5), pos))) return false;
  ADDRESS_REST.lastIndex = pos;
  const rest = ADDRESS_REST.exec(src)?.[0].replace(/[*_~.,;:!?'")]+$/, '') ?? '';
  if (rest.length < 4) return false;
  if (!isSilent) state.pending += rest;
  state.pos += rest.length;
  return true;
}

function parseLineBreak(state: StateInline, isSilent: boolean): boolean {
  BREAK.lastIndex = state.pos;
  const [tag] = BREAK.exec(state.src) ?? [];
  if (tag === undefined) return false;
  if (!isSilent) state.push('hardbreak', 'br', 0);
  state.pos += tag.length;
  return true;
}
