// Writes the results of attempts into delivery records: outcome, expired claim, or crash. Texts are
// truncated, and only the last failures are kept.

import { stateCodes } from '../delivery-states.ts';
import {
  ANSWER_LENGTH,
  FAILURES_KEPT,
  NAME_LENGTH,
  NOTE_LENGTH,
  toStorableText,
  truncateText,
} from '../record-texts.ts';
import type { TurnResult } from '../store.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

/** SQL that appends a failure to the list. Its two values are the time (epoch ms) and the note. */
export const withFailure = `failures = json_insert(
  CASE WHEN json_array_length(failures) >= ${FAILURES_KEPT} THEN json_remove(failures, '$[0]')
  ELSE coalesce(failures, '[]') END,
  '$[#]', json_object('attempt', attempts, 'at', ?, 'note', ?))`;

type Nothing = readonly [];

/** Called for every finished event; `now` is epoch milliseconds. */
export type OnFinished = (seq: number, now: number) => void;

export class SqliteOutcomes {
  readonly #end: SqliteStatement<Nothing>;
  readonly #fail: SqliteStatement<Nothing>;
  readonly #defer: SqliteStatement<Nothing>;
  readonly #hold: SqliteStatement<Nothing>;
  readonly #requeue: SqliteStatement<Nothing>;
  readonly #setReceipt: SqliteStatement<Nothing>;
  readonly #expire: SqliteStatement<Nothing>;
  readonly #crash: SqliteStatement<Nothing>;
  readonly #onFinished: OnFinished;

  constructor(connection: SqliteConnection, onFinished: OnFinished) {
    this.#onFinished = onFinished;
    const { queued, retrying, held } = stateCodes;
    this.#end = connection.prepare(
      `UPDATE delivery SET state = ?, ended = ?, trigger = coalesce(?, trigger), note = ?, answer = ?,
         held_by = NULL, retry_at = NULL WHERE seq = ?`,
    );
    this.#fail = connection.prepare(
      `UPDATE delivery SET state = ?, ended = ?, retry_at = ?, trigger = coalesce(?, trigger), note = ?, answer = ?,
         ${withFailure} WHERE seq = ?`,
    );
    // Clears `started` unless an earlier attempt had effects.
    this.#defer = connection.prepare(
      `UPDATE delivery SET state = ${retrying}, retry_at = ?, attempts = attempts - 1,
         deferrals = deferrals + 1, started = CASE WHEN ? THEN started END, trigger = coalesce(?, trigger), note = ? WHERE seq = ?`,
    );
    // The handler had no effect, so the attempt does not count.
    this.#hold = connection.prepare(
      `UPDATE delivery SET state = ${held}, held_by = ?, attempts = attempts - 1,
         trigger = coalesce(?, trigger), note = ? WHERE seq = ?`,
    );
    this.#requeue = connection.prepare(
      `UPDATE delivery SET state = ${queued}, held_by = ?, attempts = attempts - 1, note = ? WHERE seq = ?`,
    );
    this.#setReceipt = connection.prepare('UPDATE delivery SET receipt = ? WHERE seq = ?');
    this.#expire = connection.prepare(`UPDATE delivery SET state = ${queued}, ${withFailure} WHERE seq = ?`);
    this.#crash = connection.prepare(
      `UPDATE delivery SET state = ?, ended = ?, retry_at = ?, note = ?, crashes = ?, ${withFailure}
       WHERE seq = ?`,
    );
  }

  /** Writes an outcome. Returns true for a final outcome. */
  write(result: TurnResult, now: number): boolean {
    const { seq, outcome } = result;
    const trigger = truncateText(result.trigger, NAME_LENGTH);
    const note = truncateText(result.note, NOTE_LENGTH);
    const answer = truncateText(result.answer, ANSWER_LENGTH);
    if (outcome === 'held') {
      this.#hold.run([toStorableText(result.heldBy ?? ''), trigger, note, seq]);
      return false;
    }
    if (outcome === 'queued') {
      this.#requeue.run([result.heldBy === undefined ? null : toStorableText(result.heldBy), note, seq]);
      return false;
    }
    const retryAt = now + Math.max(0, Math.ceil(result.retryInMs ?? 0));
    if (outcome === 'deferred') {
      this.#defer.run([retryAt, result.wasClaimed === true ? 1 : 0, trigger, note, seq]);
      return false;
    }
    if (outcome === 'retrying') {
      this.#fail.run([stateCodes.retrying, null, retryAt, trigger, note, answer, now, note ?? '', seq]);
      return false;
    }
    if (outcome === 'dead')
      this.#fail.run([stateCodes.dead, now, null, trigger, note, answer, now, note ?? '', seq]);
    else if (outcome === 'done' || outcome === 'ignored')
      this.#end.run([stateCodes[outcome], now, trigger, note, answer, seq]);
    else throw new TypeError(`${outcome} does not end a turn`);
    if (result.receipt !== undefined) this.#setReceipt.run([truncateText(result.receipt, NAME_LENGTH), seq]);
    this.#onFinished(seq, now);
    return true;
  }

  /** Aborts an attempt with an expired claim: the event is requeued, and the record contains the reason. */
  expire(seq: number, note: string, now: number): void {
    this.#expire.run([now, note, seq]);
  }

  /** Records a crash. The event is retried at `retryAt`, or dead if undefined. */
  crash(seq: number, note: string, crashes: number, retryAt: number | undefined, now: number): void {
    const { retrying, dead } = stateCodes;
    const state = retryAt === undefined ? [dead, now, null] : [retrying, null, retryAt];
    this.#crash.run([...state, note, crashes, now, note, seq]);
    if (retryAt === undefined) this.#onFinished(seq, now);
  }

  /** Finishes a record without an attempt. */
  end(seq: number, state: 'done' | 'ignored', note: string, now: number): void {
    this.#end.run([stateCodes[state], now, null, truncateText(note, NOTE_LENGTH), null, seq]);
    this.#onFinished(seq, now);
  }
}
