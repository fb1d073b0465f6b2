// Rows and statements of the table of access keys, shared by SQLite and PostgreSQL. The statements have the
// parameters of SQLite (`?1`), which `postgresText` converts. The column `tenant` is null: keys belong to the
// whole gateway.

import {
  type AccessKey,
  KEYS_PER_READ,
  type NewAccessKey,
  type ReplacedKey,
} from '../identity/access-keys/access-key.ts';
import { roles } from '../identity/roles.ts';
import { toStorableText } from './record-texts.ts';

const columns = 'id, name, role, digest, version, created, created_by, expires, revoked, used';

export type AccessKeyRow = readonly [
  id: string,
  name: string,
  role: string,
  digest: string,
  version: number,
  created: number,
  createdBy: string,
  expires: number | null,
  revoked: number | null,
  used: number | null,
];

/** Expiry and revocation of a key. */
export type KeyEnd = readonly [expires: number | null, revoked: number | null];

export const keysAfter = `SELECT ${columns} FROM access_key WHERE version > ?1 ORDER BY version LIMIT ${KEYS_PER_READ}`;
export const liveKeyWithName = `SELECT id FROM access_key
  WHERE name = ?1 AND revoked IS NULL AND (expires IS NULL OR expires > ?2) LIMIT 1`;
export const endOfKey = 'SELECT expires, revoked FROM access_key WHERE id = ?1';
export const countKeys = 'SELECT count(*) FROM access_key';
/** Deletes the oldest invalid key. */
export const deleteEndedKey = `DELETE FROM access_key WHERE id = (SELECT id FROM access_key
  WHERE coalesce(revoked, expires) <= ?1 ORDER BY coalesce(revoked, expires) LIMIT 1)`;
export const insertKey = `INSERT INTO access_key (${columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, NULL)`;
export const expireKey = 'UPDATE access_key SET expires = ?2, version = ?3 WHERE id = ?1';
export const revokeKey = 'UPDATE access_key SET revoked = ?2, version = ?3 WHERE id = ?1 AND revoked IS NULL';
export const noteUse = 'UPDATE access_key SET used = ?2 WHERE id = ?1 AND (used IS NULL OR used < ?2)';

/** Returns the values of `insertKey`. */
export function newKeyValues(key: NewAccessKey, version: number, now: number) {
  const { id, name, role, digest, createdBy, lifetimeMs } = key;
  const expires = lifetimeMs === undefined ? null : now + lifetimeMs;
  return [id, toStorableText(name), role, digest, version, now, toStorableText(createdBy), expires];
}

/** Returns the new expiry of a replaced key; undefined for an invalid or unknown key. */
export function expiryOfReplaced(
  end: KeyEnd | undefined,
  { overlapMs }: ReplacedKey,
  now: number,
): number | undefined {
  if (end === undefined) return undefined;
  const [expires, revoked] = end;
  if (revoked !== null || (expires !== null && expires <= now)) return undefined;
  return Math.min(expires ?? Number.POSITIVE_INFINITY, now + overlapMs);
}

/** A role of a later version counts as the lowest role. */
export function accessKeyOf(row: AccessKeyRow): AccessKey {
  const [id, name, role, digest, version, createdAt, createdBy, expires, revoked, used] = row;
  return {
    ...{ id, name, digest, version, createdAt, createdBy },
    role: roles.find((each) => each === role) ?? 'viewer',
    expiresAt: expires ?? undefined,
    revokedAt: revoked ?? undefined,
    usedAt: used ?? undefined,
  };
}
