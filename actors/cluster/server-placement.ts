// Decides which node runs a server with `placement: cluster`. The first node that needs the server acquires
// its lease and runs it; the other nodes send their calls to this node until the lease is released.
//
// A node that loses its membership stops the server before other nodes can acquire the lease. A node serves
// calls of other nodes only if they name the epoch of its current lease. The lease is released when the last
// link that uses it is closed.

import { setTimeout as elapse } from 'node:timers/promises';
import { type GatewayError, StoppedError } from '../base/errors/errors.ts';
import type { Cluster, Member, NodeLease } from '../store/membership.ts';
import { NodeLostError, NoPlacementError } from './node-errors.ts';

export interface Placement {
  /** Name of the node. */
  readonly name: string;
  /** Undefined if the server may run on this node. */
  readonly remote: RemotePlacement | undefined;
  /** Releases the placement after the link is closed. */
  release(): void;
}

/** Placement of a server on another node. */
export interface RemotePlacement {
  readonly member: Member;
  /** Epoch of the lease, sent with each call. */
  readonly epoch: number;
}

/** Called when the placement is lost; the link must close immediately. */
export type OnLost = (reason: GatewayError) => void;

interface PlacementLease {
  readonly lease: NodeLease;
  /** `onLost` callbacks of the links that use the lease. */
  readonly users: Set<OnLost>;
}

const RETRY_MS = 200;
/** `Retry-After` of NoPlacementError. */
const RETRY_AFTER_SECONDS = 1;

export class ServerPlacement {
  readonly #cluster: Cluster;
  readonly #retryMs: number;
  /** Leases of this node, by server. */
  readonly #held = new Map<string, PlacementLease>();
  /** Nodes of remote placements, by the `onLost` callback of their link. */
  readonly #links = new Map<OnLost, Member>();
  /** Pending requests for leases, one per server. */
  readonly #pending = new Map<string, Promise<void>>();

  constructor(cluster: Cluster, retryMs = RETRY_MS) {
    this.#cluster = cluster;
    this.#retryMs = retryMs;
    cluster.membership.watch({
      onLost: () => this.#dropAll(),
      onMembers: (members) => this.#dropRemoved(members),
    });
  }

  /**
   * Resolves when the node of the server is known. Rejects with StoppedError if `isCancelled` returns true,
   * and with NoPlacementError after `patienceMs`, for example while the database is down.
   */
  async place(
    server: string,
    onLost: OnLost,
    isCancelled: () => boolean,
    patienceMs: number,
  ): Promise<Placement> {
    for (const until = performance.now() + patienceMs; ; ) {
      if (isCancelled()) {
        this.#releaseUnused(server, this.#held.get(server));
        throw new StoppedError(`the start of server ${server} was cancelled`);
      }
      const held = this.#held.get(server);
      if (held?.lease.isHeld) return this.#join(server, held, onLost);
      const remote = await this.#acquireOrFind(server);
      if (remote !== undefined) return this.#link(remote, onLost);
      if (performance.now() > until) throw this.#unknownNode(server);
      if (this.#held.get(server)?.lease.isHeld !== true) await elapse(this.#retryMs);
    }
  }

  /** Returns whether this node runs the server under a lease of that epoch. */
  holds(server: string, epoch: number): boolean {
    const lease = this.#held.get(server)?.lease;
    return lease !== undefined && lease.epoch === epoch && lease.isHeld;
  }

  #unknownNode(server: string): NoPlacementError {
    const why = this.#cluster.membership.isMember
      ? `the node of server ${server} is unknown; try again`
      : `this node cannot reach the database, which assigns server ${server} to a node`;
    return new NoPlacementError(why, RETRY_AFTER_SECONDS);
  }

  #join(server: string, held: PlacementLease, onLost: OnLost): Placement {
    held.users.add(onLost);
    return {
      name: this.#cluster.name,
      remote: undefined,
      release: () => {
        held.users.delete(onLost);
        this.#releaseUnused(server, held);
      },
    };
  }

  #link(remote: RemotePlacement, onLost: OnLost): Placement {
    this.#links.set(onLost, remote.member);
    return { name: remote.member.name, remote, release: () => void this.#links.delete(onLost) };
  }

  /** Releases the lease if no link uses it. */
  #releaseUnused(server: string, held: PlacementLease | undefined): void {
    if (held === undefined || held.users.size > 0 || this.#held.get(server) !== held) return;
    this.#held.delete(server);
    void held.lease.release();
  }

  /** Acquires the lease if it is free; otherwise returns the node that holds it. */
  async #acquireOrFind(server: string): Promise<RemotePlacement | undefined> {
    const { leases, membership } = this.#cluster;
    const name = `server/${server}`;
    await this.#once(server, async () => {
      const lease = await leases.acquire(name).catch(() => undefined);
      if (lease?.isHeld) this.#held.set(server, { lease, users: new Set() });
      else await lease?.release();
    });
    if (this.#held.has(server)) return undefined;
    const holder = await leases.holder(name).catch(() => undefined);
    // A lease identifies its node by the membership epoch. `holder.epoch` is the epoch of the lease itself.
    const member = membership.members.find(({ epoch }) => epoch === holder?.node);
    if (holder === undefined || member === undefined || member.epoch === membership.epoch) return undefined;
    return { member, epoch: holder.epoch };
  }

  /** Makes one lease request per server at a time; concurrent callers wait for the pending one. */
  async #once(server: string, ask: () => Promise<void>): Promise<void> {
    const pending = this.#pending.get(server) ?? ask().finally(() => this.#pending.delete(server));
    this.#pending.set(server, pending);
    await pending;
  }

  #dropAll(): void {
    const lost = [...this.#held];
    this.#held.clear();
    for (const [server, { users }] of lost) {
      const reason = `server ${server} was stopped on this node, since the database is unreachable`;
      for (const onLost of [...users]) onLost(new NoPlacementError(reason, RETRY_AFTER_SECONDS));
    }
  }

  #dropRemoved(members: readonly Member[]): void {
    for (const [onLost, { name, epoch }] of [...this.#links])
      if (!members.some((member) => member.epoch === epoch))
        onLost(new NodeLostError(`node ${name}, which ran the server, left the cluster`));
  }
}
