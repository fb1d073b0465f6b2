// Polls for updates in a loop, and stores each batch before the platform may discard it.
//
// A batch is acknowledged to the platform only once all of it is stored. If the store fails, the same batch
// is retried, with no poll in between. The offset follows the last update, even to a lower number, because
// the platform restarts the numbers after a week of silence. The loop pauses after redelivered batches, and
// after empty responses that came early.

import { setTimeout as pause } from 'node:timers/promises';
import { connectionPause } from '../../../machines/connection-failure.ts';
import { updateIdOf } from './update.ts';

export interface UpdateSource {
  /**
   * Returns the updates from `offset` on, and waits until there are some. Rejects without a usable
   * response.
   */
  poll(offset: number | undefined, signal: AbortSignal): Promise<readonly unknown[]>;
}

export interface UpdateSink {
  /** Resolves when all updates are durable. */
  store(updates: readonly unknown[]): Promise<void>;
  /** Stores the offset for the next start. An outdated offset only causes redeliveries. */
  saveOffset(offset: number): Promise<void>;
  /** Called when the store failed. The batch is retried after `inMs`. */
  onStoreFailure(error: unknown, inMs: number): void;
}

export interface UpdateLoopOptions {
  readonly source: UpdateSource;
  readonly sink: UpdateSink;
  /** Stored offset. With undefined the loop starts at the oldest pending update. */
  readonly offset: number | undefined;
  /** Resolves after `ms`, or when the signal is aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** A response that arrives earlier was not waiting for updates. */
const SOON_MS = 1_000;

export class UpdateLoop {
  readonly #options: UpdateLoopOptions;
  readonly #stopping = new AbortController();
  #offset: number | undefined;
  #idlePolls = 0;

  constructor(options: UpdateLoopOptions) {
    this.#options = options;
    this.#offset = options.offset;
  }

  /**
   * Polls until `end` is called. Rejects if `poll` does. `onAnswered` is called once, at the first response.
   */
  async run(onAnswered: () => void = () => {}): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const startedAt = performance.now();
      let updates: readonly unknown[];
      try {
        updates = await this.#options.source.poll(this.#offset, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      onAnswered();
      const before = this.#offset;
      if (updates.length > 0) await this.#store(updates);
      if (this.#offset !== before || performance.now() - startedAt >= SOON_MS) this.#idlePolls = 0;
      else await this.#wait(pauseAfter(++this.#idlePolls));
    }
  }

  /** Stops polling. Updates in progress are still stored. */
  end(): void {
    this.#stopping.abort();
  }

  async #store(updates: readonly unknown[]): Promise<void> {
    const { sink } = this.#options;
    const last = updates.map(updateIdOf).findLast((id) => id !== undefined);
    for (let failures = 1; ; failures += 1) {
      try {
        await sink.store(updates);
        if (last !== undefined) await this.#advance(last + 1);
        return;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        const ms = pauseAfter(failures);
        sink.onStoreFailure(error, ms);
        await this.#wait(ms);
      }
    }
  }

  async #advance(offset: number): Promise<void> {
    if (offset === this.#offset) return;
    this.#offset = offset;
    await this.#options.sink.saveOffset(offset);
  }

  async #wait(ms: number): Promise<void> {
    const { wait = restFor } = this.#options;
    await wait(ms, this.#stopping.signal);
  }
}

function restFor(ms: number, signal: AbortSignal): Promise<unknown> {
  return pause(ms, undefined, { signal, ref: false }).catch(() => {});
}

function pauseAfter(count: number): number {
  return connectionPause({ kind: 'transient', reason: '' }, count, Math.random());
}
