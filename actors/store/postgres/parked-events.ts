// Matches parked events with wakers. A parked event waits for a named event of its key, its waker. A parked
// event blocks its key only with `holdsKey`. The caller has locked the mailbox.
//
// Either event can arrive first; the match is part of the transaction in which the second one arrives. A key
// therefore never has both an event that waits for a name and a queued event that wakes this name. When a
// wait completes, the timers that wake the same name are cancelled, unless another event of the key waits for
// it.

import { stateCodes } from '../delivery-states.ts';
import { postgresText } from '../list-queries.ts';
import { type ParkedHolders, targetText } from '../parked-shares.ts';
import { firstWaker, noteCheckpoint, parkEvent, runTarget } from '../progress-row.ts';
import { NOTE_LENGTH, toStorableText, truncateText } from '../record-texts.ts';
import type { RunNote } from '../run.ts';
import type { TurnResult } from '../store.ts';
import { cancelApprovals } from './approvals.ts';
import { statement, type Transaction } from './database.ts';
import { setBlocked } from './mailboxes.ts';
import { copyWakerTo, deleteWaker, saveState } from './progress.ts';
import { cancelThatWake, firstThatWakes } from './timers.ts';

const { queued, done } = stateCodes;

const noteProgress = statement<readonly [attempts: number]>(postgresText(noteCheckpoint));
const noteParked = statement(postgresText(parkEvent));
const targetOf = statement<readonly [RunNote['kind'], string]>(postgresText(runTarget));
const setWakeTime = statement('UPDATE delivery SET retry_at = $2 WHERE seq = $1');
const firstWaiting = statement<readonly [seq: number, id: string]>(
  'SELECT seq, id FROM delivery WHERE key = $1 AND waits_for = $2 ORDER BY seq LIMIT 1',
);
const wakerOf = statement<readonly [number]>(postgresText(firstWaker));
const nameToWake = statement<readonly [string | null]>('SELECT wakes FROM delivery WHERE seq = $1');
const awaitedName = statement<readonly [string | null]>('SELECT waits_for FROM delivery WHERE seq = $1');
const noteWoken = statement(
  `UPDATE delivery SET state = ${queued}, waits_for = NULL, holds_key = false, retry_at = NULL, note = NULL WHERE seq = $1`,
);
const clearWait = statement('UPDATE delivery SET waits_for = NULL, holds_key = false WHERE seq = $1');
const endWaker = statement(
  `UPDATE delivery SET state = ${done}, ended = $2, note = $3, answer = NULL, held_by = NULL, retry_at = NULL WHERE seq = $1`,
);
const findBlocking = statement<readonly [number]>(
  'SELECT 1 FROM delivery WHERE key = $1 AND waits_for IS NOT NULL AND holds_key LIMIT 1',
);

/** Returns true if any event of the key is waiting for the name. */
export async function isAwaited(transaction: Transaction, key: string, name: string): Promise<boolean> {
  return (await transaction.rows(firstWaiting, [key, name])).length > 0;
}

/**
 * Writes a checkpoint, and returns the attempt number from now on. A changed state or new journal steps reset
 * it.
 */
export async function checkpoint(transaction: Transaction, result: TurnResult): Promise<number> {
  const { seq, state, trigger, note, steps = [] } = result;
  const isProgress = (await saveState(transaction, seq, state)) || steps.length > 0;
  const texts = [truncateText(trigger, NOTE_LENGTH), truncateText(note, NOTE_LENGTH)];
  const [row] = await transaction.rows(noteProgress, [seq, isProgress, ...texts]);
  if (row === undefined) throw new Error('the event of a checkpoint is missing');
  return row[0];
}

/** Returns the holders of the event if it is parked. */
export async function holdersOf(
  transaction: Transaction,
  { seq, trigger, run }: TurnResult,
  key: string,
): Promise<ParkedHolders> {
  const [row] = run === undefined ? await transaction.rows(targetOf, [seq]) : [[run.kind, run.name] as const];
  const target = row === undefined ? null : targetText({ kind: row[0], name: row[1] });
  return { key, trigger: truncateText(trigger, NOTE_LENGTH), target };
}

/** Returns true if another queued event of the key is the waker of the event. */
export async function hasWaker(
  transaction: Transaction,
  { seq, parkedOn = '' }: TurnResult,
  key: string,
): Promise<boolean> {
  const [waker] = await transaction.rows(wakerOf, [key, toStorableText(parkedOn)]);
  return waker !== undefined && waker[0] !== seq;
}

/**
 * Parks the event, or wakes it immediately if its waker is already queued. Apply other effects of the result
 * first, because its emitted events may contain the waker.
 */
export async function park(transaction: Transaction, result: TurnResult, key: string): Promise<void> {
  const { target } = await holdersOf(transaction, result, key);
  const { seq, parkedOn = '', holdsKey = false, trigger, note, state } = result;
  const name = toStorableText(parkedOn);
  await saveState(transaction, seq, state);
  await deleteWaker(transaction, seq);
  const texts = [truncateText(trigger, NOTE_LENGTH), truncateText(note, NOTE_LENGTH)];
  await transaction.run(noteParked, [seq, name, holdsKey, ...texts, target]);
  if (holdsKey) await setBlocked(transaction, key, true);
  const [waker] = await transaction.rows(wakerOf, [key, name]);
  if (waker === undefined)
    await transaction.run(setWakeTime, [seq, (await firstThatWakes(transaction, key, name)) ?? null]);
  else await wake(transaction, key, name, waker[0]);
}

/** Wakes a parked event if the queued event is its waker. Returns true if so; the waker is then done. */
export async function wakeBy(transaction: Transaction, seq: number, key: string): Promise<boolean> {
  const [row] = await transaction.rows(nameToWake, [seq]);
  const name = row?.[0] ?? undefined;
  return name !== undefined && (await wake(transaction, key, name, seq));
}

/** Cancels a wait, because an operator decided about the event. */
export async function cancelWait(transaction: Transaction, seq: number, key: string): Promise<void> {
  const [row] = await transaction.rows(awaitedName, [seq]);
  const name = row?.[0] ?? undefined;
  if (name === undefined) return;
  await transaction.run(clearWait, [seq]);
  await onWaitOver(transaction, key, name);
}

async function wake(transaction: Transaction, key: string, name: string, waker: number): Promise<boolean> {
  const [woken] = await transaction.rows(firstWaiting, [key, name]);
  if (woken === undefined) return false;
  const [seq, id] = woken;
  await copyWakerTo(transaction, seq, waker);
  await transaction.run(noteWoken, [seq]);
  transaction.added += 1;
  await transaction.run(endWaker, [waker, transaction.now, truncateText(`it woke ${id}`, NOTE_LENGTH)]);
  await cancelApprovals(transaction, [waker]);
  await onWaitOver(transaction, key, name);
  // The woken event is queued now, and may itself wake an event.
  await wakeBy(transaction, seq, key);
  return true;
}

async function onWaitOver(transaction: Transaction, key: string, name: string): Promise<void> {
  if ((await transaction.rows(findBlocking, [key])).length === 0) await setBlocked(transaction, key, false);
  if ((await transaction.rows(firstWaiting, [key, name])).length === 0)
    await cancelThatWake(transaction, key, name);
}
