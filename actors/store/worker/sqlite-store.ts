// The embedded store: a Store over one worker thread that runs SQLite (store-worker.ts). Only that thread
// loads the driver.

import { StoreFullError, type StoreUnavailableError } from '../../base/errors/errors.ts';
import type { Migration } from '../sqlite/schema.ts';
import { SteadyClock } from '../steady-clock.ts';
import type { Store } from '../store.ts';
import { channelStore } from './channel-store.ts';
import { RetryingChannel } from './retrying-channel.ts';
import { WorkerChannel } from './worker-channel.ts';

export interface SqliteStoreOptions {
  /** Created with owner-only permissions if missing; its folder must exist. */
  readonly file: string;
  /** Retention of finished deliveries. @default 7 days */
  readonly retentionMs?: number;
  /** Retention of snapshots of inactive conversations. @default 30 days */
  readonly snapshotRetentionMs?: number;
  /** Maximum number of unfinished events. @default 100,000 */
  readonly maxWaiting?: number;
  /** Maximum number of parked events. @default 300,000 */
  readonly maxParked?: number;
  /** Call timeout. @default 30 seconds */
  readonly callTimeoutMs?: number;
  /** Location of the worker script. @default next to this file */
  readonly workerUrl?: URL;
  /** Called if the write-ahead log was damaged, with a description. */
  readonly onDamage?: (what: string) => void;
  /** Called once for each kind of damage found in records, with a description. */
  readonly onDamagedRecord?: (what: string) => void;
  /** Called if the file was migrated from an earlier version. */
  readonly onMigrated?: (migration: Migration) => void;
  /** Called for each call rejected because the file cannot be read or written. */
  readonly onRejected?: (error: StoreUnavailableError) => void;
  /** Called once if the store fails permanently; all later calls reject. */
  readonly onFailed?: (error: StoreUnavailableError) => void;
}

const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
const SNAPSHOT_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_WAITING = 100_000;
const MAX_PARKED = 300_000;
const CALL_TIMEOUT_MS = 30_000;
const MAX_IN_FLIGHT = 10_000;
const MAX_IN_FLIGHT_BYTES = 128 * 1024 * 1024;

/** Opens or creates the file. Rejects with StoreUnavailableError, which describes the problem. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const clock = new SteadyClock();
  return channelStore(await openChannel(options, clock), clock);
}

export interface RetryingStoreOptions extends SqliteStoreOptions {
  /** Called with the opened store before its use. If it rejects, opening has failed. */
  readonly prepare: (store: Store) => Promise<void>;
  /** Called when the store opens late, because the disk was full. */
  readonly onOpened: () => void;
  readonly onFull: (error: StoreUnavailableError) => void;
}

/**
 * Like `openSqliteStore`, but if the disk is full, returns a store that rejects all calls until there is
 * space.
 */
export async function openRetryingStore(options: RetryingStoreOptions): Promise<Store> {
  const clock = new SteadyClock();
  const open = async () => {
    const channel = await openChannel(options, clock);
    try {
      await options.prepare(channelStore(channel, clock));
      return channel;
    } catch (error) {
      await channel.close();
      throw error;
    }
  };
  try {
    return channelStore(await open(), clock);
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    options.onFull(error);
    const reopen = async () => {
      const channel = await open();
      options.onOpened();
      return channel;
    };
    return channelStore(new RetryingChannel(reopen, error), clock);
  }
}

async function openChannel(options: SqliteStoreOptions, clock: SteadyClock): Promise<WorkerChannel> {
  const {
    file,
    retentionMs = RETENTION_MS,
    snapshotRetentionMs = SNAPSHOT_RETENTION_MS,
    maxWaiting = MAX_WAITING,
    maxParked = MAX_PARKED,
  } = options;
  return WorkerChannel.open({
    workerUrl: options.workerUrl ?? new URL('./store-worker.js', import.meta.url),
    settings: { file, retentionMs, snapshotRetentionMs, maxWaiting, maxParked },
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    maxInFlight: MAX_IN_FLIGHT,
    maxInFlightBytes: MAX_IN_FLIGHT_BYTES,
    onDamage: options.onDamage ?? (() => undefined),
    onDamagedRecord: options.onDamagedRecord ?? (() => undefined),
    onMigrated: options.onMigrated ?? (() => undefined),
    onRejected: options.onRejected ?? (() => undefined),
    onClock: (shiftMs) => clock.start(shiftMs),
    onFailed: options.onFailed ?? (() => undefined),
  });
}
