// Cancels work on remote nodes: the request is written to the store, every node polls for requests that
// concern local work and deletes them when the attempt is aborted, and the caller polls for the deletion.
// Used only with several nodes.

import { setTimeout as elapse } from 'node:timers/promises';
import { UnavailableError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Store } from '../../store/store.ts';

export interface CancelsOptions {
  readonly store: Pick<Store, 'put' | 'get' | 'delete' | 'keys' | 'delivery'>;
  readonly log: Log;
  /** Aborts the local attempt at an event; returns false if no attempt is running. */
  cancel(id: string, note: string): boolean;
}

/** Key space of the requests in the store; the key is the event id, and the value the note. */
const SPACE = 'cancel';
/** Interval at which each node looks for requests. */
const POLL_MS = 250;
/** Interval at which the caller checks if its request was deleted. */
const CHECK_MS = 100;
/** Maximum wait of the caller. */
const TIMEOUT_MS = 2_000;
/** Lifetime of requests to lost nodes. */
const TTL_MS = 10_000;

export class Cancels {
  readonly #options: CancelsOptions;
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(options: CancelsOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#timer ??= setInterval(() => void this.poll(), POLL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Requests a cancel. Returns true if a node has aborted the attempt, false if the event was not running.
   * Rejects with UnavailableError if the node does not respond in time.
   */
  async request(id: string, note: string): Promise<boolean> {
    const { store } = this.#options;
    await store.put(SPACE, id, note, { ttlMs: TTL_MS });
    const endsAt = performance.now() + TIMEOUT_MS;
    while (performance.now() < endsAt) {
      await elapse(CHECK_MS);
      if ((await store.get(SPACE, id)) === undefined) return true;
      if ((await store.delivery(id))?.state === 'running') continue;
      await store.delete(SPACE, id);
      return false;
    }
    await store.delete(SPACE, id);
    throw new UnavailableError(
      'the node that handles the event does not respond; try again',
      TIMEOUT_MS / 1000,
    );
  }

  /** Executes the requests for local work. Never rejects. */
  async poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const { store, log, cancel } = this.#options;
    try {
      for (const id of await store.keys(SPACE)) {
        const note = (await store.get(SPACE, id))?.value;
        if (note !== undefined && cancel(id, note)) await store.delete(SPACE, id);
      }
    } catch (error) {
      log.debug({ reason: (error as Error).message }, 'could not read cancel requests');
    } finally {
      this.#isPolling = false;
    }
  }
}
