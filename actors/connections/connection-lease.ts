// Who may connect for an account. The one place that is asked before each connect: with several nodes it will ask them, and
// today this process is the only one, so that nobody has to wait but for an earlier connection of the account to be over.
//
// AL1  an account has one holder at a time; who waits gets it in the order of asking, or leaves by its signal.

export interface HeldLease {
  release(): void;
}

export interface ConnectionLease {
  /** Resolves when the account may be connected. Rejects with the signal's reason once that is aborted. */
  take(account: string, signal: AbortSignal): Promise<HeldLease>;
}

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
    if (!signal.aborted) return { release };
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
