// Access keys in PostgreSQL. A lock serialises the changes, so versions increase in the order of their
// commits, and a reader that knows all keys up to a version misses none. A change notifies the other nodes
// (wakes.ts), which also poll.

import type {
  AccessKey,
  AddedKey,
  KeyUse,
  NewAccessKey,
  ReplacedKey,
} from '../../identity/access-keys/access-key.ts';
import { MAX_ACCESS_KEYS } from '../../identity/access-keys/access-key.ts';
import {
  type AccessKeyRow,
  accessKeyOf,
  countKeys,
  deleteEndedKey,
  endOfKey,
  expireKey,
  expiryOfReplaced,
  insertKey,
  type KeyEnd,
  keysAfter,
  liveKeyWithName,
  newKeyValues,
  revokeKey,
} from '../access-key-row.ts';
import { postgresText } from '../list-queries.ts';
import { toStorableText } from '../record-texts.ts';
import { statement, type Transaction } from './database.ts';
import { KEY_CHANNEL } from './wakes.ts';

const lock = statement('SELECT pg_advisory_xact_lock(1634162515, 5)');
const drawVersion = statement<readonly [version: number]>("SELECT nextval('counter')");
const notify = statement(`SELECT pg_notify('${KEY_CHANNEL}', '')`);
const readAfter = statement<AccessKeyRow>(postgresText(keysAfter));
const findName = statement<readonly [id: string]>(postgresText(liveKeyWithName));
const findEnd = statement<KeyEnd>(postgresText(endOfKey));
const count = statement<readonly [number]>(postgresText(countKeys));
const deleteOne = statement(postgresText(deleteEndedKey));
const insert = statement(postgresText(insertKey));
const expire = statement(postgresText(expireKey));
const revoke = statement(postgresText(revokeKey));
const note = statement(
  `UPDATE access_key SET used = uses.at FROM unnest($1::text[], $2::bigint[]) AS uses (id, at)
   WHERE access_key.id = uses.id AND (used IS NULL OR used < uses.at)`,
);

export async function accessKeysAfter(
  transaction: Transaction,
  version: number,
): Promise<readonly AccessKey[]> {
  return (await transaction.rows(readAfter, [version])).map(accessKeyOf);
}

export async function addAccessKey(
  transaction: Transaction,
  key: NewAccessKey,
  replaced: ReplacedKey | undefined,
): Promise<AddedKey> {
  await transaction.rows(lock);
  const { now } = transaction;
  const [[total] = [0]] = await transaction.rows(count);
  if (total >= MAX_ACCESS_KEYS && (await transaction.run(deleteOne, [now])) === 0) return 'full';
  if (replaced === undefined) {
    if ((await transaction.rows(findName, [toStorableText(key.name), now])).length > 0) return 'name_taken';
  } else {
    const [end] = await transaction.rows(findEnd, [replaced.id]);
    const expires = expiryOfReplaced(end, replaced, now);
    if (expires === undefined) return 'ended';
    await transaction.run(expire, [replaced.id, expires, await nextVersion(transaction)]);
  }
  await transaction.run(insert, newKeyValues(key, await nextVersion(transaction), now));
  await transaction.rows(notify);
  return 'added';
}

/** Returns false if unknown. */
export async function revokeAccessKey(transaction: Transaction, id: string): Promise<boolean> {
  await transaction.rows(lock);
  if ((await transaction.rows(findEnd, [toStorableText(id)])).length === 0) return false;
  await transaction.run(revoke, [id, transaction.now, await nextVersion(transaction)]);
  await transaction.rows(notify);
  return true;
}

export async function noteKeyUses(transaction: Transaction, uses: readonly KeyUse[]): Promise<void> {
  await transaction.run(note, [uses.map(([id]) => id), uses.map(([, at]) => at)]);
}

async function nextVersion(transaction: Transaction): Promise<number> {
  return (await transaction.rows(drawVersion))[0]?.[0] ?? 0;
}
