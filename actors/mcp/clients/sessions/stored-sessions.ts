// Records of sessions in a durable storage, for session-restorer.ts. The key of a record is the digest of the
// session id, so the storage reveals no id. An owner can use at most half of the capacity; beyond that, the
// least recently used records of this owner are removed.

import { hash } from 'node:crypto';
import { setTimeout as elapse } from 'node:timers/promises';
import type { Principal } from '../../../identity/principal.ts';
import type { LogLevel } from '../../servers/notifications/subscriptions.ts';
import { OwnerBudget, type SessionOwner } from './owner-budget.ts';

const DAY_MS = 86_400_000;
/** Time after which an unused session is forgotten. */
const RETENTION_MS = 30 * DAY_MS;
/** Age from which the record of a session in use is renewed. */
export const REFRESH_MS = DAY_MS;
/** Minimum memory of a record, in bytes. */
const MIN_RECORD_BYTES = 1_024;
/** Average memory of a record when the capacity is full. */
const BYTES_PER_SESSION = 2_048;
/** Maximum time that a client waits for the storage. */
const WRITE_TIMEOUT_MS = 2_000;

/** `isQualified`: the client subscribed under the qualified address. */
export type StoredSubscription = readonly [server: string, uri: string, isQualified?: boolean];

/** State of a session that changes with the client's requests. */
export interface SessionState {
  /** Log level that the client has set. */
  readonly level?: LogLevel | undefined;
  readonly subscriptions: readonly StoredSubscription[];
  /** Servers that must report the loss of the session's process. */
  readonly processes: readonly string[];
}

export interface SessionRecord extends SessionState {
  readonly owner: SessionOwner;
  readonly principal: Pick<Principal, 'kind' | 'name'>;
  readonly target?: string | undefined;
  readonly profile?: string | undefined;
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Number of times the session was restored. */
  readonly generation: number;
  /** Time of the record, in epoch milliseconds. */
  readonly usedAt: number;
}

/** The node with the session. */
export interface SessionOwnerNode {
  readonly instance: string;
}

type Found<T> = T | SessionOwnerNode | undefined;

export interface SessionStorage {
  /** Records of earlier processes, least recently used first. */
  entries(): Iterable<readonly [key: string, text: string]>;
  /** Returns the record, or the node with the session. `gone`: a node that certainly exited. */
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
    for (const [key, text] of [...storage.entries()]) {
      const record = parse(text);
      if (record === undefined || !this.#admit(key, record.owner, text.length)) this.#evict(key);
    }
  }

  get size(): number {
    return this.#index.size;
  }

  /** Stores a record. Resolves when it is written, or after WRITE_TIMEOUT_MS. */
  async save(id: string, record: SessionRecord): Promise<void> {
    const key = keyOf(id);
    const text = JSON.stringify(record);
    const isNew = this.#unwritten.delete(key) || (record.generation === 0 && !this.#index.has(key));
    if (!this.#admit(key, record.owner, text.length)) return;
    const write = this.#storage.put(key, text, isNew).catch((error: Error) => {
      if (isNew && this.#index.has(key)) this.#unwritten.add(key);
      throw error;
    });
    await this.#awaitWrite(write);
  }

  /** Returns true if the storage was not available for the record; `save` writes it. */
  isUnwritten(id: string): boolean {
    return this.#unwritten.has(keyOf(id));
  }

  /** Returns the record, or the node with the session. `gone`: a node that certainly exited. */
  async find(id: string, gone?: string): Promise<Found<SessionRecord>> {
    const found = await this.#storage.find(keyOf(id), gone);
    return typeof found === 'string' ? parse(found) : found;
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
    await Promise.race([completed, elapse(WRITE_TIMEOUT_MS, undefined, { ref: false })]);
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
    const lacking = this.#budget.lacking(owner, bytes);
    for (const entry of this.#index.values()) if (entry.owner[lacking] === owner[lacking]) return entry;
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

/** Parses a record; undefined if it is damaged or expired. */
function parse(text: string): SessionRecord | undefined {
  try {
    const record = JSON.parse(text) as SessionRecord;
    return record.usedAt > Date.now() - RETENTION_MS ? record : undefined;
  } catch {
    return undefined;
  }
}
