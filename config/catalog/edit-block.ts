// Servers in a mapping of lines, as YAML files have it: each begins on a line of its own, and its lines stand deeper.
//
// Comments above a server stay when it goes: nobody knows what they are about. Those below its first line, and deeper, are its own.

import { Document, isMap, isSeq, type Pair, visit, type YAMLMap } from 'yaml';
import {
  type Cut,
  colonEnd,
  endOf,
  indentAt,
  lineBreakOf,
  lineEnd,
  lineStart,
  pastDeeperComments,
  type Refusal,
  startOf,
} from './catalog-text.ts';

/** The mapping of servers, which may be empty, and the pair whose value it is. */
export interface BlockList {
  readonly items: readonly Pair[];
  readonly owner: Pair;
}

/** An entry as it is to be written: JSON values. */
export type EntryToWrite = Readonly<Record<string, unknown>>;

const DEFAULT_STEP = 2;

/** A server below the others, or in the place of one of them. */
export function addToBlock(
  text: string,
  list: BlockList,
  replaced: Pair | undefined,
  name: string,
  entry: EntryToWrite,
): Cut[] {
  const { items, owner } = list;
  const eol = lineBreakOf(text);
  const ownerColumn = columnOf(text, owner);
  const column = items[0] === undefined ? ownerColumn + DEFAULT_STEP : columnOf(text, items[0]);
  const lines = linesOf(name, entry, ' '.repeat(column), stepOf(text, list, column), eol);
  if (replaced !== undefined) {
    const end = endOfLines(text, replaced, column);
    const isOpen = end === text.length && !text.endsWith('\n');
    return [
      { start: lineStart(text, startOf(replaced)), end, text: isOpen ? lines.slice(0, -eol.length) : lines },
    ];
  }
  const last = items.at(-1);
  const at =
    last === undefined
      ? pastDeeperComments(text, lineEnd(text, endOf(owner)), ownerColumn)
      : endOfLines(text, last, column);
  // A file without a line break at its end keeps to that.
  const isOpen = at === text.length && !text.endsWith('\n');
  return [{ start: at, end: at, text: isOpen ? eol + lines.slice(0, -eol.length) : lines }];
}

export function removeFromBlock(text: string, { items, owner }: BlockList, pair: Pair): Cut[] | Refusal {
  const at = startOf(pair);
  const start = lineStart(text, at);
  if (text.slice(start, at).trim() !== '') return { refusal: 'the server begins in the middle of a line' };
  let end = endOfLines(text, pair, columnOf(text, pair));
  // Of the empty lines around it those on one side are enough.
  const isAfterEmpty = start > 0 && text.slice(lineStart(text, start - 1), start).trim() === '';
  while (isAfterEmpty && end < text.length && text.slice(end, lineEnd(text, end)).trim() === '')
    end = lineEnd(text, end);
  // A file without a line break at its end keeps to that.
  const isOpen = end === text.length && !text.endsWith('\n');
  const cut = { start: isOpen ? start - lineBreakOf(text).length : start, end, text: '' };
  if (items.length > 1) return [cut];
  const empty = colonEnd(owner);
  return [{ start: empty, end: empty, text: ' {}' }, cut];
}

/** Inserts `off`, such as `enabled: false`, as the first line of an entry without such a field. */
export function switchOffInBlock(text: string, entry: YAMLMap, off: string): Cut[] | Refusal {
  const first = entry.items[0];
  const at = first === undefined ? 0 : startOf(first as Pair);
  const start = lineStart(text, at);
  const indent = text.slice(start, at);
  if (first === undefined || indent.trim() !== '')
    return { refusal: 'the entry begins in the middle of a line' };
  return [{ start, end: start, text: `${indent}${off}${lineBreakOf(text)}` }];
}

/** The lines of a new entry, with a line break at their end. */
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
      // Short lists stand on one line, as people write arguments.
      if (isSeq(list) && JSON.stringify(list.toJSON()).length < SHORT) list.flow = true;
    },
  });
  const lines = document.toString({ indent: step, lineWidth: 0, flowCollectionPadding: false });
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? eol : `${indent}${line}${eol}`))
    .join('');
}

const SHORT = 90;

function columnOf(text: string, pair: Pair): number {
  const at = startOf(pair);
  return at - lineStart(text, at);
}

function endOfLines(text: string, pair: Pair, column: number): number {
  const end = endOf(pair);
  // A text of several lines ends with its last line break.
  const from = text[end - 1] === '\n' ? end : lineEnd(text, end);
  return pastDeeperComments(text, from, column);
}

/** How much deeper the fields of an entry stand than its name. */
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
