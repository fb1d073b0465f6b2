// Events that are parked, and those that wake them: whichever comes first, they find each other inside one transaction. The mailbox of
// the key is held by whoever calls.
//
// No key ever has both an event that waits for a name and one that waits for its turn and wakes that name.
// With the wait of an event its timers end: those of its key that wake by its name, unless another one waits for it.
// A key is locked exactly while an event that waits holds it.

import { stateCodes } from '../delivery-states.ts';
import { postgresText } from '../list-queries.ts';
import { firstWaker, noteCheckpoint, parkEvent } from '../progress-row.ts';
import { bounded, NOTE_LENGTH, storable } from '../record-texts.ts';
import type { TurnResult } from '../store.ts';
import { cancelAsked } from './approvals.ts';
import { statement, type Transaction } from './database.ts';
import { setLocked } from './mailboxes.ts';
import { forgetWaker, keepState, keepWaker } from './progress.ts';
import { cancelThatWake, firstThatWakes } from './timers.ts';

const { queued, done } = stateCodes;

const noteProgress = statement<readonly [attempts: number]>(postgresText(noteCheckpoint));
const noteParked = statement(postgresText(parkEvent));
const noteUntil = statement('UPDATE delivery SET retry_at = $2 WHERE seq = $1');
const firstWaiting = statement<readonly [seq: number, id: string]>(
  'SELECT seq, id FROM delivery WHERE key = $1 AND waits_for = $2 ORDER BY seq LIMIT 1',
);
const wakerOf = statement<readonly [number]>(postgresText(firstWaker));
const wakesOf = statement<readonly [string | null]>('SELECT wakes FROM delivery WHERE seq = $1');
const waitsFor = statement<readonly [string | null]>('SELECT waits_for FROM delivery WHERE seq = $1');
const noteWoken = statement(
  `UPDATE delivery SET state = ${queued}, waits_for = NULL, holds_key = false, retry_at = NULL, note = NULL WHERE seq = $1`,
);
const noteNoWait = statement('UPDATE delivery SET waits_for = NULL, holds_key = false WHERE seq = $1');
const endWaker = statement(
  `UPDATE delivery SET state = ${done}, ended = $2, note = $3, answer = NULL, held_by = NULL, retry_at = NULL WHERE seq = $1`,
);
const isHeld = statement<readonly [number]>(
  'SELECT 1 FROM delivery WHERE key = $1 AND waits_for IS NOT NULL AND holds_key LIMIT 1',
);

/** Whether somebody waits in the key for that name. */
export async function isAwaited(transaction: Transaction, key: string, name: string): Promise<boolean> {
  return (await transaction.rows(firstWaiting, [key, name])).length > 0;
}

/** Gives as which attempt the turn goes on; with rows for its journal it has got on, whatever is kept. */
export async function checkpoint(transaction: Transaction, result: TurnResult): Promise<number> {
  const { seq, state, trigger, note, steps = [] } = result;
  const isProgress = (await keepState(transaction, seq, state)) || steps.length > 0;
  const texts = [bounded(trigger, NOTE_LENGTH), bounded(note, NOTE_LENGTH)];
  const [row] = await transaction.rows(noteProgress, [seq, isProgress, ...texts]);
  if (row === undefined) throw new Error('the event of a checkpoint is gone');
  return row[0];
}

/**
 * The event of the turn waits from now on, unless what wakes it has come before. What else the turn says must have been taken: it
 * may be in that.
 */
export async function park(transaction: Transaction, result: TurnResult, key: string): Promise<void> {
  const { seq, parkedOn = '', holdsKey = false, trigger, note, state } = result;
  const name = storable(parkedOn);
  await keepState(transaction, seq, state);
  await forgetWaker(transaction, seq);
  const texts = [bounded(trigger, NOTE_LENGTH), bounded(note, NOTE_LENGTH)];
  await transaction.run(noteParked, [seq, name, holdsKey, ...texts]);
  if (holdsKey) await setLocked(transaction, key, true);
  const [waker] = await transaction.rows(wakerOf, [key, name]);
  if (waker === undefined)
    await transaction.run(noteUntil, [seq, (await firstThatWakes(transaction, key, name)) ?? null]);
  else await wake(transaction, key, name, waker[0]);
}

/** An event waits for its turn from now on. Gives whether it has woken another one instead, and so is over. */
export async function wakeBy(transaction: Transaction, seq: number, key: string): Promise<boolean> {
  const [row] = await transaction.rows(wakesOf, [seq]);
  const name = row?.[0] ?? undefined;
  return name !== undefined && (await wake(transaction, key, name, seq));
}

/** An event that waits is to wait no more, and is not woken: somebody else has decided what becomes of it. */
export async function endWait(transaction: Transaction, seq: number, key: string): Promise<void> {
  const [row] = await transaction.rows(waitsFor, [seq]);
  const name = row?.[0] ?? undefined;
  if (name === undefined) return;
  await transaction.run(noteNoWait, [seq]);
  await onEnded(transaction, key, name);
}

async function wake(transaction: Transaction, key: string, name: string, waker: number): Promise<boolean> {
  const [woken] = await transaction.rows(firstWaiting, [key, name]);
  if (woken === undefined) return false;
  const [seq, id] = woken;
  await keepWaker(transaction, seq, waker);
  await transaction.run(noteWoken, [seq]);
  await transaction.run(endWaker, [waker, transaction.now, bounded(`it woke ${id}`, NOTE_LENGTH)]);
  await cancelAsked(transaction, [waker]);
  await onEnded(transaction, key, name);
  // It waits for its turn now, and somebody may have begun to wait for what it wakes itself.
  await wakeBy(transaction, seq, key);
  return true;
}

async function onEnded(transaction: Transaction, key: string, name: string): Promise<void> {
  if ((await transaction.rows(isHeld, [key])).length === 0) await setLocked(transaction, key, false);
  if ((await transaction.rows(firstWaiting, [key, name])).length === 0)
    await cancelThatWake(transaction, key, name);
}
