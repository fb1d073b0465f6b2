// Lists the records of deliveries, and removes those whose retention is over. Neither may hold up incoming events: both
// go through the records in parts of bounded size, and the caller comes back for the next part.
//
// Records lie in the order in which they came: where a whole part came before `since`, so did all before it.
//
// SH1  only what has ended, longer ago than the retention, is removed; its id may come again after that.

import { DamagedRecordError } from '../damaged-record.ts';
import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Failure } from '../delivery.ts';
import {
  bodyOfDelivery,
  countStates,
  countsOf,
  type DeliveryRow,
  deliveryOf,
  oneDelivery,
} from '../delivery-row.ts';
import type { SweptPart } from '../ledger.ts';
import { deliveriesPart, type EndRow, nextPart } from '../list-queries.ts';
import { storable } from '../record-texts.ts';
import type { SqliteConnection, Statement } from './connection.ts';

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
    this.#one = connection.prepare(oneDelivery);
    this.#body = connection.prepare(bodyOfDelivery);
    this.#counts = connection.prepare(countStates);
    this.#oldest = connection.prepare(
      'SELECT seq, at, ended, has_progress FROM delivery WHERE seq > ? ORDER BY seq LIMIT ?',
    );
    this.#remove = connection.prepare('DELETE FROM delivery WHERE seq = ?');
    this.#removeBody = connection.prepare('DELETE FROM body WHERE seq = ?');
    this.#removeProgress = connection.prepare('DELETE FROM progress WHERE seq = ?');
  }

  page(filter: DeliveryFilter): DeliveryPage {
    const part = deliveriesPart(filter);
    const rows = this.#connection.list<Row>(part.rows);
    const deliveries = rows.flatMap((row) => this.#listed(row));
    if (rows.length === part.limit) return { deliveries, beforeSeq: rows.at(-1)?.[0] };
    const [end] = this.#connection.list<EndRow>(part.end);
    return { deliveries, beforeSeq: nextPart(part, end) };
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
    return countsOf(this.#counts.all([]));
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

/** Those of a damaged record are not worth the list in which it stands. */
function failuresOf(text: string): readonly Failure[] {
  try {
    return JSON.parse(text) as readonly Failure[];
  } catch {
    return [{ attempt: 0, at: 0, note: 'its failures cannot be read: the record is damaged in the store' }];
  }
}
