// Exact replacements in a text, as edit_file makes them.
//
// 1. Each old text must stand in the text exactly once; two places or none change nothing at all.
// 2. Line endings do not decide about a match, and outside of a match none is changed; a new text takes the endings of
//    what it replaces, or else of the file.

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { ToolError } from '../../tool-error.ts';
import { DIFF_MS, MAX_COUNTED_MATCHES, MAX_DIFF_CHARS } from '../limits.ts';
import { TimeSlices } from '../time-slices.ts';
import { LineEndedText, withLineFeeds } from './line-ended-text.ts';
import { placeOfLines, placesOf } from './text-search.ts';

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
}

/**
 * `before` with all of `edits` made in their order.
 * @throws ToolError when an old text is missing or ambiguous, or the same as its new text; the reason of `signal`
 */
export async function applyEdits(
  before: string,
  edits: readonly TextEdit[],
  signal: AbortSignal,
): Promise<string> {
  const text = new LineEndedText(before);
  const slices = new TimeSlices(signal);
  for (const [index, edit] of edits.entries()) {
    if (slices.isDue) await slices.next();
    replaceOnce(text, edit, index);
  }
  return text.toString();
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

function replaceOnce(text: LineEndedText, { oldText, newText }: TextEdit, index: number): void {
  const edit = `edit ${index + 1}`;
  const { flat } = text;
  const wanted = withLineFeeds(oldText);
  const places = placesOf(flat, wanted, MAX_COUNTED_MATCHES + 1);
  const [at] = places;
  if (at === undefined) throw new ToolError(missingOf(edit, flat, wanted, index > 0));
  if (places.length > 1) throw new ToolError(ambiguousOf(edit, flat, places));
  if (wanted === withLineFeeds(newText))
    throw new ToolError(`oldText and newText of ${edit} are the same. Nothing was changed. Leave it out.`);
  text.replace(at, at + wanted.length, newText);
}

function ambiguousOf(edit: string, flat: string, places: readonly number[]): string {
  const lines = places.slice(0, MAX_COUNTED_MATCHES).map((at) => lineOf(flat, at));
  const times = places.length > lines.length ? `more than ${lines.length}` : String(places.length);
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
  const found = placeOfLines(lines, sought);
  return found === undefined ? undefined : found + 1;
}

function lineOf(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
