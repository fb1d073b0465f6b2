// A run that was begun from a terminal, and how it is given up: Ctrl-C cancels it, as soon as the gateway has taken it, and waits for its
// end; a second one leaves it; being told to end leaves it at once.

import type { ApiClient } from '../api/api-client.ts';
import { runPath } from './followed-run.ts';

const CHANGE_MS = 10_000;

export class AskedRun {
  #id: string | undefined;
  readonly #client: ApiClient;
  readonly #onProblem: (error: unknown) => void;
  readonly #leaving = new AbortController();
  #isCancelled = false;

  /** `onProblem` is told why it cannot be cancelled. */
  constructor(client: ApiClient, onProblem: (error: unknown) => void) {
    this.#client = client;
    this.#onProblem = onProblem;
  }

  /** Undefined until the gateway has taken it. */
  get id(): string | undefined {
    return this.#id;
  }

  /** The gateway has taken it. */
  begun(id: string): void {
    this.#id = id;
    if (this.#isCancelled) this.#cancel(id);
  }

  /** Aborted when nobody waits for its end any more. */
  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** It was left, and goes on without anybody. */
  get goesOn(): boolean {
    return this.left.aborted && this.id !== undefined && !this.#isCancelled;
  }

  readonly leave = (): void => this.#leaving.abort();

  /** Gives whether it is being cancelled now; else it was left. */
  readonly interrupt = (): boolean => {
    if (this.#isCancelled) {
      this.leave();
      return false;
    }
    this.#isCancelled = true;
    if (this.#id !== undefined) this.#cancel(this.#id);
    return true;
  };

  #cancel(id: string): void {
    this.#client.ask('POST', runPath(id, 'cancel'), CHANGE_MS).catch((error: unknown) => {
      this.#isCancelled = false;
      this.#onProblem(error);
    });
  }
}

/** Has the process obey signals in this way until the function is called that it gives. */
export function heedSignals(interrupt: () => void, leave: () => void): () => void {
  const heeded = [
    ['SIGINT', interrupt],
    ['SIGTERM', leave],
    // The terminal was closed.
    ['SIGHUP', leave],
  ] as const;
  for (const [signal, obey] of heeded) process.on(signal, obey);
  return () => {
    for (const [signal, obey] of heeded) process.removeListener(signal, obey);
  };
}
