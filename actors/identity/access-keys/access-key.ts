// Stored access keys, and the operations of the store. A change never extends the validity of a key.

import type { Role } from '../roles.ts';

/** Stored key. Times are epoch milliseconds of the store's clock. */
export interface AccessKey {
  readonly id: string;
  /** Name of the principal. A rotated key keeps it. */
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of id and secret, in base64url. */
  readonly digest: string;
  readonly createdAt: number;
  /** Text of the principal that created it. */
  readonly createdBy: string;
  /** Undefined without an end. */
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** Accuracy: one minute. */
  readonly usedAt: number | undefined;
  /** Increases with each change, except of `usedAt`. */
  readonly version: number;
}

export interface NewAccessKey extends Pick<AccessKey, 'id' | 'name' | 'role' | 'digest' | 'createdBy'> {
  readonly lifetimeMs: number | undefined;
}

/** Key that a new key of the same name replaces after `overlapMs`. */
export interface ReplacedKey {
  readonly id: string;
  readonly overlapMs: number;
}

/**
 * `name_taken`: a valid key has the name. `full`: MAX_ACCESS_KEYS keys are valid. `ended`: the replaced key
 * is not valid.
 */
export type AddedKey = 'added' | 'name_taken' | 'full' | 'ended';

export type KeyUse = readonly [id: string, at: number];

/** Maximum number of stored keys. Above it, invalid keys are deleted, the oldest first. */
export const MAX_ACCESS_KEYS = 10_000;
/** Number of keys per read. */
export const KEYS_PER_READ = 1_000;

/** Operations of the store. They reject with StoreUnavailableError. */
export interface AccessKeyStore {
  /** Epoch milliseconds of the store's clock. */
  now(): number;
  /** Returns up to KEYS_PER_READ keys with a version above `afterVersion`, by version. */
  accessKeys(afterVersion: number): Promise<readonly AccessKey[]>;
  addAccessKey(key: NewAccessKey, replaced?: ReplacedKey): Promise<AddedKey>;
  /** Returns false if unknown. */
  revokeAccessKey(id: string): Promise<boolean>;
  /** Records the last use of keys. */
  noteKeyUses(uses: readonly KeyUse[]): Promise<void>;
  /**
   * Calls the listener soon after changes of other processes. Returns a function that removes the listener.
   * Undefined for a single-process engine.
   */
  watchAccessKeys?(listener: () => void): () => void;
}

export function isEnded({ expiresAt, revokedAt }: AccessKey, now: number): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && expiresAt <= now);
}
