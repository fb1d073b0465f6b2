// The store as a part of the gateway (base/supervision/part.ts). The first part that needs the store opens
// it, so a gateway without such parts creates no file, starts no thread and loads no engine. All users share
// one store. Each user passes a `prepare` function, which loads the user's state before the user receives the
// store. A full disk does not fail the start: calls are rejected until there is space. An alarm is active
// while the store rejects calls (store-probe.ts).
//
// The store closes later than all parts that use it, and before the state folder is released. Events accepted
// during shutdown are kept for the next start.

import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { Alarms } from '../base/alarms/alarms.ts';
import { StoppedError, StoreUnavailableError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import type { Store } from './store.ts';
import { StoreProbe } from './store-probe.ts';

/** Services and callbacks of the gateway for an engine. */
export interface StoreHost {
  readonly log: Log;
  /** Called with the opened store before its use. If it rejects, opening has failed. */
  readonly prepare: (store: Store) => Promise<void>;
  /** Called if the disk is full at the start. */
  readonly onMissing: (error: StoreUnavailableError) => void;
  /** Called when the store opens late, after `onMissing`. */
  readonly onOpened: () => void;
  /** Called for each call rejected because the store cannot be read or written. */
  readonly onRejected: (error: StoreUnavailableError) => void;
  readonly onFailed: (error: StoreUnavailableError) => void;
  /** Returns true if the gateway is stopping: opening can then be abandoned. */
  readonly isStopping: () => boolean;
}

/**
 * Opens a store for this configuration. Rejects with StoreUnavailableError. With a full disk it resolves, and
 * the store rejects calls.
 */
export type OpenStore = (config: GatewayConfig, host: StoreHost) => Promise<Store>;

/** Loads the state of a store user. */
export type PrepareStore = (store: Store) => Promise<void>;

export interface StorePartOptions {
  readonly config: GatewayConfig;
  readonly log: Log;
  readonly alarms: Alarms;
  /** Undefined if this gateway has no store. */
  readonly open: OpenStore | undefined;
  /** Called when the store has failed permanently. */
  readonly onFailed: (error: StoreUnavailableError) => void;
  readonly isStopping: () => boolean;
}

export class StorePart implements Part {
  readonly #options: StorePartOptions;
  /** Users by their `prepare` function; true if it has completed. */
  readonly #users = new Map<PrepareStore, boolean>();
  readonly #lateListeners = new Set<() => void>();
  readonly #probe: StoreProbe;
  #opening: Promise<Store> | undefined;
  #isMissing = false;
  #isDrained = false;

  constructor(options: StorePartOptions) {
    this.#options = options;
    const { alarms, config } = options;
    this.#probe = new StoreProbe({
      alarms,
      unavailable: config.store.postgres === undefined ? 'store_unavailable' : 'database_unavailable',
      store: () => this.#opening,
    });
  }

  /** Rejects with StoreUnavailableError; the next call retries. */
  async open(prepare: PrepareStore = async () => {}): Promise<Store> {
    if (this.#isDrained) throw new StoppedError('the gateway is stopping; its store is closed');
    if (!this.#users.has(prepare)) this.#users.set(prepare, false);
    this.#opening ??= this.#open();
    try {
      const store = await this.#opening;
      if (!this.#isMissing && this.#users.get(prepare) === false) await this.#prepareFor(prepare, store);
      return store;
    } catch (error) {
      this.#users.delete(prepare);
      throw error;
    }
  }

  /** Calls `listener` when the store opens late because the disk was full. */
  onLateOpen(listener: () => void): void {
    this.#lateListeners.add(listener);
  }

  async drain(): Promise<void> {
    this.#isDrained = true;
    const store = await this.#opening?.catch(() => undefined);
    await store?.close();
    // The last, because a call that is rejected while the store closes starts the probe.
    this.#probe.close();
  }

  async #open(): Promise<Store> {
    const { open, config, log, onFailed, isStopping } = this.#options;
    try {
      if (open === undefined) throw new StoreUnavailableError('this gateway has no store');
      return await open(config, {
        log,
        prepare: (store) => this.#prepare(store),
        onMissing: (error) => this.#onMissing(error),
        onOpened: () => this.#onOpened(),
        onRejected: (error) => this.#probe.onRejected(error),
        onFailed,
        isStopping,
      });
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async #prepare(store: Store): Promise<void> {
    for (const prepare of this.#users.keys()) await this.#prepareFor(prepare, store);
  }

  async #prepareFor(prepare: PrepareStore, store: Store): Promise<void> {
    await prepare(store);
    this.#users.set(prepare, true);
  }

  #onMissing(error: StoreUnavailableError): void {
    this.#isMissing = true;
    this.#options.alarms.raise('disk_full', error.message);
  }

  #onOpened(): void {
    this.#isMissing = false;
    this.#options.alarms.clear('disk_full');
    for (const listener of this.#lateListeners) listener();
  }
}
