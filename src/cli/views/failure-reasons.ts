// Column REASON in the table of servers: why a server has failed and when the gateway retries. Added only if
// a server has failed. In a narrow window, columns at the right are omitted until the reason fits.

import type { ServerRecord } from '../../http/api/server-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { duration } from './figures.ts';
import { type Column, table } from './table.ts';

/** Minimum width of the column REASON. */
const MIN_REASON_WIDTH = 40;
/** Columns that are never omitted: name, state and one more. */
const MIN_COLUMNS = 3;

type Failed = Pick<ServerRecord, 'state' | 'last_error' | 'next_retry_at' | 'is_parked'>;

/** Returns the columns, followed by REASON if a server has failed. */
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
    // Only failed servers have a text.
    paint: (_, text) => (text === '' ? '' : paint('busy', text)),
  };
  const visibleColumns = [...columns];
  while (visibleColumns.length > MIN_COLUMNS && widthOf(visibleColumns, rows) + MIN_REASON_WIDTH > width)
    visibleColumns.pop();
  return [...visibleColumns, reason];
}

/**
 * Returns a text such as `backing off, next try in 4s: ERROR`; '' if the server has not failed. A server that
 * has failed too often is `parked`.
 */
export function reasonOf({ state, last_error, next_retry_at, is_parked }: Failed, now: number): string {
  if (state !== 'failed') return '';
  const leftMs = next_retry_at === null ? 0 : Date.parse(next_retry_at) - now;
  const what = is_parked ? 'parked' : leftMs > 0 ? 'backing off' : 'failed';
  const when = leftMs > 0 ? `in ${duration(Math.ceil(leftMs / 1000))}` : 'with the next request';
  return `${what}, next try ${when}: ${last_error?.message ?? 'unknown reason'}`;
}

function widthOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): number {
  const unpaintedColumns = columns.map(({ title, isNumber, text }) => ({
    title,
    text,
    isNumber: isNumber === true,
  }));
  return Math.max(...table(unpaintedColumns, rows).map((line) => line.length));
}
