// Writes into the record of a delivery what became of an attempt: how its turn ended, that it was broken off, that the process
// ended with it. All texts are bounded, and of many failures the last ones are kept.

import { stateCodes } from '../delivery-states.ts';
import {
  ANSWER_LENGTH,
  bounded,
  FAILURES_KEPT,
  NAME_LENGTH,
  NOTE_LENGTH,
  storable,
} from '../record-texts.ts';
import type { TurnResult } from '../store.ts';
import type { SqliteConnection, Statement } from './connection.ts';

/** Values: when, epoch ms, and why. */
export const withFailure = `failures = json_insert(
  CASE WHEN json_array_length(failures) >= ${FAILURES_KEPT} THEN json_remove(failures, '$[0]')
  ELSE coalesce(failures, '[]') END,
  '$[#]', json_object('attempt', attempts, 'at', ?, 'note', ?))`;

type Nothing = readonly [];

/** Hears of each event that ends, in whatever way; `now` is epoch ms. */
export type OnEnded = (seq: number, now: number) => void;

export class SqliteOutcomes {
  readonly #end: Statement<Nothing>;
  readonly #fail: Statement<Nothing>;
  readonly #defer: Statement<Nothing>;
  readonly #hold: Statement<Nothing>;
  readonly #giveBack: Statement<Nothing>;
  readonly #keepReceipt: Statement<Nothing>;
  readonly #break: Statement<Nothing>;
  readonly #crash: Statement<Nothing>;
  readonly #onEnded: OnEnded;

  constructor(connection: SqliteConnection, onEnded: OnEnded) {
    this.#onEnded = onEnded;
    const { queued, retrying, held } = stateCodes;
    this.#end = connection.prepare(
      `UPDATE delivery SET state = ?, ended = ?, trigger = coalesce(?, trigger), note = ?, answer = ?,
         held_by = NULL, retry_at = NULL WHERE seq = ?`,
    );
    this.#fail = connection.prepare(
      `UPDATE delivery SET state = ?, ended = ?, retry_at = ?, trigger = coalesce(?, trigger), note = ?, answer = ?,
         ${withFailure} WHERE seq = ?`,
    );
    // Nothing was done: what tells that an attempt was begun is as it was before.
    this.#defer = connection.prepare(
      `UPDATE delivery SET state = ${retrying}, retry_at = ?, attempts = attempts - 1,
         deferrals = deferrals + 1, started = CASE WHEN ? THEN started END, trigger = coalesce(?, trigger), note = ? WHERE seq = ?`,
    );
    // It was not tried, so it has not used up an attempt.
    this.#hold = connection.prepare(
      `UPDATE delivery SET state = ${held}, held_by = ?, attempts = attempts - 1,
         trigger = coalesce(?, trigger), note = ? WHERE seq = ?`,
    );
    this.#giveBack = connection.prepare(
      `UPDATE delivery SET state = ${queued}, held_by = ?, attempts = attempts - 1, note = ? WHERE seq = ?`,
    );
    this.#keepReceipt = connection.prepare('UPDATE delivery SET receipt = ? WHERE seq = ?');
    this.#break = connection.prepare(`UPDATE delivery SET state = ${queued}, ${withFailure} WHERE seq = ?`);
    this.#crash = connection.prepare(
      `UPDATE delivery SET state = ?, ended = ?, retry_at = ?, note = ?, crashes = ?, ${withFailure}
       WHERE seq = ?`,
    );
  }

  /** What a turn said of its event. Gives whether the event is over. */
  settle(result: TurnResult, now: number): boolean {
    const { seq, outcome } = result;
    const trigger = bounded(result.trigger, NAME_LENGTH);
    const note = bounded(result.note, NOTE_LENGTH);
    const answer = bounded(result.answer, ANSWER_LENGTH);
    if (outcome === 'held') {
      this.#hold.run([storable(result.heldBy ?? ''), trigger, note, seq]);
      return false;
    }
    if (outcome === 'queued') {
      this.#giveBack.run([result.heldBy === undefined ? null : storable(result.heldBy), note, seq]);
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
    else throw new TypeError(`${outcome} is no end of a turn`);
    if (result.receipt !== undefined) this.#keepReceipt.run([bounded(result.receipt, NAME_LENGTH), seq]);
    this.#onEnded(seq, now);
    return true;
  }

  /** An attempt ended without a word: the event waits again, and the record says why. */
  breakOff(seq: number, note: string, now: number): void {
    this.#break.run([now, note, seq]);
  }

  /** The process ended while it was handled: it has so many crashes now, and waits until then, or is dead. */
  crash(seq: number, note: string, crashes: number, retryAt: number | undefined, now: number): void {
    const { retrying, dead } = stateCodes;
    const state = retryAt === undefined ? [dead, now, null] : [retrying, null, retryAt];
    this.#crash.run([...state, note, crashes, now, note, seq]);
    if (retryAt === undefined) this.#onEnded(seq, now);
  }

  /** The record is over without an attempt. */
  end(seq: number, state: 'done' | 'ignored', note: string, now: number): void {
    this.#end.run([stateCodes[state], now, null, bounded(note, NOTE_LENGTH), null, seq]);
    this.#onEnded(seq, now);
  }
}
