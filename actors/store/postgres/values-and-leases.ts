// Values by space and key, leases, schedule ticks and snapshots in PostgreSQL. A tick is a scheduled point in
// time; a snapshot is the state that an event saves for the next event of the key. Versions and epochs are
// never reused: `ifVersion` cannot match a later value. The epoch of a lease increases when the node or
// address changes, and when an expired lease is acquired (rule S6 in ../store.ts). A sweep does not delete
// the last tick of a name, from which the schedule continues.

import { firstNonBlocking } from '../delivery-states.ts';
import { toStorableText } from '../record-texts.ts';
import type { Lease, Owner, PutOptions, VersionedValue } from '../store.ts';
import { statement, type Transaction } from './database.ts';

const putValue = statement(
  `INSERT INTO kv (space, key, value, version, until) VALUES ($1, $2, $3, nextval('counter'), $4)
   ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, version = excluded.version, until = excluded.until
     WHERE NOT $5::boolean OR kv.until <= $6`,
);
const replaceValue = statement(
  `UPDATE kv SET value = $3, version = nextval('counter'), until = $4
   WHERE space = $1 AND key = $2 AND version = $5 AND (until IS NULL OR until > $6)`,
);
const getValue = statement<readonly [value: string, version: number]>(
  'SELECT value, version FROM kv WHERE space = $1 AND key = $2 AND (until IS NULL OR until > $3)',
);
const deleteValue = statement('DELETE FROM kv WHERE space = $1 AND key = $2');
const listKeys = statement<readonly [string]>(
  'SELECT key FROM kv WHERE space = $1 AND (until IS NULL OR until > $2) ORDER BY key',
);
const takeLease = statement<readonly [epoch: number]>(
  `INSERT INTO lease (name, node, address, epoch, until) VALUES ($1, $2, $3, nextval('counter'), $4)
   ON CONFLICT (name) DO UPDATE SET node = excluded.node, address = excluded.address, until = excluded.until,
     epoch = CASE WHEN lease.until > $5 AND lease.address = excluded.address THEN lease.epoch ELSE excluded.epoch END
     WHERE lease.until <= $5 OR lease.node = excluded.node
   RETURNING epoch`,
);
const ownerOf = statement<readonly [node: string, address: string, epoch: number]>(
  'SELECT node, address, epoch FROM lease WHERE name = $1 AND until > $2',
);
const noteTick = statement('INSERT INTO tick (name, at) VALUES ($1, $2) ON CONFLICT DO NOTHING');
const latestTick = statement<readonly [number | null]>('SELECT max(at) FROM tick WHERE name = $1');
const dropTicks = statement('DELETE FROM tick WHERE name = $1 AND at > $2');
const setSnapshot = statement(
  `INSERT INTO snapshot (key, value, at) VALUES ($1, $2, $3)
   ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at`,
);
const dropSnapshot = statement('DELETE FROM snapshot WHERE key = $1');

const sweepValues = statement(
  'DELETE FROM kv WHERE (space, key) IN (SELECT space, key FROM kv WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)',
);
const sweepLeases = statement(
  'DELETE FROM lease WHERE name IN (SELECT name FROM lease WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)',
);
const sweepTicks = statement(
  `DELETE FROM tick WHERE (name, at) IN (SELECT name, at FROM tick WHERE at < $1
     AND at < (SELECT max(later.at) FROM tick AS later WHERE later.name = tick.name) LIMIT $2)`,
);
const sweepSnapshots = statement(
  `DELETE FROM snapshot WHERE key IN (SELECT key FROM snapshot AS old WHERE at < $1
     AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.key = old.key AND state < ${firstNonBlocking})
     AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.key = old.key AND waits_for IS NOT NULL)
     AND NOT EXISTS (SELECT 1 FROM timer WHERE timer.owner = old.key) ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
);
const ROWS_AT_ONCE = 500;

/** Returns false and changes nothing if a condition fails. */
export async function put(
  transaction: Transaction,
  space: string,
  key: string,
  value: string,
  { ttlMs, ifAbsent = false, ifVersion }: PutOptions,
): Promise<boolean> {
  const { now } = transaction;
  const until = ttlMs === undefined ? null : now + Math.ceil(ttlMs);
  const values = [toStorableText(space), toStorableText(key), toStorableText(value), until];
  if (ifVersion === undefined) return (await transaction.run(putValue, [...values, ifAbsent, now])) > 0;
  if (ifAbsent) return false;
  return (await transaction.run(replaceValue, [...values, ifVersion, now])) > 0;
}

export async function get(
  transaction: Transaction,
  space: string,
  key: string,
): Promise<VersionedValue | undefined> {
  const [row] = await transaction.rows(getValue, [
    toStorableText(space),
    toStorableText(key),
    transaction.now,
  ]);
  return row === undefined ? undefined : { value: row[0], version: row[1] };
}

export async function remove(transaction: Transaction, space: string, key: string): Promise<void> {
  await transaction.run(deleteValue, [toStorableText(space), toStorableText(key)]);
}

export async function keysOf(transaction: Transaction, space: string): Promise<readonly string[]> {
  return (await transaction.rows(listKeys, [toStorableText(space), transaction.now])).map(([key]) => key);
}

export async function lease(
  transaction: Transaction,
  name: string,
  node: string,
  address: string,
  ttlMs: number,
): Promise<Lease | undefined> {
  const { now } = transaction;
  const names = [name, node, address].map(toStorableText);
  const [row] = await transaction.rows(takeLease, [...names, now + Math.ceil(ttlMs), now]);
  return row && { epoch: row[0] };
}

export async function owner(transaction: Transaction, name: string): Promise<Owner | undefined> {
  const [row] = await transaction.rows(ownerOf, [toStorableText(name), transaction.now]);
  return row === undefined ? undefined : { node: row[0], address: row[1], epoch: row[2] };
}

/** Returns false if the tick exists. */
export async function tickOnce(transaction: Transaction, name: string, at: number): Promise<boolean> {
  return (await transaction.run(noteTick, [toStorableText(name), at])) > 0;
}

export async function lastTick(transaction: Transaction, name: string): Promise<number | undefined> {
  return (await transaction.rows(latestTick, [toStorableText(name)]))[0]?.[0] ?? undefined;
}

export async function forgetTicks(
  transaction: Transaction,
  name: string,
  after = Number.MIN_SAFE_INTEGER,
): Promise<void> {
  await transaction.run(dropTicks, [toStorableText(name), after]);
}

/** Undefined leaves the snapshot unchanged, null removes it. */
export async function writeSnapshot(
  transaction: Transaction,
  key: string,
  snapshot: string | null | undefined,
): Promise<void> {
  if (snapshot === null) await transaction.run(dropSnapshot, [key]);
  else if (snapshot !== undefined)
    await transaction.run(setSnapshot, [key, toStorableText(snapshot), transaction.now]);
}

/**
 * Deletes a part of the expired rows; returns their number. Ticks are kept for `retentionMs`, snapshots for
 * `snapshotRetentionMs`.
 */
export async function sweepExpired(
  transaction: Transaction,
  retentionMs: number,
  snapshotRetentionMs: number,
): Promise<number> {
  const { now } = transaction;
  let removed = 0;
  for (const [sweep, before] of [
    [sweepValues, now],
    [sweepLeases, now],
    [sweepTicks, now - retentionMs],
    [sweepSnapshots, now - snapshotRetentionMs],
  ] as const)
    removed += await transaction.run(sweep, [before, ROWS_AT_ONCE]);
  return removed;
}
