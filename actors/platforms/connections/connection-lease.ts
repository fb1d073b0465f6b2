// Who may connect for an account. The one place that is asked before each connect: with several nodes it asks them
// (cluster-lease.ts), and else nobody has to wait but for an earlier connection of the account to be over.
//
// AL1  an account has one holder at a time; who waits gets it in the order of asking, or leaves by its signal.

export interface HeldLease {
  /** Aborted when it is lost without having been released: what was connected under it has to be closed at once. */
  readonly lost: AbortSignal;
  release(): void;
}

export interface LeaseWish {
  /** What is connected holds nothing at the platform: other nodes need not be asked. */
  readonly isOnEveryNode?: boolean | undefined;
  /** Another node has it; the name of that, where it is known. May be called again. */
  readonly onWaits?: ((node: string | undefined) => void) | undefined;
}

export interface ConnectionLease {
  /** Resolves when the account may be connected. Rejects with the signal's reason once that is aborted. */
  take(account: string, signal: AbortSignal, wish?: LeaseWish): Promise<HeldLease>;
}

/** What one process alone holds is not lost. */
const NEVER = new AbortController().signal;

export class LocalLease implements ConnectionLease {
  /** The end of the last in line, by account. */
  readonly #last = new Map<string, Promise<void>>();

  async take(account: string, signal: AbortSignal): Promise<HeldLease> {
    const before = this.#last.get(account);
    const { promise: over, resolve: end } = newPromise();
    const release = (): void => {
      if (this.#last.get(account) === over) this.#last.delete(account);
      end();
    };
    this.#last.set(account, over);
    if (before !== undefined) await Promise.race([before, aborted(signal)]);
    if (!signal.aborted) return { lost: NEVER, release };
    // Whoever comes next waits for those before, and not for this one.
    if (before === undefined) release();
    else void before.then(release);
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

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
