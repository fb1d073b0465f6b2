// Lists delivery records, and deletes them after the retention time. Both work in parts of limited size,
// because a long call would delay appends; the caller requests the next part. Records are in order of
// arrival, so a list is complete at the first part that is entirely older than `since`. Only records of
// finished events are deleted; deleted ids can be reused.

import { DamagedRecordError } from '../damaged-record.ts';
import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Failure } from '../delivery.ts';
import {
  bodyOfDelivery,
  countStates,
  countsOf,
  type DeliveryRow,
  deliveryOf,
  oneDelivery,
  oneListed,
} from '../delivery-row.ts';
import { deliveriesPart, type EndRow, nextPart } from '../list-queries.ts';
import { toStorableText } from '../record-texts.ts';
import type { SweptPart } from '../sync-store.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

/** Number of records scanned per sweep part. Each deleted record may include a body. */
const MAX_SWEEP_RECORDS = 500;
/** Maximum bytes of journals deleted per part. The last journal may exceed it. */
const MAX_SWEEP_BYTES = 16 * 1024 * 1024;

type HistoryRow = DeliveryRow<string>;

export class SqliteHistory {
  readonly #connection: SqliteConnection;
  readonly #one: SqliteStatement<HistoryRow>;
  readonly #oneListed: SqliteStatement<HistoryRow>;
  readonly #body: SqliteStatement<readonly [string, Uint8Array]>;
  readonly #counts: SqliteStatement<readonly [number, number]>;
  readonly #oldest: SqliteStatement<readonly [number, number, number | null, number | null]>;
  readonly #remove: SqliteStatement<readonly []>;
  readonly #removeBody: SqliteStatement<readonly []>;
  readonly #removeProgress: SqliteStatement<readonly []>;
  readonly #onRemoved: (seq: number) => number;

  /** `onRemoved` deletes further rows of the event and returns the deleted bytes. */
  constructor(connection: SqliteConnection, onRemoved: (seq: number) => number) {
    this.#connection = connection;
    this.#onRemoved = onRemoved;
    this.#one = connection.prepare(oneDelivery);
    this.#oneListed = connection.prepare(oneListed);
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
    const rows = this.#connection.list<HistoryRow>(part.rows);
    const deliveries = rows.flatMap((row) => this.#readable(row));
    if (rows.length === part.limit) return { deliveries, beforeSeq: rows.at(-1)?.[0] };
    const [end] = this.#connection.list<EndRow>(part.end);
    return { deliveries, beforeSeq: nextPart(part, end) };
  }

  find(id: string): (Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined {
    const row = this.#one.get([toStorableText(id)]);
    const body = row === undefined ? undefined : this.#body.get([row[0]]);
    if (row === undefined || body === undefined) return undefined;
    return { ...deliveryOf(row, failuresOf), meta: body[0], body: body[1] };
  }

  /** Returns the record without its body. */
  record(id: string): Delivery | undefined {
    const row = this.#one.get([toStorableText(id)]);
    return row && this.#readable(row)[0];
  }

  /** Returns the record for a list. */
  listed(id: string): Delivery | undefined {
    const row = this.#oneListed.get([toStorableText(id)]);
    return row && this.#readable(row)[0];
  }

  /** Skips a damaged record, to list the rest. */
  #readable(row: HistoryRow): readonly Delivery[] {
    try {
      return [deliveryOf(row, failuresOf)];
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      this.#connection.reportDamage(`delivery ${row[1]} is not listed: ${error.message}`);
      return [];
    }
  }

  counts(): DeliveryCounts {
    return countsOf(this.#counts.all([]));
  }

  /** Deletes records finished before `before`, with a number above `afterSeq`. */
  sweep(afterSeq: number, before: number, now: number): SweptPart {
    const rows = this.#oldest.all([afterSeq, MAX_SWEEP_RECORDS]);
    let removed = 0;
    let bytes = 0;
    for (const [seq, at, ended, hasProgress] of rows) {
      // All later records arrived after `before`, so none has finished earlier: the sweep ends. A record from
      // the future does not end it, because it was written when the clock was ahead.
      if (at >= before && at <= now) return { removed, afterSeq: undefined };
      if (ended === null || ended >= before) continue;
      this.#remove.run([seq]);
      this.#removeBody.run([seq]);
      if (hasProgress !== null) {
        this.#removeProgress.run([seq]);
        bytes += this.#onRemoved(seq);
      }
      removed += 1;
      if (bytes >= MAX_SWEEP_BYTES) return { removed, afterSeq: seq };
    }
    return { removed, afterSeq: rows.length < MAX_SWEEP_RECORDS ? undefined : rows.at(-1)?.[0] };
  }
}

/** Lists the record despite damaged failures. */
function failuresOf(text: string): readonly Failure[] {
  try {
    return JSON.parse(text) as readonly Failure[];
  } catch {
    return [{ attempt: 0, at: 0, note: 'failures are unreadable: the record is damaged' }];
  }
}
