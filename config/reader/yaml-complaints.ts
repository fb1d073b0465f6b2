// What the YAML package says of a text that is no YAML, in words of whoever wrote it: what is wrong there, and what to write
// instead. Most slips are few: tabs, steps of indentation, quotes, a colon in a value. What none of these is stays as the package
// says it, so that nothing is lost.
//
// YC1 (A9)  no complaint repeats text of the file: one sign of punctuation, the letter of an escape and counts of spaces excepted.

import type { YAMLError } from 'yaml';

type Fault = Pick<YAMLError, 'code' | 'message' | 'pos'>;

const quotesHint = 'put the value in quotes, if it is text';

/** The sentence for a person; `text` is the file's, and `openedOn` the line of the last bracket that is not closed. */
export function plainComplaint(text: string, { code, message, pos: [at] }: Fault, openedOn?: number): string {
  if (code === 'TAG_RESOLVE_FAILED') return `${message}; tags are not supported here`;
  if (code === 'NON_STRING_KEY') return 'a key must be plain text';
  return `YAML syntax: ${sayings[code]?.(text, at, message, openedOn) ?? itsOwn(code, message)}${referenceHint(text, at)}`;
}

/** What follows the colon may be text of the file. */
function itsOwn(code: Fault['code'], message: string): string {
  return code === 'UNEXPECTED_TOKEN' ? message.replace(/: .*$/s, '') : message;
}

