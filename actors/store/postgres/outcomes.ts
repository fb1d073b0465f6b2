// Writes into the records of deliveries what became of their attempts: how turns ended, that one was broken off, that a node ended
// with one. All texts are bounded, and of many failures the last ones are kept.

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
import { cancelAsked } from './approvals.ts';
import { nowMs, type Statements, statement, type Transaction } from './database.ts';
import { heldMailboxes, type Mailbox, type MailboxRow, mailboxOf } from './mailboxes.ts';

/** One more failure; the expressions give when it was, epoch ms, and why. */
const withFailure = (at: string, note: string) =>
  `CASE WHEN jsonb_array_length(delivery.failures) >= ${FAILURES_KEPT} THEN delivery.failures - 0
     ELSE coalesce(delivery.failures, '[]') END
   || jsonb_build_array(jsonb_build_object('attempt', delivery.attempts, 'at', ${at}, 'note', ${note}))`;

/**
 * Holds mailboxes, and writes the outcomes of those turns that have the claims. The list of numbers says the same once more: by
 * that the table is read by its index, also where the server planned for an empty one.
 */
const holdAndSettle = statement<readonly [...mailbox: MailboxRow, hasProgress: boolean | null]>(
  `WITH held AS (
     ${heldMailboxes}
   ), result AS (
     SELECT * FROM json_to_recordset($2::json) AS result (key text, fence bigint, seq bigint, state smallint, is_over boolean,
       retry_in bigint, held_by text, trigger text, note text, answers boolean, answer text, is_untried boolean,
       is_deferred boolean, forgets_start boolean, receipt text, is_failure boolean)
   ), settled AS (
     UPDATE delivery SET state = result.state, ended = CASE WHEN result.is_over THEN ${nowMs} END,
       retry_at = ${nowMs} + result.retry_in, held_by = result.held_by, trigger = coalesce(result.trigger, delivery.trigger),
       note = result.note, answer = CASE WHEN result.answers THEN result.answer ELSE delivery.answer END,
       attempts = delivery.attempts - CASE WHEN result.is_untried THEN 1 ELSE 0 END,
       deferrals = delivery.deferrals + CASE WHEN result.is_deferred THEN 1 ELSE 0 END,
       started = CASE WHEN result.forgets_start THEN NULL ELSE delivery.started END,
       receipt = coalesce(result.receipt, delivery.receipt),
       failures = CASE WHEN result.is_failure THEN ${withFailure(nowMs, "coalesce(result.note, '')")}
         ELSE delivery.failures END
     FROM result JOIN held ON held.key = result.key AND held.fence = result.fence
       AND coalesce(held.running, result.seq) = result.seq
     WHERE delivery.seq = result.seq AND delivery.seq = ANY ($3)
     RETURNING delivery.key, delivery.has_progress
   )
   SELECT held.*, settled.has_progress FROM held LEFT JOIN settled ON settled.key = held.key`,
);
const breakOffAll = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, failures = ${withFailure('$2::bigint', '$3::text')}
   WHERE key = ANY ($1) AND state = ${stateCodes.running}`,
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

/** Mailboxes as they were when they were held, and the keys whose events had got on before. */
export interface Settled {
  readonly mailboxes: ReadonlyMap<string, Mailbox>;
  readonly withProgress: ReadonlySet<string>;
}

/** Holds the mailboxes of those keys, and writes what turns said of their events, where their claims are theirs still. */
export async function holdAndSettleOutcomes(
  statements: Statements,
  keys: readonly string[],
  ended: readonly TurnResult[],
): Promise<Settled> {
  const values = [[...new Set(keys)], JSON.stringify(ended.map(outcomeRow)), ended.map(({ seq }) => seq)];
  const rows = await statements.rows(holdAndSettle, values);
  const mailboxes = new Map(rows.map((row) => [row[0], mailboxOf(row)]));
  const withProgress = new Set(rows.flatMap(([key, , , , , , , hasProgress]) => (hasProgress ? key : [])));
  return { mailboxes, withProgress };
}

/** Attempts of those keys ended without a word: their events wait again, and the records say why. */
export async function breakOff(
  transaction: Transaction,
  keys: readonly string[],
  note: string,
): Promise<void> {
  if (keys.length > 0) await transaction.run(breakOffAll, [keys, transaction.now, note]);
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

/** Whether the event is over with it. */
export function isOver(outcome: TurnResult['outcome']): boolean {
  return outcome === 'done' || outcome === 'ignored' || outcome === 'dead';
}

function outcomeRow(result: TurnResult) {
  const { key, fence, seq, outcome } = result;
  if (outcome === 'checkpoint' || outcome === 'parked') throw new TypeError(`${outcome} is no end of a turn`);
  const isPaused = outcome === 'retrying' || outcome === 'deferred';
  const isHeld = outcome === 'held' || outcome === 'queued';
  const heldBy = result.heldBy ?? (outcome === 'held' ? '' : undefined);
  return {
    key: storable(key),
    fence,
    seq,
    state: stateCodes[outcome === 'deferred' ? 'retrying' : outcome],
    is_over: isOver(outcome),
    retry_in: isPaused ? Math.max(0, Math.ceil(result.retryInMs ?? 0)) : null,
    held_by: isHeld && heldBy !== undefined ? storable(heldBy) : null,
    trigger: outcome === 'queued' ? null : bounded(result.trigger, NAME_LENGTH),
    note: bounded(result.note, NOTE_LENGTH),
    answers: isOver(outcome) || outcome === 'retrying',
    answer: bounded(result.answer, ANSWER_LENGTH),
    // It was not tried, so it has not used up an attempt.
    is_untried: isHeld || outcome === 'deferred',
    is_deferred: outcome === 'deferred',
    // Nothing was done: what tells that an attempt was begun is as it was before.
    forgets_start: outcome === 'deferred' && result.wasClaimed !== true,
    receipt: isOver(outcome) ? bounded(result.receipt, NAME_LENGTH) : null,
    is_failure: outcome === 'dead' || outcome === 'retrying',
  };
}
