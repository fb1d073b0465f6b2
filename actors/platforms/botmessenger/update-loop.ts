// Asks for updates again and again, and keeps each before the platform may forget it.
//
// UL1  the platform is told that a batch has arrived only after all of it is in the store; until then it gives it again.
// UL2  the offset follows the last update that came, also downwards: after a week of silence the platform numbers anew.
// UL3  a store that cannot take a batch is asked again with the same batch, and the platform meanwhile for nothing.
// UL4  it never asks twice for the same at once: what comes again, or nothing that comes too soon, is followed by a pause.

import { setTimeout as pause } from 'node:timers/promises';
import { connectionPause } from '../../../machines/connection-failure.ts';
import { updateIdOf } from './update.ts';

export interface UpdateSource {
  /** What waits from there on, or what comes soon. Rejects when there is no answer that can be used. */
  poll(offset: number | undefined, signal: AbortSignal): Promise<readonly unknown[]>;
}

export interface UpdateSink {
  /** Resolves when all of it is durable. */
  keep(updates: readonly unknown[]): Promise<void>;
  /** For the next start; an older one does no harm. */
  saveOffset(offset: number): Promise<void>;
  /** The store did not take a batch, which is tried again after the pause. */
  onRefused(error: unknown, inMs: number): void;
}

export interface UpdateLoopOptions {
  readonly source: UpdateSource;
  readonly sink: UpdateSink;
  /** Where an earlier process was; undefined: at whatever waits. */
  readonly offset: number | undefined;
  /** Waits, no longer than until the signal. */
  readonly rest?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** A platform that answers sooner did not wait for anything to come. */
const SOON_MS = 1_000;

export class UpdateLoop {
  readonly #options: UpdateLoopOptions;
  readonly #ending = new AbortController();
  #offset: number | undefined;
  #idle = 0;

  constructor(options: UpdateLoopOptions) {
    this.#options = options;
    this.#offset = options.offset;
  }

  /** Until `end`; rejects as `poll` does. `onAnswered` is called once, at the first answer. */
  async run(onAnswered: () => void = () => {}): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const askedAt = performance.now();
      let updates: readonly unknown[];
      try {
        updates = await this.#options.source.poll(this.#offset, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      onAnswered();
      const before = this.#offset;
      if (updates.length > 0) await this.#keep(updates);
      if (this.#offset !== before || performance.now() - askedAt >= SOON_MS) this.#idle = 0;
      else await this.#rest(pauseAfter(++this.#idle));
    }
  }

  /** What is being kept is kept still; nothing more is asked for. */
  end(): void {
    this.#ending.abort();
  }

  async #keep(updates: readonly unknown[]): Promise<void> {
    const { sink } = this.#options;
    const last = updates.map(updateIdOf).findLast((id) => id !== undefined);
    for (let failures = 1; ; failures += 1) {
      try {
        await sink.keep(updates);
        if (last !== undefined) await this.#advance(last + 1);
        return;
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        const ms = pauseAfter(failures);
        sink.onRefused(error, ms);
        await this.#rest(ms);
      }
    }
  }

  async #advance(offset: number): Promise<void> {
    if (offset === this.#offset) return;
    this.#offset = offset;
    await this.#options.sink.saveOffset(offset);
  }

  async #rest(ms: number): Promise<void> {
    const { rest = restFor } = this.#options;
    await rest(ms, this.#ending.signal);
  }
}

function restFor(ms: number, signal: AbortSignal): Promise<unknown> {
  return pause(ms, undefined, { signal, ref: false }).catch(() => {});
}

function pauseAfter(count: number): number {
  return connectionPause({ kind: 'transient', reason: '' }, count, Math.random());
}
