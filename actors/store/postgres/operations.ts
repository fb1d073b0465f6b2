// Operations on stored events for operators and platforms: requeue, discard, release, and delivery reports.

import type { Undelivered } from '../delivery.ts';
import { stateCodes, stateOf } from '../delivery-states.ts';
import { toStorableText } from '../record-texts.ts';
import type { TurnResult } from '../store.ts';
import { appendEmitted, findAll, requeue as queueAgain } from './append.ts';
import { cancelApprovals } from './approvals.ts';
import type { KnownEvent } from './claim-at-append.ts';
import { statement, type Transaction } from './database.ts';
import { lockOrCreateMailboxes, scheduleUnclaimed } from './mailboxes.ts';
import { failDone, ignore } from './outcomes.ts';
import { cancelWait, wakeBy } from './parked-events.ts';
import { deleteRuns } from './runs.ts';
import { cancelTimer } from './timers.ts';

const heldBy = statement<readonly [seq: number, key: string]>(
  'SELECT seq, key FROM delivery WHERE held_by = $1 ORDER BY seq LIMIT $2',
);
const releaseEvents = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, held_by = NULL, note = NULL WHERE seq = ANY ($1) AND held_by = $2`,
);
const holderNames = statement<readonly [string]>(
  'SELECT DISTINCT held_by FROM delivery WHERE held_by IS NOT NULL ORDER BY held_by',
);
/** The key is compared too, because ids of messages are unique per chat only. */
const byReceipt = statement<readonly [seq: number, id: string, state: number]>(
  `SELECT seq, id, state FROM delivery WHERE receipt = $1 AND receipt IS NOT NULL AND starts_with(key, $2)
   ORDER BY seq DESC LIMIT 1`,
);
/** Maximum number of events released per transaction. */
const MAX_RELEASED_EVENTS = 1_000;

/** Locks the mailbox of an event and reloads the event. The caller must then call `scheduleUnclaimed`. */
async function lockEvent(transaction: Transaction, id: string): Promise<KnownEvent | undefined> {
  const found = (await findAll(transaction, [toStorableText(id)])).get(toStorableText(id));
  if (found === undefined) return undefined;
  await lockOrCreateMailboxes(transaction, [found.key]);
  return (await findAll(transaction, [toStorableText(id)])).get(toStorableText(id));
}

export async function requeue(
  transaction: Transaction,
  id: string,
  { keepsJournal = false }: { readonly keepsJournal?: boolean } = {},
): Promise<boolean> {
  const found = await lockEvent(transaction, id);
  if (found === undefined) return false;
  const { seq, key, state } = found;
  const canRequeue = ['done', 'dead', 'ignored', 'waiting'].includes(state);
  if (canRequeue) {
    if (state === 'waiting') await cancelWait(transaction, seq, key);
    transaction.added += 1;
    await queueAgain(transaction, seq, keepsJournal);
    if (!keepsJournal) {
      await cancelApprovals(transaction, [seq]);
      await deleteRuns(transaction, [seq]);
    }
    // A parked event may wait for the requeued event.
    await wakeBy(transaction, seq, key);
    await appendEmitted(transaction);
  }
  await scheduleUnclaimed(transaction, [key]);
  return canRequeue;
}

export async function discard(
  transaction: Transaction,
  id: string,
  note: string,
  effects: Pick<TurnResult, 'emit' | 'cancelTimers'> = {},
): Promise<boolean> {
  const found = await lockEvent(transaction, id);
  if (found === undefined) return false;
  const { seq, key, state } = found;
  const canDiscard = ['queued', 'retrying', 'held', 'waiting', 'dead'].includes(state);
  if (canDiscard) {
    if (state === 'waiting') await cancelWait(transaction, seq, key);
    await ignore(transaction, seq, note);
    if (state !== 'dead') {
      for (const name of effects.cancelTimers ?? []) await cancelTimer(transaction, key, name);
      transaction.emitted.push(...(effects.emit ?? []));
    }
    await appendEmitted(transaction);
  }
  await scheduleUnclaimed(transaction, [key]);
  return canDiscard;
}

/** Serialises the releases per name, so that every event is counted once. */
const lockReleases = statement('SELECT pg_advisory_xact_lock(1634162516, hashtext($1))');

/**
 * Releases the first `max` events of the holder `name`: a paused trigger, or a group without free slots.
 * Returns a key per event.
 */
export async function release(
  transaction: Transaction,
  name: string,
  max: number,
): Promise<readonly string[]> {
  const limit = Math.max(0, Math.min(MAX_RELEASED_EVENTS, Math.floor(max)));
  await transaction.rows(lockReleases, [toStorableText(name)]);
  const rows = await transaction.rows(heldBy, [toStorableText(name), limit]);
  if (rows.length === 0) return [];
  const keys = rows.map(([, key]) => key);
  await lockOrCreateMailboxes(transaction, keys);
  await transaction.run(releaseEvents, [rows.map(([seq]) => seq), toStorableText(name)]);
  await scheduleUnclaimed(transaction, keys);
  return keys;
}

export async function holders(transaction: Transaction): Promise<readonly string[]> {
  return (await transaction.rows(holderNames)).map(([name]) => name);
}

/** Returns the id of the delivery with the receipt. */
export async function withReceipt(
  transaction: Transaction,
  keyPrefix: string,
  receipt: string,
): Promise<string | undefined> {
  return (await transaction.rows(byReceipt, [toStorableText(receipt), toStorableText(keyPrefix)]))[0]?.[1];
}

/**
 * Returns the id of the delivery with the receipt. Changes the state from done to dead, but no other state.
 */
export async function undeliver(
  transaction: Transaction,
  keyPrefix: string,
  { receipt, note }: Undelivered,
): Promise<string | undefined> {
  const [row] = await transaction.rows(byReceipt, [toStorableText(receipt), toStorableText(keyPrefix)]);
  if (row === undefined) return undefined;
  const [seq, id, state] = row;
  if (stateOf(state) === 'done') await failDone(transaction, seq, note);
  return id;
}
