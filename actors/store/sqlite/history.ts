// Lists the records of deliveries, and removes those whose retention is over. Neither may hold up incoming events: both
// go through the records in parts of bounded size, and the caller comes back for the next part.
//
// Records lie in the order in which they came: where a whole part came before `since`, so did all before it.
//
// SH1  only what has ended, longer ago than the retention, is removed; its id may come again after that.

import { DamagedRecordError } from '../damaged-record.ts';
import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Failure } from '../delivery.ts';
import { comparedColumns, type DeliveryRow, deliveryColumns, deliveryOf } from '../delivery-row.ts';
import { firstSettled, stateCodes, stateOf } from '../delivery-states.ts';
import type { SweptPart } from '../ledger.ts';
import { LOOKED_AT, limitOfPart } from '../list-parts.ts';
import { storable } from '../storable.ts';
import type { SqliteConnection, SqlValue, Statement } from './connection.ts';
import { indexedBy, newestOf } from './newest-records.ts';

/** Records looked at for one part of a sweep: each that is removed may take a body with it. */
const SWEPT_AT_ONCE = 500;
/** Of the journals that are removed in one part; one may go beyond. */
const SWEPT_BYTES = 16 * 1024 * 1024;

type Row = DeliveryRow<string>;

export class SqliteHistory {
  readonly #connection: SqliteConnection;
  readonly #one: Statement<Row>;
  readonly #body: Statement<readonly [string, Uint8Array]>;
  readonly #counts: Statement<readonly [number, number]>;
  readonly #oldest: Statement<readonly [number, number, number | null, number | null]>;
  readonly #remove: Statement<readonly []>;
  readonly #removeBody: Statement<readonly []>;
  readonly #removeProgress: Statement<readonly []>;
  readonly #onRemoved: (seq: number) => number;

