// Exact text replacements for edit_file.
//
// 1. Each old text must occur exactly once; otherwise the file stays unchanged.
// 2. Matching ignores the kind of line endings. Text outside the matches stays unchanged. New text gets the
//    line endings of the replaced text, otherwise of the file.

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { ToolError } from '../../tool-error.ts';
import { DIFF_MS, MAX_COUNTED_MATCHES, MAX_DIFF_CHARS } from '../limits.ts';
import { TimeSlices } from '../time-slices.ts';
import { LineEndedText, withLineFeeds } from './line-ended-text.ts';
import { findLines, findOccurrences } from './search.ts';

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
}

/**
 * Applies all edits in order and returns the result.
 * @throws ToolError if an old text is missing, ambiguous or equal to its new text; the reason of `signal`
 */
export async function applyEdits(
  before: string,
  edits: readonly TextEdit[],
  signal: AbortSignal,
): Promise<string> {
  const text = new LineEndedText(before);
  const slices = new TimeSlices(signal);
  for (const [index, edit] of edits.entries()) {
    if (slices.isDue) await slices.pause();
    replaceOnce(text, edit, index);
  }
  return text.toString();
}

/**
 * Returns a unified diff with three lines of context, or a note instead if the diff is empty or too large.
 */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return `The edits do not change ${path}.`;
  const options = { context: 3, timeout: DIFF_MS, headerOptions: FILE_HEADERS_ONLY };
  const diff = createTwoFilesPatch(path, path, before, after, undefined, undefined, options);
  if (diff === undefined) return `There are too many changes in ${path} to show a diff.`;
  if (diff.length <= MAX_DIFF_CHARS) return diff;
  return `${diff.slice(0, MAX_DIFF_CHARS)}\n(the diff has ${diff.length} characters; the rest is omitted)`;
}

function replaceOnce(text: LineEndedText, { oldText, newText }: TextEdit, index: number): void {
  const edit = `edit ${index + 1}`;
  const { flat } = text;
  const pattern = withLineFeeds(oldText);
  const positions = findOccurrences(flat, pattern, MAX_COUNTED_MATCHES + 1);
  const [at] = positions;
  if (at === undefined) throw new ToolError(missingMessage(edit, flat, pattern, index > 0));
  if (positions.length > 1) throw new ToolError(ambiguousMessage(edit, flat, positions));
  if (pattern === withLineFeeds(newText))
    throw new ToolError(
      `oldText and newText of ${edit} are the same. Nothing was changed. Remove this edit.`,
    );
  text.replace(at, at + pattern.length, newText);
}

function ambiguousMessage(edit: string, flat: string, positions: readonly number[]): string {
  const lines = positions.slice(0, MAX_COUNTED_MATCHES).map((at) => lineOf(flat, at));
  const times = positions.length > lines.length ? `more than ${lines.length}` : String(positions.length);
  return `oldText of ${edit} occurs ${times} times (lines ${lines.join(', ')}). Nothing was changed. Include more surrounding text, so that it occurs once.`;
}

function missingMessage(edit: string, flat: string, pattern: string, isLater: boolean): string {
  const line = looseLineOf(flat, pattern);
  const hint =
    line === undefined
      ? 'Read the file again and copy the text exactly.'
      : `The text from line ${line} differs in white space only: copy its indentation exactly.`;
  const after = isLater ? ' after the edits before it' : '';
  return `oldText of ${edit} was not found${after}. Nothing was changed. ${hint}`;
}

/** Returns the first line where the text matches `pattern` except for white space around lines. */
function looseLineOf(flat: string, pattern: string): number | undefined {
  const lines = flat.split('\n').map((line) => line.trim());
  const patternLines = pattern
    .trim()
    .split('\n')
    .map((line) => line.trim());
  if (patternLines.every((line) => line === '')) return undefined;
  const first = findLines(lines, patternLines);
  return first === undefined ? undefined : first + 1;
}

function lineOf(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
