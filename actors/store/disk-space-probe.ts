// Writes a test record periodically while the store's disk is full, to detect free space: without events, the
// next call of a client could be hours away. Starts with the first rejected call, and stops with the first
// successful write.

import type { Log } from '../base/errors/log.ts';
import type { Store } from './store.ts';

const TRY_EVERY_MS = 5_000;
/** Key space of the probe's record. */
const SPACE = 'room';
/** Larger than a few pages: a disk with little free space counts as full. */
const RECORD = 'x'.repeat(65_536);

export class DiskSpaceProbe {
  readonly #log: Log;
  readonly #store: () => Promise<Store> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log, store: () => Promise<Store> | undefined) {
    this.#log = log;
    this.#store = store;
  }

  get isFull(): boolean {
    return this.#timer !== undefined;
  }

  /** Starts the probe when a call is rejected because the disk is full. */
  start({ message: reason }: Error): void {
    if (this.isFull) return;
    this.#log.error({ reason }, 'store disk is full: rejecting events until there is space');
    this.#timer = setInterval(() => void this.#try(), TRY_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #try(): Promise<void> {
    try {
      const store = await this.#store();
      if (store === undefined) return;
      await store.put(SPACE, 'record', RECORD);
      await store.delete(SPACE, 'record');
    } catch {
      return;
    }
    if (!this.isFull) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#log.info({}, 'store disk has space again');
  }
}
