// Where in the cluster a server of `placement: cluster` runs. The first node that needs it takes the lease on it and runs it; the
// others send their calls there, until it is free again.
//
// SPL1  a node runs such a server only while it holds its lease, and ends its processes at once when it knows the lease no longer as
//       held, which is before others can take it (NL2).
// SPL2  a node serves calls of others under the epoch of the lease that it holds, and no others.
// SPL3  the lease is free as soon as nothing runs under it.

import { setTimeout as elapse } from 'node:timers/promises';
import {
  ConnectionLostError,
  type GatewayError,
  StoppedError,
  UnavailableError,
} from '../base/errors/errors.ts';
import type { Cluster, Member, NodeLease } from '../store/membership.ts';

export interface Place {
  /** Of the node. */
  readonly name: string;
  /** Undefined where it may run here. */
  readonly there: PlacedThere | undefined;
  /** Nothing is linked to it any more. */
  release(): void;
}

/** It runs at another node. */
export interface PlacedThere {
  readonly member: Member;
  /** Of its lease: calls are sent under it. */
  readonly epoch: number;
}

/** The place is lost: what is linked to it has to end at once. */
export type WhenLost = (reason: GatewayError) => void;

interface Held {
  readonly lease: NodeLease;
  /** Those that run something under it. */
  readonly users: Set<WhenLost>;
}

const ASK_AGAIN_MS = 200;

export class ServerPlacement {
  readonly #cluster: Cluster;
  readonly #askAgainMs: number;
  readonly #held = new Map<string, Held>();
  /** What is linked to other nodes, by the epoch of the node. */
  readonly #linked = new Map<WhenLost, Member>();
  /** Asking for the lease of a server, once for all who want it. */
  readonly #asked = new Map<string, Promise<void>>();

  constructor(cluster: Cluster, askAgainMs = ASK_AGAIN_MS) {
    this.#cluster = cluster;
    this.#askAgainMs = askAgainMs;
    cluster.membership.watch({
      onLost: () => this.#loseAll(),
      onMembers: (members) => this.#loseGone(members),
    });
  }

  /**
   * Resolves when it is known where the server runs. Rejects with StoppedError when `isGivenUp`, and with UnavailableError where it
   * is not known after `patienceMs`: the database is away, say.
   */
  async place(
    server: string,
    whenLost: WhenLost,
    isGivenUp: () => boolean,
    patienceMs: number,
  ): Promise<Place> {
    for (const until = performance.now() + patienceMs; ; ) {
      if (isGivenUp()) {
        this.#letGo(server, this.#held.get(server));
        throw new StoppedError(`server ${server} is no longer wanted`);
      }
      const held = this.#held.get(server);
      if (held?.lease.isHeld) return this.#join(server, held, whenLost);
      const there = await this.#ask(server);
      if (there !== undefined) return this.#link(there, whenLost);
      if (performance.now() > until) throw this.#unplaced(server);
      if (this.#held.get(server)?.lease.isHeld !== true) await elapse(this.#askAgainMs);
    }
  }

  /** Whether this node runs the server under a lease of that epoch (SPL2). */
  holds(server: string, epoch: number): boolean {
    const lease = this.#held.get(server)?.lease;
    return lease !== undefined && lease.epoch === epoch && lease.isHeld;
  }

  #unplaced(server: string): UnavailableError {
    const why = this.#cluster.membership.isMember
      ? `it is not known at which node server ${server} runs`
      : `this node has lost touch with the database, which says where server ${server} may run`;
    return new UnavailableError(why, 1);
  }

  #join(server: string, held: Held, whenLost: WhenLost): Place {
    held.users.add(whenLost);
    return {
      name: this.#cluster.name,
      there: undefined,
      release: () => {
        held.users.delete(whenLost);
        this.#letGo(server, held);
      },
    };
  }

  #link(there: PlacedThere, whenLost: WhenLost): Place {
    this.#linked.set(whenLost, there.member);
    return { name: there.member.name, there, release: () => void this.#linked.delete(whenLost) };
  }

  /** Where nothing runs under it. */
  #letGo(server: string, held: Held | undefined): void {
    if (held === undefined || held.users.size > 0 || this.#held.get(server) !== held) return;
    this.#held.delete(server);
    void held.lease.release();
  }

  /** Takes the lease, where it is free, or gives whose it is. */
  async #ask(server: string): Promise<PlacedThere | undefined> {
    const { leases, membership } = this.#cluster;
    const name = `server/${server}`;
    await this.#once(server, async () => {
      const lease = await leases.take(name).catch(() => undefined);
      if (lease?.isHeld) this.#held.set(server, { lease, users: new Set() });
      else await lease?.release();
    });
    if (this.#held.has(server)) return undefined;
    const holder = await leases.holder(name).catch(() => undefined);
    const member = membership.members.find(({ epoch }) => epoch === holder?.node);
    if (holder === undefined || member === undefined || member.epoch === membership.epoch) return undefined;
    return { member, epoch: holder.epoch };
  }

  async #once(server: string, ask: () => Promise<void>): Promise<void> {
    const asked = this.#asked.get(server) ?? ask().finally(() => this.#asked.delete(server));
    this.#asked.set(server, asked);
    await asked;
  }

  #loseAll(): void {
    const lost = [...this.#held];
    this.#held.clear();
    for (const [server, { users }] of lost) {
      const reason = `server ${server} may run here no longer: this node has lost touch with the database`;
      for (const whenLost of [...users]) whenLost(new UnavailableError(reason, 1));
    }
  }

  #loseGone(members: readonly Member[]): void {
    for (const [whenLost, { name, epoch }] of [...this.#linked])
      if (!members.some((member) => member.epoch === epoch))
        whenLost(new ConnectionLostError(`node ${name}, at which the server ran, is gone`));
  }
}
