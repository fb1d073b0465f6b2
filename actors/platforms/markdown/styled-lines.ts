// Converts the Markdown of a message into lines of styled text, which a chat writes in its dialect.
//
// Lines keep their order and indentation; only constructs change. A heading is a bold line, and a list item
// begins with a bullet. Everything that is no construct is text, so no text is lost.

import { inlineLines } from './inline-lines.ts';
import { chatTokensOf, type Token } from './parser.ts';
import type { TextSpan } from './span.ts';

export interface CodeBlock {
  readonly code: string;
  /** Text after the opening marks, such as a language. */
  readonly info: string;
}

export type StyledLine = readonly TextSpan[] | CodeBlock;

const RULE = '———';

export const isCode = (line: StyledLine): line is CodeBlock => 'code' in line;

const literal = (text: string): TextSpan => ({ text, styles: [] });

/** Returns the lines of plain text. */
export const plainLines = (text: string): readonly StyledLine[] =>
  text.split('\n').map((line) => [literal(line)]);

/** Returns the lines of a message. Never throws. */
export function styledLines(markdown: string): readonly StyledLine[] {
  const text = markdown.replace(/\r\n?/g, '\n');
  const source = text.split('\n');
  const constructs = constructsIn(chatTokensOf(text), source);
  const lines: StyledLine[] = [];
  for (let at = 0; at < source.length; ) {
    const construct = constructs.get(at);
    lines.push(...(construct?.lines ?? [[literal(source[at] ?? '')]]));
    at = Math.max(at + 1, construct?.to ?? 0);
  }
  return lines;
}

interface Construct {
  readonly lines: readonly StyledLine[];
  /** First source line after the construct. */
  readonly to: number;
}

/** Returns the constructs by their first source line. */
function constructsIn(tokens: readonly Token[], source: readonly string[]): ReadonlyMap<number, Construct> {
  const constructs = new Map<number, Construct>();
  for (const [index, token] of tokens.entries()) {
    const [from, to] = token.map ?? [];
    if (from === undefined || to === undefined) continue;
    const lines = linesOf(token, tokens[index - 1]?.type === 'heading_open', source.slice(from, to));
    if (lines !== undefined) constructs.set(from, { lines, to });
  }
  return constructs;
}

function linesOf(
  { type, content, children, info }: Token,
  isHeading: boolean,
  source: readonly string[],
): readonly StyledLine[] | undefined {
  if (type === 'fence') return [{ code: content.replace(/\n$/, ''), info: info.trim() }];
  if (type === 'hr') return [[literal(RULE)]];
  if (type !== 'inline') return undefined;
  const prefixes = prefixesOf(content, source);
  return inlineLines(children ?? [], isHeading ? ['bold'] : []).map((spans, index) => {
    const prefix = prefixes[index] ?? '';
    return prefix === '' ? spans : [literal(prefix), ...spans];
  });
}

/** Returns the part of each source line before its text: indentation, list marker, quotation mark. */
function prefixesOf(content: string, source: readonly string[]): readonly string[] {
  return content.split('\n').map((line, index) => {
    const whole = source[index] ?? '';
    return whole
      .slice(0, Math.max(0, whole.lastIndexOf(line.trim())))
      .replace(/#{1,6}[ \t]+$/, '')
      .replace(/^([\s>]*)[-*+](?=\s)/, '$1•');
  });
}
