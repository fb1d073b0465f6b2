// Claims events that arrive at idle mailboxes in the transaction that inserts them, which saves a `claim`
// call. An idle key is claimed for its first new event, unless a requeued ("revived") event precedes it. Most
// calls contain only new events, so the insert claims on this assumption, and `correctClaims` corrects the
// claims if some events were already stored.

import type { DeliveryState } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';
import type { NewEvent } from '../event.ts';
import { toStorableText } from '../record-texts.ts';
import { statement, type Transaction } from './database.ts';

/** Event to append, with the texts as they will be stored. */
export interface ArrivingEvent {
  readonly id: string;
  readonly key: string;
  readonly event: NewEvent;
  /** True if an earlier event of the same call has this id. */
  readonly isRepeated: boolean;
  /** Lease duration; undefined if the event must not be claimed. */
  readonly claimMs: number | undefined;
}

/** Stored event with the same id. */
export interface KnownEvent {
  readonly seq: number;
  readonly key: string;
  readonly state: DeliveryState;
}

const beginAll = statement(
  `WITH given AS (SELECT * FROM json_to_recordset($1::json) AS given (seq bigint, key text, lease_ms int)),
     begun AS (UPDATE delivery SET state = ${stateCodes.running}, attempts = 1, started = $2::bigint
       FROM given WHERE delivery.seq = given.seq)
   UPDATE mailbox SET running = given.seq, lease_ms = given.lease_ms, ready_at = $2::bigint + given.lease_ms, has_more = true
   FROM given WHERE mailbox.key = given.key`,
);
const undoAll = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, attempts = 0, started = NULL WHERE seq = ANY ($1)`,
);
const releaseAll = statement(
  'UPDATE mailbox SET fence = NULL, node = NULL, lease_ms = NULL, running = NULL, has_more = true WHERE key = ANY ($1)',
);

/**
 * Returns the event to claim for each idle key: its first new event. `knownEvents` contains the stored events
 * with ids of `rows`, by id.
 */
export function eventsToClaim(
  rows: readonly ArrivingEvent[],
  idleKeys: Iterable<string>,
  knownEvents: ReadonlyMap<string, KnownEvent>,
): ReadonlyMap<string, ArrivingEvent> {
  const remainingKeys = new Set(idleKeys);
  const firsts = new Map<string, ArrivingEvent>();
  for (const row of rows) {
    const found = knownEvents.get(row.id);
    if (found === undefined) {
      if (!row.isRepeated && remainingKeys.delete(row.key) && row.claimMs !== undefined)
        firsts.set(row.key, row);
    } else if (canRevive(row.event, found)) remainingKeys.delete(found.key);
  }
  return firsts;
}

/** Returns true if an append of this event requeues the stored one: it is dead, and `isOnce` is not set. */
export function canRevive({ isOnce }: NewEvent, { state }: KnownEvent): boolean {
  return state === 'dead' && isOnce !== true;
}

/** Replaces the claims of the insert (`before`, on `claimedKeys`) by the claims in `firsts`. */
export async function correctClaims(
  transaction: Transaction,
  claimedKeys: Iterable<string>,
  before: ReadonlyMap<string, ArrivingEvent>,
  firsts: ReadonlyMap<string, ArrivingEvent>,
  seqs: ReadonlyMap<string, number>,
): Promise<void> {
  const missing = [...firsts.values()].filter((row) => before.get(row.key) !== row);
  const unwanted = [...before.values()].filter((row) => firsts.get(row.key) !== row);
  const unusedKeys = [...claimedKeys].filter((key) => !firsts.has(key));
  const undoneSeqs = unwanted.flatMap(({ id }) => seqs.get(id) ?? []);
  if (undoneSeqs.length > 0) await transaction.run(undoAll, [undoneSeqs]);
  if (unusedKeys.length > 0) await transaction.run(releaseAll, [unusedKeys]);
  if (missing.length === 0) return;
  const claimRows = missing.map(({ id, key, claimMs = 0 }) => ({
    seq: seqs.get(id),
    key,
    lease_ms: Math.ceil(claimMs),
  }));
  await transaction.run(beginAll, [JSON.stringify(claimRows), transaction.now]);
}

/**
 * Returns false for a waker (an event that wakes a parked event), and for an event whose texts the store
 * changes: only `claim` returns the stored texts.
 */
export function isClaimable({ id, key, trace, meta, wakes }: NewEvent): boolean {
  return wakes === undefined && [id, key, trace, meta].every((text) => toStorableText(text) === text);
}
