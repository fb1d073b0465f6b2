// Rows of cluster members. A node renews its row. If the row has expired or the node has left, it is dead:
// another node removes it, which releases its claims and deletes its rows. A node that is not in the table
// has no claims; its next renewal fails, and it rejoins with a new id. The removal counts one attempt and one
// crash for every running event of the node. The event is retried later, or dead at the crash limit (rule S11
// in ../store.ts). The pauses of all suspects (events with crashes) are extended.

import { isDeadAfter, pauseAfterCrashMs } from '../../../machines/crashes.ts';
import { stateCodes } from '../delivery-states.ts';
import { crashNote, PROCESS_ENDED } from '../record-texts.ts';
import { appendEmitted } from './append.ts';
import { statement, type Transaction } from './database.ts';
import { lockMailboxes, scheduleMailboxes } from './mailboxes.ts';
import { crash } from './outcomes.ts';

/** Maximum number of mailboxes released per transaction. */
const MAX_RELEASED_MAILBOXES = 500;

export interface NodeRow {
  readonly id: number;
  readonly name: string;
  readonly address: string;
  /** JSON text for node lists. */
  readonly about: string;
}

const lockJoins = statement('SELECT pg_advisory_xact_lock(1634162515, 2)');
/** Returns no row if a member has this name. */
const join = statement<readonly [id: number]>(
  `INSERT INTO node (id, name, address, until, about) SELECT nextval('counter'), $1, $2, $3, $4
   WHERE NOT EXISTS (SELECT 1 FROM node WHERE name = $1 AND until > $5) RETURNING id`,
);
const renewOne = statement('UPDATE node SET until = $2, about = $3 WHERE id = $1 AND until > $4');
const endMembership = statement('UPDATE node SET until = 0 WHERE id = $1');
const expiredNodes = statement<readonly [id: number]>(
  'SELECT id FROM node WHERE until <= $1 AND id <> $2 ORDER BY id FOR UPDATE SKIP LOCKED',
);
const keysOfNode = statement<readonly [key: string]>(
  'SELECT key FROM mailbox WHERE node = $1 ORDER BY key LIMIT $2',
);
const crashesOf = statement<readonly [seq: number, crashes: number]>(
  `SELECT seq, crashes FROM delivery WHERE key = ANY ($1) AND state = ${stateCodes.running}`,
);
const suspectsWaiting = statement<readonly [seq: number, key: string, crashes: number]>(
  `SELECT seq, key, crashes FROM delivery WHERE crashes > 0 AND state = ${stateCodes.retrying} ORDER BY key`,
);
const waitLonger = statement('UPDATE delivery SET retry_at = greatest(retry_at, $2) WHERE seq = $1');
const deleteNode = statement('DELETE FROM node WHERE id = $1');
const releaseAll = statement('DELETE FROM node_lease WHERE node = $1');
const isAnyDead = statement<readonly [count: number]>(
  'SELECT count(*)::int FROM node WHERE until <= $1 AND id <> $2',
);
const currentMembers = statement<readonly [id: number, name: string, address: string, about: string]>(
  'SELECT id, name, address, about FROM node WHERE until > $1 ORDER BY name, id',
);
/**
 * Locks the row of the node, which prevents its removal during this transaction. Returns no row for a removed
 * node.
 */
const lockNode = statement<readonly [id: number]>('SELECT id FROM node WHERE id = $1 FOR KEY SHARE');
/** Returns the new id; undefined if a member has this name. */
export async function joinNodes(
  transaction: Transaction,
  { name, address, about }: Omit<NodeRow, 'id'>,
  ttlMs: number,
): Promise<number | undefined> {
  const { now } = transaction;
  await transaction.rows(lockJoins);
  return (await transaction.rows(join, [name, address, now + ttlMs, about, now]))[0]?.[0];
}

/** Returns false if the membership has expired. */
export async function renewNode(
  transaction: Transaction,
  id: number,
  about: string,
  ttlMs: number,
): Promise<boolean> {
  const { now } = transaction;
  return (await transaction.run(renewOne, [id, now + ttlMs, about, now])) > 0;
}

/**
 * Returns true if the node may claim events in this transaction. `removeDeadNodes` will find these claims.
 */
export async function lockMembership(transaction: Transaction, id: number): Promise<boolean> {
  return (await transaction.rows(lockNode, [id])).length > 0;
}

/** Ends the membership; another node then releases its claims. */
export async function leaveNodes(transaction: Transaction, id: number): Promise<void> {
  await transaction.run(endMembership, [id]);
}

export async function members(transaction: Transaction): Promise<readonly NodeRow[]> {
  const rows = await transaction.rows(currentMembers, [transaction.now]);
  return rows.map(([id, name, address, about]) => ({ id, name, address, about }));
}

/** Returns true if a dead node has to be removed. */
export async function hasDeadNodes(transaction: Transaction, self: number): Promise<boolean> {
  return (await transaction.rows(isAnyDead, [transaction.now, self])).some(([count]) => count > 0);
}

/**
 * Removes dead nodes and releases their claims, up to MAX_RELEASED_MAILBOXES per node. Returns true if more
 * remain.
 */
export async function removeDeadNodes(transaction: Transaction, self: number): Promise<boolean> {
  let hasMore = false;
  for (const [id] of await transaction.rows(expiredNodes, [transaction.now, self])) {
    const found = await transaction.rows(keysOfNode, [id, MAX_RELEASED_MAILBOXES]);
    const mailboxes = await lockMailboxes(
      transaction,
      found.map(([key]) => key),
    );
    for (const [seq, crashes] of await transaction.rows(crashesOf, [[...mailboxes.keys()]]))
      await crashOne(transaction, seq, crashes + 1);
    await scheduleMailboxes(transaction, [...mailboxes.keys()]);
    if (found.length === MAX_RELEASED_MAILBOXES) hasMore = true;
    else {
      await transaction.run(releaseAll, [id]);
      await transaction.run(deleteNode, [id]);
      await delaySuspects(transaction);
    }
  }
  await appendEmitted(transaction);
  return hasMore;
}

/** Records a crash. At the crash limit the event is dead. */
async function crashOne(transaction: Transaction, seq: number, crashes: number): Promise<void> {
  if (isDeadAfter(crashes)) await crash(transaction, seq, crashNote(crashes), crashes, undefined);
  else await crash(transaction, seq, PROCESS_ENDED, crashes, transaction.now + pauseAfterCrashMs(crashes));
}

/** Restarts the pauses of suspects, because a node has crashed (machines/crashes.ts). */
async function delaySuspects(transaction: Transaction): Promise<void> {
  const waiting = await transaction.rows(suspectsWaiting);
  const keys = waiting.map(([, key]) => key);
  const mailboxes = await lockMailboxes(transaction, keys);
  for (const [seq, , crashes] of waiting)
    await transaction.run(waitLonger, [seq, transaction.now + pauseAfterCrashMs(crashes)]);
  await scheduleMailboxes(
    transaction,
    [...mailboxes.values()].flatMap(({ key, fence }) => (fence === null ? key : [])),
  );
}
