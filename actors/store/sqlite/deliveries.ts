// The table of deliveries: the record and body of each event, from its arrival on. Which event may begin is decided by the
// mailboxes; what an attempt leaves in the record is written by SqliteOutcomes.
//
// SD1  an id stands in the table once; the bytes that came with it first are the ones that stay.
// SD2  `unfinished` is the number of records that wait, for whatever, or run; after a rollback it is counted anew.

import type { DeliveryState } from '../delivery.ts';
import { firstSettled, stateCodes, stateOf } from '../delivery-states.ts';
import { INBOUND, type NewEvent, type StoredEvent } from '../event.ts';
import { storable } from '../record-texts.ts';
import type { Appended, TurnResult } from '../store.ts';
import type { SqliteConnection, Statement } from './connection.ts';
import { type OnEnded, SqliteOutcomes } from './outcomes.ts';
import type { SqliteWaits } from './waits.ts';

export interface FirstOfKey {
  readonly seq: number;
  /** By some name, whatever the state says of it. */
  readonly isHeld: boolean;
  readonly retryAt: number | null;
  readonly crashes: number;
}

export interface Found {
  readonly seq: number;
  readonly key: string;
  readonly state: DeliveryState;
}

export interface Added extends Found {
  readonly outcome: Appended['outcome'];
}

/** With what its next attempt needs, which `event.attempt` counts already. */
export interface WholeFirst extends FirstOfKey {
  readonly event: StoredEvent;
}

type Nothing = readonly [];
type FirstRow = readonly [seq: number, isHeld: number | null, retryAt: number | null, crashes: number];
/** In place of `isHeld`, where both are asked for: the event has more than most have. */
const HELD_FLAG = 1;
const EXTRAS_FLAG = 2;
type BodyRow = readonly [meta: string, body: Uint8Array];

export class SqliteDeliveries {
  readonly #waits: SqliteWaits;
  readonly #outcomes: SqliteOutcomes;
  readonly #insert: Statement<Nothing>;
  readonly #insertKind: Statement<Nothing>;
  readonly #insertBody: Statement<Nothing>;
  readonly #byId: Statement<readonly [number, string, number]>;
  readonly #first: Statement<FirstRow>;
  readonly #wholeFirst: Statement<
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
  readonly #allUnfinished: Statement<readonly [string, number, number]>;
  readonly #suspects: Statement<readonly [number, number]>;
  readonly #heldBy: Statement<readonly [number, string]>;
  readonly #held: Statement<readonly [number]>;
  readonly #holders: Statement<readonly [string]>;
  readonly #begin: Statement<Nothing>;
  readonly #waitLonger: Statement<Nothing>;
  readonly #again: Statement<Nothing>;
  readonly #release: Statement<Nothing>;
  readonly #count: Statement<readonly [number]>;
  #unfinished: number;

