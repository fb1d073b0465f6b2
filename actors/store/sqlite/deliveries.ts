// Delivery table in SQLite: records and bodies of events. Mailboxes (mailboxes/mailboxes.ts) decides which
// event may start; SqliteOutcomes writes the results of attempts. An id is stored once, with the body that
// arrived first. The engine calls `recount` when a transaction was rolled back.

import type { DeliveryState } from '../delivery.ts';
import { firstNonBlocking, stateCodes, stateOf } from '../delivery-states.ts';
import { INBOUND, type NewEvent, type StoredEvent } from '../event.ts';
import { toStorableText } from '../record-texts.ts';
import type { AppendOutcome, TurnResult } from '../store.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';
import { type OnFinished, SqliteOutcomes } from './outcomes.ts';
import type { SqliteParkedEvents } from './parked-events.ts';
import { UnfinishedEvents } from './unfinished-events.ts';

export interface FirstOfKey {
  readonly seq: number;
  /** True if the event has a holder (`held_by`): a paused trigger, or a group without free slots. */
  readonly isHeld: boolean;
  readonly retryAt: number | null;
  readonly crashes: number;
}

export interface FoundEvent {
  readonly seq: number;
  readonly key: string;
  readonly state: DeliveryState;
}

export interface AddedEvent extends FoundEvent {
  readonly outcome: AppendOutcome['outcome'];
}

/** First event with the body, ready for the attempt `event.attempt`. */
export interface FirstWithBody extends FirstOfKey {
  readonly event: StoredEvent;
}

type Nothing = readonly [];
type FirstRow = readonly [seq: number, isHeld: number | null, retryAt: number | null, crashes: number];
/** Bits of the combined column in `#firstWithBody`: the event has a holder; it has extras (rare fields). */
const HELD_FLAG = 1;
const EXTRAS_FLAG = 2;
type BodyRow = readonly [meta: string, body: Uint8Array];

export class SqliteDeliveries {
  readonly #parkedEvents: SqliteParkedEvents;
  readonly #outcomes: SqliteOutcomes;
  readonly #insert: SqliteStatement<Nothing>;
  readonly #insertKind: SqliteStatement<Nothing>;
  readonly #insertBody: SqliteStatement<Nothing>;
  readonly #byId: SqliteStatement<readonly [number, string, number]>;
  readonly #first: SqliteStatement<FirstRow>;
  readonly #firstWithBody: SqliteStatement<
    readonly [
      ...FirstRow,
      id: string,
      trace: string,
      at: number,
      attempts: number,
      started: number | null,
      ...BodyRow,
    ]
  >;
  readonly #allUnfinished: SqliteStatement<readonly [string, number, number]>;
  readonly #suspects: SqliteStatement<readonly [number, number]>;
  readonly #heldBy: SqliteStatement<readonly [number, string]>;
  readonly #held: SqliteStatement<readonly [number]>;
  readonly #holders: SqliteStatement<readonly [string]>;
  readonly #begin: SqliteStatement<Nothing>;
  readonly #delayRetry: SqliteStatement<Nothing>;
  readonly #requeue: SqliteStatement<Nothing>;
  readonly #release: SqliteStatement<Nothing>;
  /** Numbers of unfinished records. */
  readonly unfinished: UnfinishedEvents;

