// What operators and platforms do with stored events beside their turns: have one run again, end it, let go on what was held, say
// that what was sent has not arrived.

import type { Undelivered } from '../delivery.ts';
import { stateCodes, stateOf } from '../delivery-states.ts';
import { storable } from '../record-texts.ts';
import type { TurnResult } from '../store.ts';
import { appendEmitted, findAll, requeue as queueAgain } from './append.ts';
import { cancelAsked } from './approvals.ts';
import type { Known } from './claim-at-append.ts';
import { statement, type Transaction } from './database.ts';
import { openMailboxes, settleFree } from './mailboxes.ts';
import { failDone, ignore } from './outcomes.ts';
import { dropRun } from './runs.ts';
import { cancelTimer } from './timers.ts';
import { endWait, wakeBy } from './waits.ts';

const heldBy = statement<readonly [seq: number, key: string]>(
  'SELECT seq, key FROM delivery WHERE held_by = $1 ORDER BY seq LIMIT $2',
);
const letGo = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, held_by = NULL, note = NULL WHERE seq = ANY ($1) AND held_by = $2`,
);
const holderNames = statement<readonly [string]>(
  'SELECT DISTINCT held_by FROM delivery WHERE held_by IS NOT NULL ORDER BY held_by',
);
/** Messages of several chats may be called the same. */
const byReceipt = statement<readonly [seq: number, id: string, state: number]>(
  `SELECT seq, id, state FROM delivery WHERE receipt = $1 AND receipt IS NOT NULL AND starts_with(key, $2)
   ORDER BY seq DESC LIMIT 1`,
);
/** Let go in one transaction. */
const RELEASED_AT_ONCE = 1_000;

/** Finds the event again with its mailbox held, which settleFree has to put right. */
async function hold(transaction: Transaction, id: string): Promise<Known | undefined> {
  const found = (await findAll(transaction, [storable(id)])).get(storable(id));
  if (found === undefined) return undefined;
  await openMailboxes(transaction, [found.key]);
  return (await findAll(transaction, [storable(id)])).get(storable(id));
}

export async function requeue(
  transaction: Transaction,
  id: string,
  { keepsJournal = false }: { readonly keepsJournal?: boolean } = {},
): Promise<boolean> {
  const found = await hold(transaction, id);
  if (found === undefined) return false;
  const { seq, key, state } = found;
  const isOpen = ['done', 'dead', 'ignored', 'waiting'].includes(state);
  if (isOpen) {
    if (state === 'waiting') await endWait(transaction, seq, key);
    else transaction.added += 1;
    await queueAgain(transaction, seq, keepsJournal);
    if (!keepsJournal) {
      await cancelAsked(transaction, [seq]);
      await dropRun(transaction, [seq]);
    }
    await wakeBy(transaction, seq, key);
    await appendEmitted(transaction);
  }
  await settleFree(transaction, [key]);
  return isOpen;
}

export async function discard(
  transaction: Transaction,
  id: string,
  note: string,
  effects: Pick<TurnResult, 'emit' | 'cancelTimers'> = {},
): Promise<boolean> {
  const found = await hold(transaction, id);
  if (found === undefined) return false;
  const { seq, key, state } = found;
  const isOpen = ['queued', 'retrying', 'held', 'waiting', 'dead'].includes(state);
  if (isOpen) {
    if (state === 'waiting') await endWait(transaction, seq, key);
    await ignore(transaction, seq, note);
    if (state !== 'dead') {
      for (const name of effects.cancelTimers ?? []) await cancelTimer(transaction, key, name);
      transaction.emitted.push(...(effects.emit ?? []));
    }
    await appendEmitted(transaction);
  }
  await settleFree(transaction, [key]);
  return isOpen;
}

/** Who lets go on what is held by a name is alone with that: two that did so together would count the same events. */
const lockReleases = statement('SELECT pg_advisory_xact_lock(1634162516, hashtext($1))');

/** Lets go on some of what was held by that name, those that were accepted first. Gives their keys, by event. */
export async function release(
  transaction: Transaction,
  name: string,
  max: number,
): Promise<readonly string[]> {
  const limit = Math.max(0, Math.min(RELEASED_AT_ONCE, Math.floor(max)));
  await transaction.rows(lockReleases, [storable(name)]);
  const rows = await transaction.rows(heldBy, [storable(name), limit]);
  if (rows.length === 0) return [];
  const keys = rows.map(([, key]) => key);
  await openMailboxes(transaction, keys);
  await transaction.run(letGo, [rows.map(([seq]) => seq), storable(name)]);
  await settleFree(transaction, keys);
  return keys;
}

export async function holders(transaction: Transaction): Promise<readonly string[]> {
  return (await transaction.rows(holderNames)).map(([name]) => name);
}

/** Gives the id of what has the receipt. */
export async function withReceipt(
  transaction: Transaction,
  keyPrefix: string,
  receipt: string,
): Promise<string | undefined> {
  return (await transaction.rows(byReceipt, [storable(receipt), storable(keyPrefix)]))[0]?.[1];
}

/** The same. */
export async function undeliver(
  transaction: Transaction,
  keyPrefix: string,
  { receipt, note }: Undelivered,
): Promise<string | undefined> {
  const [row] = await transaction.rows(byReceipt, [storable(receipt), storable(keyPrefix)]);
  if (row === undefined) return undefined;
  const [seq, id, state] = row;
  if (stateOf(state) === 'done') await failDone(transaction, seq, note);
  return id;
}
