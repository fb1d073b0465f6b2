// Has the store forget every so often what is beyond its time, and each adapter what it keeps there for triggers that are gone.

import type { Log } from '../base/errors/log.ts';
import type { Adapter } from '../platforms/adapter.ts';
import type { Store } from '../store/store.ts';

const SWEEP_MS = 600_000;

export interface StoreSweepOptions {
  readonly store: Store;
  readonly adapters: readonly Adapter[];
  readonly log: Log;
  /** How long records of what has ended are kept. */
  readonly keepMs: number;
  /** The type of the trigger of that name; undefined where there is none. */
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
      for (const { type, tidy } of adapters)
        rows += (await tidy?.(store, (name) => typeOf(name) === type, keepMs)) ?? 0;
      if (rows > 0) log.debug({ rows }, 'store swept');
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'store could not be swept');
    }
  }
}