  constructor(connection: SqliteConnection, waits: SqliteWaits, onEnded: OnEnded) {
    this.#waits = waits;
    this.#outcomes = new SqliteOutcomes(connection, onEnded);
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
    this.#byId = connection.prepare('SELECT seq, key, state FROM delivery WHERE id = ?');
    this.#first = connection.prepare(
      `SELECT seq, held_by IS NOT NULL, retry_at, crashes FROM delivery WHERE key = ? AND state < ${firstSettled}
       ORDER BY seq LIMIT 1`,
    );
    this.#wholeFirst = connection.prepare(
      `SELECT delivery.seq,
         (held_by IS NOT NULL) * ${HELD_FLAG} + (coalesce(has_progress, kind, wakes) IS NOT NULL) * ${EXTRAS_FLAG},
         retry_at, crashes, id, trace, at, attempts, started, meta, body
       FROM delivery JOIN body ON body.seq = delivery.seq
       WHERE key = ? AND state < ${firstSettled} ORDER BY delivery.seq LIMIT 1`,
    );
    this.#allUnfinished = connection.prepare(
      `SELECT key, seq, state FROM delivery WHERE state < ${firstSettled}`,
    );
    this.#heldBy = connection.prepare('SELECT seq, key FROM delivery WHERE held_by = ? ORDER BY seq LIMIT ?');
    this.#suspects = connection.prepare(
      `SELECT seq, crashes FROM delivery WHERE crashes > 0 AND state < ${firstSettled}`,
    );
    this.#held = connection.prepare('SELECT seq FROM delivery WHERE held_by IS NOT NULL');
    this.#holders = connection.prepare(
      'SELECT DISTINCT held_by FROM delivery WHERE held_by IS NOT NULL ORDER BY held_by',
    );
    this.#begin = connection.prepare(
      `UPDATE delivery SET state = ${running}, attempts = ?, started = ?, retry_at = NULL WHERE seq = ?`,
    );
    this.#waitLonger = connection.prepare('UPDATE delivery SET retry_at = max(retry_at, ?) WHERE seq = ?');
    this.#again = connection.prepare(
      `UPDATE delivery SET state = ${queued}, attempts = 0, crashes = 0, ended = NULL, retry_at = NULL, note = NULL,
         answer = NULL WHERE seq = ?`,
    );
    this.#release = connection.prepare(
      `UPDATE delivery SET state = ${queued}, held_by = NULL, note = NULL WHERE seq = ?`,
    );
    this.#count = connection.prepare(
      `SELECT (SELECT count(*) FROM delivery WHERE state < ${firstSettled})
         + (SELECT count(*) FROM delivery WHERE waits_for IS NOT NULL)`,
    );
    this.#unfinished = 0;
    this.recount();
  }

  get unfinished(): number {
    return this.#unfinished;
  }

  recount(): void {
    this.#unfinished = this.#count.get([])?.[0] ?? 0;
  }

  /**
   * The new record waits, or runs from the beginning. One that is known stays as it is, but that a dead one waits again where it may.
   */
  add(event: NewEvent, runs: boolean, now: number): Added {
    const id = storable(event.id);
    const key = storable(event.key);
    const state = runs ? 'running' : 'queued';
    const begun = runs ? [1, now] : [0, null];
    const values = [id, key, storable(event.trace), now, stateCodes[state], ...begun];
    const { kind, wakes } = event;
    const { changes, lastInsertRowid: seq } =
      kind === undefined && wakes === undefined
        ? this.#insert.run(values)
        : this.#insertKind.run([...values, storedKind(kind), wakes === undefined ? null : storable(wakes)]);
    if (changes > 0) {
      this.#insertBody.run([seq, storable(event.meta), event.body]);
      this.#unfinished += 1;
      return { seq, key, outcome: 'new', state };
    }
    const known = this.find(event.id);
    if (known === undefined) throw new Error('a record is neither new nor known');
    if (known.state !== 'dead' || event.isOnce === true) return { ...known, outcome: 'duplicate' };
    this.again(known.seq, known.state);
    return { seq: known.seq, key: known.key, outcome: 'revived', state: 'queued' };
  }

  find(id: string): Found | undefined {
    const row = this.#byId.get([storable(id)]);
    return row === undefined ? undefined : { seq: row[0], key: row[1], state: stateOf(row[2]) };
  }

  /** The unfinished event of the key that is before all others. */
  first(key: string): FirstOfKey | undefined {
    const row = this.#first.get([key]);
    if (row === undefined) return undefined;
    const [seq, isHeld, retryAt, crashes] = row;
    return { seq, isHeld: isHeld === 1, retryAt, crashes };
  }

  /** The same with its body. */
  wholeFirst(key: string): WholeFirst | undefined {
    const row = this.#wholeFirst.get([key]);
    if (row === undefined) return undefined;
    const [seq, flags, retryAt, crashes, id, trace, at, attempts, started, meta, body] = row;
    // `attempts` may have been taken back; when one began is never forgotten.
    const wasClaimed = started !== null;
    const event = { seq, id, key, trace, at, attempt: attempts + 1, crashes, wasClaimed, meta, body };
    if (flags === null || flags < EXTRAS_FLAG)
      return { seq, isHeld: flags === HELD_FLAG, retryAt, crashes, event };
    const isHeld = (flags & HELD_FLAG) !== 0;
    return { seq, isHeld, retryAt, crashes, event: { ...event, ...this.#waits.extras(seq) } };
  }

  /** All that wait or run, in the order in which they came. */
  unfinishedInOrder(): readonly (readonly [key: string, seq: number, state: DeliveryState])[] {
    return this.#allUnfinished
      .all([])
      .map(([key, seq, code]) => [key, seq, stateOf(code)] as const)
      .sort(([, seq], [, other]) => seq - other);
  }

  holders(): readonly string[] {
    return this.#holders.all([]).map(([name]) => name);
  }

  /** The attempt begins, and counts from now on whatever becomes of the process. */
  begin({ seq, attempt }: StoredEvent, now: number): void {
    this.#begin.run([attempt, now, seq]);
  }

  /** What a turn said of its event. */
  settle(result: TurnResult, now: number): void {
    if (this.#outcomes.settle(result, now)) this.#unfinished -= 1;
  }

  /** An attempt ended without a word: the event waits again, and the record says why. */
  breakOff(seq: number, note: string, now: number): void {
    this.#outcomes.breakOff(seq, note, now);
  }

  /** The process ended while it was handled: it has so many crashes now, and waits until then, or is dead. */
  crash(seq: number, note: string, crashes: number, retryAt: number | undefined, now: number): void {
    this.#outcomes.crash(seq, note, crashes, retryAt, now);
    if (retryAt === undefined) this.#unfinished -= 1;
  }

  /** What is held by some name, by `seq`. */
  held(): ReadonlySet<number> {
    return new Set(this.#held.all([]).map(([seq]) => seq));
  }

  /** How often the process has ended with those that wait or run, by `seq`; of those only with which it has. */
  suspects(): ReadonlyMap<number, number> {
    return new Map(this.#suspects.all([]));
  }

  /** One that waits for its next attempt is not to begin before that time, epoch ms. */
  waitLonger(seq: number, retryAt: number): void {
    this.#waitLonger.run([retryAt, seq]);
  }

  /**
   * Has a record that is over, or parked, wait for its turn again, with all its attempts before it: from its beginning, or with
   * `keepsState` from what was kept of it.
   */
  again(seq: number, state: DeliveryState, keepsState = false): void {
    this.#again.run([seq]);
    if (!keepsState) this.#waits.drop(seq);
    if (state !== 'waiting') this.#unfinished += 1;
  }

  /** Ends a record that waited for its turn, and has woken another one instead. */
  endWaker(seq: number, note: string, now: number): void {
    this.#outcomes.end(seq, 'done', note, now);
    this.#unfinished -= 1;
  }

  /** Ends a record that waits, is held or dead. */
  ignore(seq: number, state: DeliveryState, note: string, now: number): void {
    this.#outcomes.end(seq, 'ignored', note, now);
    if (state !== 'dead') this.#unfinished -= 1;
  }

  /** Lets go on up to `max` of what is held by that name, in order; gives their keys. */
  release(heldBy: string, max: number): ReadonlySet<string> {
    const limit = Number.isFinite(max) ? Math.max(0, Math.floor(max)) : -1;
    const rows = this.#heldBy.all([heldBy, limit]);
    for (const [seq] of rows) this.#release.run([seq]);
    return new Set(rows.map(([, key]) => key));
  }
}

/** Most events are inbound, and say nothing of it. */
function storedKind(kind: string | undefined): string | null {
  return kind === undefined || kind === INBOUND ? null : storable(kind);
}
