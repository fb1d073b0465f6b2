// The store as a part of every gateway, opened by the first that needs it: one that has tool servers alone makes no file, starts
// no thread and loads nothing for it. Which engine it is the factory says that the gateway was given.
//
// STP1  nothing is made or loaded before somebody asks; whoever asks then is given the same store, and has prepared for it before
//      anybody works with it.
// STP2  it is closed after the parts that may use it, and before the state folder is given up: what is accepted while the
//      gateway stops is kept for the next start.
// STP3  a full disk ends no start: everything is refused, and it is tried again; whoever uses the store hears when it is there.

import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { StoppedError, StoreUnavailableError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import { DiskSpaceProbe } from './disk-space-probe.ts';
import type { Store } from './store.ts';

/** What a store tells the gateway that has it. */
export interface StoreHost {
  readonly log: Log;
  /** Called with each store that is opened, before anybody has it; where this rejects it is as if it had not been opened. */
  readonly prepare: (store: Store) => Promise<void>;
  /** On a full disk there is none, and everything is refused; later there may be. */
  readonly onThere: (isThere: boolean) => void;
  /** Called for each call that was refused for want of room. */
  readonly onRefusedFull: (error: Error) => void;
  readonly onFailed: (error: StoreUnavailableError) => void;
  /** Whether the gateway stops: then nobody waits for a store any more. */
  readonly isEnding: () => boolean;
}

/** Makes a store for the gateway of that configuration. Rejects with StoreUnavailableError, but where there is only no room. */
export type OpenStore = (config: GatewayConfig, host: StoreHost) => Promise<Store>;

/** Loads the state of one user of the store. */
export type PrepareStore = (store: Store) => Promise<void>;

export interface StorePartOptions {
  readonly config: GatewayConfig;
  readonly log: Log;
  /** Undefined where there is to be none. */
  readonly open: OpenStore | undefined;
  /** It is lost for good. */
  readonly onFailed: (error: StoreUnavailableError) => void;
  readonly isEnding: () => boolean;
}

export class StorePart implements Part {
  readonly #options: StorePartOptions;
  /** Users; true if prepared. */
  readonly #users = new Map<PrepareStore, boolean>();
  readonly #lateListeners = new Set<() => void>();
  readonly #probe: DiskSpaceProbe;
  #opening: Promise<Store> | undefined;
  #isMissing = false;
  #isDrained = false;

  constructor(options: StorePartOptions) {
    this.#options = options;
    this.#probe = new DiskSpaceProbe(options.log, () => this.#opening);
  }

  /** The disk is full: what is to be kept is refused. */
  get hasNoRoom(): boolean {
    return this.#isMissing || this.#probe.isFull;
  }

  /** Rejects with StoreUnavailableError, and the next to ask tries again. */
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
  whenThereLate(listener: () => void): void {
    this.#lateListeners.add(listener);
  }

  async drain(): Promise<void> {
    this.#isDrained = true;
    this.#probe.close();
    const store = await this.#opening?.catch(() => undefined);
    await store?.close();
  }

  async #open(): Promise<Store> {
    const { open, config, log, onFailed, isEnding } = this.#options;
    try {
      if (open === undefined) throw new StoreUnavailableError('this gateway was made without a store');
      return await open(config, {
        log,
        prepare: (store) => this.#prepare(store),
        onThere: (isThere) => this.#onThere(isThere),
        onRefusedFull: (error) => this.#probe.refused(error),
        onFailed,
        isEnding,
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

  #onThere(isThere: boolean): void {
    this.#isMissing = !isThere;
    if (isThere) for (const listener of this.#lateListeners) listener();
  }
}
