// Commits groups of results in one transaction: outcomes, snapshots, timers, journals and emitted events.
// Returns the next event of each key under the same claim, or releases the claim. A result whose claim is
// lost changes nothing (rule S3 in ../store.ts). A group has a single result per key, because a second result
// depends on the first.

import type { StoredEvent } from '../event.ts';
import { parkRefusal } from '../parked-shares.ts';
import { toStorableText } from '../record-texts.ts';
import type { Committed, TurnResult } from '../store.ts';
import { canStart, isUnfinished } from '../turn-rules.ts';
import { appendEmitted } from './append.ts';
import { addApproval, cancelApprovals } from './approvals.ts';
import { type Statements, statement, type Transaction } from './database.ts';
import { firstEvents, startAttempts } from './first-events.ts';
import { lockMailboxes, type StoredMailbox, scheduleMailboxes } from './mailboxes.ts';
import { isFinal, type LockedTurns, lockAndWriteOutcomes } from './outcomes.ts';
import type { ParkedCapacity } from './parked-capacity.ts';
import { checkpoint, hasWaker, holdersOf, park } from './parked-events.ts';
import { writeRun } from './runs.ts';
import { cancelTimer, setTimer } from './timers.ts';
import { writeSnapshot } from './values-and-leases.ts';

const deleteMailboxes = statement('DELETE FROM mailbox WHERE key = ANY ($1)');
const extendAll = statement(
  `UPDATE mailbox SET ready_at = $2::bigint + lease_ms, running = next.seq, crashes = next.crashes
   FROM json_to_recordset($1::json) AS next (key text, seq bigint, crashes int)
   WHERE mailbox.key = next.key AND mailbox.key = ANY ($3)`,
);
const extendOne = statement('UPDATE mailbox SET ready_at = $2::bigint + lease_ms WHERE key = $1');
const readySuspects = statement<readonly [number]>(
  'SELECT 1 FROM mailbox WHERE crashes > 0 AND fence IS NULL AND ready_at <= $1 LIMIT 1',
);

export interface CommitLimits {
  /** Maximum bytes of the returned bodies; the last body may exceed it. */
  readonly maxBytes: number;
  readonly parked: ParkedCapacity;
}

interface CommittedTurn {
  readonly result: TurnResult;
  readonly key: string;
  readonly mailbox: StoredMailbox;
}

/** Locks the mailboxes of results and emitted events, in a fixed order, and writes the outcomes. */
export function lockAndWriteResults(
  statements: Statements,
  results: readonly TurnResult[],
): Promise<LockedTurns> {
  const emitted = results.flatMap(({ emit = [] }) => emit.map(({ key }) => toStorableText(key)));
  return lockAndWriteOutcomes(
    statements,
    [...results.map(({ key }) => toStorableText(key)), ...emitted],
    results.filter(({ outcome }) => isOutcome(outcome)),
  );
}

/** Returns the results in order. */
export async function commit(
  transaction: Transaction,
  results: readonly TurnResult[],
  { mailboxes, withProgress }: LockedTurns,
  { maxBytes, parked }: CommitLimits,
): Promise<readonly Committed[]> {
  const keys = results.map(({ key }) => toStorableText(key));
  const valid: CommittedTurn[] = results.flatMap((result, index) => {
    const key = keys[index] ?? '';
    const mailbox = mailboxes.get(key);
    const isCurrent = mailbox?.fence === result.fence && (mailbox.running ?? result.seq) === result.seq;
    return isCurrent ? [{ result, key, mailbox }] : [];
  });
  const refused = new Set<TurnResult>();
  for (const turn of valid) if (!(await mayPark(transaction, turn, parked))) refused.add(turn.result);
  const turns = valid.filter(({ result }) => !refused.has(result));
  // Only an event with a checkpoint can have approvals.
  const finalTurns = turns.filter(({ result, key }) => isFinal(result.outcome) && withProgress.has(key));
  await cancelApprovals(
    transaction,
    finalTurns.map(({ result }) => result.seq),
  );
  const attempts = await writeEffects(transaction, turns);
  const hasChanged = transaction.emitted.length > 0 || turns.some(({ result }) => !isOutcome(result.outcome));
  await appendEmitted(transaction);
  const finished = turns.filter(({ result }) => result.outcome !== 'checkpoint');
  const nextByKey = await nextEvents(
    transaction,
    hasChanged ? await reload(transaction, finished) : finished,
    maxBytes,
  );
  await wakeSuspects(transaction, turns);
  const current = new Set(turns.map(({ result }) => result));
  return results.map((result, index) => {
    if (refused.has(result)) return { isCurrent: true, next: undefined, refusal: parkRefusal(parked.max) };
    if (!current.has(result)) return { isCurrent: false, next: undefined };
    const attempt = attempts.get(result);
    if (attempt !== undefined) return { isCurrent: true, next: undefined, attempt };
    return { isCurrent: true, next: nextByKey.get(keys[index] ?? '') };
  });
}

