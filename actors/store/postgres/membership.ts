// Keeps this node a member of those that work on the tables, notices when the server's clock was set, and buries nodes that are over.
//
// The end of a membership is known here before it is anywhere else: a renewal counts from before it was asked for, by a clock
// that nobody can set, less a margin. From then on nothing that this node holds is its own.
// A node that has lost its membership begins anew under another id, as soon as the database answers.

import { setTimeout as elapse } from 'node:timers/promises';
import { onLook } from '../../../libs/rest/standstill.ts';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { About, ClusterMembership, Member, MembershipWatcher } from '../membership.ts';
import type { Database, Transaction } from './database.ts';
import { buryDead, hasDead, joinNodes, leaveNodes, members, type NodeRow, renewNode } from './nodes.ts';
import { type ClockSeen, keepTime } from './server-clock.ts';

export interface MembershipOptions {
  readonly name: string;
  readonly address: string;
  readonly ttlMs: number;
  /** Milliseconds that only grow. */
  readonly uptime?: () => number;
}

/** Of the length of a membership: how often it is renewed, and how long before its end it is given up. */
const RENEWED_AFTER = 1 / 4;
const MARGIN = 1 / 8;
const JOIN_MARGIN_MS = 2_000;
const JOIN_AGAIN_MS = 100;

export class Membership implements ClusterMembership {
  readonly #database: Database;
  readonly #options: MembershipOptions;
  readonly #uptime: () => number;
  readonly #watchers = new Set<MembershipWatcher>();
  readonly #told: Record<string, unknown> = {};
  #epoch = 0;
  #members: readonly Member[] = [];
  #seen: ClockSeen | undefined;
  /** By the own clock. */
  #endsAt = 0;
  #isMember = false;
  /** When the membership was asked for, by the own clock. */
  #askedAt = 0;
  #isOver = false;
  #renewing: NodeJS.Timeout | undefined;
  #ending: NodeJS.Timeout | undefined;
  #stopLooking: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(database: Database, options: MembershipOptions) {
    this.#database = database;
    this.#options = options;
    this.#uptime = options.uptime ?? (() => performance.now());
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Asking is how a process that stood still comes to know of it, before its timers do. */
  get isMember(): boolean {
    if (this.#isMember && this.#uptime() >= this.#endsAt) this.#lose();
    return this.#isMember && this.#uptime() < this.#endsAt;
  }

  /** Gives whether it is a member by then; one that has lost its membership may be about to begin anew. */
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

  /** Of the server, as it was read last, and gone on with since. */
  get now(): number {
    const seen = this.#seen;
    return seen === undefined ? Date.now() : Math.round(seen.at + this.#uptime() - seen.answeredMs);
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  watch(watcher: MembershipWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  tell(name: string, value: unknown): void {
    this.#told[name] = value;
  }

  async tellNow(): Promise<void> {
    if (!this.#isOver) await this.#inTurn(() => this.renew());
  }

  async join(): Promise<void> {
    await this.#enter();
    this.#stopLooking = onLook(() => void this.isMember);
    this.#schedule();
  }

  async leave(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#renewing);
    clearTimeout(this.#ending);
    this.#stopLooking?.();
    await this.#round;
    await this.#leave().catch(() => undefined);
    this.#isMember = false;
  }

  /** One renewal, and what comes with it; rejects where the database is away. */
  async renew(): Promise<void> {
    const { ttlMs } = this.#options;
    const asked = this.#uptime();
    const { isKept, isBurialDue, rows } = await this.transaction(async (transaction) => ({
      isKept: await renewNode(transaction, this.#epoch, JSON.stringify(this.#told), ttlMs),
      isBurialDue: await hasDead(transaction, this.#epoch),
      rows: await members(transaction),
    }));
    // What it has given up by its own clock it does not take up again under the same epoch.
    if (isKept && this.isMember) {
      this.#holdUntil(asked + ttlMs * (1 - MARGIN));
      this.#onMembers(rows);
    } else {
      this.#lose();
      await this.#leave();
      await this.#enter();
    }
    if (isBurialDue) await this.#bury();
  }

  /** A transaction in which time by which the server's clock was set has not passed. */
  async transaction<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    const askedMs = this.#uptime();
    const { seen, result } = await this.#database.transaction(async (transaction) => ({
      seen: await keepTime(transaction, this.#seen, { askedMs, answeredMs: this.#uptime() }),
      result: await action(transaction),
    }));
    this.#seen = seen;
    return result;
  }

  async #enter(): Promise<void> {
    const { ttlMs, name, address } = this.#options;
    this.#epoch = await this.#joined({ name, address, about: JSON.stringify(this.#told) }, ttlMs);
    await this.#bury();
    const rows = await this.transaction(members);
    this.#holdUntil(this.#askedAt + ttlMs * (1 - MARGIN));
    this.#isMember = true;
    for (const watcher of this.#watchers) watcher.onJoined?.(this.#epoch);
    this.#onMembers(rows);
  }

  /** What has the same name may have been killed a moment ago: its membership is waited for. */
  async #joined(node: Omit<NodeRow, 'id'>, ttlMs: number): Promise<number> {
    for (const until = this.#uptime() + ttlMs + JOIN_MARGIN_MS; ; await elapse(JOIN_AGAIN_MS)) {
      this.#askedAt = this.#uptime();
      const id = await this.transaction((transaction) => joinNodes(transaction, node, ttlMs));
      if (id !== undefined) return id;
      if (this.#isOver || this.#uptime() > until)
        throw new StoreUnavailableError(
          `another gateway that is called ${node.name} works on the database; give each its own node.name`,
        );
    }
  }

  async #bury(): Promise<void> {
    while (await this.transaction((transaction) => buryDead(transaction, this.#epoch)));
  }

  #leave(): Promise<void> {
    return this.#database.transaction((transaction) => leaveNodes(transaction, this.#epoch));
  }

  #onMembers(rows: readonly NodeRow[]): void {
    this.#members = rows.map(({ id, name, address, about }) => ({
      epoch: id,
      name,
      address,
      about: JSON.parse(about) as About,
    }));
    for (const watcher of this.#watchers) watcher.onMembers?.(this.#members);
  }

  #schedule(): void {
    if (this.#isOver) return;
    this.#renewing = setTimeout(
      () => void this.#inTurn(() => this.renew()).then(() => this.#schedule()),
      this.#options.ttlMs * RENEWED_AFTER,
    );
    this.#renewing.unref();
  }

  /** While the database is away the membership ends by its own timer. */
  #inTurn(action: () => Promise<void>): Promise<void> {
    this.#round = this.#round.then(() => (this.#isOver ? undefined : action())).catch(() => undefined);
    return this.#round;
  }

  #holdUntil(endsAt: number): void {
    this.#endsAt = endsAt;
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#lose(), Math.max(0, endsAt - this.#uptime()));
    this.#ending.unref();
  }

  #lose(): void {
    if (!this.#isMember || this.#isOver) return;
    this.#isMember = false;
    for (const watcher of this.#watchers) watcher.onLost?.();
  }
}
