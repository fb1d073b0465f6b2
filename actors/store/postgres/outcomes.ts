// Writes into the records of deliveries what became of their attempts: how turns ended, that one was broken off, that a node ended
// with one. All texts are bounded, and of many failures the last ones are kept.

import { stateCodes } from '../delivery-states.ts';
import { ANSWER_LENGTH, bounded, FAILURES_KEPT, NAME_LENGTH, NOTE_LENGTH } from '../record-texts.ts';
import { storable } from '../storable.ts';
import type { TurnResult } from '../store.ts';
import { cancelAsked } from './approvals.ts';
import { statement, type Transaction } from './database.ts';

/** One more failure; the expressions give when it was, epoch ms, and why. */
const withFailure = (at: string, note: string) =>
  `CASE WHEN jsonb_array_length(delivery.failures) >= ${FAILURES_KEPT} THEN delivery.failures - 0
     ELSE coalesce(delivery.failures, '[]') END
   || jsonb_build_array(jsonb_build_object('attempt', delivery.attempts, 'at', ${at}, 'note', ${note}))`;

const settleAll = statement<readonly [seq: number, hasProgress: boolean]>(
  `UPDATE delivery SET state = result.state, ended = CASE WHEN result.is_over THEN $2::bigint END, retry_at = result.retry_at,
     held_by = result.held_by, trigger = coalesce(result.trigger, delivery.trigger), note = result.note,
     answer = CASE WHEN result.answers THEN result.answer ELSE delivery.answer END,
     attempts = delivery.attempts - CASE WHEN result.is_untried THEN 1 ELSE 0 END,
     deferrals = delivery.deferrals + CASE WHEN result.is_deferred THEN 1 ELSE 0 END,
     started = CASE WHEN result.forgets_start THEN NULL ELSE delivery.started END,
     receipt = coalesce(result.receipt, delivery.receipt),
     failures = CASE WHEN result.is_failure THEN ${withFailure('$2::bigint', "coalesce(result.note, '')")}
       ELSE delivery.failures END
   FROM json_to_recordset($1::json) AS result (seq bigint, state smallint, is_over boolean, retry_at bigint, held_by text,
     trigger text, note text, answers boolean, answer text, is_untried boolean, is_deferred boolean, forgets_start boolean,
     receipt text, is_failure boolean)
   WHERE delivery.seq = result.seq RETURNING delivery.seq, delivery.has_progress`,
);
const breakOffAll = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, failures = ${withFailure('$2::bigint', '$3::text')} WHERE seq = ANY ($1)`,
);
const crashOne = statement(
  `UPDATE delivery SET state = $2, ended = $3, retry_at = $4, note = $5, crashes = $6,
     failures = ${withFailure('$7::bigint', '$5::text')} WHERE seq = $1`,
);
const failOne = statement(
  `UPDATE delivery SET state = ${stateCodes.dead}, ended = $2, note = $3, failures = ${withFailure('$2::bigint', '$3::text')}
   WHERE seq = $1`,
);
const endOne = statement(
  `UPDATE delivery SET state = $2, ended = $3, note = $4, answer = NULL, held_by = NULL, retry_at = NULL WHERE seq = $1`,
);

/** What turns said of their events; none is a checkpoint, or parked. */
export async function settleOutcomes(
  transaction: Transaction,
  results: readonly TurnResult[],
): Promise<void> {
  if (results.length === 0) return;
  const rows = results.map((result) => outcomeRow(result, transaction.now));
  const written = await transaction.rows(settleAll, [JSON.stringify(rows), transaction.now]);
  const over = new Set(rows.filter(({ is_over }) => is_over).map(({ seq }) => seq));
  // Only what has got on has asked anybody.
  const asked = written.filter(([seq, hasProgress]) => hasProgress && over.has(seq)).map(([seq]) => seq);
  await cancelAsked(transaction, asked);
}

/** Attempts ended without a word: their events wait again, and the records say why. */
export async function breakOff(
  transaction: Transaction,
  seqs: readonly number[],
  note: string,
): Promise<void> {
  if (seqs.length > 0) await transaction.run(breakOffAll, [seqs, transaction.now, note]);
}

/** A node ended while it was handled: it has so many crashes now, and waits until then, or is dead. */
export async function crash(
  transaction: Transaction,
  seq: number,
  note: string,
  crashes: number,
  retryAt: number | undefined,
): Promise<void> {
  const { retrying, dead } = stateCodes;
  const { now } = transaction;
  const [state, ended, until] = retryAt === undefined ? [dead, now, null] : [retrying, null, retryAt];
  await transaction.run(crashOne, [seq, state, ended, until, note, crashes, now]);
  if (retryAt === undefined) await cancelAsked(transaction, [seq]);
}

/** What was done has not arrived. */
export async function failDone(transaction: Transaction, seq: number, note: string): Promise<void> {
  await transaction.run(failOne, [seq, transaction.now, bounded(note, NOTE_LENGTH)]);
}

/** The record is over without an attempt. */
export async function ignore(transaction: Transaction, seq: number, note: string): Promise<void> {
  await transaction.run(endOne, [seq, stateCodes.ignored, transaction.now, bounded(note, NOTE_LENGTH)]);
  await cancelAsked(transaction, [seq]);
}

function outcomeRow(result: TurnResult, now: number) {
  const { seq, outcome } = result;
  if (outcome === 'checkpoint' || outcome === 'parked') throw new TypeError(`${outcome} is no end of a turn`);
  const isOver = outcome === 'done' || outcome === 'ignored' || outcome === 'dead';
  const isPaused = outcome === 'retrying' || outcome === 'deferred';
  const isHeld = outcome === 'held' || outcome === 'queued';
  const heldBy = result.heldBy ?? (outcome === 'held' ? '' : undefined);
  return {
    seq,
    state: stateCodes[outcome === 'deferred' ? 'retrying' : outcome],
    is_over: isOver,
    retry_at: isPaused ? now + Math.max(0, Math.ceil(result.retryInMs ?? 0)) : null,
    held_by: isHeld && heldBy !== undefined ? storable(heldBy) : null,
    trigger: outcome === 'queued' ? null : bounded(result.trigger, NAME_LENGTH),
    note: bounded(result.note, NOTE_LENGTH),
    answers: isOver || outcome === 'retrying',
    answer: bounded(result.answer, ANSWER_LENGTH),
    // It was not tried, so it has not used up an attempt.
    is_untried: isHeld || outcome === 'deferred',
    is_deferred: outcome === 'deferred',
    // Nothing was done: what tells that an attempt was begun is as it was before.
    forgets_start: outcome === 'deferred' && result.wasClaimed !== true,
    receipt: isOver ? bounded(result.receipt, NAME_LENGTH) : null,
    is_failure: outcome === 'dead' || outcome === 'retrying',
  };
}
