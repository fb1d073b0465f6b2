// Converts a row to a line of JSON and back: the table's name as `kind`, then the non-empty columns by name.
// Bytes are base64, states are names, and due dates are remaining durations, which makes exports independent
// of clocks. A line must have exactly the columns of its table, each of the right type. The error names the
// column, never the value.

import { isUtf8 } from 'node:buffer';
import { parseCost } from '../../base/bounds/parse-cost.ts';
import type { Failure } from '../delivery.ts';
import { toStorableText } from '../record-texts.ts';
import { StoreFileError } from './errors.ts';
import { type ExportColumn, type ExportRow, type ExportTable, exportedTables, type Value } from './tables.ts';

export interface TableRow {
  readonly table: ExportTable;
  readonly row: ExportRow;
}

const byName = new Map<string, ExportTable>(exportedTables.map((table) => [table.name, table]));

/**
 * `now` is the exported store's clock, epoch milliseconds. Throws StoreFileError for values that no version
 * writes.
 */
export function lineOf(table: ExportTable, row: ExportRow, now: number): string {
  const members: Record<string, unknown> = { kind: table.name };
  for (const column of table.columns) {
    const value = row[column.name];
    if (value === null || value === undefined || value === false) continue;
    const { name } = column;
    // A future time becomes a duration, because the clock of the other store may differ. A past time stays.
    if (column.type === 'due' && (column.isComing?.(row) ?? true))
      members[column.remaining] = (value as number) - now;
    // The name of a code, for example of a state.
    else if (column.type === 'word') members[nameIn(table, column)] = nameOfCode(table, column, row);
    else if (value instanceof Uint8Array)
      members[nameIn(table, column)] = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString(
        'base64',
      );
    else members[nameIn(table, column)] = value;
    if (column.type === 'text' && typeof value !== 'string')
      throw new StoreFileError(`${table.name}.${name} is not a text`);
  }
  return JSON.stringify(members);
}

/** A row has at most some hundred values. */
const MAX_LINE_VALUES = 10_000;

/** Parses a line of any kind. Throws StoreFileError. */
export function membersOf(line: Uint8Array): Readonly<Record<string, unknown>> {
  if (!isUtf8(line)) throw new StoreFileError('not UTF-8');
  if (parseCost(line, MAX_LINE_VALUES) > MAX_LINE_VALUES)
    throw new StoreFileError(`more than ${MAX_LINE_VALUES} values and levels`);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString());
  } catch {
    throw new StoreFileError('not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new StoreFileError('not a JSON object');
  return value as Record<string, unknown>;
}

/** `now` is the target store's clock, epoch milliseconds. Throws StoreFileError. */
export function rowOf(members: Readonly<Record<string, unknown>>, now: number): TableRow {
  const table = byName.get(String(members.kind));
  if (table === undefined) throw new StoreFileError('unknown kind');
  const unreadMembers = new Set(Object.keys(members));
  unreadMembers.delete('kind');
  const row: Record<string, Value> = {};
  for (const column of table.columns) row[column.name] = read(table, column, members, unreadMembers, now);
  if (unreadMembers.size > 0) throw new StoreFileError(`${table.name} has an unknown member`);
  return { table, row };
}

/** Compares two rows by the table's key. Negative if the first one is smaller. */
export function compareKeys(table: ExportTable, one: ExportRow, other: ExportRow): number {
  for (const name of table.key) {
    const [first, second] = [one[name], other[name]];
    const order =
      typeof first === 'string'
        ? Buffer.compare(Buffer.from(first), Buffer.from(String(second)))
        : Number(first) - Number(second);
    if (order !== 0) return order;
  }
  return 0;
}

/** Returns the member name for the column. A column `kind` would collide with the line's member `kind`. */
function nameIn({ name: table }: ExportTable, { name }: ExportColumn): string {
  if (name !== 'kind') return name;
  return table === 'run' ? 'run_kind' : 'event_kind';
}

function nameOfCode(
  table: ExportTable,
  column: ExportColumn & { readonly type: 'word' },
  row: ExportRow,
): string {
  const name = column.names[Number(row[column.name])];
  if (name !== undefined) return name;
  const which = table.key.map((name) => row[name]).join('/');
  throw new StoreFileError(`${column.name} of ${table.name} ${which} is damaged in the store: unknown value`);
}

function read(
  table: ExportTable,
  column: ExportColumn,
  members: Readonly<Record<string, unknown>>,
  unreadMembers: Set<string>,
  now: number,
): Value {
  const name = nameIn(table, column);
  const isRemaining = column.type === 'due' && Object.hasOwn(members, column.remaining);
  const member = isRemaining ? column.remaining : name;
  const value = members[member];
  unreadMembers.delete(member);
  if (column.type === 'flag' && value === undefined) return false;
  if (value === undefined && column.isOptional) return null;
  const wrong = (what: string) => new StoreFileError(`${table.name}.${member} is not a ${what}`);
  switch (column.type) {
    case 'text':
      if (typeof value !== 'string' || toStorableText(value) !== value) throw wrong('text');
      return value;
    case 'count':
      if (!isInteger(value) || value < 0) throw wrong('count');
      return value;
    case 'time':
      if (!isInteger(value)) throw wrong('time');
      return value;
    case 'due':
      if (!isInteger(value)) throw wrong('time');
      return isRemaining ? value + now : value;
    case 'flag':
      if (value !== true) throw wrong('flag');
      return true;
    case 'word': {
      const code = column.names.indexOf(String(value));
      if (code === -1) throw wrong('state');
      return code;
    }
    case 'bytes': {
      if (typeof value !== 'string') throw wrong('base64 text');
      const bytes = Buffer.from(value, 'base64');
      // Buffer.from ignores invalid characters, or stops at them.
      if (bytes.toString('base64') !== value) throw wrong('base64 text');
      return bytes;
    }
    case 'failures':
      if (!Array.isArray(value) || !value.every(isFailure)) throw wrong('list of failures');
      return value.map(failureOf);
  }
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

function isFailure(value: unknown): value is Failure {
  if (typeof value !== 'object' || value === null) return false;
  const { attempt, at, note } = value as Record<string, unknown>;
  return isInteger(attempt) && isInteger(at) && typeof note === 'string' && toStorableText(note) === note;
}

/** Returns the failure with a fixed member order. */
export const failureOf = ({ attempt, at, note }: Failure): Failure => ({ attempt, at, note });
