// Exact replacements in a text, as edit_file makes them.
//
// 1. Each old text must stand in the text exactly once; two places or none change nothing at all.
// 2. Line endings do not decide about a match, and outside of a match none is changed; a new text takes the endings of
//    what it replaces, or else of the file.

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { ToolError } from '../tool-error.ts';
import { DIFF_MS, MAX_DIFF_CHARS } from './limits.ts';

const MAX_COUNTED_MATCHES = 20;

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
}

/**
 * `before` with all of `edits` made in their order.
 * @throws ToolError when an old text is missing or ambiguous, or an edit changes nothing
 */
export function applyEdits(before: string, edits: readonly TextEdit[]): string {
  let text = before;
  for (const [index, edit] of edits.entries()) text = replaceOnce(text, edit, index);
  return text;
}

/** A unified diff with three lines around each change; says so when there is none, or when it is too long. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return `The edits leave ${path} as it is.`;
  const options = { context: 3, timeout: DIFF_MS, headerOptions: FILE_HEADERS_ONLY };
  const diff = createTwoFilesPatch(path, path, before, after, undefined, undefined, options);
  if (diff === undefined) return `The changes of ${path} are too many to show as a diff.`;
  if (diff.length <= MAX_DIFF_CHARS) return diff;
  return `${diff.slice(0, MAX_DIFF_CHARS)}\n(the diff has ${diff.length} characters; the rest is left out)`;
}

function replaceOnce(text: string, { oldText, newText }: TextEdit, index: number): string {
  const edit = `edit ${index + 1}`;
  const flat = withLineFeeds(text);
  const wanted = withLineFeeds(oldText);
  const at = flat.indexOf(wanted);
  if (at < 0) throw new ToolError(missingOf(edit, flat, wanted, index > 0));
  if (flat.indexOf(wanted, at + 1) >= 0) throw new ToolError(ambiguousOf(edit, flat, wanted));
  if (wanted === withLineFeeds(newText))
    throw new ToolError(`oldText and newText of ${edit} are the same. Nothing was changed. Leave it out.`);
  const start = positionIn(text, at);
  const end = positionIn(text, at + wanted.length);
  const ending = endingOf(text.slice(start, end)) ?? endingOf(text);
  const replacement = ending === undefined ? newText : withLineFeeds(newText).replaceAll('\n', ending);
  return text.slice(0, start) + replacement + text.slice(end);
}

function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** The first line ending; undefined in a text of one line. */
function endingOf(text: string): '\n' | '\r\n' | undefined {
  const feed = text.indexOf('\n');
  if (feed < 0) return undefined;
  return text[feed - 1] === '\r' ? '\r\n' : '\n';
}

/** Where a position in `withLineFeeds(text)` is in `text`. */
function positionIn(text: string, flatPosition: number): number {
  let dropped = 0;
  for (
    let at = text.indexOf('\r\n');
    at >= 0 && at - dropped < flatPosition;
    at = text.indexOf('\r\n', at + 2)
  )
    dropped++;
  return flatPosition + dropped;
}

function ambiguousOf(edit: string, flat: string, wanted: string): string {
  const lines: number[] = [];
  let count = 0;
  for (let at = flat.indexOf(wanted); at >= 0; at = flat.indexOf(wanted, at + 1)) {
    if (++count <= MAX_COUNTED_MATCHES) lines.push(lineOf(flat, at));
    else break;
  }
  const times = count > MAX_COUNTED_MATCHES ? `more than ${MAX_COUNTED_MATCHES}` : String(count);
  return `oldText of ${edit} is found ${times} times (lines ${lines.join(', ')}). Nothing was changed. Give more of the text around it, so that it is found once.`;
}

function missingOf(edit: string, flat: string, wanted: string, isLater: boolean): string {
  const line = looseLineOf(flat, wanted);
  const hint =
    line === undefined
      ? 'Read the file again and copy the text exactly.'
      : `The text from line ${line} on differs in white space only: copy its indentation exactly.`;
  const after = isLater ? ' after the edits before it' : '';
  return `oldText of ${edit} is not found${after}. Nothing was changed. ${hint}`;
}

/** The line from which on the text is like `wanted` but for white space around its lines. */
function looseLineOf(flat: string, wanted: string): number | undefined {
  const lines = flat.split('\n').map((line) => line.trim());
  const sought = wanted
    .trim()
    .split('\n')
    .map((line) => line.trim());
  if (sought.every((line) => line === '')) return undefined;
  const found = lines.findIndex((_, start) => sought.every((line, index) => lines[start + index] === line));
  return found < 0 ? undefined : found + 1;
}

function lineOf(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