  constructor(connection: SqliteConnection, parkedEvents: SqliteParkedEvents, onFinished: OnFinished) {
    this.#parkedEvents = parkedEvents;
    this.#outcomes = new SqliteOutcomes(connection, onFinished);
    const { queued, running } = stateCodes;
    this.#insert = connection.prepare(
      `INSERT INTO delivery (id, key, trace, at, state, attempts, started) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO NOTHING`,
    );
    this.#insertKind = connection.prepare(
      `INSERT INTO delivery (id, key, trace, at, state, attempts, started, kind, wakes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    );
    this.#insertBody = connection.prepare('INSERT INTO body (seq, meta, body) VALUES (?, ?, ?)');
    // States below `firstNonBlocking` are unfinished and block later events of the key.
    this.#byId = connection.prepare('SELECT seq, key, state FROM delivery WHERE id = ?');
    this.#first = connection.prepare(
      `SELECT seq, held_by IS NOT NULL, retry_at, crashes FROM delivery WHERE key = ? AND state < ${firstNonBlocking}
       ORDER BY seq LIMIT 1`,
    );
    this.#firstWithBody = connection.prepare(
      `SELECT delivery.seq,
         (held_by IS NOT NULL) * ${HELD_FLAG} + (coalesce(has_progress, kind, wakes) IS NOT NULL) * ${EXTRAS_FLAG},
         retry_at, crashes, id, trace, at, attempts, started, meta, body
       FROM delivery JOIN body ON body.seq = delivery.seq
       WHERE key = ? AND state < ${firstNonBlocking} ORDER BY delivery.seq LIMIT 1`,
    );
    this.#allUnfinished = connection.prepare(
      `SELECT key, seq, state FROM delivery WHERE state < ${firstNonBlocking}`,
    );
    this.#heldBy = connection.prepare('SELECT seq, key FROM delivery WHERE held_by = ? ORDER BY seq LIMIT ?');
    this.#suspects = connection.prepare(
      `SELECT seq, crashes FROM delivery WHERE crashes > 0 AND state < ${firstNonBlocking}`,
    );
    this.#held = connection.prepare('SELECT seq FROM delivery WHERE held_by IS NOT NULL');
    this.#holders = connection.prepare(
      'SELECT DISTINCT held_by FROM delivery WHERE held_by IS NOT NULL ORDER BY held_by',
    );
    this.#begin = connection.prepare(
      `UPDATE delivery SET state = ${running}, attempts = ?, started = ?, retry_at = NULL WHERE seq = ?`,
    );
    this.#delayRetry = connection.prepare('UPDATE delivery SET retry_at = max(retry_at, ?) WHERE seq = ?');
    this.#requeue = connection.prepare(
      `UPDATE delivery SET state = ${queued}, attempts = 0, crashes = 0, ended = NULL, retry_at = NULL, note = NULL,
         answer = NULL WHERE seq = ?`,
    );
    this.#release = connection.prepare(
      `UPDATE delivery SET state = ${queued}, held_by = NULL, note = NULL WHERE seq = ?`,
    );
    this.unfinished = new UnfinishedEvents(connection);
  }

  /** Counts the unfinished and the parked records. */
  recount(): void {
    this.unfinished.recount();
    this.#parkedEvents.recount();
  }

  /**
   * Adds a record in state `queued` or, with `runs`, `running`. If the id exists, a dead event is requeued
   * (`revived`) unless it has `isOnce`; any other record stays unchanged.
   */
  add(event: NewEvent, runs: boolean, now: number): AddedEvent {
    const id = toStorableText(event.id);
    const key = toStorableText(event.key);
    const state = runs ? 'running' : 'queued';
    const begun = runs ? [1, now] : [0, null];
    const values = [id, key, toStorableText(event.trace), now, stateCodes[state], ...begun];
    const { kind, wakes } = event;
    const { changes, lastInsertRowid: seq } =
      kind === undefined && wakes === undefined
        ? this.#insert.run(values)
        : this.#insertKind.run([
            ...values,
            storedKind(kind),
            wakes === undefined ? null : toStorableText(wakes),
          ]);
    if (changes > 0) {
      this.#insertBody.run([seq, toStorableText(event.meta), event.body]);
      this.unfinished.add(seq, { id, key });
      return { seq, key, outcome: 'new', state };
    }
    const existing = this.find(event.id);
    if (existing === undefined) throw new Error('no record found after an insert conflict');
    if (existing.state !== 'dead' || event.isOnce === true) return { ...existing, outcome: 'duplicate' };
    this.requeue(existing, id);
    return { seq: existing.seq, key: existing.key, outcome: 'revived', state: 'queued' };
  }

  find(id: string): FoundEvent | undefined {
    const row = this.#byId.get([toStorableText(id)]);
    return row === undefined ? undefined : { seq: row[0], key: row[1], state: stateOf(row[2]) };
  }

  /** Returns the first unfinished event of the key. */
  first(key: string): FirstOfKey | undefined {
    const row = this.#first.get([key]);
    if (row === undefined) return undefined;
    const [seq, isHeld, retryAt, crashes] = row;
    return { seq, isHeld: isHeld === 1, retryAt, crashes };
  }

  /** Returns the first unfinished event of the key, including its body. */
  firstWithBody(key: string): FirstWithBody | undefined {
    const row = this.#firstWithBody.get([key]);
    if (row === undefined) return undefined;
    const [seq, flags, retryAt, crashes, id, trace, at, attempts, started, meta, body] = row;
    // Not derived from `attempts`, which an uncounted attempt decrements.
    const wasClaimed = started !== null;
    const event = { seq, id, key, trace, at, attempt: attempts + 1, crashes, wasClaimed, meta, body };
    if (flags === null || flags < EXTRAS_FLAG)
      return { seq, isHeld: flags === HELD_FLAG, retryAt, crashes, event };
    const isHeld = (flags & HELD_FLAG) !== 0;
    return { seq, isHeld, retryAt, crashes, event: { ...event, ...this.#parkedEvents.extras(seq) } };
  }

  /** Returns all unfinished events that are not parked, in order of arrival. */
  unfinishedInOrder(): readonly (readonly [key: string, seq: number, state: DeliveryState])[] {
    return this.#allUnfinished
      .all([])
      .map(([key, seq, code]) => [key, seq, stateOf(code)] as const)
      .sort(([, seq], [, other]) => seq - other);
  }

  holders(): readonly string[] {
    return this.#holders.all([]).map(([name]) => name);
  }

  /** Starts an attempt, which counts even if the process crashes. */
  startAttempt({ seq, attempt }: StoredEvent, now: number): void {
    this.#begin.run([attempt, now, seq]);
  }

  /** Writes an outcome. */
  writeOutcome(result: TurnResult, now: number): void {
    if (this.#outcomes.write(result, now)) this.unfinished.delete(result.seq);
  }

  /** Aborts an attempt with an expired claim: the event is requeued, and the record contains the reason. */
  expire(seq: number, note: string, now: number): void {
    this.#outcomes.expire(seq, note, now);
  }

  /** Records a crash. The event is retried at `retryAt`, or dead if undefined. */
  crash(seq: number, note: string, crashes: number, retryAt: number | undefined, now: number): void {
    this.#outcomes.crash(seq, note, crashes, retryAt, now);
    if (retryAt === undefined) this.unfinished.delete(seq);
  }

  /** Returns the `seq` of all events with a holder. */
  heldSeqs(): ReadonlySet<number> {
    return new Set(this.#held.all([]).map(([seq]) => seq));
  }

  /** Returns the crash counts of unfinished events with crashes, by `seq`. */
  suspects(): ReadonlyMap<number, number> {
    return new Map(this.#suspects.all([]));
  }

  /** Delays the next attempt at least until `retryAt`, epoch milliseconds. */
  delayRetry(seq: number, retryAt: number): void {
    this.#delayRetry.run([retryAt, seq]);
  }

  /**
   * Requeues a finished or parked record with a new attempt count. Deletes its saved state unless
   * `keepsState`.
   */
  requeue({ seq, key }: Pick<FoundEvent, 'seq' | 'key'>, id: string, keepsState = false): void {
    this.#requeue.run([seq]);
    if (!keepsState) this.#parkedEvents.deleteProgress(seq);
    this.unfinished.add(seq, { id, key });
  }

  /** Completes a queued record that woke another event. */
  endWaker(seq: number, note: string, now: number): void {
    this.#outcomes.end(seq, 'done', note, now);
    this.unfinished.delete(seq);
  }

  /** Marks a record that is not running as `ignored`. */
  ignore(seq: number, note: string, now: number): void {
    this.#outcomes.end(seq, 'ignored', note, now);
    this.unfinished.delete(seq);
  }

  /** Releases the first `max` events of the holder `heldBy`. Returns their keys. */
  release(heldBy: string, max: number): ReadonlySet<string> {
    const limit = Number.isFinite(max) ? Math.max(0, Math.floor(max)) : -1;
    const rows = this.#heldBy.all([heldBy, limit]);
    for (const [seq] of rows) this.#release.run([seq]);
    return new Set(rows.map(([, key]) => key));
  }
}

/** Inbound, the most frequent kind, is stored as null. */
function storedKind(kind: string | undefined): string | null {
  return kind === undefined || kind === INBOUND ? null : toStorableText(kind);
}
