// Tasks that clients have created at one server: their owners, and whether they may still be running. Several clients share a
// connection, so that the server itself cannot tell whose task is whose.
//
// TR1      a task belongs to the principal that has created it; without one to the session, whose end removes the record.
// TR2 (A8) at most MAX_RECORDS are kept, and MAX_PER_OWNER of one owner (A6); beyond that the oldest is forgotten.
// TR3      a task counts as running until the server reports its end, its ttl is over, or nothing was heard of it for ACTIVE_MS.

import { forgetOldest } from '../../forget-oldest.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { PoolMember } from '../pool/pool-member.ts';

/** A principal by its text, or a session. */
export type TaskOwner = CallOwner | string;

/** A task as its server describes it. */
export interface TaskState {
  readonly status: unknown;
  /** Milliseconds; undefined or null where the server names none. */
  readonly ttl: unknown;
}

export interface TaskOrigin {
  readonly owner: TaskOwner;
  /** Receives the notifications about the task. */
  readonly session: CallOwner | undefined;
  readonly member: PoolMember | undefined;
}

interface TaskRecord {
  session: CallOwner | undefined;
  readonly member: PoolMember | undefined;
  isActive: boolean;
  ttlMs: number;
  heardAt: number;
}

export const MAX_RECORDS = 8192;
export const MAX_PER_OWNER = 1024;
/** A longer id is not recorded, so that its task is unknown. */
export const MAX_ID_LENGTH = 1024;
export const ACTIVE_MS = 3_600_000;
/** A task without news for so long is forgotten, whatever its ttl. */
const KEPT_MS = 86_400_000;
const SWEEP_MS = 60_000;

const terminal: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

export class TaskRecords {
  readonly #byOwner = new Map<TaskOwner, Map<string, TaskRecord>>();
  readonly #now: () => number;
  #size = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** `now` returns milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#size;
  }

  /** Records a task that was created. */
  add({ owner, session, member }: TaskOrigin, id: string, state: TaskState): void {
    if (id.length > MAX_ID_LENGTH) return;
    this.#sweep();
    const own = this.#byOwner.get(owner) ?? new Map<string, TaskRecord>();
    // Taken out first: the owner and the task that were added last stand last.
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, own);
    const before = own.size;
    own.delete(id);
    own.set(id, { session, member, isActive: true, ttlMs: Number.POSITIVE_INFINITY, heardAt: 0 });
    forgetOldest(own, MAX_PER_OWNER);
    this.#size += own.size - before;
    this.update(owner, id, state);
    while (this.#size > MAX_RECORDS) this.#forgetOne();
  }

  /** The connection with the task; undefined where the task is not one of this owner. */
  find(owner: TaskOwner, id: string): { readonly member: PoolMember | undefined } | undefined {
    const record = this.#byOwner.get(owner)?.get(id);
    return record === undefined || this.#isExpired(record) ? undefined : record;
  }

  /** Whether anybody has created a task of this id. */
  isKnown(id: string): boolean {
    for (const owner of this.#byOwner.keys()) if (this.find(owner, id) !== undefined) return true;
    return false;
  }

  /** Notes what the server reports of a task. */
  update(owner: TaskOwner, id: string, { status, ttl }: TaskState): void {
    const record = this.#byOwner.get(owner)?.get(id);
    if (record === undefined) return;
    record.heardAt = this.#now();
    if (typeof ttl === 'number' && ttl >= 0) record.ttlMs = ttl;
    if (terminal.has(status)) record.isActive = false;
  }

  /** Notes what a connection reports of a task, and returns the sessions that are to be notified. */
  onStatus(member: PoolMember, id: string, state: TaskState): readonly CallOwner[] {
    const sessions: CallOwner[] = [];
    for (const [owner, own] of this.#byOwner) {
      const record = own.get(id);
      if (record === undefined || record.member !== member) continue;
      this.update(owner, id, state);
      if (record.session !== undefined) sessions.push(record.session);
    }
    return sessions;
  }

  /** Whether a task may be running on this connection. */
  isActiveOn(member: PoolMember): boolean {
    const now = this.#now();
    for (const own of this.#byOwner.values())
      for (const { isActive, ttlMs, heardAt, member: its } of own.values())
        if (isActive && its === member && now - heardAt < Math.min(ttlMs, ACTIVE_MS)) return true;
    return false;
  }

  /** A session has ended. */
  release(session: CallOwner): void {
    if (this.#size === 0) return;
    this.#size -= this.#byOwner.get(session)?.size ?? 0;
    this.#byOwner.delete(session);
    for (const own of this.#byOwner.values())
      for (const record of own.values()) if (record.session === session) record.session = undefined;
  }

  #isExpired({ ttlMs, heardAt }: TaskRecord): boolean {
    return this.#now() - heardAt > Math.min(ttlMs, KEPT_MS);
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

  /** Forgets the oldest task of the owner who has added none for the longest time. */
  #forgetOne(): void {
    for (const [owner, own] of this.#byOwner) {
      const before = own.size;
      forgetOldest(own, before - 1);
      this.#size -= before - own.size;
      if (own.size === 0) this.#byOwner.delete(owner);
      if (before > 0) return;
    }
  }
}
