// Claims mailboxes that are ready for one node, and prolongs its claims.
//
// What another transaction holds at this moment is passed over: nodes claim beside each other, and never wait.
// A claim that ran out is lost when another one is given (S3); its event waits again, and the record says why.
// What is suspected of ending the process is given only where it may begin beside those of its kind that run, on any node.

import { mayBeginBeside } from '../../../machines/crashes.ts';
import { isKind } from '../key-kinds.ts';
import { neighbourhoodOf } from '../neighbourhood.ts';
import { LEASE_ENDED, storable } from '../record-texts.ts';
import type { Turn, TurnRef } from '../store.ts';
import { statement, type Transaction } from './database.ts';
import { begin, canBegin, type First, firstOf } from './first-events.ts';
import { lockMailboxes, settle } from './mailboxes.ts';
import { holdMembership } from './nodes.ts';
import { breakOff } from './outcomes.ts';

export interface ClaimWish {
  readonly node: number;
  readonly max: number;
  /** No more mailboxes once their bodies together exceed this. */
  readonly maxBytes: number;
  readonly keyPrefix: string;
  readonly leaseMs: number;
}

type ReadyRow = readonly [key: string, wasClaimed: boolean, crashes: number, readyAt: number];

const readyWhere = (condition: string) =>
  statement<ReadyRow>(
    `SELECT key, fence IS NOT NULL, crashes, ready_at FROM mailbox WHERE ready_at <= $1 AND ${condition}
     ORDER BY ready_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
  );
const readyOfAll = readyWhere('crashes = 0');
const readyOfKind = readyWhere('crashes = 0 AND kind = $3');
const readyOfPrefix = readyWhere('crashes = 0 AND starts_with(key, $3)');
const suspectsOfPrefix = readyWhere('crashes > 0 AND starts_with(key, $3)');
/** Looked at in one claim: those that may not begin stand before others. */
const SUSPECTS_LOOKED_AT = 1_000;
/** Who looks at suspects is alone with that. */
const lockSuspects = statement('SELECT pg_advisory_xact_lock(1634162515, 1)');
const runningSuspects = statement<readonly [key: string, crashes: number]>(
  'SELECT key, crashes FROM mailbox WHERE crashes > 0 AND fence IS NOT NULL',
);
const giveAll = statement<readonly [key: string, fence: number]>(
  `UPDATE mailbox SET fence = nextval('fence'), running = given.seq, lease_ms = $2, node = $3, ready_at = $4, has_more = true,
     crashes = given.crashes
   FROM json_to_recordset($1::json) AS given (key text, seq bigint, crashes int)
   WHERE mailbox.key = given.key AND mailbox.key = ANY ($5)
   RETURNING mailbox.key, fence`,
);
const renewAll = statement<readonly [key: string, fence: number]>(
  `WITH held AS (
     SELECT mailbox.key FROM json_to_recordset($1::json) AS held (key text, fence bigint)
     JOIN mailbox ON mailbox.key = held.key AND mailbox.fence = held.fence ORDER BY mailbox.key FOR UPDATE OF mailbox
   )
   UPDATE mailbox SET ready_at = $2, lease_ms = $3 FROM held WHERE mailbox.key = held.key
   RETURNING mailbox.key, mailbox.fence`,
);
const snapshots = statement<readonly [key: string, value: string]>(
  'SELECT key, value FROM snapshot WHERE key = ANY ($1)',
);

/** The longest ready first; what turns out to have to wait is put where it belongs. */
export async function claim(transaction: Transaction, wish: ClaimWish): Promise<readonly Turn[]> {
  const { node, max, maxBytes, leaseMs } = wish;
  const { now } = transaction;
  const [isMember, found] = await Promise.all([holdMembership(transaction, node), ready(transaction, wish)]);
  if (!isMember || found.length === 0) return [];
  await breakOff(
    transaction,
    found.flatMap(([key, wasClaimed]) => (wasClaimed ? key : [])),
    LEASE_ENDED,
  );
  const keys = found.map(([key]) => key);
  const firsts = await firstOf(transaction, keys);
  const given: First[] = [];
  const waiting: string[] = [];
  let bytes = 0;
  for (const key of keys) {
    const first = firsts.get(key);
    if (!canBegin(first, now)) waiting.push(key);
    else if (bytes <= maxBytes) {
      given.push(first);
      bytes += first.bytes;
    }
    // A claim that ran out is over, whether another one is given now or not.
    else waiting.push(key);
  }
  await settle(transaction, waiting);
  if (given.length === 0) return [];
  const rows = given.map(({ key, seq, crashes }) => ({ key, seq, crashes }));
  const claimed = given.map(({ key }) => key);
  const [fences, events, left] = await Promise.all([
    transaction.rows(giveAll, [JSON.stringify(rows), Math.ceil(leaseMs), node, now + leaseMs, claimed]),
    begin(
      transaction,
      given.map(({ seq }) => seq),
    ),
    transaction.rows(snapshots, [claimed]),
  ]);
  // There may be more behind those that were not given.
  if (given.length < max && found.length === max) transaction.isWakeDue = true;
  const fenceOf = new Map(fences);
  const snapshotOf = new Map(left);
  return given.flatMap(({ key }) => {
    const event = events.get(key);
    const fence = fenceOf.get(key);
    if (event === undefined || fence === undefined) return [];
    return [{ key, fence, event, snapshot: snapshotOf.get(key) }];
  });
}

/** Prolongs claims from now on; gives those that are still held. */
export async function renew(
  transaction: Transaction,
  turns: readonly TurnRef[],
  leaseMs: number,
): Promise<readonly TurnRef[]> {
  const held = turns.map(({ key, fence }) => ({ key: storable(key), fence }));
  await lockMailboxes(
    transaction,
    held.map(({ key }) => key),
  );
  const rows = await transaction.rows(renewAll, [
    JSON.stringify(held),
    transaction.now + leaseMs,
    Math.ceil(leaseMs),
  ]);
  const fenceOf = new Map(rows);
  return turns
    .filter(({ key, fence }) => fenceOf.get(storable(key)) === fence)
    .map(({ key, fence }) => ({ key, fence }));
}

/** Those without suspicion, and those suspects that may begin now, the longest ready first. */
async function ready(transaction: Transaction, { max, keyPrefix }: ClaimWish): Promise<readonly ReadyRow[]> {
  const ofPrefix = isKind(keyPrefix) ? readyOfKind : readyOfPrefix;
  const [trusted, suspects] = await Promise.all([
    keyPrefix === ''
      ? transaction.rows(readyOfAll, [transaction.now, max])
      : transaction.rows(ofPrefix, [transaction.now, max, keyPrefix]),
    transaction.rows(suspectsOfPrefix, [transaction.now, SUSPECTS_LOOKED_AT, keyPrefix]),
  ]);
  if (suspects.length === 0) return trusted;
  const allowed = await uncrowded(transaction, suspects);
  return [...trusted, ...allowed].sort(([, , , at], [, , , other]) => at - other).slice(0, max);
}

async function uncrowded(
  transaction: Transaction,
  suspects: readonly ReadyRow[],
): Promise<readonly ReadyRow[]> {
  await transaction.rows(lockSuspects);
  const running = [...(await transaction.rows(runningSuspects))];
  return suspects.filter(([key, , own]) => {
    const neighbourhood = neighbourhoodOf(key);
    // One whose claim ran out does not stand in its own way.
    const others = running.filter(([other]) => other !== key);
    const near = others.filter(
      ([other, crashes]) => crashes >= own && neighbourhoodOf(other) === neighbourhood,
    ).length;
    const worst = Math.max(0, ...others.map(([, crashes]) => crashes));
    if (!mayBeginBeside(own, near, worst)) return false;
    running.push([key, own]);
    return true;
  });
}
