// Membership: who works on these tables, and until when. A node renews its row; one whose row ran out, or that has said that it ends,
// is buried by any other, and its claims are free at once.
//
// PGN1  a node that is not in the table any more has no claims: it is told so by its next renewal, and begins anew under another id.
// PGN2  an event that ran on a node when that ended waits for a pause, and that it ran is an attempt, and a crash (S11); what has ended
//       nodes too often is dead. Those that are suspected as it is wait longer with it.

import { isOverAfter, pauseAfterCrashMs } from '../../../machines/crashes.ts';
import { stateCodes } from '../delivery-states.ts';
import { endsTheProcess, PROCESS_ENDED } from '../record-texts.ts';
import { appendEmitted } from './append.ts';
import { statement, type Transaction } from './database.ts';
import { lockMailboxes, settle } from './mailboxes.ts';
import { crash } from './outcomes.ts';

/** Mailboxes that one transaction frees. */
const BURIED_AT_ONCE = 500;

export interface NodeRow {
  readonly id: number;
  readonly name: string;
  readonly address: string;
  /** JSON text, for whoever lists the nodes. */
  readonly about: string;
}

const lockJoins = statement('SELECT pg_advisory_xact_lock(1634162515, 2)');
/** None where one of that name is a member. */
const join = statement<readonly [id: number]>(
  `INSERT INTO node (id, name, address, until, about) SELECT nextval('counter'), $1, $2, $3, $4
   WHERE NOT EXISTS (SELECT 1 FROM node WHERE name = $1 AND until > $5) RETURNING id`,
);
const renewOne = statement('UPDATE node SET until = $2, about = $3 WHERE id = $1 AND until > $4');
const leave = statement('UPDATE node SET until = 0 WHERE id = $1');
const dead = statement<readonly [id: number]>(
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
const remove = statement('DELETE FROM node WHERE id = $1');
const releaseAll = statement('DELETE FROM node_lease WHERE node = $1');
const isAnyDead = statement<readonly [count: number]>(
  'SELECT count(*)::int FROM node WHERE until <= $1 AND id <> $2',
);
const list = statement<readonly [id: number, name: string, address: string, about: string]>(
  'SELECT id, name, address, about FROM node WHERE until > $1 ORDER BY name, id',
);
/** Holds the row of a node: it is not buried before this transaction has ended. None: it has been. */
const holdNode = statement<readonly [id: number]>('SELECT id FROM node WHERE id = $1 FOR KEY SHARE');
/** Gives the id; undefined where one of that name is a member. */
export async function joinNodes(
  transaction: Transaction,
  { name, address, about }: Omit<NodeRow, 'id'>,
  ttlMs: number,
): Promise<number | undefined> {
  const { now } = transaction;
  await transaction.rows(lockJoins);
  return (await transaction.rows(join, [name, address, now + ttlMs, about, now]))[0]?.[0];
}

/** Gives whether it is a member still. */
export async function renewNode(
  transaction: Transaction,
  id: number,
  about: string,
  ttlMs: number,
): Promise<boolean> {
  const { now } = transaction;
  return (await transaction.run(renewOne, [id, now + ttlMs, about, now])) > 0;
}

/** Whether it may claim anything in this transaction: what it claims then is found by whoever buries it (PGN1). */
export async function holdMembership(transaction: Transaction, id: number): Promise<boolean> {
  return (await transaction.rows(holdNode, [id])).length > 0;
}

/** Its claims are over. */
export async function leaveNodes(transaction: Transaction, id: number): Promise<void> {
  await transaction.run(leave, [id]);
}

export async function members(transaction: Transaction): Promise<readonly NodeRow[]> {
  const rows = await transaction.rows(list, [transaction.now]);
  return rows.map(([id, name, address, about]) => ({ id, name, address, about }));
}

/** Whether a node is to be buried. */
export async function hasDead(transaction: Transaction, self: number): Promise<boolean> {
  return (await transaction.rows(isAnyDead, [transaction.now, self])).some(([count]) => count > 0);
}

/** Frees what nodes had claimed whose membership is over. Gives whether there is more of it. */
export async function buryDead(transaction: Transaction, self: number): Promise<boolean> {
  let isMore = false;
  for (const [id] of await transaction.rows(dead, [transaction.now, self])) {
    const found = await transaction.rows(keysOfNode, [id, BURIED_AT_ONCE]);
    const mailboxes = await lockMailboxes(
      transaction,
      found.map(([key]) => key),
    );
    for (const [seq, crashes] of await transaction.rows(crashesOf, [[...mailboxes.keys()]]))
      await crashOne(transaction, seq, crashes + 1);
    await settle(transaction, [...mailboxes.keys()]);
    if (found.length === BURIED_AT_ONCE) isMore = true;
    else {
      await transaction.run(releaseAll, [id]);
      await transaction.run(remove, [id]);
      await holdSuspects(transaction);
    }
  }
  await appendEmitted(transaction);
  return isMore;
}

/** One that was to be given up, and ended the process in that, is over. */
async function crashOne(transaction: Transaction, seq: number, crashes: number): Promise<void> {
  if (isOverAfter(crashes)) await crash(transaction, seq, endsTheProcess(crashes), crashes, undefined);
  else await crash(transaction, seq, PROCESS_ENDED, crashes, transaction.now + pauseAfterCrashMs(crashes));
}

/** CS4: without them a process has ended as well. */
async function holdSuspects(transaction: Transaction): Promise<void> {
  const waiting = await transaction.rows(suspectsWaiting);
  const keys = waiting.map(([, key]) => key);
  const mailboxes = await lockMailboxes(transaction, keys);
  for (const [seq, , crashes] of waiting)
    await transaction.run(waitLonger, [seq, transaction.now + pauseAfterCrashMs(crashes)]);
  await settle(
    transaction,
    [...mailboxes.values()].flatMap(({ key, fence }) => (fence === null ? key : [])),
  );
}
