// Mailbox rows: every key with unfinished events has a row. Every change of the key first locks this row, so
// all nodes agree on the first event and the claim.
//
// A mailbox is claimed exactly if its row has a fence, a number that is issued once (rule S3 in ../store.ts).
// An unclaimed mailbox is ready when its first unfinished event may start. It is not ready if that event is
// held (`held_by`: its trigger is paused, or no concurrency slot is free), or a parked event, which waits for
// another event of the key, blocks the key (`is_locked`). To prevent deadlocks, row locks are acquired in
// byte order of the keys, before any data is read.

import { firstNonBlocking } from '../delivery-states.ts';
import { kindOf } from '../key-kinds.ts';
import { statement, type Transaction } from './database.ts';

export interface StoredMailbox {
  readonly key: string;
  readonly fence: number | null;
  /**
   * Number of the claimed event. Null for an event that was claimed when it was appended: the number is
   * assigned after the claim (arrivals.ts).
   */
  readonly running: number | null;
  readonly leaseMs: number | null;
  /** The key may have further unfinished events. */
  readonly hasMore: boolean;
  /** A parked event blocks the key. */
  readonly isBlocked: boolean;
  readonly crashes: number;
}

export type MailboxRow = readonly [
  key: string,
  fence: number | null,
  running: number | null,
  leaseMs: number | null,
  hasMore: boolean,
  isBlocked: boolean,
  crashes: number,
];

/** Locks the existing rows of the keys in `$1`. */
export const lockMailboxesQuery = `SELECT key, fence, running, lease_ms, has_more, is_locked, crashes FROM mailbox
  WHERE key = ANY ($1) ORDER BY key FOR UPDATE`;
const lockExisting = statement<MailboxRow>(lockMailboxesQuery);

/** A new row is unclaimed, and has no ready time until `scheduleMailboxes` sets one. */
const lockOrCreate = statement<readonly [key: string, isNew: boolean]>(
  `INSERT INTO mailbox (key, kind) SELECT key, kind FROM unnest($1::text[], $2::text[]) AS wanted (key, kind)
   ORDER BY key COLLATE "C"
   ON CONFLICT (key) DO UPDATE SET has_more = true RETURNING key, xmax = 0`,
);

const scheduleAll = statement<readonly [isReady: boolean]>(
  `WITH found AS (
     SELECT mailbox.key, first.*
     FROM unnest($1::text[]) AS asked (key) JOIN mailbox ON mailbox.key = asked.key
     LEFT JOIN LATERAL (SELECT seq, held_by, retry_at, crashes FROM delivery
       WHERE delivery.key = mailbox.key AND state < ${firstNonBlocking} ORDER BY seq LIMIT 1) AS first ON true
   ), gone AS (
     DELETE FROM mailbox USING found WHERE mailbox.key = found.key AND found.seq IS NULL AND NOT mailbox.is_locked
   )
   UPDATE mailbox SET fence = NULL, running = NULL, lease_ms = NULL, node = NULL, has_more = true,
     crashes = coalesce(found.crashes, 0),
     ready_at = CASE WHEN mailbox.is_locked OR found.held_by IS NOT NULL THEN NULL ELSE greatest(found.retry_at, $2::bigint) END
   FROM found WHERE mailbox.key = found.key AND (found.seq IS NOT NULL OR mailbox.is_locked)
   RETURNING coalesce(ready_at <= $2::bigint, false)`,
);

const unclaimed = statement<readonly [key: string]>(
  'SELECT key FROM mailbox WHERE key = ANY ($1) AND fence IS NULL',
);

const blockKey = statement('UPDATE mailbox SET is_locked = true WHERE key = $1');
const unblockKey = statement('UPDATE mailbox SET is_locked = false WHERE key = $1');

/** Locks the existing rows of the keys. */
export async function lockMailboxes(
  transaction: Transaction,
  keys: Iterable<string>,
): Promise<ReadonlyMap<string, StoredMailbox>> {
  const rows = await transaction.rows(lockExisting, [[...new Set(keys)]]);
  return new Map(rows.map((row) => [row[0], mailboxOf(row)]));
}

/** Converts a row of `lockMailboxesQuery`; further columns are ignored. */
export function mailboxOf(row: readonly [...MailboxRow, ...unknown[]]): StoredMailbox {
  const [key, fence, running, leaseMs, hasMore, isBlocked, crashes] = row;
  return { key, fence, running, leaseMs, hasMore, isBlocked, crashes };
}

/**
 * Locks the rows of the keys, and creates missing rows. Returns the keys of new rows. The caller must then
 * call `scheduleUnclaimed`.
 */
export async function lockOrCreateMailboxes(
  transaction: Transaction,
  keys: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const all = [...new Set(keys)];
  const rows = await transaction.rows(lockOrCreate, [all, all.map(kindOf)]);
  return new Set(rows.filter(([, isNew]) => isNew).map(([key]) => key));
}

/**
 * Releases the claims of the mailboxes, and sets their ready times by their first events. Deletes empty
 * mailboxes.
 */
export async function scheduleMailboxes(transaction: Transaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const rows = await transaction.rows(scheduleAll, [keys, transaction.now]);
  if (rows.some(([isReady]) => isReady)) transaction.isWakeDue = true;
}

/**
 * Schedules the unclaimed mailboxes among the keys, when an operation other than a commit has changed their
 * events. The commit schedules a claimed mailbox.
 */
export async function scheduleUnclaimed(transaction: Transaction, keys: Iterable<string>): Promise<void> {
  const free = await transaction.rows(unclaimed, [[...new Set(keys)]]);
  await scheduleMailboxes(
    transaction,
    free.map(([key]) => key),
  );
}

/** Blocks or unblocks the key for a parked event. */
export async function setBlocked(transaction: Transaction, key: string, isBlocked: boolean): Promise<void> {
  await transaction.run(isBlocked ? blockKey : unblockKey, [key]);
}
