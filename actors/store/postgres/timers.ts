// Durable timers: events that are appended when due. The next `claim` of any node appends them, so there is
// no timer in the process.

import type { NewEvent } from '../event.ts';
import { postgresText } from '../list-queries.ts';
import { toStorableText } from '../record-texts.ts';
import type { NewTimer } from '../store.ts';
import { setTimer as setText, timerValues } from '../timer-row.ts';
import { statement, type Transaction } from './database.ts';
import { lockOrCreateMailboxes } from './mailboxes.ts';

const setOne = statement(postgresText(setText));
const cancelOne = statement('DELETE FROM timer WHERE owner = $1 AND name = $2');
const firstOne = statement<readonly [number | null]>(
  'SELECT min(due) FROM timer WHERE owner = $1 AND key = owner AND wakes = $2',
);
const cancelWaking = statement('DELETE FROM timer WHERE owner = $1 AND key = owner AND wakes = $2');
const anyDue = statement<readonly [number]>('SELECT 1 FROM timer WHERE due <= $1 LIMIT 1');
const allDue = statement<readonly [owner: string, name: string, key: string]>(
  'SELECT owner, name, key FROM timer WHERE due <= $1 ORDER BY due LIMIT $2',
);
const takeAll = statement<
  readonly [
    due: number,
    id: string,
    key: string,
    meta: string,
    trace: string,
    body: Uint8Array,
    kind: string | null,
    wakes: string | null,
  ]
>(
  `DELETE FROM timer USING unnest($2::text[], $3::text[]) AS found (owner, name)
   WHERE timer.owner = found.owner AND timer.name = found.name AND due <= $1
   RETURNING due, id, key, meta, trace, body, kind, wakes`,
);

export async function setTimer(transaction: Transaction, owner: string, timer: NewTimer): Promise<void> {
  await transaction.run(setOne, timerValues(owner, timer, transaction.now));
}

export async function cancelTimer(transaction: Transaction, owner: string, name: string): Promise<void> {
  await transaction.run(cancelOne, [owner, toStorableText(name)]);
}

/** Returns the earliest due date of the mailbox's timers that wake the name. */
export async function firstThatWakes(
  transaction: Transaction,
  owner: string,
  name: string,
): Promise<number | undefined> {
  const [row] = await transaction.rows(firstOne, [owner, name]);
  return row?.[0] ?? undefined;
}

export async function cancelThatWake(transaction: Transaction, owner: string, name: string): Promise<void> {
  await transaction.run(cancelWaking, [owner, name]);
}

export async function isAnyDue(transaction: Transaction): Promise<boolean> {
  return (await transaction.rows(anyDue, [transaction.now])).length > 0;
}

/** Timers removed from the table. */
export interface TakenTimers {
  /** Ordered by due date. */
  readonly events: readonly NewEvent[];
  /** Keys of the locked mailboxes. The caller must then call `scheduleUnclaimed`. */
  readonly keys: readonly string[];
}

/** Removes up to `limit` due timers, longest overdue first, and locks their mailboxes. */
export async function takeDue(transaction: Transaction, limit: number): Promise<TakenTimers> {
  const found = await transaction.rows(allDue, [transaction.now, limit]);
  if (found.length === 0) return { events: [], keys: [] };
  const owners = found.map(([owner]) => owner);
  const keys = [...new Set([...owners, ...found.map(([, , key]) => key)])];
  await lockOrCreateMailboxes(transaction, keys);
  const rows = await transaction.rows(takeAll, [transaction.now, owners, found.map(([, name]) => name)]);
  const events = [...rows]
    .sort(([due], [other]) => due - other)
    .map(([, id, key, meta, trace, body, kind, wakes]) => ({
      id,
      key,
      meta,
      trace,
      body,
      kind: kind ?? undefined,
      wakes: wakes ?? undefined,
    }));
  return { events, keys };
}
