// The rows of mailboxes: each key with unfinished events has one, and whoever changes anything of a key holds it first. So all nodes
// agree on who is first in a key and who has the claim.
//
// A mailbox is claimed exactly while its row has a fence; that fence was given out once (S3).
// An unclaimed one is ready at the time at which the first unfinished event of its key may begin; never while that event is
// held, or a parked one holds the key.
// Rows are locked in the order of the bytes of their keys, whatever language the database has, before anything of them is read: two
// transactions never wait for each other.
// A key of the past has no row.

import { kindOf } from '../key-kinds.ts';
import { statement, type Transaction } from './database.ts';

export interface Mailbox {
  readonly key: string;
  readonly fence: number | null;
  /** The event under the claim; null where the claim was made as that came. */
  readonly running: number | null;
  readonly leaseMs: number | null;
  readonly hasMore: boolean;
  readonly isLocked: boolean;
  readonly crashes: number;
}

export type MailboxRow = readonly [
  key: string,
  fence: number | null,
  running: number | null,
  leaseMs: number | null,
  hasMore: boolean,
  isLocked: boolean,
  crashes: number,
];

/** A query that holds those of the keys of `$1` that have a row. */
export const heldMailboxes = `SELECT key, fence, running, lease_ms, has_more, is_locked, crashes FROM mailbox
  WHERE key = ANY ($1) ORDER BY key FOR UPDATE`;
const lockThere = statement<MailboxRow>(heldMailboxes);

/** A row that is made here belongs to nobody, and is put right by `settle`. */
const lockOrMake = statement<readonly [key: string, isNew: boolean]>(
  `INSERT INTO mailbox (key, kind) SELECT key, kind FROM unnest($1::text[], $2::text[]) AS wanted (key, kind)
   ORDER BY key COLLATE "C"
   ON CONFLICT (key) DO UPDATE SET has_more = true RETURNING key, xmax = 0`,
);

const settleAll = statement<readonly [isReady: boolean]>(
  `WITH found AS (
     SELECT mailbox.key, first.*
     FROM unnest($1::text[]) AS asked (key) JOIN mailbox ON mailbox.key = asked.key
     LEFT JOIN LATERAL (SELECT seq, held_by, retry_at, crashes FROM delivery
       WHERE delivery.key = mailbox.key AND state < 4 ORDER BY seq LIMIT 1) AS first ON true
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

const lockKey = statement('UPDATE mailbox SET is_locked = true WHERE key = $1');
const unlockKey = statement('UPDATE mailbox SET is_locked = false WHERE key = $1');

/** Of those keys that have a row, locked from now on. */
export async function lockMailboxes(
  transaction: Transaction,
  keys: Iterable<string>,
): Promise<ReadonlyMap<string, Mailbox>> {
  const rows = await transaction.rows(lockThere, [[...new Set(keys)]]);
  return new Map(rows.map((row) => [row[0], mailboxOf(row)]));
}

/** What `heldMailboxes` gave; there may be further columns behind. */
export function mailboxOf(row: readonly [...MailboxRow, ...unknown[]]): Mailbox {
  const [key, fence, running, leaseMs, hasMore, isLocked, crashes] = row;
  return { key, fence, running, leaseMs, hasMore, isLocked, crashes };
}

/** The same, with a row for each of them; `settleFree` has to follow. Gives those that had none. */
export async function openMailboxes(
  transaction: Transaction,
  keys: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const all = [...new Set(keys)];
  const rows = await transaction.rows(lockOrMake, [all, all.map(kindOf)]);
  return new Set(rows.filter(([, isNew]) => isNew).map(([key]) => key));
}

/** These are unclaimed from now on . */
export async function settle(transaction: Transaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const rows = await transaction.rows(settleAll, [keys, transaction.now]);
  if (rows.some(([isReady]) => isReady)) transaction.isWakeDue = true;
}

/** An event of each has come, come back or gone by another way than a turn: whoever holds a claim looks for the first anyway. */
export async function settleFree(transaction: Transaction, keys: Iterable<string>): Promise<void> {
  const free = await transaction.rows(unclaimed, [[...new Set(keys)]]);
  await settle(
    transaction,
    free.map(([key]) => key),
  );
}

/** A parked event holds the key from now on, or no longer. */
export async function setLocked(transaction: Transaction, key: string, isLocked: boolean): Promise<void> {
  await transaction.run(isLocked ? lockKey : unlockKey, [key]);
}
