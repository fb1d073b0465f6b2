// Handles signals for a run that was started from a terminal. The first Ctrl-C cancels the run, after the
// gateway has accepted it; the command continues until the run has ended. The second Ctrl-C and SIGTERM
// detach: the command exits.

import type { ApiClient } from '../api/client.ts';
import { runPath } from './follow-run.ts';

const CANCEL_TIMEOUT_MS = 10_000;

export class CancellableRun {
  #id: string | undefined;
  readonly #client: ApiClient;
  readonly #onProblem: (error: unknown) => void;
  readonly #detached = new AbortController();
  #isCancelled = false;

  /** `onProblem` receives errors of the cancel request. */
  constructor(client: ApiClient, onProblem: (error: unknown) => void) {
    this.#client = client;
    this.#onProblem = onProblem;
  }

  /** Undefined until the gateway has accepted the run. */
  get id(): string | undefined {
    return this.#id;
  }

  /**
   * Called when the gateway has accepted the run. Sends the cancel request if the user has pressed Ctrl-C.
   */
  setId(id: string): void {
    this.#id = id;
    if (this.#isCancelled) this.#cancel(id);
  }

  /** Aborted by `detach`. */
  get detachSignal(): AbortSignal {
    return this.#detached.signal;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** True if the command was detached from a run that continues. */
  get isDetached(): boolean {
    return this.detachSignal.aborted && this.id !== undefined && !this.#isCancelled;
  }

  readonly detach = (): void => this.#detached.abort();

  /** Handles Ctrl-C. Returns true if it cancels the run, false if it detaches. */
  readonly interrupt = (): boolean => {
    if (this.#isCancelled) {
      this.detach();
      return false;
    }
    this.#isCancelled = true;
    if (this.#id !== undefined) this.#cancel(this.#id);
    return true;
  };

  #cancel(id: string): void {
    this.#client.request('POST', runPath(id, 'cancel'), CANCEL_TIMEOUT_MS).catch((error: unknown) => {
      this.#isCancelled = false;
      this.#onProblem(error);
    });
  }
}

interface SignalHandlers {
  /** Called for Ctrl-C. */
  onInterrupt(): void;
  /** Called for SIGTERM, and when the terminal is closed. */
  onTerminate(): void;
}

/** Handles signals until the returned function is called. */
export function handleSignals({ onInterrupt, onTerminate }: SignalHandlers): () => void {
  const handlers = [
    ['SIGINT', onInterrupt],
    ['SIGTERM', onTerminate],
    ['SIGHUP', onTerminate],
  ] as const;
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.removeListener(signal, handler);
  };
}
