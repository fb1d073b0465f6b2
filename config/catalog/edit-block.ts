// Edits servers in block mappings (YAML lines). Comments above a server stay if the server is removed;
// indented comments below its first line are removed with it.

import { Document, isMap, isSeq, type Pair, visit, type YAMLMap } from 'yaml';
import {
  colonEnd,
  type EditRefusal,
  endOf,
  indentAt,
  lineBreakOf,
  lineEnd,
  lineStart,
  pastDeeperComments,
  startOf,
  type TextReplacement,
} from './catalog-text.ts';

/** Servers of a block mapping, possibly none, and the pair that has the mapping as its value. */
export interface BlockList {
  readonly items: readonly Pair[];
  readonly owner: Pair;
}

/** New entry with JSON values. */
export type EntryToWrite = Readonly<Record<string, unknown>>;

/** Default indentation per level, in spaces. */
const DEFAULT_STEP = 2;

/** Appends a server, or replaces the existing server `replaced`. */
export function addToBlock(
  text: string,
  list: BlockList,
  replaced: Pair | undefined,
  name: string,
  entry: EntryToWrite,
): TextReplacement[] {
  const { items, owner } = list;
  const eol = lineBreakOf(text);
  const ownerColumn = columnOf(text, owner);
  const column = items[0] === undefined ? ownerColumn + DEFAULT_STEP : columnOf(text, items[0]);
  const lines = linesOf(name, entry, ' '.repeat(column), stepOf(text, list, column), eol);
  if (replaced !== undefined) {
    const end = endOfLines(text, replaced, column);
    const lacksFinalBreak = end === text.length && !text.endsWith('\n');
    return [
      {
        start: lineStart(text, startOf(replaced)),
        end,
        text: lacksFinalBreak ? lines.slice(0, -eol.length) : lines,
      },
    ];
  }
  const last = items.at(-1);
  const at =
    last === undefined
      ? pastDeeperComments(text, lineEnd(text, endOf(owner)), ownerColumn)
      : endOfLines(text, last, column);
  // Preserve a missing line break at the end of the file.
  const lacksFinalBreak = at === text.length && !text.endsWith('\n');
  return [{ start: at, end: at, text: lacksFinalBreak ? eol + lines.slice(0, -eol.length) : lines }];
}

export function removeFromBlock(
  text: string,
  { items, owner }: BlockList,
  pair: Pair,
): TextReplacement[] | EditRefusal {
  const at = startOf(pair);
  const start = lineStart(text, at);
  if (text.slice(start, at).trim() !== '') return { refusal: 'the server begins in the middle of a line' };
  let end = endOfLines(text, pair, columnOf(text, pair));
  // With empty lines above the server, the empty lines below it are removed: the gap must not grow.
  const isAfterEmpty = start > 0 && text.slice(lineStart(text, start - 1), start).trim() === '';
  while (isAfterEmpty && end < text.length && text.slice(end, lineEnd(text, end)).trim() === '')
    end = lineEnd(text, end);
  // Preserve a missing line break at the end of the file.
  const lacksFinalBreak = end === text.length && !text.endsWith('\n');
  const replacement = { start: lacksFinalBreak ? start - lineBreakOf(text).length : start, end, text: '' };
  if (items.length > 1) return [replacement];
  // Without a server, the key of the servers gets an empty mapping as its value.
  const valueStart = colonEnd(owner);
  return [{ start: valueStart, end: valueStart, text: ' {}' }, replacement];
}

/** Inserts `disablingLine`, such as `enabled: false`, as the entry's first line. */
export function switchOffInBlock(
  text: string,
  entry: YAMLMap,
  disablingLine: string,
): TextReplacement[] | EditRefusal {
  const first = entry.items[0];
  const at = first === undefined ? 0 : startOf(first as Pair);
  const start = lineStart(text, at);
  const indent = text.slice(start, at);
  if (first === undefined || indent.trim() !== '')
    return { refusal: 'the entry begins in the middle of a line' };
  return [{ start, end: start, text: `${indent}${disablingLine}${lineBreakOf(text)}` }];
}

/** Returns a new entry's lines, with a final line break. */
export function linesOf(
  name: string,
  entry: EntryToWrite,
  indent: string,
  step: number,
  eol: string,
): string {
  const document = new Document({ [name]: entry }, { aliasDuplicateObjects: false, schema: 'core' });
  visit(document, {
    Seq: (_, list) => {
      // Short lists, such as arguments, stay on one line.
      if (isSeq(list) && JSON.stringify(list.toJSON()).length < MAX_FLOW_LIST_CHARS) list.flow = true;
    },
  });
  const lines = document.toString({ indent: step, lineWidth: 0, flowCollectionPadding: false });
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? eol : `${indent}${line}${eol}`))
    .join('');
}

/** Lists with a longer JSON text have a line per item. */
const MAX_FLOW_LIST_CHARS = 90;

function columnOf(text: string, pair: Pair): number {
  const at = startOf(pair);
  return at - lineStart(text, at);
}

/** Returns the end of the pair's lines, and of the deeper comments below them. */
function endOfLines(text: string, pair: Pair, column: number): number {
  const end = endOf(pair);
  // A multi-line text includes the final line break.
  const from = text[end - 1] === '\n' ? end : lineEnd(text, end);
  return pastDeeperComments(text, from, column);
}

/** Returns the indentation of an entry's fields relative to the server's name, as in the other entries. */
function stepOf(text: string, { items, owner }: BlockList, column: number): number {
  for (const { value } of items) {
    const first = isMap(value) && value.flow !== true ? value.items[0] : undefined;
    if (first === undefined) continue;
    const step = columnOf(text, first as Pair) - column;
    if (step > 0 && indentAt(text, startOf(first as Pair)).length === column + step) return step;
  }
  const step = column - columnOf(text, owner);
  return items.length > 0 && step > 0 ? step : DEFAULT_STEP;
}
