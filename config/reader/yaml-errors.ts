// Translates YAML syntax errors into messages with a remedy. Most mistakes are tabs, indentation, quotes, or
// a colon in a value. Other errors keep the package's message.
//
// Messages do not contain text of the file (A9, ARCHITECTURE.md), except one punctuation character, an escape
// letter and counts of spaces.

import type { YAMLError } from 'yaml';

type YamlFault = Pick<YAMLError, 'code' | 'message' | 'pos'>;

const quotesHint = 'put the value in quotes, if it is text';

/** Returns the message; `text` is the file's text, `openedOn` the line of the last unclosed bracket. */
export function syntaxMessage(
  text: string,
  { code, message, pos: [offset] }: YamlFault,
  openedOn?: number,
): string {
  if (code === 'TAG_RESOLVE_FAILED')
    return `a value that begins with ! is a tag in YAML, and tags are not supported here; ${quotesHint}`;
  if (code === 'NON_STRING_KEY') return 'a key must be plain text';
  return `YAML syntax: ${messages[code]?.(text, offset, message, openedOn) ?? packageMessage(code, message)}${referenceHint(text, offset)}`;
}

/** Returns the package's message without the text after the colon, if it may be from the file. */
function packageMessage(code: YamlFault['code'], message: string): string {
  return code === 'UNEXPECTED_TOKEN' ? message.replace(/: .*$/s, '') : message;
}

