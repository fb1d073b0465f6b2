// Membership of this node in the cluster: renews it, and removes dead nodes (their membership has expired),
// which releases their claims. A membership expires on the node before it expires in the database: on the
// node, its duration counts from the start of the renewal request, minus a margin. After this local expiry,
// the node's claims and leases are invalid. A node without membership rejoins with a new id, its epoch, as
// soon as the database responds.

import { setTimeout as elapse } from 'node:timers/promises';
import { onAbortOverdueWork } from '../../../libs/rest/process-suspension.ts';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { ClusterMembership, Member, MembershipWatcher, PublishedValues } from '../membership.ts';
import type { Database, Transaction } from './database.ts';
import {
  hasDeadNodes,
  joinNodes,
  leaveNodes,
  members,
  type NodeRow,
  removeDeadNodes,
  renewNode,
} from './nodes.ts';
import { type ClockReading, followServerClock } from './server-clock.ts';

export interface MembershipOptions {
  readonly name: string;
  readonly address: string;
  readonly ttlMs: number;
  /** Monotonic milliseconds. */
  readonly uptime?: () => number;
}

/** Renewal interval and safety margin, as fractions of the membership's duration. */
const RENEWED_AFTER = 1 / 4;
const MARGIN = 1 / 8;
const JOIN_MARGIN_MS = 2_000;
const JOIN_RETRY_MS = 100;

export class Membership implements ClusterMembership {
  readonly #database: Database;
  readonly #options: MembershipOptions;
  readonly #uptime: () => number;
  readonly #watchers = new Set<MembershipWatcher>();
  readonly #published: Record<string, unknown> = {};
  #epoch = 0;
  #members: readonly Member[] = [];
  #reading: ClockReading | undefined;
  /** Local expiry of the membership, by the local monotonic clock. */
  #expiresAt = 0;
  #isMember = false;
  /** Start of the join request, by the local monotonic clock. */
  #joinRequestedAt = 0;
  #hasLeft = false;
  #renewTimer: NodeJS.Timeout | undefined;
  #expiryTimer: NodeJS.Timeout | undefined;
  #stopChecks: (() => void) | undefined;
  #queue: Promise<void> = Promise.resolve();

