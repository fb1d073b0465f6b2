// Probes whether the disk of the store has room again, from the first call that is refused for want of it until a record
// has been written. Nobody else may come for a long time, so it is tried from here.

import type { Log } from '../base/errors/log.ts';
import type { Store } from './store.ts';

const TRY_EVERY_MS = 5_000;
const SPACE = 'room';
/** Some pages: a disk on which only the last bytes are free is full. */
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

  /** A call was refused for want of room. */
  refused({ message: reason }: Error): void {
    if (this.isFull) return;
    this.#log.error({ reason }, 'the disk of the store is full: events are refused until there is room');
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
    this.#log.info({}, 'the disk of the store has room again');
  }
}
