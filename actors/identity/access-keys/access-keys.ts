// Access keys of this process: verifies, creates, rotates and revokes them. All keys are in memory, so the
// store is not needed to verify a known key.
//
// With a shared store, changes of other nodes arrive by notifications and by a poll: every node refuses a
// revoked key within a second. An unknown key is looked up in the store before it is refused. If
// the store cannot be read, cached keys work for KNOWN_FOR_MS.

import { setTimeout as elapse } from 'node:timers/promises';
import { ConflictError, NotFoundError, OverloadedError } from '../../base/errors/errors.ts';
import { CoalescedRuns } from '../../base/time/coalesced-runs.ts';
import { within } from '../../base/time/within.ts';
import type { Principal, VerificationResult } from '../principal.ts';
import type { Role } from '../roles.ts';
import {
  type AccessKey,
  type AccessKeyStore,
  isEnded,
  KEYS_PER_READ,
  type KeyUse,
  MAX_ACCESS_KEYS,
} from './access-key.ts';
import { INVALID_KEY, KEYS_UNAVAILABLE } from './key-refusals.ts';
import { checksumIn, digestOf, hasChecksum, isKeyId, keyIdIn, newKeyText } from './key-text.ts';
import { type KeyStream, OpenStreams } from './open-streams.ts';

export interface CreatedKey {
  readonly key: AccessKey;
  /** Known only now: the store has the digest. */
  readonly text: string;
}

export interface KeyRequest {
  readonly name: string;
  readonly role: Role;
  readonly lifetimeMs: number | undefined;
  /** Text of the principal that creates the key. */
  readonly createdBy: string;
}

interface KnownKey {
  readonly key: AccessKey;
  readonly principal: Principal;
  /** Checksum of the key's text; undefined before the first use. */
  checksum: string | undefined;
  usedAt: number;
}

const POLL_MS = 500;
/** Pause between reads of the store for unknown keys. */
const LOOK_UP_PAUSE_MS = 20;
const LOOK_UP_TIMEOUT_MS = 2_000;
/** Time for which known keys work while the store cannot be read. */
const KNOWN_FOR_MS = 60_000;
const NOTE_USES_MS = 60_000;
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_CHANGES = 16;

export class AccessKeys {
  readonly #store: AccessKeyStore;
  readonly #known = new Map<string, KnownKey>();
  readonly #streams = new OpenStreams();
  readonly #reads = new CoalescedRuns(() => this.#read());
  readonly #lookUps = new CoalescedRuns(() => elapse(LOOK_UP_PAUSE_MS).then(() => this.#reads.run()));
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch: (() => void) | undefined;
  #version = 0;
  /** Start of the last successful read, in performance.now() milliseconds. */
  #readAt = 0;
  #isAway = false;
  #changes = 0;
  #notedAt: number;

  /** Reads all keys. Rejects with StoreUnavailableError. */
  static async open(store: AccessKeyStore): Promise<AccessKeys> {
    const keys = new AccessKeys(store);
    try {
      await keys.#reads.run();
      return keys;
    } catch (error) {
      await keys.close();
      throw error;
    }
  }