  /** `onRemoved` removes what else there is of an event that has more than most, and gives how many bytes that was. */
  constructor(connection: SqliteConnection, onRemoved: (seq: number) => number) {
    this.#connection = connection;
    this.#onRemoved = onRemoved;
    this.#one = connection.prepare(`SELECT ${deliveryColumns} FROM delivery WHERE id = ?`);
    this.#body = connection.prepare('SELECT meta, body FROM body WHERE seq = ?');
    this.#counts = connection.prepare(
      `SELECT state, count(*) FROM delivery WHERE state < ${firstSettled} GROUP BY state
       UNION ALL SELECT ${stateCodes.dead}, count(*) FROM delivery WHERE state = ${stateCodes.dead}
       UNION ALL SELECT ${stateCodes.waiting}, count(*) FROM delivery WHERE waits_for IS NOT NULL`,
    );
    this.#oldest = connection.prepare(
      'SELECT seq, at, ended, has_progress FROM delivery WHERE seq > ? ORDER BY seq LIMIT ?',
    );
    this.#remove = connection.prepare('DELETE FROM delivery WHERE seq = ?');
    this.#removeBody = connection.prepare('DELETE FROM body WHERE seq = ?');
    this.#removeProgress = connection.prepare('DELETE FROM progress WHERE seq = ?');
  }

  page(filter: DeliveryFilter): DeliveryPage {
    const limit = limitOfPart(filter);
    const { states = [], beforeSeq } = filter;
    const sources = indexedBy(states) ?? ['delivery WHERE true'];
    // The inner part bounds what is looked at; within it everything may be compared. Answers and notes, which may be
    // long, are read of those only that are found.
    const looked = newestOf(comparedColumns, sources, beforeSeq);
    const { where, values } = conditions(filter);
    const found = `SELECT seq FROM (${looked.sql}) WHERE ${where} ORDER BY seq DESC LIMIT ${limit}`;
    const rows = this.#connection
      .prepare<Row>(`SELECT ${deliveryColumns} FROM delivery WHERE seq IN (${found}) ORDER BY seq DESC`)
      .all([...looked.values, ...values]);
    const deliveries = rows.flatMap((row) => this.#listed(row));
    if (rows.length === limit) return { deliveries, beforeSeq: rows.at(-1)?.[0] };
    const rest = newestOf('seq, at', sources, beforeSeq);
    const end = this.#connection
      .prepare<readonly [number | null, number, number | null]>(
        `SELECT min(seq), count(*), max(at) FROM (${rest.sql})`,
      )
      .get(rest.values);
    if (end === undefined) return { deliveries, beforeSeq: undefined };
    const [oldest, count, newestAt] = end;
    const isEnd = count < LOOKED_AT || (newestAt ?? 0) < (filter.since ?? 0);
    return { deliveries, beforeSeq: isEnd ? undefined : (oldest ?? undefined) };
  }

  find(id: string): (Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined {
    const row = this.#one.get([storable(id)]);
    const body = row === undefined ? undefined : this.#body.get([row[0]]);
    if (row === undefined || body === undefined) return undefined;
    return { ...deliveryOf(row, failuresOf), meta: body[0], body: body[1] };
  }

  /** Without its body. */
  record(id: string): Delivery | undefined {
    const row = this.#one.get([storable(id)]);
    return row && this.#listed(row)[0];
  }

  /** A record that cannot be understood is left out: the others are worth their list. */
  #listed(row: Row): readonly Delivery[] {
    try {
      return [deliveryOf(row, failuresOf)];
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      this.#connection.tellDamage(`the delivery ${row[1]} is left out of lists: ${error.message}`);
      return [];
    }
  }

  counts(): DeliveryCounts {
    const counts = { queued: 0, running: 0, retrying: 0, held: 0, waiting: 0, dead: 0 };
    for (const [code, count] of this.#counts.all([])) {
      const state = stateOf(code);
      if (state !== 'done' && state !== 'ignored') counts[state] = count;
    }
    return counts;
  }

  /** Removes records that ended before that time, among the next after `afterSeq`. */
  sweep(afterSeq: number, before: number, now: number): SweptPart {
    const rows = this.#oldest.all([afterSeq, SWEPT_AT_ONCE]);
    let removed = 0;
    let bytes = 0;
    for (const [seq, at, ended, hasProgress] of rows) {
      // Records lie in the order in which they came: none after this one can have ended before. One that came when the
      // clock was ahead says nothing of those after it.
      if (at >= before && at <= now) return { removed, afterSeq: undefined };
      if (ended === null || ended >= before) continue;
      this.#remove.run([seq]);
      this.#removeBody.run([seq]);
      if (hasProgress !== null) {
        this.#removeProgress.run([seq]);
        bytes += this.#onRemoved(seq);
      }
      removed += 1;
      if (bytes >= SWEPT_BYTES) return { removed, afterSeq: seq };
    }
    return { removed, afterSeq: rows.length < SWEPT_AT_ONCE ? undefined : rows.at(-1)?.[0] };
  }
}

function conditions(filter: DeliveryFilter): { where: string; values: readonly SqlValue[] } {
  const parts = ['true'];
  const values: SqlValue[] = [];
  const { states, trigger, idPrefix, keyPrefix, since } = filter;
  if (states !== undefined && states.length > 0)
    parts.push(`state IN (${states.map((state) => stateCodes[state]).join(', ')})`);
  if (trigger !== undefined) {
    parts.push('trigger = ?');
    values.push(storable(trigger));
  }
  for (const [column, prefix] of [
    ['id', idPrefix],
    ['key', keyPrefix],
  ] as const) {
    if (prefix === undefined) continue;
    parts.push(`substr(${column}, 1, length(?)) = ?`);
    values.push(storable(prefix), storable(prefix));
  }
  if (since !== undefined) {
    parts.push('at >= ?');
    values.push(since);
  }
  return { where: parts.join(' AND '), values };
}

/** Those of a damaged record are not worth the list in which it stands. */
function failuresOf(text: string): readonly Failure[] {
  try {
    return JSON.parse(text) as readonly Failure[];
  } catch {
    return [{ attempt: 0, at: 0, note: 'its failures cannot be read: the record is damaged in the store' }];
  }
}