/** Returns false if the event must not be parked. A queued waker continues it immediately. */
async function mayPark(
  transaction: Transaction,
  { result, key }: CommittedTurn,
  parked: ParkedCapacity,
): Promise<boolean> {
  if (result.outcome !== 'parked') return true;
  return (
    (await parked.acquire(transaction, await holdersOf(transaction, result, key))) ||
    hasWaker(transaction, result, key)
  );
}

/** Writes everything except the outcomes. Returns the attempt numbers of checkpoints. */
async function writeEffects(
  transaction: Transaction,
  turns: readonly CommittedTurn[],
): Promise<ReadonlyMap<TurnResult, number>> {
  const attempts = new Map<TurnResult, number>();
  for (const turn of turns) {
    const { result, key } = turn;
    if (result.outcome === 'checkpoint') attempts.set(result, await checkpoint(transaction, result));
    await writeEffectsOf(transaction, turn);
    if (result.outcome === 'parked') {
      await appendEmitted(transaction);
      await park(transaction, result, key);
    } else if (result.outcome === 'checkpoint') await transaction.run(extendOne, [key, transaction.now]);
  }
  return attempts;
}

/** Reloads the mailboxes, which appended or parked events can change. */
async function reload(
  transaction: Transaction,
  turns: readonly CommittedTurn[],
): Promise<readonly CommittedTurn[]> {
  const mailboxes = await lockMailboxes(
    transaction,
    turns.map(({ key }) => key),
  );
  return turns.map((turn) => ({ ...turn, mailbox: mailboxes.get(turn.key) ?? turn.mailbox }));
}

/** Writes everything of a result except the outcome. */
async function writeEffectsOf(transaction: Transaction, { result, key }: CommittedTurn): Promise<void> {
  await writeRun(transaction, result);
  if (result.outcome === 'checkpoint' || result.outcome === 'parked')
    for (const approval of result.asks ?? []) await addApproval(transaction, result.seq, approval);
  await writeSnapshot(transaction, key, result.snapshot);
  for (const name of result.cancelTimers ?? []) await cancelTimer(transaction, key, name);
  for (const timer of result.timers ?? []) await setTimer(transaction, key, timer);
  transaction.emitted.push(...(result.emit ?? []));
}

/** Returns the next events under extended claims, and releases claims without a next event. */
async function nextEvents(
  transaction: Transaction,
  turns: readonly CommittedTurn[],
  maxBytes: number,
): Promise<ReadonlyMap<string, StoredEvent>> {
  if (turns.length === 0) return new Map();
  const toClose: string[] = [];
  const toRelease: string[] = [];
  const toContinue: string[] = [];
  for (const { result, key, mailbox } of turns) {
    const staysFirst = isUnfinished(result.outcome) || mailbox.isBlocked;
    if (!staysFirst && !mailbox.hasMore) toClose.push(key);
    else if (staysFirst || result.isLast === true) toRelease.push(key);
    else toContinue.push(key);
  }
  const firsts = await firstEvents(transaction, toContinue);
  const next: { key: string; seq: number; crashes: number }[] = [];
  let bytes = 0;
  for (const key of toContinue) {
    const first = firsts.get(key);
    // Only `claim` starts a suspect, because it checks the running suspects. Above the byte limit, an event
    // also needs a new claim.
    if (!canStart(first, transaction.now) || first.crashes > 0 || bytes > maxBytes) toRelease.push(key);
    else {
      next.push({ key, seq: first.seq, crashes: first.crashes });
      bytes += first.bytes;
    }
  }
  if (toClose.length > 0) transaction.runLast(deleteMailboxes, [toClose]);
  await scheduleMailboxes(transaction, toRelease);
  if (next.length === 0) return new Map();
  await transaction.run(extendAll, [JSON.stringify(next), transaction.now, next.map(({ key }) => key)]);
  return startAttempts(
    transaction,
    next.map(({ seq }) => seq),
  );
}

/** Notifies claimers if a finished suspect allows others to start. */
async function wakeSuspects(transaction: Transaction, turns: readonly CommittedTurn[]): Promise<void> {
  if (turns.every(({ mailbox }) => mailbox.crashes === 0)) return;
  if ((await transaction.rows(readySuspects, [transaction.now])).length > 0) transaction.isWakeDue = true;
}

/** Returns true if the outcome completes the attempt. */
function isOutcome(outcome: TurnResult['outcome']): boolean {
  return outcome !== 'checkpoint' && outcome !== 'parked';
}