  private constructor(store: AccessKeyStore) {
    this.#store = store;
    this.#notedAt = store.now();
    this.#unwatch = store.watchAccessKeys?.(() => void this.#poll());
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  /** Verifies a text with the form of a key. Returns a promise only if an unknown key must be looked up. */
  principalOf(text: string): VerificationResult | Promise<VerificationResult> {
    const known = this.#known.get(keyIdIn(text));
    if (known !== undefined) return this.#verify(known, text);
    return this.#isShared && hasChecksum(text) ? this.#lookUp(text) : INVALID_KEY;
  }

  /** Closes the response, if it is a stream, when the key is revoked or expires. */
  watch(keyId: string, stream: KeyStream): void {
    this.#streams.add(keyId, stream);
  }

  /** Returns all keys, the oldest first. Rejects with StoreUnavailableError. */
  async list(): Promise<readonly AccessKey[]> {
    // A key that changes between two reads is in both.
    const keys = new Map((await this.#keysAfter(0)).map((key) => [key.id, key]));
    return [...keys.values()]
      .map((key) => {
        const usedAt = Math.max(key.usedAt ?? 0, this.#known.get(key.id)?.usedAt ?? 0);
        return usedAt === 0 ? key : { ...key, usedAt };
      })
      .sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** Rejects with ConflictError, OverloadedError and StoreUnavailableError. */
  create(request: KeyRequest): Promise<CreatedKey> {
    return this.#change(() => this.#add(request));
  }

  /**
   * Creates a key with the name, role and lifetime of another, which expires after `overlapMs`. Rejects like
   * `create`, and with NotFoundError.
   */
  rotate(id: string, overlapMs: number, createdBy: string): Promise<CreatedKey> {
    return this.#change(async () => {
      await this.#reads.run();
      const old = this.#known.get(id)?.key;
      if (old === undefined) throw unknownKey(id);
      const { name, role, createdAt, expiresAt } = old;
      const lifetimeMs = expiresAt === undefined ? undefined : expiresAt - createdAt;
      return this.#add({ name, role, lifetimeMs, createdBy }, { id, overlapMs });
    });
  }

  /** Has no effect on a revoked key. Rejects with NotFoundError and StoreUnavailableError. */
  revoke(id: string): Promise<void> {
    return this.#change(async () => {
      if (!isKeyId(id) || !(await this.#store.revokeAccessKey(id))) throw unknownKey(id);
      await this.#reads.run();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#unwatch?.();
    await within(
      CLOSE_TIMEOUT_MS,
      this.#noteUses().catch(() => undefined),
    );
  }

  get #isShared(): boolean {
    return this.#store.watchAccessKeys !== undefined;
  }

  #verify(known: KnownKey, text: string): VerificationResult {
    if (this.#isShared && performance.now() - this.#readAt > KNOWN_FOR_MS) return KEYS_UNAVAILABLE;
    // The duration reveals a part of the digest at most, which does not help to guess 256 random bits.
    if (digestOf(text) !== known.key.digest) return INVALID_KEY;
    if (known.checksum !== checksumIn(text)) {
      if (!hasChecksum(text)) return INVALID_KEY;
      known.checksum = checksumIn(text);
    }
    const now = this.#store.now();
    if (isEnded(known.key, now)) return INVALID_KEY;
    known.usedAt = now;
    return known.principal;
  }

  async #lookUp(text: string): Promise<VerificationResult> {
    if (this.#isAway) return KEYS_UNAVAILABLE;
    const isRead = await within(
      LOOK_UP_TIMEOUT_MS,
      this.#lookUps.run().then(
        () => true,
        () => false,
      ),
    );
    if (isRead !== true) return KEYS_UNAVAILABLE;
    const known = this.#known.get(keyIdIn(text));
    return known === undefined ? INVALID_KEY : this.#verify(known, text);
  }

  async #change<T>(act: () => Promise<T>): Promise<T> {
    if (this.#changes >= MAX_CHANGES)
      throw new OverloadedError('too many changes of access keys; retry shortly');
    this.#changes += 1;
    try {
      return await act();
    } finally {
      this.#changes -= 1;
    }
  }

  async #add(
    request: KeyRequest,
    replaced?: { readonly id: string; readonly overlapMs: number },
  ): Promise<CreatedKey> {
    const { id, text, digest } = newKeyText();
    const added = await this.#store.addAccessKey({ id, digest, ...request }, replaced);
    if (added === 'name_taken')
      throw new ConflictError(`a valid key has the name ${request.name}; rotate it, or revoke it first`);
    if (added === 'ended') throw new ConflictError('the key is revoked or expired; create a new key');
    if (added === 'full')
      throw new ConflictError(`there are ${MAX_ACCESS_KEYS} valid keys; revoke keys that are not used`);
    await this.#reads.run();
    const key = this.#known.get(id)?.key;
    if (key === undefined) throw new ConflictError('the key was deleted while it was created; retry');
    return { key, text };
  }

  /** Reads the changes of other nodes. The timer also closes streams of expired keys. */
  async #poll(): Promise<void> {
    try {
      if (this.#isShared) await this.#reads.run();
      if (this.#store.now() - this.#notedAt >= NOTE_USES_MS) await this.#noteUses();
    } catch {
      // The next poll retries; the store raises an alarm.
    }
    this.#endStreams();
  }

  async #read(): Promise<void> {
    const startedAt = performance.now();
    try {
      for (const key of await this.#keysAfter(this.#version)) this.#learn(key);
      this.#readAt = startedAt;
      this.#isAway = false;
    } catch (error) {
      this.#isAway = true;
      throw error;
    }
    this.#endStreams();
  }

  async #keysAfter(version: number): Promise<readonly AccessKey[]> {
    const keys: AccessKey[] = [];
    for (let after = version; ; ) {
      const part = await this.#store.accessKeys(after);
      keys.push(...part);
      after = part.at(-1)?.version ?? after;
      if (part.length < KEYS_PER_READ) return keys;
    }
  }

  #learn(key: AccessKey): void {
    const { id, name, role, version } = key;
    const before = this.#known.get(id);
    this.#version = Math.max(this.#version, version);
    this.#known.set(id, {
      key,
      principal: before?.principal ?? { kind: 'key', name, role, keyId: id },
      checksum: before?.checksum,
      usedAt: before?.usedAt ?? 0,
    });
    // A full store deletes invalid keys.
    if (this.#known.size <= MAX_ACCESS_KEYS) return;
    const now = this.#store.now();
    const ended = [...this.#known.values()].find((each) => isEnded(each.key, now));
    if (ended !== undefined) this.#known.delete(ended.key.id);
  }

  #endStreams(): void {
    const now = this.#store.now();
    this.#streams.sweep((id) => {
      const known = this.#known.get(id);
      return known === undefined || isEnded(known.key, now);
    });
  }

  async #noteUses(): Promise<void> {
    const since = this.#notedAt;
    this.#notedAt = this.#store.now();
    const uses: KeyUse[] = [];
    for (const [id, { usedAt }] of this.#known) if (usedAt >= since) uses.push([id, usedAt]);
    if (uses.length > 0) await this.#store.noteKeyUses(uses);
  }
}

function unknownKey(id: string): NotFoundError {
  return new NotFoundError(
    `there is no key with the id ${JSON.stringify(id.slice(0, 40))}; GET /admin/keys lists them`,
  );
}
