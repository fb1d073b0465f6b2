// Appends groups of events: inserts them (arrivals.ts), then handles duplicates, dead events to requeue
// ("revived"), and wakers (events that wake a parked event). A waker is done immediately and uses no
// capacity.

import { stateCodes, stateOf } from '../delivery-states.ts';
import type { NewEvent } from '../event.ts';
import { toStorableText } from '../record-texts.ts';
import type { AppendResult } from '../sync-store.ts';
import { type InsertedEvents, insertEvents } from './arrivals.ts';
import {
  type ArrivingEvent,
  canRevive,
  correctClaims,
  eventsToClaim,
  type KnownEvent,
} from './claim-at-append.ts';
import { statement, type Transaction } from './database.ts';
import { lockOrCreateMailboxes, scheduleUnclaimed } from './mailboxes.ts';
import { wakeBy } from './parked-events.ts';
import { deleteProgress } from './progress.ts';

const byIds = statement<readonly [seq: number, id: string, key: string, state: number]>(
  'SELECT seq, id, key, state FROM delivery WHERE id = ANY ($1)',
);

const requeueOne = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, attempts = 0, crashes = 0, ended = NULL, retry_at = NULL, note = NULL,
     answer = NULL WHERE seq = $1`,
);

/** Returns the known events by id. */
export async function findAll(
  transaction: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownEvent>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.rows(byIds, [ids]);
  return new Map(rows.map(([seq, id, key, state]) => [id, { seq, key, state: stateOf(state) }]));
}

/** Returns one result per event, in order. */
export async function append(
  transaction: Transaction,
  events: readonly NewEvent[],
): Promise<readonly AppendResult[]> {
  if (events.length === 0) return [];
  const arrivals = events.map((event) => ({ event }));
  return completeInserted(transaction, await insertEvents(transaction, arrivals, NO_NODE));
}

/**
 * Completes the append of inserted events: corrects their claims, revives dead events, wakes parked events.
 * Returns one result per event, in order.
 */
export async function completeInserted(
  transaction: Transaction,
  inserted: InsertedEvents,
): Promise<readonly AppendResult[]> {
  const { all, seqs, fences, expected, snapshots } = inserted;
  const missing = all.filter(({ id, isRepeated }) => !isRepeated && !seqs.has(id));
  const knownEvents = await findAll(
    transaction,
    missing.map(({ id }) => id),
  );
  const claims = knownEvents.size === 0 ? expected : eventsToClaim(all, fences.keys(), knownEvents);
  // The insert claims a mailbox if any of its new events may be claimed. If the first one may not, `claims`
  // lacks the key, and the claim is released.
  if (knownEvents.size > 0 || claims.size < fences.size)
    await correctClaims(transaction, fences.keys(), expected, claims, seqs);
  const results: AppendResult[] = [];
  const keysToSchedule = new Set<string>();
  // True when an event was woken, which makes the states read before outdated.
  let hasWoken = false;
  for (const row of all) {
    const seq = row.isRepeated ? undefined : seqs.get(row.id);
    const fence = fences.get(row.key);
    const found = row.isRepeated || hasWoken ? undefined : knownEvents.get(row.id);
    let result: AppendResult;
    if (seq === undefined) result = await handleKnown(transaction, row.event, found, keysToSchedule);
    else if (fence !== undefined && claims.get(row.key) === row) {
      const claim = { fence, seq, at: transaction.now, snapshot: snapshots.get(row.key) };
      result = { outcome: 'new', state: 'running', claimed: claim };
    } else result = await appendNew(transaction, row, seq, keysToSchedule);
    results.push(result);
    hasWoken ||= result.outcome !== 'duplicate' && result.state === 'done';
  }
  if (keysToSchedule.size > 0) await scheduleUnclaimed(transaction, keysToSchedule);
  transaction.added += results.filter(
    ({ outcome, state }) => outcome !== 'duplicate' && state !== 'done',
  ).length;
  return results;
}

async function appendNew(
  transaction: Transaction,
  { key, event }: ArrivingEvent,
  seq: number,
  keysToSchedule: Set<string>,
): Promise<AppendResult> {
  keysToSchedule.add(key);
  if (event.wakes !== undefined && (await wakeBy(transaction, seq, key)))
    return { outcome: 'new', state: 'done' };
  return { outcome: 'new', state: 'queued' };
}

/** Handles a known event: revives it if it is dead and allowed to, otherwise leaves it unchanged. */
async function handleKnown(
  transaction: Transaction,
  event: NewEvent,
  known: KnownEvent | undefined,
  keysToSchedule: Set<string>,
): Promise<AppendResult> {
  keysToSchedule.add(toStorableText(event.key));
  const id = toStorableText(event.id);
  const found =
    known === undefined || known.state === 'dead' ? (await findAll(transaction, [id])).get(id) : known;
  if (found === undefined) throw new Error('no record found after an insert conflict');
  const { seq, key, state } = found;
  if (!canRevive(event, found)) return { outcome: 'duplicate', state };
  keysToSchedule.add(key);
  await lockOrCreateMailboxes(transaction, [key]);
  await requeue(transaction, seq);
  if (await wakeBy(transaction, seq, key)) return { outcome: 'revived', state: 'done' };
  return { outcome: 'revived', state: 'queued' };
}

/**
 * Requeues a finished or parked record. Deletes its progress (the state saved by attempts), unless
 * `keepsProgress` is set.
 */
export async function requeue(transaction: Transaction, seq: number, keepsProgress = false): Promise<void> {
  await transaction.run(requeueOne, [seq]);
  if (!keepsProgress) await deleteProgress(transaction, seq);
}

/** Appends the emitted events of the transaction, including further events that they emit. */
export async function appendEmitted(transaction: Transaction): Promise<void> {
  while (transaction.emitted.length > 0) await append(transaction, transaction.emitted.splice(0));
}

/** Id of no node: events are appended without a claim. */
const NO_NODE = 0;
