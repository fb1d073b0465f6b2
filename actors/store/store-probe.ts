// Raises an alarm while the store rejects calls: disk full, file not writable, or database away. Writes a
// test record periodically to detect the end, because without events the next call of a client could be
// hours away. Starts with the first rejected call, and stops when a write succeeds and no call was rejected
// for TRY_EVERY_MS.

import type { AlarmCode } from '../base/alarms/alarm-codes.ts';
import type { Alarms } from '../base/alarms/alarms.ts';
import { StoreFullError, type StoreUnavailableError } from '../base/errors/errors.ts';
import type { Store } from './store.ts';

const TRY_EVERY_MS = 5_000;
/** Key space of the probe's record. */
const SPACE = 'room';
/** Larger than a few pages: a disk with little free space counts as full. */
const RECORD = 'x'.repeat(65_536);

export interface StoreProbeOptions {
  readonly alarms: Alarms;
  /** Code for a store that rejects calls for another reason than a full disk. */
  readonly unavailable: AlarmCode;
  readonly store: () => Promise<Store> | undefined;
}

export class StoreProbe {
  readonly #options: StoreProbeOptions;
  #timer: NodeJS.Timeout | undefined;
  /** True if a call was rejected since the last write. */
  #wasRejected = false;

  constructor(options: StoreProbeOptions) {
    this.#options = options;
  }

  /** Starts the probe when a call is rejected. Repeated calls update the alarm. */
  onRejected(error: StoreUnavailableError): void {
    this.#wasRejected = true;
    const { alarms, unavailable } = this.#options;
    const code = error instanceof StoreFullError ? 'disk_full' : unavailable;
    alarms.raise(code, error.message);
    alarms.clear(code === 'disk_full' ? unavailable : 'disk_full');
    this.#timer ??= setInterval(() => void this.#try(), TRY_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Writes the test record. A rejected write reaches `onRejected`, like any call. */
  async #try(): Promise<void> {
    const wasRejected = this.#wasRejected;
    this.#wasRejected = false;
    try {
      const store = await this.#options.store();
      if (store === undefined) return;
      await store.put(SPACE, 'record', RECORD);
      await store.delete(SPACE, 'record');
    } catch {
      return;
    }
    if (wasRejected || this.#wasRejected) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    const { alarms, unavailable } = this.#options;
    alarms.clear('disk_full');
    alarms.clear(unavailable);
  }
}
