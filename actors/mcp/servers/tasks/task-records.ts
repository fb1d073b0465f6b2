// Records the owner and state of tasks that clients created at a server, because the server cannot
// distinguish clients on a shared connection. The owner is the session if it has a private connection,
// otherwise the principal (authenticated identity) if known. Up to MAX_RECORDS records are stored,
// MAX_PER_OWNER per owner; the oldest are removed first (A8 and A6, ARCHITECTURE.md). A task is active until
// the server reports a final status, its ttl expires, or ACTIVE_MS pass without a status. A local server's
// tasks exist only in their process. If a server reuses an id, the newest task counts.

import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import type { CallOwner } from '../calls/owner.ts';
import type { PoolMember } from '../pool/pool-member.ts';

/** Principal text, or a session. */
export type TaskOwner = CallOwner | string;

/** Task state as reported by the server. */
export interface TaskState {
  readonly status: unknown;
  /** Milliseconds; undefined or null means unlimited. */
  readonly ttl: unknown;
}

/**
 * Lifetime of tasks: `process` for local servers; `server` for remote servers, whose tasks outlive
 * connections.
 */
export type TaskLifetime = 'process' | 'server';

export interface TaskOrigin {
  readonly owner: TaskOwner;
  /** Receiver of notifications about the task. */
  readonly session: CallOwner | undefined;
  /** Connection on which the server created the task; undefined if it had closed before the response. */
  readonly member: PoolMember | undefined;
}

interface TaskRecord {
  session: CallOwner | undefined;
  readonly member: PoolMember | undefined;
  isActive: boolean;
  ttlMs: number;
  updatedAt: number;
}

export const MAX_RECORDS = 8192;
export const MAX_PER_OWNER = 1024;
/** Tasks with longer ids are not recorded. */
export const MAX_ID_LENGTH = 1024;
export const ACTIVE_MS = 3_600_000;
/** Maximum age of a record with no new status, regardless of the ttl. */
const MAX_AGE_MS = 86_400_000;
const SWEEP_MS = 60_000;

const terminal: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

export class TaskRecords {
  readonly #lifetime: TaskLifetime;
  readonly #byOwner = new Map<TaskOwner, Map<string, TaskRecord>>();
  readonly #now: () => number;
  #size = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** `now` returns monotonic milliseconds. */
  constructor(lifetime: TaskLifetime, now: () => number = () => performance.now()) {
    this.#lifetime = lifetime;
    this.#now = now;
  }

  get size(): number {
    return this.#size;
  }

  /** Records a new task. */
  add({ owner, session, member }: TaskOrigin, id: string, state: TaskState): void {
    if (id.length > MAX_ID_LENGTH || this.#isEnded(member)) return;
    this.#sweep();
    this.#removeReused(owner, id, member);
    const own = this.#byOwner.get(owner) ?? new Map<string, TaskRecord>();
    // The entry is deleted before `set`, so that the newest owner and task come last in iteration order.
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, own);
    const before = own.size;
    own.delete(id);
    own.set(id, { session, member, isActive: true, ttlMs: Number.POSITIVE_INFINITY, updatedAt: this.#now() });
    deleteOldest(own, MAX_PER_OWNER);
    this.#size += own.size - before;
    this.update(owner, id, state);
    while (this.#size > MAX_RECORDS) this.#removeOldest();
  }

  /** Returns the record; undefined for unknown and foreign tasks. */
  find(owner: TaskOwner, id: string): { readonly member: PoolMember | undefined } | undefined {
    const record = this.#byOwner.get(owner)?.get(id);
    return record === undefined || this.#isExpired(record) ? undefined : record;
  }

  /** Returns true if the owner has this task on this connection. */
  has(owner: TaskOwner, id: string, member: PoolMember | undefined): boolean {
    const record = this.find(owner, id);
    return record !== undefined && this.#isSameServer(record.member, member);
  }

  /** Returns true if any owner has a task with this id. */
  hasId(id: string): boolean {
    for (const owner of this.#byOwner.keys()) if (this.find(owner, id) !== undefined) return true;
    return false;
  }

  /** Stores the reported state. */
  update(owner: TaskOwner, id: string, { status, ttl }: TaskState): void {
    const record = this.#byOwner.get(owner)?.get(id);
    if (record === undefined || this.#isExpired(record)) return;
    record.updatedAt = this.#now();
    if (typeof ttl === 'number' && ttl >= 0) record.ttlMs = ttl;
    if (terminal.has(status)) record.isActive = false;
  }

  /** Stores a state that the server reported on this connection. Returns the sessions to notify. */
  onStatus(member: PoolMember, id: string, state: TaskState): readonly CallOwner[] {
    const sessions: CallOwner[] = [];
    for (const [owner, own] of this.#byOwner) {
      const record = own.get(id);
      if (record === undefined || record.member !== member || this.#isExpired(record)) continue;
      this.update(owner, id, state);
      if (record.session !== undefined) sessions.push(record.session);
    }
    return sessions;
  }

  /** Returns true if the connection has an active task. */
  isActiveOn(member: PoolMember): boolean {
    const now = this.#now();
    for (const own of this.#byOwner.values())
      for (const { isActive, ttlMs, updatedAt, member: taskMember } of own.values())
        if (isActive && taskMember === member && now - updatedAt < Math.min(ttlMs, ACTIVE_MS)) return true;
    return false;
  }

  /** Removes a closed session and the tasks that it owns. */
  release(session: CallOwner): void {
    if (this.#size === 0) return;
    this.#size -= this.#byOwner.get(session)?.size ?? 0;
    this.#byOwner.delete(session);
    for (const own of this.#byOwner.values())
      for (const record of own.values()) if (record.session === session) record.session = undefined;
  }

  #isExpired({ member, ttlMs, updatedAt }: TaskRecord): boolean {
    return this.#isEnded(member) || this.#now() - updatedAt > Math.min(ttlMs, MAX_AGE_MS);
  }

  /** Returns true if the tasks of this process no longer exist. */
  #isEnded(member: PoolMember | undefined): boolean {
    // Without a member (connection) the process had already exited.
    return this.#lifetime === 'process' && member?.isClosing !== false;
  }

  /** Returns true if an id means the same task on both connections. */
  #isSameServer(one: PoolMember | undefined, other: PoolMember | undefined): boolean {
    return this.#lifetime === 'server' || one === other;
  }

  /** Removes other owners' records of an id that the server has reused. */
  #removeReused(owner: TaskOwner, id: string, member: PoolMember | undefined): void {
    for (const [other, own] of this.#byOwner) {
      const record = other === owner ? undefined : own.get(id);
      if (record === undefined || !this.#isSameServer(record.member, member)) continue;
      own.delete(id);
      this.#size -= 1;
    }
  }

  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [owner, own] of this.#byOwner) {
      const before = own.size;
      for (const [id, record] of own) if (this.#isExpired(record)) own.delete(id);
      this.#size -= before - own.size;
      if (own.size === 0) this.#byOwner.delete(owner);
    }
  }

  /** Removes the oldest task of the least recently active owner. */
  #removeOldest(): void {
    for (const [owner, own] of this.#byOwner) {
      const before = own.size;
      deleteOldest(own, before - 1);
      this.#size -= before - own.size;
      if (own.size === 0) this.#byOwner.delete(owner);
      if (before > 0) return;
    }
  }
}
