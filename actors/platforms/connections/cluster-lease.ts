// Account leases in a cluster: only the node that holds a platform account's lease may connect to it; the
// other nodes poll for the lease. Loaded only in a cluster.
//
// - Only one node holds the lease of an account, and within the node only one connection
//   (connection-lease.ts).
// - A lease belongs to a membership epoch of the node and is lost with it, before another node can acquire
//   it. The holder is notified immediately.
// - Waiting nodes poll at least every MAX_POLL_MS, and immediately when a member leaves.

import { createHash } from 'node:crypto';
import type { Cluster, Member, NodeLease } from '../../store/membership.ts';
import { type ConnectionLease, type HeldLease, type LeaseOptions, LocalLease } from './connection-lease.ts';

const MIN_POLL_MS = 250;
const MAX_POLL_MS = 500;

export class ClusterLease implements ConnectionLease {
  readonly #cluster: Cluster;
  readonly #local = new LocalLease();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async acquire(account: string, signal: AbortSignal, options: LeaseOptions = {}): Promise<HeldLease> {
    const local = await this.#local.acquire(account, signal);
    if (options.isOnEveryNode === true) return local;
    try {
      return this.#hold(await this.#acquire(leaseName(account), signal, options), local);
    } catch (error) {
      local.release();
      throw error;
    }
  }

  async #acquire(name: string, signal: AbortSignal, { onWaits }: LeaseOptions): Promise<NodeLease> {
    const { membership, leases } = this.#cluster;
    for (;;) {
      signal.throwIfAborted();
      // If the database is unreachable, the holder is unknown until a later poll.
      const lease = membership.isMember ? await leases.acquire(name).catch(() => undefined) : undefined;
      if (lease?.isHeld === true && !signal.aborted) return lease;
      void lease?.release();
      signal.throwIfAborted();
      const holder = membership.isMember ? await leases.holder(name).catch(() => undefined) : undefined;
      if (holder !== undefined && holder.node !== membership.epoch) onWaits?.(this.#nameOf(holder.node));
      await this.#waitForPoll(signal, holder?.node);
    }
  }

  /** Resolves when the next poll is due, or the signal is aborted. */
  #waitForPoll(signal: AbortSignal, holder: number | undefined): Promise<void> {
    const pauseMs = MIN_POLL_MS + Math.random() * (MAX_POLL_MS - MIN_POLL_MS);
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        stopWatching();
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, pauseMs).unref();
      const hasLeft = (members: readonly Member[]) => !members.some(({ epoch }) => epoch === holder);
      const stopWatching = this.#cluster.membership.watch({
        onJoined: finish,
        onMembers: (members) => {
          if (holder !== undefined && hasLeft(members)) finish();
        },
      });
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
    });
  }

  #hold(lease: NodeLease, local: HeldLease): HeldLease {
    const losing = new AbortController();
    const lose = () => losing.abort(new Error('the lease is lost'));
    const stopWatching = this.#cluster.membership.watch({ onLost: lose });
    if (!lease.isHeld) lose();
    return {
      lossSignal: losing.signal,
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

/** Hashes the account: the name may be long, and should not be readable in database tables. */
function leaseName(account: string): string {
  return `connection/${createHash('sha256').update(account).digest('hex').slice(0, 32)}`;
}
