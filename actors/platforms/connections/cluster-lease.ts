// Who may connect for an account, where several nodes share a store: the one that has the account's lease. The others wait for it,
// and look again and again. Loaded only where there are other nodes.
//
// CLE1  of all nodes at most one holds the lease of an account, and within a node one connection after the other (AL1).
// CLE2  a lease is lost with the membership it was taken in, before another node can have it; whoever holds it is told at once.
// CLE3  who waits looks at least every LONGEST_MS, and as soon as it hears that a member is gone; it leaves by its signal at any time.

import { createHash } from 'node:crypto';
import type { Cluster, Member, NodeLease } from '../../store/membership.ts';
import { type ConnectionLease, type HeldLease, type LeaseWish, LocalLease } from './connection-lease.ts';

const SHORTEST_MS = 250;
const LONGEST_MS = 500;

export class ClusterLease implements ConnectionLease {
  readonly #cluster: Cluster;
  readonly #local = new LocalLease();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async take(account: string, signal: AbortSignal, wish: LeaseWish = {}): Promise<HeldLease> {
    const local = await this.#local.take(account, signal);
    if (wish.isOnEveryNode === true) return local;
    try {
      return this.#held(await this.#taken(leaseName(account), signal, wish), local);
    } catch (error) {
      local.release();
      throw error;
    }
  }

  async #taken(name: string, signal: AbortSignal, { onWaits }: LeaseWish): Promise<NodeLease> {
    const { membership, leases } = this.#cluster;
    for (;;) {
      signal.throwIfAborted();
      // While the database is away nobody knows; it is asked again.
      const lease = membership.isMember ? await leases.take(name).catch(() => undefined) : undefined;
      if (lease?.isHeld === true && !signal.aborted) return lease;
      void lease?.release();
      signal.throwIfAborted();
      const holder = membership.isMember ? await leases.holder(name).catch(() => undefined) : undefined;
      if (holder !== undefined && holder.node !== membership.epoch) onWaits?.(this.#nameOf(holder.node));
      await this.#beforeNext(signal, holder?.node);
    }
  }

  /** Resolves when it is time to look again. */
  #beforeNext(signal: AbortSignal, holder: number | undefined): Promise<void> {
    const pauseMs = SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        stopWatching();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, pauseMs).unref();
      const isGone = (members: readonly Member[]) => !members.some(({ epoch }) => epoch === holder);
      const stopWatching = this.#cluster.membership.watch({
        onJoined: end,
        onMembers: (members) => {
          if (holder !== undefined && isGone(members)) end();
        },
      });
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
    });
  }

  #held(lease: NodeLease, local: HeldLease): HeldLease {
    const losing = new AbortController();
    const lose = () => losing.abort(new Error('the lease is lost'));
    const stopWatching = this.#cluster.membership.watch({ onLost: lose });
    if (!lease.isHeld) lose();
    return {
      lost: losing.signal,
      release: () => {
        stopWatching();
        void lease.release();
        local.release();
      },
    };
  }

  #nameOf(node: number): string | undefined {
    return this.#cluster.membership.members.find(({ epoch }) => epoch === node)?.name;
  }
}

/** Names of accounts may be long, and are nobody's affair who looks at the tables. */
function leaseName(account: string): string {
  return `connection/${createHash('sha256').update(account).digest('hex').slice(0, 32)}`;
}
