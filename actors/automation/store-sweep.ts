// Periodically deletes expired records of the store, and data that adapters stored for removed triggers.

import type { Log } from '../base/errors/log.ts';
import type { Adapter } from '../platforms/adapter.ts';
import type { Store } from '../store/store.ts';

const SWEEP_MS = 600_000;

export interface StoreSweepOptions {
  readonly store: Store;
  readonly adapters: readonly Adapter[];
  readonly log: Log;
  /** Retention of records, in milliseconds. */
  readonly keepMs: number;
  /** Returns a trigger's type; undefined for unknown names. */
  typeOf(trigger: string): string | undefined;
}

export class StoreSweep {
  readonly #options: StoreSweepOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: StoreSweepOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #sweep(): Promise<void> {
    const { store, adapters, log, keepMs, typeOf } = this.#options;
    try {
      let rows = await store.sweep();
      for (const { type, deleteUnusedState } of adapters)
        rows += (await deleteUnusedState?.(store, (name) => typeOf(name) === type, keepMs)) ?? 0;
      if (rows > 0) log.debug({ rows }, 'store swept');
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'could not sweep the store');
    }
  }
}
