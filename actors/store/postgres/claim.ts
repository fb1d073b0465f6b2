// Claims ready mailboxes for a node, and renews its claims. Rows that another transaction has locked are
// skipped, so nodes claim concurrently without waiting. An expired claim is lost when a new claim replaces it
// (rule S3 in ../store.ts); its event is requeued with a note. A suspect (an event that was running when a
// node crashed) is claimed only if not too many suspects run in the cluster (machines/crashes.ts).

import { mayStartWith } from '../../../machines/crashes.ts';
import { crashDomainOf } from '../crash-domain.ts';
import { isKind } from '../key-kinds.ts';
import { LEASE_ENDED, toStorableText } from '../record-texts.ts';
import type { Turn, TurnRef } from '../store.ts';
import { canStart } from '../turn-rules.ts';
import { statement, type Transaction } from './database.ts';
import { type FirstEvent, firstEvents, startAttempts } from './first-events.ts';
import { lockMailboxes, scheduleMailboxes } from './mailboxes.ts';
import { lockMembership } from './nodes.ts';
import { abortExpired } from './outcomes.ts';

export interface NodeClaimRequest {
  readonly node: number;
  readonly max: number;
  /** Maximum size of the returned bodies; the last body may exceed it. */
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
/** Maximum number of suspects checked per claim; the first of them may be blocked. */
const MAX_CHECKED_SUSPECTS = 1_000;
/** Serialises the checks of suspects in the cluster. */
const lockSuspects = statement('SELECT pg_advisory_xact_lock(1634162515, 1)');
const runningSuspects = statement<readonly [key: string, crashes: number]>(
  'SELECT key, crashes FROM mailbox WHERE crashes > 0 AND fence IS NOT NULL',
);
/** `ready_at` of a claimed mailbox is the end of its lease. */
const grantAll = statement<readonly [key: string, fence: number]>(
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

/**
 * Claims the mailboxes that are ready for longest. Mailboxes whose first event cannot start yet are
 * rescheduled.
 */
export async function claim(transaction: Transaction, request: NodeClaimRequest): Promise<readonly Turn[]> {
  const { node, max, maxBytes, leaseMs } = request;
  const { now } = transaction;
  const [isMember, found] = await Promise.all([
    lockMembership(transaction, node),
    findReady(transaction, request),
  ]);
  if (!isMember || found.length === 0) return [];
  await abortExpired(
    transaction,
    found.flatMap(([key, wasClaimed]) => (wasClaimed ? key : [])),
    LEASE_ENDED,
  );
  const keys = found.map(([key]) => key);
  const firsts = await firstEvents(transaction, keys);
  const granted: FirstEvent[] = [];
  const waiting: string[] = [];
  let bytes = 0;
  for (const key of keys) {
    const first = firsts.get(key);
    if (!canStart(first, now)) waiting.push(key);
    else if (bytes <= maxBytes) {
      granted.push(first);
      bytes += first.bytes;
    }
    // The event exceeds `maxBytes`. `scheduleMailboxes` releases an expired claim of the mailbox.
    else waiting.push(key);
  }
  await scheduleMailboxes(transaction, waiting);
  if (granted.length === 0) return [];
  const rows = granted.map(({ key, seq, crashes }) => ({ key, seq, crashes }));
  const claimed = granted.map(({ key }) => key);
  const [fences, events, snapshotRows] = await Promise.all([
    transaction.rows(grantAll, [JSON.stringify(rows), Math.ceil(leaseMs), node, now + leaseMs, claimed]),
    startAttempts(
      transaction,
      granted.map(({ seq }) => seq),
    ),
    transaction.rows(snapshots, [claimed]),
  ]);
  // More mailboxes may be ready than were returned.
  if (granted.length < max && found.length === max) transaction.isWakeDue = true;
  const fenceOf = new Map(fences);
  const snapshotOf = new Map(snapshotRows);
  return granted.flatMap(({ key }) => {
    const event = events.get(key);
    const fence = fenceOf.get(key);
    if (event === undefined || fence === undefined) return [];
    return [{ key, fence, event, snapshot: snapshotOf.get(key) }];
  });
}

/** Renews claims, and returns the claims that are still valid. */
export async function renew(
  transaction: Transaction,
  turns: readonly TurnRef[],
  leaseMs: number,
): Promise<readonly TurnRef[]> {
  const claims = turns.map(({ key, fence }) => ({ key: toStorableText(key), fence }));
  await lockMailboxes(
    transaction,
    claims.map(({ key }) => key),
  );
  const rows = await transaction.rows(renewAll, [
    JSON.stringify(claims),
    transaction.now + leaseMs,
    Math.ceil(leaseMs),
  ]);
  const fenceOf = new Map(rows);
  return turns
    .filter(({ key, fence }) => fenceOf.get(toStorableText(key)) === fence)
    .map(({ key, fence }) => ({ key, fence }));
}

/**
 * Returns ready mailboxes, longest ready first. Mailboxes with a suspect are included only if it may start
 * now.
 */
async function findReady(
  transaction: Transaction,
  { max, keyPrefix }: NodeClaimRequest,
): Promise<readonly ReadyRow[]> {
  const ofPrefix = isKind(keyPrefix) ? readyOfKind : readyOfPrefix;
  const [trusted, suspects] = await Promise.all([
    keyPrefix === ''
      ? transaction.rows(readyOfAll, [transaction.now, max])
      : transaction.rows(ofPrefix, [transaction.now, max, keyPrefix]),
    transaction.rows(suspectsOfPrefix, [transaction.now, MAX_CHECKED_SUSPECTS, keyPrefix]),
  ]);
  if (suspects.length === 0) return trusted;
  const admitted = await admittedSuspects(transaction, suspects);
  return [...trusted, ...admitted].sort(([, , , at], [, , , other]) => at - other).slice(0, max);
}

async function admittedSuspects(
  transaction: Transaction,
  suspects: readonly ReadyRow[],
): Promise<readonly ReadyRow[]> {
  await transaction.rows(lockSuspects);
  const running = [...(await transaction.rows(runningSuspects))];
  return suspects.filter(([key, , ownCrashes]) => {
    const domain = crashDomainOf(key);
    // A mailbox with an expired claim does not count against itself.
    const others = running.filter(([other]) => other !== key);
    const inDomain = others.filter(
      ([other, crashes]) => crashes >= ownCrashes && crashDomainOf(other) === domain,
    ).length;
    const maxCrashes = Math.max(0, ...others.map(([, crashes]) => crashes));
    if (!mayStartWith(ownCrashes, inDomain, maxCrashes)) return false;
    running.push([key, ownCrashes]);
    return true;
  });
}
