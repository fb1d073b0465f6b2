// Session records (the data to restore sessions) in a durable storage, for session-restorer.ts. A record's
// key is the digest of the session id, so the storage reveals no id. An owner (a principal at a client
// address) can use at most half of the capacity; beyond that, its least recently used records are removed.

import { hash } from 'node:crypto';
import { within } from '../../../base/time/within.ts';
import { OwnerBudget, type SessionOwner } from './owner-budget.ts';
import { parseRecord, type SessionRecord } from './session-record.ts';

const DAY_MS = 86_400_000;
/** Time after which an unused session is forgotten. */
const RETENTION_MS = 30 * DAY_MS;
/** Age from which a record is renewed while its session is in use. */
export const REFRESH_MS = DAY_MS;
/** Minimum memory per record, in bytes. */
const MIN_RECORD_BYTES = 1_024;
/** Average memory per record when the capacity is full. */
const BYTES_PER_SESSION = 2_048;
/** Maximum time for which clients wait for the storage. */
const WRITE_TIMEOUT_MS = 2_000;

/** The cluster node that has the session in memory: the id of its process. */
export interface SessionOwnerNode {
  readonly instance: string;
}

/** The record, the node that has the session, or undefined for an unknown id. */
type Found<T> = T | SessionOwnerNode | undefined;

export interface SessionStorage {
  /** Records of earlier processes, least recently used first. */
  entries(): Iterable<readonly [key: string, text: string]>;
  /**
   * Returns the record if no other node has the session, otherwise that node. `gone` is the id of a node that
   * has certainly exited: the records of its sessions are returned too.
   */
  find(key: string, gone?: string): Found<string> | Promise<Found<string>>;
  /** Creates a record, or with `isNew: false` replaces an existing one. */
  put(key: string, text: string, isNew: boolean): Promise<void>;
  delete(key: string): Promise<void>;
}

interface IndexEntry {
  readonly key: string;
  readonly owner: SessionOwner;
  readonly bytes: number;
}

export class StoredSessions {
  readonly #storage: SessionStorage;
  readonly #onWarning: (message: string) => void;
  readonly #budget: OwnerBudget;
  /** Records of this process by key, least recently used first. */
  readonly #index = new Map<string, IndexEntry>();
  /** New records that could not be written. */
  readonly #unwritten = new Set<string>();

  constructor(storage: SessionStorage, maxSessions: number, onWarning: (message: string) => void) {
    this.#storage = storage;
    this.#onWarning = onWarning;
    this.#budget = new OwnerBudget(maxSessions * BYTES_PER_SESSION);
    let damagedCount = 0;
    // A copy, because `#evict` removes entries.
    for (const [key, text] of [...storage.entries()]) {
      const record = parseRecord(text);
      if (record === undefined) damagedCount += 1;
      else if (!isExpired(record) && this.#admit(key, record.owner, text.length)) continue;
      this.#evict(key);
    }
    if (damagedCount > 0) this.#warnOfDamage(damagedCount);
  }

  get size(): number {
    return this.#index.size;
  }

  /** Stores a record. Resolves when it is written, or after WRITE_TIMEOUT_MS. */
  async save(id: string, record: SessionRecord): Promise<void> {
    const key = keyOf(id);
    const text = JSON.stringify(record);
    // New records: the first write failed, or a session that was never restored has no record yet.
    const isNew = this.#unwritten.delete(key) || (record.generation === 0 && !this.#index.has(key));
    if (!this.#admit(key, record.owner, text.length)) return;
    const write = this.#storage.put(key, text, isNew).catch((error: Error) => {
      if (isNew && this.#index.has(key)) this.#unwritten.add(key);
      throw error;
    });
    await this.#awaitWrite(write);
  }

  /** Returns true if the storage was not available for the record; the next `save` writes the record. */
  isUnwritten(id: string): boolean {
    return this.#unwritten.has(keyOf(id));
  }

  /** Same as `find` of the storage. Damaged and expired records count as unknown. */
  async find(id: string, gone?: string): Promise<Found<SessionRecord>> {
    const found = await this.#storage.find(keyOf(id), gone);
    if (typeof found !== 'string') return found;
    const record = parseRecord(found);
    if (record === undefined) this.#warnOfDamage(1);
    return record === undefined || isExpired(record) ? undefined : record;
  }

  /** Removes a record permanently. Rejects if the storage is not available. */
  remove(id: string): Promise<void> {
    const key = keyOf(id);
    this.#forget(key);
    return this.#storage.delete(key);
  }

  #evict(key: string): void {
    this.#forget(key);
    void this.#awaitWrite(this.#storage.delete(key));
  }

  /** Waits for a write. While the storage is not available, the sessions work without it. */
  async #awaitWrite(write: Promise<void>): Promise<void> {
    const completed = write.catch(({ message }: Error) =>
      this.#onWarning(`could not store a session: ${message}`),
    );
    await within(WRITE_TIMEOUT_MS, completed);
  }

  #warnOfDamage(count: number): void {
    this.#onWarning(`skipped damaged session records (${count}); their clients have to initialize again`);
  }

  /** Makes the record the most recently used. Returns false if there is no capacity. */
  #admit(key: string, owner: SessionOwner, length: number): boolean {
    this.#forget(key);
    const bytes = Math.max(MIN_RECORD_BYTES, length);
    while (!this.#budget.acquire(owner, bytes)) {
      const victim = this.#victimFor(owner, bytes);
      if (victim === undefined) return false;
      this.#evict(victim.key);
    }
    this.#index.set(key, { key, owner, bytes });
    return true;
  }

  /** Returns the record to remove: the least recently used of the owner, or of all if it has none. */
  #victimFor(owner: SessionOwner, bytes: number): IndexEntry | undefined {
    // 'principal' or 'client': the part of the owner that uses too much.
    const part = this.#budget.lacking(owner, bytes);
    for (const entry of this.#index.values()) if (entry.owner[part] === owner[part]) return entry;
    const [first] = this.#index.values();
    return first;
  }

  #forget(key: string): void {
    const entry = this.#index.get(key);
    if (entry === undefined) return;
    this.#index.delete(key);
    this.#unwritten.delete(key);
    this.#budget.release(entry.owner, entry.bytes);
  }
}

function keyOf(id: string): string {
  return hash('sha256', id, 'base64url');
}

function isExpired({ usedAt }: SessionRecord): boolean {
  return usedAt <= Date.now() - RETENTION_MS;
}
