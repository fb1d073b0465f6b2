// Keeps this node a member of those that work on the tables, notices when the server's clock was set, and buries nodes that are over.
//
// The end of a membership is known here before it is anywhere else: a renewal counts from before it was asked for, by a clock
// that nobody can set, less a margin. From then on nothing that this node holds is its own.
// A node that has lost its membership begins anew under another id, as soon as the database answers.

import { setTimeout as elapse } from 'node:timers/promises';
import { StoreUnavailableError } from '../../errors.ts';
import type { Database } from './database.ts';
import {
  buryDead,
  type ClockSeen,
  joinNodes,
  keepTime,
  leaveNodes,
  type Member,
  members,
  renewNode,
} from './nodes.ts';

export interface MembershipOptions {
  readonly name: string;
  readonly address: string;
  readonly ttlMs: number;
  /** JSON text, asked for with each renewal. */
  readonly about: () => string;
  /** Milliseconds that only grow. */
  readonly uptime?: () => number;
  /** The membership is over by this node's own clock, or was ended by others; a new one follows. */
  readonly onLost?: () => void;
  readonly onJoined?: (id: number) => void;
}

/** Of the length of a membership: how often it is renewed, and how long before its end it is given up. */
const RENEWED_AFTER = 1 / 4;
const MARGIN = 1 / 8;
const JOIN_MARGIN_MS = 2_000;
const JOIN_AGAIN_MS = 100;

export class Membership {
  readonly #database: Database;
  readonly #options: MembershipOptions;
  readonly #uptime: () => number;
  #node = 0;
  #seen: ClockSeen | undefined;
  /** By the own clock. */
  #endsAt = 0;
  #isMember = false;
  /** When the membership was asked for, by the own clock. */
  #askedAt = 0;
  #isOver = false;
  #renewing: NodeJS.Timeout | undefined;
  #ending: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(database: Database, options: MembershipOptions) {
    this.#database = database;
    this.#options = options;
    this.#uptime = options.uptime ?? (() => performance.now());
  }

  /** The id of this node: the epoch of what it holds. */
  get node(): number {
    return this.#node;
  }

  /** Whether what this node holds is surely its own. */
  get isMember(): boolean {
    return this.#isMember && this.#uptime() < this.#endsAt;
  }

  async join(): Promise<void> {
    await this.#enter();
    this.#schedule();
  }

  members(): Promise<readonly Member[]> {
    return this.#database.transaction(members);
  }

  async leave(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#renewing);
    clearTimeout(this.#ending);
    await this.#round;
    await this.#database
      .transaction((transaction) => leaveNodes(transaction, this.#node))
      .catch(() => undefined);
  }

  /** One renewal, and what comes with it; rejects where the database is away. */
  async renew(): Promise<void> {
    const { ttlMs, about } = this.#options;
    const asked = this.#uptime();
    const seen = await this.#database.transaction((transaction) =>
      keepTime(transaction, this.#seen, this.#uptime()),
    );
    this.#seen = seen;
    const isMember = await this.#database.transaction((transaction) =>
      renewNode(transaction, this.#node, about(), ttlMs),
    );
    if (isMember && this.#isMember) this.#holdUntil(asked + ttlMs * (1 - MARGIN));
    else {
      this.#lose();
      // What it has given up by its own clock it does not take up again under the same id.
      await this.#database.transaction((transaction) => leaveNodes(transaction, this.#node));
      await this.#enter();
    }
    while (await this.#database.transaction((transaction) => buryDead(transaction, this.#node)));
  }

  async #enter(): Promise<void> {
    const { ttlMs, name, address, about } = this.#options;
    this.#seen = await this.#database.transaction((transaction) =>
      keepTime(transaction, this.#seen, this.#uptime()),
    );
    this.#node = await this.#joined({ name, address, about: about() }, ttlMs);
    while (await this.#database.transaction((transaction) => buryDead(transaction, this.#node)));
    this.#isMember = true;
    this.#holdUntil(this.#askedAt + ttlMs * (1 - MARGIN));
    this.#options.onJoined?.(this.#node);
  }

  /** What has the same name may have been killed a moment ago: its membership is waited for. */
  async #joined(node: Omit<Member, 'id'>, ttlMs: number): Promise<number> {
    for (const until = this.#uptime() + ttlMs + JOIN_MARGIN_MS; ; await elapse(JOIN_AGAIN_MS)) {
      this.#askedAt = this.#uptime();
      const id = await this.#database.transaction((transaction) => joinNodes(transaction, node, ttlMs));
      if (id !== undefined) return id;
      if (this.#isOver || this.#uptime() > until)
        throw new StoreUnavailableError(
          `another gateway that is called ${node.name} works on the database; give each its own node.name`,
        );
    }
  }

  #schedule(): void {
    if (this.#isOver) return;
    this.#renewing = setTimeout(() => {
      // While the database is away the membership ends by its own timer.
      this.#round = this.renew()
        .catch(() => undefined)
        .then(() => this.#schedule());
    }, this.#options.ttlMs * RENEWED_AFTER);
    this.#renewing.unref();
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
    this.#options.onLost?.();
  }
}