function referenceHint(text: string, at: number): string {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  return /[[{,:]\s*\$\{/.test(text.slice(lineStart, at + 1))
    ? `; inside { } and [ ] a reference needs quotes: "\${NAME}"`
    : '';
}

type Saying = (text: string, at: number, message: string, openedOn?: number) => string | undefined;

const sayings: Readonly<Partial<Record<Fault['code'], Saying>>> = {
  TAB_AS_INDENT: () => 'a tab stands where YAML takes spaces only; indent with spaces, two for each level',
  BAD_SCALAR_START: (text, at) => `a value cannot begin with ${sign(text, at)}; ${quotesHint}`,
  BAD_ALIAS: () => `a value that begins with * is an alias in YAML, and this one has no name; ${quotesHint}`,
  BAD_DQ_ESCAPE: (text, at) =>
    `\\${sign(text, at + 1)} means nothing in double quotes; write \\\\ for a backslash, or use single quotes: 'C:\\folder'`,
  BAD_DIRECTIVE: () => 'a line that begins with % is for YAML itself; put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY: nestedMapping,
  MULTILINE_IMPLICIT_KEY: withoutColon,
  MISSING_CHAR: missingSign,
  BAD_INDENT: wrongIndent,
  UNEXPECTED_TOKEN: unexpected,
  BLOCK_IN_FLOW: () =>
    'inside { } and [ ] something is missing before this: a comma between two members, or a closing sign',
  MULTIPLE_ANCHORS: () => `two words begin with &, and a value has one anchor; ${quotesHint}`,
  ALIAS_PROPS: () => `what begins with * is an alias in YAML and takes nothing before it; ${quotesHint}`,
};

/** A value with `: ` in it, or a line that is indented below a value. */
function nestedMapping(text: string, at: number, message: string): string {
  if (/sequence/.test(message)) return MIXED;
  const line = lineAt(text, at);
  const rest = line.slice(at - lineStart(text, at));
  if (/:(?:\s|$)/.test(rest.replace(/(["'])(?:(?!\1).)*\1/g, '')))
    return 'a value that has a colon and a space in it needs quotes: key: "first: second"';
  return 'the line below is indented deeper, but this line has a value already; give both lines the same indentation, or leave the value away';
}

const MIXED =
  'items of a list (- item) and members of a mapping (key: value) stand side by side; a value is one or the other, and what belongs to an item is indented below it';

function withoutColon(text: string, at: number): string {
  const line = lineAt(text, at);
  if (/^\s*(?:- )?["']?[\w.-]+["']?:\S/.test(line))
    return 'a space is missing after the colon; write key: value';
  if (/^\s*(?:- )?(?:export )?[\w.-]+=/.test(line))
    return 'this is written as in a shell; write key: value, with a colon and a space';
  if (/^\s*-[^\s-]/.test(line)) return 'a space is missing after the dash; write - item';
  return 'this line has no colon; write key: value, or key: with what belongs to it indented below';
}

function missingSign(text: string, at: number, message: string, openedOn?: number): string | undefined {
  if (/quote/.test(message)) {
    const isDouble = message.includes('"');
    const inside = isDouble ? '\\" for one inside' : "'' for one inside";
    return `a text in ${isDouble ? 'double' : 'single'} quotes is not closed; write the closing ${isDouble ? '"' : "'"}, and ${inside}`;
  }
  if (/map keys? need/.test(message)) return withoutColon(text, at);
  if (/Missing ,/.test(message)) return 'a comma is missing between two members of { } or [ ]';
  if (/Comments must/.test(message))
    return 'a space is missing before the #, or the value with a # needs quotes';
  return unclosed(message, openedOn);
}

/** Also where a bracket was left open, and the next line is not indented. */
function wrongIndent(text: string, at: number, message: string, openedOn?: number): string | undefined {
  const open = unclosed(message, openedOn);
  if (open !== undefined) return open;
  const spaces = indentOf(lineAt(text, at));
  const above = linesAbove(text, at);
  const same = above.find((line) => indentOf(line) <= spaces);
  if (same !== undefined && indentOf(same) === spaces && isItem(same) !== isItem(lineAt(text, at)))
    return MIXED;
  const levels = levelsOf(above).filter((level) => level !== spaces);
  if (levels.length === 0) return undefined;
  const wanted =
    levels.length === 1 ? `${levels[0]}` : `${levels.slice(0, -1).join(', ')} or ${levels.at(-1)}`;
  return `this line begins with ${spaces} spaces, which is no level of what stands above; write ${wanted}, as the lines it belongs to`;
}

function unclosed(message: string, openedOn: number | undefined): string | undefined {
  const sign = /[\]}](?=\.?$)/.exec(message)?.[0];
  if (sign === undefined) return undefined;
  const opening = sign === ']' ? '[' : '{';
  const where = openedOn === undefined ? `a ${opening} above` : `the ${opening} of line ${openedOn}`;
  return `${where} is not closed; write the ${sign} that is missing`;
}

function unexpected(text: string, at: number, message: string): string | undefined {
  const before = text.slice(lineStart(text, at), at).trimEnd().at(-1) ?? '';
  if (/block-seq-ind on same line/.test(message))
    return 'a list begins below its key; write each - item on a line of its own';
  if (/flow-(?:seq|map)-end/.test(message)) return `a ${sign(text, at)} closes nothing; ${quotesHint}`;
  if (/block.?scalar|Not a YAML token/i.test(message))
    return 'after | or > the line ends; the text begins on the next line, indented';
  if (/at node end/.test(message) && /["']/.test(before))
    return `the value goes on after its closing quote; put all of it in quotes, and write ${before === '"' ? '\\"' : "''"} for a quote inside`;
  if (/at node end/.test(message) && /[\]}]/.test(before))
    return `something stands after the closing ${before}; put the whole value in quotes, if it is text`;
  return undefined;
}

function sign(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0x20);
  return /\s/.test(character) ? 'this' : character;
}

const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

function lineAt(text: string, at: number): string {
  const start = lineStart(text, at);
  const end = text.indexOf('\n', start);
  return text.slice(start, end === -1 ? undefined : end);
}

const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;

const isItem = (line: string): boolean => /^\s*-(?:\s|$)/.test(line);

/** Enough for any file that a person indents. */
const MOST_LINES = 200;

/** With something in them, the nearest first. */
function linesAbove(text: string, at: number): string[] {
  const start = lineStart(text, at);
  const near = text
    .slice(Math.max(0, start - MOST_LINES * 100), start)
    .split('\n')
    .slice(-MOST_LINES - 1, -1);
  return near.filter((line) => !/^\s*(?:#.*)?$/.test(line)).reverse();
}

/** The steps of indentation that are open where a text ends, the deepest first. */
function levelsOf(above: readonly string[]): number[] {
  const levels: number[] = [];
  for (const line of above) {
    const indent = indentOf(line);
    if (indent < (levels.at(-1) ?? Number.POSITIVE_INFINITY)) levels.push(indent);
  }
  return levels;
}