  constructor(database: Database, options: MembershipOptions) {
    this.#database = database;
    this.#options = options;
    this.#uptime = options.uptime ?? (() => performance.now());
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Correct even if the process was suspended and the expiry timer has not fired yet. */
  get isMember(): boolean {
    if (this.#isMember && this.#uptime() >= this.#expiresAt) this.#lose();
    return this.#isMember && this.#uptime() < this.#expiresAt;
  }

  /** Resolves with true when the node is a member, with false at the timeout. */
  async isMemberWithin(timeoutMs: number): Promise<boolean> {
    if (this.isMember) return true;
    return new Promise((resolve) => {
      const end = (isMember: boolean) => {
        clearTimeout(timer);
        stopWatching();
        resolve(isMember);
      };
      const stopWatching = this.watch({ onJoined: () => end(true) });
      const timer = setTimeout(() => end(false), timeoutMs);
    });
  }

  /** Server time, extrapolated from the last reading. */
  get now(): number {
    const reading = this.#reading;
    return reading === undefined ? Date.now() : Math.round(reading.at + this.#uptime() - reading.answeredMs);
  }

  /** Server time without the corrected steps back. */
  get steady(): number {
    return this.now - (this.#reading?.shiftMs ?? 0);
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  watch(watcher: MembershipWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  publish(name: string, value: unknown): void {
    this.#published[name] = value;
  }

  async publishNow(): Promise<void> {
    if (!this.#hasLeft) await this.#enqueue(() => this.renew());
  }

  async join(): Promise<void> {
    await this.#rejoin();
    this.#stopChecks = onAbortOverdueWork(() => void this.isMember);
    this.#schedule();
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearTimeout(this.#renewTimer);
    clearTimeout(this.#expiryTimer);
    this.#stopChecks?.();
    await this.#queue;
    await this.#leave().catch(() => undefined);
    this.#isMember = false;
  }

  /**
   * Renews the membership once, reads the members and removes dead nodes. Rejoins if the membership has
   * expired. Rejects if the database is unavailable.
   */
  async renew(): Promise<void> {
    const { ttlMs } = this.#options;
    const requestedAt = this.#uptime();
    const { isRenewed, mustRemoveDeadNodes, rows } = await this.transaction(async (transaction) => ({
      isRenewed: await renewNode(transaction, this.#epoch, JSON.stringify(this.#published), ttlMs),
      mustRemoveDeadNodes: await hasDeadNodes(transaction, this.#epoch),
      rows: await members(transaction),
    }));
    // An epoch that has expired locally is not reused.
    if (isRenewed && this.isMember) {
      this.#setExpiry(requestedAt + ttlMs * (1 - MARGIN));
      this.#onMembers(rows);
    } else {
      this.#lose();
      await this.#leave();
      await this.#rejoin();
    }
    if (mustRemoveDeadNodes) await this.#removeDeadNodes();
  }

  /** Runs a transaction, which first moves the stored timestamps if the server's clock was changed. */
  async transaction<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    const requestedMs = this.#uptime();
    const { reading, result } = await this.#database.transaction(async (transaction) => ({
      reading: await followServerClock(transaction, this.#reading, {
        requestedMs,
        answeredMs: this.#uptime(),
      }),
      result: await action(transaction),
    }));
    this.#reading = reading;
    return result;
  }

  async #rejoin(): Promise<void> {
    const { ttlMs, name, address } = this.#options;
    this.#epoch = await this.#joinWithRetries(
      { name, address, about: JSON.stringify(this.#published) },
      ttlMs,
    );
    await this.#removeDeadNodes();
    const rows = await this.transaction(members);
    this.#setExpiry(this.#joinRequestedAt + ttlMs * (1 - MARGIN));
    this.#isMember = true;
    for (const watcher of this.#watchers) watcher.onJoined?.(this.#epoch);
    this.#onMembers(rows);
  }

  /**
   * Joins as a new member, and returns the id. If a member has the same name, it was possibly killed: retries
   * until its membership expires.
   */
  async #joinWithRetries(node: Omit<NodeRow, 'id'>, ttlMs: number): Promise<number> {
    for (const until = this.#uptime() + ttlMs + JOIN_MARGIN_MS; ; await elapse(JOIN_RETRY_MS)) {
      this.#joinRequestedAt = this.#uptime();
      const id = await this.transaction((transaction) => joinNodes(transaction, node, ttlMs));
      if (id !== undefined) return id;
      if (this.#hasLeft || this.#uptime() > until)
        throw new StoreUnavailableError(
          `another gateway named ${node.name} uses the database; give each its own node.name`,
        );
    }
  }

  async #removeDeadNodes(): Promise<void> {
    while (await this.transaction((transaction) => removeDeadNodes(transaction, this.#epoch)));
  }

  #leave(): Promise<void> {
    return this.#database.transaction((transaction) => leaveNodes(transaction, this.#epoch));
  }

  #onMembers(rows: readonly NodeRow[]): void {
    this.#members = rows.map(({ id, name, address, about }) => ({
      epoch: id,
      name,
      address,
      about: JSON.parse(about) as PublishedValues,
    }));
    for (const watcher of this.#watchers) watcher.onMembers?.(this.#members);
  }

  #schedule(): void {
    if (this.#hasLeft) return;
    this.#renewTimer = setTimeout(
      () => void this.#enqueue(() => this.renew()).then(() => this.#schedule()),
      this.#options.ttlMs * RENEWED_AFTER,
    );
    this.#renewTimer.unref();
  }

  /**
   * Runs the action when earlier actions have completed. Ignores errors: without the database, the membership
   * expires.
   */
  #enqueue(action: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(() => (this.#hasLeft ? undefined : action())).catch(() => undefined);
    return this.#queue;
  }

  #setExpiry(endsAt: number): void {
    this.#expiresAt = endsAt;
    clearTimeout(this.#expiryTimer);
    this.#expiryTimer = setTimeout(() => this.#lose(), Math.max(0, endsAt - this.#uptime()));
    this.#expiryTimer.unref();
  }

  #lose(): void {
    if (!this.#isMember || this.#hasLeft) return;
    this.#isMember = false;
    for (const watcher of this.#watchers) watcher.onLost?.();
  }
}
