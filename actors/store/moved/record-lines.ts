// One row of a store as one line of JSON, and back: its kind, then its columns by their names, without those that are empty. Bytes
// are base64, states stand by their names, and times that are still to come as what remains of them, so that a clock that is wrong, there
// or here, moves nothing.
//
// MVL1  what is read has the columns of its table and no others, each of its type; anything else is refused, and the message says
//       which column it is, never what stood there.

import { isUtf8 } from 'node:buffer';
import type { Failure } from '../delivery.ts';
import { storable } from '../record-texts.ts';
import { StoreFileError } from './move-errors.ts';
import { type Column, movedTables, type Row, type Table, type Value } from './moved-tables.ts';

export interface MovedRow {
  readonly table: Table;
  readonly row: Row;
}

const byName = new Map<string, Table>(movedTables.map((table) => [table.name, table]));

/** `now` is the time of the store it comes from, epoch ms. Throws StoreFileError for what no version wrote. */
export function lineOf(table: Table, row: Row, now: number): string {
  const members: Record<string, unknown> = { kind: table.name };
  for (const column of table.columns) {
    const value = row[column.name];
    if (value === null || value === undefined || value === false) continue;
    const { name } = column;
    if (column.type === 'due' && (column.isComing?.(row) ?? true))
      members[column.remaining] = (value as number) - now;
    else if (column.type === 'word') members[nameIn(table, column)] = wordOf(table, column, row);
    else if (value instanceof Uint8Array)
      members[nameIn(table, column)] = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString(
        'base64',
      );
    else members[nameIn(table, column)] = value;
    if (column.type === 'text' && typeof value !== 'string')
      throw new StoreFileError(`${table.name}.${name} is no text`);
  }
  return JSON.stringify(members);
}

/** What a line says, whatever its kind. Throws StoreFileError. */
export function membersOf(line: Uint8Array): Readonly<Record<string, unknown>> {
  if (!isUtf8(line)) throw new StoreFileError('it is not UTF-8');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString());
  } catch {
    throw new StoreFileError('it is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new StoreFileError('it is no object of JSON');
  return value as Record<string, unknown>;
}

/** `now` is the time of the store it is for, epoch ms. Throws StoreFileError. */
export function rowOf(members: Readonly<Record<string, unknown>>, now: number): MovedRow {
  const table = byName.get(String(members.kind));
  if (table === undefined) throw new StoreFileError('its kind is not known');
  const left = new Set(Object.keys(members));
  left.delete('kind');
  const row: Record<string, Value> = {};
  for (const column of table.columns) row[column.name] = read(table, column, members, left, now);
  if (left.size > 0) throw new StoreFileError(`${table.name} has a member that is not known`);
  return { table, row };
}

/** Compares two rows by what their table is ordered by. Negative where the first one is before the other. */
export function compareKeys(table: Table, one: Row, other: Row): number {
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

/** A column of a table that is called as the member that tells them apart. */
const nameIn = ({ name: table }: Table, { name }: Column) =>
  table === 'run' && name === 'kind' ? 'run_kind' : name === 'kind' ? 'event_kind' : name;

function wordOf(table: Table, column: Column & { readonly type: 'word' }, row: Row): string {
  const word = column.words[Number(row[column.name])];
  if (word !== undefined) return word;
  const which = table.key.map((name) => row[name]).join('/');
  throw new StoreFileError(
    `${column.name} of ${table.name} ${which} is damaged in the store: no version wrote it`,
  );
}

function read(
  table: Table,
  column: Column,
  members: Readonly<Record<string, unknown>>,
  left: Set<string>,
  now: number,
): Value {
  const name = nameIn(table, column);
  const isRemaining = column.type === 'due' && Object.hasOwn(members, column.remaining);
  const member = isRemaining ? column.remaining : name;
  const value = members[member];
  left.delete(member);
  if (column.type === 'flag' && value === undefined) return false;
  if (value === undefined && column.isOptional) return null;
  const wrong = (what: string) => new StoreFileError(`${table.name}.${member} is no ${what}`);
  switch (column.type) {
    case 'text':
      if (typeof value !== 'string' || storable(value) !== value) throw wrong('text');
      return value;
    case 'count':
      if (!isWhole(value) || value < 0) throw wrong('count');
      return value;
    case 'time':
      if (!isWhole(value)) throw wrong('time');
      return value;
    case 'due':
      if (!isWhole(value)) throw wrong('time');
      return isRemaining ? value + now : value;
    case 'flag':
      if (value !== true) throw wrong('flag');
      return true;
    case 'word': {
      const code = column.words.indexOf(String(value));
      if (code === -1) throw wrong('state');
      return code;
    }
    case 'bytes': {
      if (typeof value !== 'string') throw wrong('base64');
      const bytes = Buffer.from(value, 'base64');
      // What is no base64 is left out in silence, or ends it.
      if (bytes.toString('base64') !== value) throw wrong('base64');
      return bytes;
    }
    case 'failures':
      if (!Array.isArray(value) || !value.every(isFailure)) throw wrong('list of failures');
      return value.map(failureOf);
  }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

function isFailure(value: unknown): value is Failure {
  if (typeof value !== 'object' || value === null) return false;
  const { attempt, at, note } = value as Record<string, unknown>;
  return isWhole(attempt) && isWhole(at) && typeof note === 'string' && storable(note) === note;
}

/** With its members in one order. */
export const failureOf = ({ attempt, at, note }: Failure): Failure => ({ attempt, at, note });