/** Returns a hint about `${NAME}` without quotes in { } or [ ], where YAML reads its braces; '' otherwise. */
function referenceHint(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  return /[[{,:]\s*\$\{/.test(text.slice(lineStart, offset + 1))
    ? `; inside { } and [ ] a reference needs quotes: "\${NAME}"`
    : '';
}

type MessageWriter = (text: string, offset: number, message: string, openedOn?: number) => string | undefined;

const messages: Readonly<Partial<Record<YamlFault['code'], MessageWriter>>> = {
  TAB_AS_INDENT: () => 'indented with a tab; indent with spaces, two for each level',
  BAD_SCALAR_START: (text, offset) => `a value cannot begin with ${sign(text, offset)}; ${quotesHint}`,
  BAD_ALIAS: () => `a value that begins with * is an alias in YAML, and the name is missing; ${quotesHint}`,
  BAD_DQ_ESCAPE: (text, offset) =>
    `\\${sign(text, offset + 1)} is not an escape sequence; write \\\\ for a backslash, or use single quotes: 'C:\\folder'`,
  BAD_DIRECTIVE: () => 'a line that begins with % is a YAML directive; put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY: nestedMapping,
  MULTILINE_IMPLICIT_KEY: withoutColon,
  MISSING_CHAR: missingSign,
  BAD_INDENT: wrongIndent,
  UNEXPECTED_TOKEN: unexpected,
  BLOCK_IN_FLOW: () => 'a comma or a closing bracket is missing before this, inside { } or [ ]',
  MULTIPLE_ANCHORS: () => `two anchors (&) for the same value; ${quotesHint}`,
  ALIAS_PROPS: () =>
    `a value that begins with * is an alias in YAML, and nothing may precede it; ${quotesHint}`,
};

/** Explains a value that contains `: `, or a line that is indented below a value. */
function nestedMapping(text: string, offset: number, message: string): string {
  if (/sequence/.test(message)) return MIXED_COLLECTION_FAULT;
  const line = lineAt(text, offset);
  const rest = line.slice(offset - lineStart(text, offset));
  if (/:(?:\s|$)/.test(rest.replace(/(["'])(?:(?!\1).)*\1/g, '')))
    return 'a value that contains a colon and a space needs quotes: key: "first: second"';
  return 'the next line is indented deeper, but this line already has a value; use the same indentation, or remove the value';
}

const MIXED_COLLECTION_FAULT =
  'list items (- item) and mapping members (key: value) are mixed; use one kind, and indent the content of an item below it';

function withoutColon(text: string, offset: number): string {
  const line = lineAt(text, offset);
  if (/^\s*(?:- )?["']?[\w.-]+["']?:\S/.test(line))
    return 'a space is missing after the colon; write key: value';
  if (/^\s*(?:- )?(?:export )?[\w.-]+=/.test(line))
    return 'this is shell syntax; write key: value, with a colon and a space';
  if (/^\s*-[^\s-]/.test(line)) return 'a space is missing after the dash; write - item';
  return 'this line has no colon; write key: value, or key: with its content indented below';
}

function missingSign(text: string, offset: number, message: string, openedOn?: number): string | undefined {
  if (/quote/.test(message)) {
    const isDouble = message.includes('"');
    const inside = isDouble ? '\\" for a quote inside' : "'' for a quote inside";
    return `a text in ${isDouble ? 'double' : 'single'} quotes is not closed; write the closing ${isDouble ? '"' : "'"}, and ${inside}`;
  }
  if (/map keys? need/.test(message)) return withoutColon(text, offset);
  if (/Missing ,/.test(message)) return 'a comma is missing between two members of { } or [ ]';
  if (/Comments must/.test(message))
    return 'a space is missing before the #, or the value with a # needs quotes';
  return unclosed(message, openedOn);
}

/**
 * Explains wrong indentation. The package also reports this error if an unclosed bracket precedes a line
 * without indentation.
 */
function wrongIndent(text: string, offset: number, message: string, openedOn?: number): string | undefined {
  const open = unclosed(message, openedOn);
  if (open !== undefined) return open;
  const spaces = indentOf(lineAt(text, offset));
  const above = linesAbove(text, offset);
  const outer = above.find((line) => indentOf(line) <= spaces);
  // The nearest line that is not deeper has the same indentation, but is of the other kind.
  if (outer !== undefined && indentOf(outer) === spaces && isItem(outer) !== isItem(lineAt(text, offset)))
    return MIXED_COLLECTION_FAULT;
  const levels = levelsOf(above).filter((level) => level !== spaces);
  if (levels.length === 0) return undefined;
  const wanted =
    levels.length === 1 ? `${levels[0]}` : `${levels.slice(0, -1).join(', ')} or ${levels.at(-1)}`;
  return `this line is indented by ${spaces} spaces, which matches no level above; indent it by ${wanted}`;
}

function unclosed(message: string, openedOn: number | undefined): string | undefined {
  const sign = /[\]}](?=\.?$)/.exec(message)?.[0];
  if (sign === undefined) return undefined;
  const opening = sign === ']' ? '[' : '{';
  const where = openedOn === undefined ? `a ${opening} above` : `the ${opening} of line ${openedOn}`;
  return `${where} is not closed; add the missing ${sign}`;
}

function unexpected(text: string, offset: number, message: string): string | undefined {
  const before = text.slice(lineStart(text, offset), offset).trimEnd().at(-1) ?? '';
  if (/block-seq-ind on same line/.test(message))
    return 'a list must begin below its key; write each - item on a separate line';
  if (/flow-(?:seq|map)-end/.test(message))
    return `a ${sign(text, offset)} without an opening bracket; ${quotesHint}`;
  if (/block.?scalar|Not a YAML token/i.test(message))
    return 'text after | or > must begin on the next line, indented';
  if (/at node end/.test(message) && /["']/.test(before))
    return `the value continues after its closing quote; put the whole value in quotes, and write ${before === '"' ? '\\"' : "''"} for a quote inside`;
  if (/at node end/.test(message) && /[\]}]/.test(before))
    return `unexpected text after the closing ${before}; put the whole value in quotes, if it is text`;
  return undefined;
}

function sign(text: string, offset: number): string {
  const character = String.fromCodePoint(text.codePointAt(offset) ?? 0x20);
  return /\s/.test(character) ? 'this' : character;
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

function lineAt(text: string, offset: number): string {
  const start = lineStart(text, offset);
  const end = text.indexOf('\n', start);
  return text.slice(start, end === -1 ? undefined : end);
}

const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;

const isItem = (line: string): boolean => /^\s*-(?:\s|$)/.test(line);

/** Maximum number of lines above that are compared: enough for manually indented files. */
const MAX_LINES_ABOVE = 200;
/** Assumed length of these lines, in characters, so that only a part of a long file is split into lines. */
const MAX_LINE_CHARS = 100;

/** Returns the non-empty lines above, nearest first. */
function linesAbove(text: string, offset: number): string[] {
  const start = lineStart(text, offset);
  const near = text
    .slice(Math.max(0, start - MAX_LINES_ABOVE * MAX_LINE_CHARS), start)
    .split('\n')
    .slice(-MAX_LINES_ABOVE - 1, -1);
  return near.filter((line) => !/^\s*(?:#.*)?$/.test(line)).reverse();
}

/** Returns the indentations that the next line may have, deepest first. The nearest line above is first. */
function levelsOf(above: readonly string[]): number[] {
  const levels: number[] = [];
  for (const line of above) {
    const indent = indentOf(line);
    if (indent < (levels.at(-1) ?? Number.POSITIVE_INFINITY)) levels.push(indent);
  }
  return levels;
}
