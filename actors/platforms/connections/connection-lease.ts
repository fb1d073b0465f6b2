// Leases of platform accounts, acquired before each connect. In a cluster a lease excludes other nodes
// (cluster-lease.ts); in a single process it only waits for the account's previous connection.
//
// An account has at most one holder; waiters acquire the lease in order, or leave when their signal aborts.

export interface HeldLease {
  /** Aborted if the lease is lost before its release. The connection must then be closed immediately. */
  readonly lossSignal: AbortSignal;
  release(): void;
}

export interface LeaseOptions {
  /** True if each node can open a connection, because the connection is stateless at the platform. */
  readonly isOnEveryNode?: boolean | undefined;
  /** Called while another node holds the lease, possibly repeatedly, with the name of the node if known. */
  readonly onWaits?: ((node: string | undefined) => void) | undefined;
}

export interface ConnectionLease {
  /** Resolves with the lease. Rejects with the signal's reason once the signal is aborted. */
  acquire(account: string, signal: AbortSignal, options?: LeaseOptions): Promise<HeldLease>;
}

/** A lease within one process is never lost. */
const NEVER = new AbortController().signal;

export class LocalLease implements ConnectionLease {
  /** Per account: resolves when the last waiter has released the lease. */
  readonly #last = new Map<string, Promise<void>>();

  async acquire(account: string, signal: AbortSignal): Promise<HeldLease> {
    const previous = this.#last.get(account);
    const { promise: released, resolve: setReleased } = newPromise();
    const release = (): void => {
      if (this.#last.get(account) === released) this.#last.delete(account);
      setReleased();
    };
    this.#last.set(account, released);
    if (previous !== undefined) await Promise.race([previous, whenAborted(signal)]);
    if (!signal.aborted) return { lossSignal: NEVER, release };
    // Aborted: passes the previous holder's release on to later waiters.
    if (previous === undefined) release();
    else void previous.then(release);
    throw signal.reason;
  }
}

function newPromise(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
