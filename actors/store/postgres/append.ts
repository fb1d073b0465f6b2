// Appends events to their mailboxes, many at once: they are brought there (arrivals.ts), and what is known already, wakes another one or
// waits is told apart.
//
// What wakes an event that waits ends with that, and takes no place.

import { stateCodes, stateOf } from '../delivery-states.ts';
import type { NewEvent } from '../event.ts';
import type { Entered } from '../ledger.ts';
import { storable } from '../record-texts.ts';
import { type Arrived, bring } from './arrivals.ts';
import { type Arriving, correctClaims, firstOfFree, isRevived, type Known } from './claim-at-append.ts';
import { statement, type Transaction } from './database.ts';
import { openMailboxes, settleFree } from './mailboxes.ts';
import { forgetProgress } from './progress.ts';
import { wakeBy } from './waits.ts';

const byIds = statement<readonly [seq: number, id: string, key: string, state: number]>(
  'SELECT seq, id, key, state FROM delivery WHERE id = ANY ($1)',
);

const runAgain = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, attempts = 0, crashes = 0, ended = NULL, retry_at = NULL, note = NULL,
     answer = NULL WHERE seq = $1`,
);

/** Those that are known, by their ids. */
export async function findAll(
  transaction: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.rows(byIds, [ids]);
  return new Map(rows.map(([seq, id, key, state]) => [id, { seq, key, state: stateOf(state) }]));
}

/** Gives what became of each, in their order. */
export async function append(
  transaction: Transaction,
  events: readonly NewEvent[],
): Promise<readonly Entered[]> {
  if (events.length === 0) return [];
  const arrivals = events.map((event) => ({ event }));
  return settleArrived(transaction, await bring(transaction, arrivals, NO_NODE));
}

/** Of events that have been brought: what is known already, what wakes another one, and who runs. In their order. */
export async function settleArrived(transaction: Transaction, arrived: Arrived): Promise<readonly Entered[]> {
  const { all, seqs, fences, expected, snapshots } = arrived;
  const missing = all.filter(({ id, isRepeated }) => !isRepeated && !seqs.has(id));
  const known = await findAll(
    transaction,
    missing.map(({ id }) => id),
  );
  const claimed = known.size === 0 ? expected : firstOfFree(all, fences.keys(), known);
  if (known.size > 0 || claimed.size < fences.size)
    await correctClaims(transaction, fences.keys(), expected, claimed, seqs);
  const entered: Entered[] = [];
  const unsettled = new Set<string>();
  // What one of them wakes is in another state than it was found in.
  let hasWoken = false;
  for (const row of all) {
    const seq = row.isRepeated ? undefined : seqs.get(row.id);
    const fence = fences.get(row.key);
    const found = row.isRepeated || hasWoken ? undefined : known.get(row.id);
    let entry: Entered;
    if (seq === undefined) entry = await again(transaction, row.event, found, unsettled);
    else if (fence !== undefined && claimed.get(row.key) === row) {
      const claim = { fence, seq, at: transaction.now, snapshot: snapshots.get(row.key) };
      entry = { outcome: 'new', state: 'running', claimed: claim };
    } else entry = await enter(transaction, row, seq, unsettled);
    entered.push(entry);
    hasWoken ||= entry.outcome !== 'duplicate' && entry.state === 'done';
  }
  if (unsettled.size > 0) await settleFree(transaction, unsettled);
  transaction.added += entered.filter(
    ({ outcome, state }) => outcome !== 'duplicate' && state !== 'done',
  ).length;
  return entered;
}

async function enter(
  transaction: Transaction,
  { key, event }: Arriving,
  seq: number,
  unsettled: Set<string>,
): Promise<Entered> {
  unsettled.add(key);
  if (event.wakes !== undefined && (await wakeBy(transaction, seq, key)))
    return { outcome: 'new', state: 'done' };
  return { outcome: 'new', state: 'queued' };
}

/** One that is known stays as it is, but that a dead one waits again where it may. */
async function again(
  transaction: Transaction,
  event: NewEvent,
  known: Known | undefined,
  unsettled: Set<string>,
): Promise<Entered> {
  unsettled.add(storable(event.key));
  const id = storable(event.id);
  const found =
    known === undefined || known.state === 'dead' ? (await findAll(transaction, [id])).get(id) : known;
  if (found === undefined) throw new Error('a record is neither new nor known');
  const { seq, key, state } = found;
  if (!isRevived(event, found)) return { outcome: 'duplicate', state };
  unsettled.add(key);
  await openMailboxes(transaction, [key]);
  await requeue(transaction, seq);
  if (await wakeBy(transaction, seq, key)) return { outcome: 'revived', state: 'done' };
  return { outcome: 'revived', state: 'queued' };
}

/** Has a record that is over, or parked, wait for its turn again: from its beginning, or with `keepsState` from what was kept. */
export async function requeue(transaction: Transaction, seq: number, keepsState = false): Promise<void> {
  await transaction.run(runAgain, [seq]);
  if (!keepsState) await forgetProgress(transaction, seq);
}

/** Appends what has been emitted, and what that brings about. */
export async function appendEmitted(transaction: Transaction): Promise<void> {
  while (transaction.emitted.length > 0) await append(transaction, transaction.emitted.splice(0));
}

/** Nothing is claimed. */
const NO_NODE = 0;
