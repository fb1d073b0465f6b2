// Why a server does not run, as the last column of the table of servers. It is there only where there is something to say; a
// narrow window leaves out the figures that tell least, from the right, until a reason has room.

import type { ServerRecord } from '../../http/api/server-shapes.ts';
import { type Paint, styleOf } from '../../terminal/paint.ts';
import { duration } from './figures.ts';
import { type Column, table } from './table.ts';

/** So much of a reason is worth more than the figures beside it. */
const LEAST_ROOM = 40;
/** The name, the state, and one more. */
const LEAST_COLUMNS = 3;

type Failed = Pick<ServerRecord, 'state' | 'last_error' | 'next_retry_at' | 'is_parked'>;

/** `columns` with the reasons behind them, or as they are where no server has one. */
export function withReasons<Row extends Failed>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  paint: Paint,
  width: number = Number.POSITIVE_INFINITY,
): readonly Column<Row>[] {
  const now = Date.now();
  const reasons = new Map(rows.map((row) => [row, reasonOf(row, now)]));
  if ([...reasons.values()].every((reason) => reason === '')) return columns;
  const reason: Column<Row> = {
    title: 'REASON',
    text: (row) => reasons.get(row) ?? '',
    paint: ({ state }, text) => (text === '' ? '' : paint(styleOf[state] === 'bad' ? 'busy' : 'faint', text)),
  };
  const kept = [...columns];
  while (kept.length > LEAST_COLUMNS && widthOf(kept, rows) + LEAST_ROOM > width) kept.pop();
  return [...kept, reason];
}

/** `backing off, next try in 4s: …` or `parked, …`; empty for one that has not failed. */
export function reasonOf({ state, last_error, next_retry_at, is_parked }: Failed, now: number): string {
  if (state !== 'failed') return '';
  const leftMs = next_retry_at === null ? 0 : Date.parse(next_retry_at) - now;
  const what = is_parked ? 'parked' : leftMs > 0 ? 'backing off' : 'failed';
  const when = leftMs > 0 ? `in ${duration(Math.ceil(leftMs / 1000))}` : 'with the next request';
  return `${what}, next try ${when}: ${last_error?.message ?? 'unknown reason'}`;
}

function widthOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): number {
  const bare = columns.map(({ title, isNumber, text }) => ({ title, text, isNumber: isNumber === true }));
  return Math.max(...table(bare, rows).map((line) => line.length));
}
