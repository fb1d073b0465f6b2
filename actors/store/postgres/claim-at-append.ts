// Claims what comes to a free mailbox in the transaction that brings it, which saves the way of a `claim`.
//
// PGA1  the claim of a free key goes to the first event of it, in the order of the call, that is really new; before that one nothing
//       of the key is there to run. Where that event may not be claimed there is none, and the next `claim` gives it (S4).
// Most calls bring only what is new: the claim is made with the rows. What is found to be known takes back what was made too early.

import type { DeliveryState } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';
import type { NewEvent } from '../event.ts';
import { storable } from '../record-texts.ts';
import { statement, type Transaction } from './database.ts';

/** An event that comes: as it is kept, and how. */
export interface Arriving {
  readonly id: string;
  readonly key: string;
  readonly event: NewEvent;
  /** Its id has come before in the same call: it is known. */
  readonly isRepeated: boolean;
  /** For how long it is claimed where it may be; undefined where it may not. */
  readonly claimMs: number | undefined;
}

/** What the table knew of an id before. */
export interface Known {
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
const giveUpAll = statement(
  'UPDATE mailbox SET fence = NULL, node = NULL, lease_ms = NULL, running = NULL, has_more = true WHERE key = ANY ($1)',
);

/** PGA1, by the keys in which each is the first; `known` are those that are not new, by their ids. */
export function firstOfFree(
  rows: readonly Arriving[],
  free: Iterable<string>,
  known: ReadonlyMap<string, Known>,
): ReadonlyMap<string, Arriving> {
  const left = new Set(free);
  const firsts = new Map<string, Arriving>();
  for (const row of rows) {
    const found = known.get(row.id);
    if (found === undefined) {
      if (!row.isRepeated && left.delete(row.key) && row.claimMs !== undefined) firsts.set(row.key, row);
    } else if (isRevived(row.event, found)) left.delete(found.key);
  }
  return firsts;
}

/** A dead one comes again, and may run again. */
export function isRevived({ isOnce }: NewEvent, { state }: Known): boolean {
  return state === 'dead' && isOnce !== true;
}

/** The claims are those of `firsts` from now on, and not those that were made `before` it was known what is new. */
export async function correctClaims(
  transaction: Transaction,
  free: Iterable<string>,
  before: ReadonlyMap<string, Arriving>,
  firsts: ReadonlyMap<string, Arriving>,
  seqs: ReadonlyMap<string, number>,
): Promise<void> {
  const late = [...firsts.values()].filter((row) => before.get(row.key) !== row);
  const early = [...before.values()].filter((row) => firsts.get(row.key) !== row);
  const unused = [...free].filter((key) => !firsts.has(key));
  const undone = early.flatMap(({ id }) => seqs.get(id) ?? []);
  if (undone.length > 0) await transaction.run(undoAll, [undone]);
  if (unused.length > 0) await transaction.run(giveUpAll, [unused]);
  if (late.length === 0) return;
  const begun = late.map(({ id, key, claimMs = 0 }) => ({
    seq: seqs.get(id),
    key,
    lease_ms: Math.ceil(claimMs),
  }));
  await transaction.run(beginAll, [JSON.stringify(begun), transaction.now]);
}

/** What is not kept as it was given is given out by the next claim. */
export function isClaimable({ id, key, trace, meta, wakes }: NewEvent): boolean {
  return wakes === undefined && [id, key, trace, meta].every((text) => storable(text) === text);
}
