// The embedded store as the gateway sees it: a Store over one worker thread in which SQLite runs (store-worker.ts). The
// driver is loaded in that thread only; a gateway that opens no store loads nothing of it.

import { StoreFullError, type StoreUnavailableError } from '../../base/errors/errors.ts';
import type { Store } from '../store.ts';
import { ledgerStore } from './ledger-store.ts';
import { RetryingChannel } from './retrying-channel.ts';
import { WorkerChannel } from './worker-channel.ts';

export interface SqliteStoreOptions {
  /** Its folder must be there; the file is made, for its owner only. */
  readonly file: string;
  /** How long the record of an ended delivery is kept. 7 days unless given. */
  readonly retentionMs?: number;
  /** How long a conversation is remembered that is not gone on with. 30 days unless given. */
  readonly rememberMs?: number;
  /** Bound of events that wait or run. 100,000 unless given. */
  readonly maxWaiting?: number;
  /** How long a call may take. 30 s unless given. */
  readonly callTimeoutMs?: number;
  /** Where the worker's script is, when it is not beside this one. */
  readonly workerUrl?: URL;
  /** Called while it opens, if its log had lost something; in words. */
  readonly onDamage?: (what: string) => void;
  /** Called when something in a record is found not to be as any version wrote it; in words, once for each. */
  readonly onDamagedRecord?: (what: string) => void;
  /** Called for each call that was refused for want of room. */
  readonly onRefusedFull?: (error: StoreFullError) => void;
  /** Called once if the store is lost for good; every call rejects from then on. */
  readonly onFailed?: (error: StoreUnavailableError) => void;
}

const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
const REMEMBER_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_WAITING = 100_000;
const CALL_TIMEOUT_MS = 30_000;
const MAX_IN_FLIGHT = 10_000;
const MAX_IN_FLIGHT_BYTES = 128 * 1024 * 1024;

/** Opens the file, or makes it. Rejects with StoreUnavailableError, which says what is wrong with it. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return ledgerStore(await openChannel(options));
}

export interface RetryingStoreOptions extends SqliteStoreOptions {
  /** Called with each store that is opened, before anybody has it; where this rejects it is as if it had not been opened. */
  readonly prepare: (store: Store) => Promise<void>;
  /** There was no room at first: the store is there now. */
  readonly onOpened: () => void;
  readonly onFull: (error: StoreUnavailableError) => void;
}

/** The same, but on a full disk gives a store that refuses everything until there is room. */
export async function openRetryingStore(options: RetryingStoreOptions): Promise<Store> {
  const open = async () => {
    const channel = await openChannel(options);
    try {
      await options.prepare(ledgerStore(channel));
      return channel;
    } catch (error) {
      await channel.close();
      throw error;
    }
  };
  try {
    return ledgerStore(await open());
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    options.onFull(error);
    const reopen = async () => {
      const channel = await open();
      options.onOpened();
      return channel;
    };
    return ledgerStore(new RetryingChannel(reopen, error));
  }
}

async function openChannel(options: SqliteStoreOptions): Promise<WorkerChannel> {
  const { file, retentionMs = RETENTION_MS, rememberMs = REMEMBER_MS, maxWaiting = MAX_WAITING } = options;
  return WorkerChannel.open({
    workerUrl: options.workerUrl ?? new URL('./store-worker.js', import.meta.url),
    settings: { file, retentionMs, rememberMs, maxWaiting },
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    maxInFlight: MAX_IN_FLIGHT,
    maxInFlightBytes: MAX_IN_FLIGHT_BYTES,
    onDamage: options.onDamage ?? (() => undefined),
    onDamagedRecord: options.onDamagedRecord ?? (() => undefined),
    onRefusedFull: options.onRefusedFull ?? (() => undefined),
    onFailed: options.onFailed ?? (() => undefined),
  });
}
