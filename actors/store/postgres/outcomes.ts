// Writes the results of attempts into delivery records: outcome, expired claim, or crash of the node. Texts
// are truncated, and only the last failures are kept.

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
import { cancelApprovals } from './approvals.ts';
import { nowMs, type Statements, statement, type Transaction } from './database.ts';
import { lockMailboxesQuery, type MailboxRow, mailboxOf, type StoredMailbox } from './mailboxes.ts';

/** Returns SQL that appends a failure to the list. `at` (epoch ms) and `note` are SQL expressions. */
const withFailure = (at: string, note: string) =>
  `CASE WHEN jsonb_array_length(delivery.failures) >= ${FAILURES_KEPT} THEN delivery.failures - 0
     ELSE coalesce(delivery.failures, '[]') END
   || jsonb_build_array(jsonb_build_object('attempt', delivery.attempts, 'at', ${at}, 'note', ${note}))`;

/**
 * Locks mailboxes, and writes the outcomes of the results whose claim is valid. The sequence numbers are
 * passed twice, because a separate list makes the planner use the index even in plans for empty tables.
 */
const lockAndWrite = statement<readonly [...mailbox: MailboxRow, hasProgress: boolean | null]>(
  `WITH held AS (
     ${lockMailboxesQuery}
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
const abortAll = statement(
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

/** Locked mailboxes, and the keys whose event has a checkpoint. */
export interface LockedTurns {
  readonly mailboxes: ReadonlyMap<string, StoredMailbox>;
  readonly withProgress: ReadonlySet<string>;
}

/** Locks the mailboxes of the keys, and writes the outcomes of the results whose claim is valid. */
export async function lockAndWriteOutcomes(
  statements: Statements,
  keys: readonly string[],
  ended: readonly TurnResult[],
): Promise<LockedTurns> {
  const values = [[...new Set(keys)], JSON.stringify(ended.map(outcomeRow)), ended.map(({ seq }) => seq)];
  const rows = await statements.rows(lockAndWrite, values);
  const mailboxes = new Map(rows.map((row) => [row[0], mailboxOf(row)]));
  const withProgress = new Set(rows.flatMap(([key, , , , , , , hasProgress]) => (hasProgress ? key : [])));
  return { mailboxes, withProgress };
}

/** Aborts attempts with an expired claim: the events are requeued, and the records contain the reason. */
export async function abortExpired(
  transaction: Transaction,
  keys: readonly string[],
  note: string,
): Promise<void> {
  if (keys.length > 0) await transaction.run(abortAll, [keys, transaction.now, note]);
}

/** Records a crash. The event is retried at `retryAt`, or dead if undefined. */
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
  if (retryAt === undefined) await cancelApprovals(transaction, [seq]);
}

/** Marks a done delivery as dead, because the delivery of the message failed. */
export async function failDone(transaction: Transaction, seq: number, note: string): Promise<void> {
  await transaction.run(failOne, [seq, transaction.now, truncateText(note, NOTE_LENGTH)]);
}

/** Marks a record as `ignored`, without an attempt. */
export async function ignore(transaction: Transaction, seq: number, note: string): Promise<void> {
  await transaction.run(endOne, [seq, stateCodes.ignored, transaction.now, truncateText(note, NOTE_LENGTH)]);
  await cancelApprovals(transaction, [seq]);
}

/** Returns true for a final outcome. */
export function isFinal(outcome: TurnResult['outcome']): boolean {
  return outcome === 'done' || outcome === 'ignored' || outcome === 'dead';
}

function outcomeRow(result: TurnResult) {
  const { key, fence, seq, outcome } = result;
  if (outcome === 'checkpoint' || outcome === 'parked') throw new TypeError(`${outcome} does not end a turn`);
  // `held` always sets `held_by`; `queued` sets it only if the event is blocked until a release.
  const isPaused = outcome === 'retrying' || outcome === 'deferred';
  const isHeld = outcome === 'held' || outcome === 'queued';
  const heldBy = result.heldBy ?? (outcome === 'held' ? '' : undefined);
  return {
    key: toStorableText(key),
    fence,
    seq,
    state: stateCodes[outcome === 'deferred' ? 'retrying' : outcome],
    is_over: isFinal(outcome),
    retry_in: isPaused ? Math.max(0, Math.ceil(result.retryInMs ?? 0)) : null,
    held_by: isHeld && heldBy !== undefined ? toStorableText(heldBy) : null,
    trigger: outcome === 'queued' ? null : truncateText(result.trigger, NAME_LENGTH),
    note: truncateText(result.note, NOTE_LENGTH),
    answers: isFinal(outcome) || outcome === 'retrying',
    answer: truncateText(result.answer, ANSWER_LENGTH),
    // The handler had no effect, so the attempt does not count.
    is_untried: isHeld || outcome === 'deferred',
    is_deferred: outcome === 'deferred',
    // Clears `started`, because the attempt had no effect.
    forgets_start: outcome === 'deferred' && result.wasClaimed !== true,
    receipt: isFinal(outcome) ? truncateText(result.receipt, NAME_LENGTH) : null,
    is_failure: outcome === 'dead' || outcome === 'retrying',
  };
}
