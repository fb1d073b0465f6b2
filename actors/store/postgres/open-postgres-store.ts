// Opens a store on PostgreSQL: migrates the tables, joins the cluster, and listens for notifications.
// open-store.ts calls it with the configuration; tests call it directly.

import { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { MembershipWatcher } from '../membership.ts';
import type { Store } from '../store.ts';
import { Database } from './database.ts';
import { DatabaseLostError } from './faults.ts';
import { Membership } from './membership.ts';
import { type MigrateOptions, migrate, type SchemaMigration } from './migration.ts';
import { PostgresNodeLeases } from './node-leases.ts';
import { PostgresStore } from './store.ts';
import { Wakes } from './wakes.ts';

export interface OpenPostgresOptions {
  readonly url: string;
  readonly connections?: number;
  readonly timeoutMs?: number;
  /** Retention of delivery records. */
  readonly retentionMs?: number;
  /** Retention of the snapshots of inactive conversations. */
  readonly snapshotRetentionMs?: number;
  /** Maximum number of unfinished events; further events are rejected. */
  readonly maxWaiting?: number;
  /** Maximum number of parked events. */
  readonly maxParked?: number;
  /** Called after a migration of existing tables. */
  readonly onMigrated?: (migration: SchemaMigration) => void;
  /** Limits and callbacks of a migration. */
  readonly migrating?: MigrateOptions;
  /** Called for each call rejected by the database, or because it cannot be reached. */
  readonly onRejected?: (error: StoreUnavailableError) => void;
  /** Called once if the store fails permanently: the tables are missing or do not match this version. */
  readonly onFailed?: (error: StoreUnavailableError) => void;
  readonly node: {
    readonly name: string;
    readonly address: string;
    readonly ttlMs?: number;
    readonly watcher?: MembershipWatcher;
  };
}

export interface OpenedPostgres {
  readonly store: Store;
  readonly membership: Membership;
}

const CONNECTIONS = 10;
const TIMEOUT_MS = 10_000;
const NODE_TTL_MS = 2_000;
const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
const SNAPSHOT_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_WAITING = 100_000;
const MAX_PARKED = 300_000;

/** Rejects with StoreUnavailableError, which describes the problem. */
export async function openPostgresStore(options: OpenPostgresOptions): Promise<OpenedPostgres> {
  const { url, node, migrating, onMigrated, onRejected, onFailed } = options;
  // While opening, errors reject the promise instead.
  let isOpen = false;
  const database = new Database({
    url,
    connections: options.connections ?? CONNECTIONS,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    onFault: (error) => {
      if (!isOpen || !(error instanceof StoreUnavailableError)) return;
      if (error instanceof DatabaseLostError) {
        isOpen = false;
        onFailed?.(error);
      } else onRejected?.(error);
    },
  });
  try {
    const migration = await migrate(database, migrating);
    if (migration !== undefined) onMigrated?.(migration);
    const { name, address, ttlMs = NODE_TTL_MS, watcher = {} } = node;
    const membership = new Membership(database, { name, address, ttlMs });
    membership.watch(watcher);
    const wakes = new Wakes(database);
    await membership.join();
    await wakes.start();
    const store = new PostgresStore({
      database,
      membership,
      cluster: { name, address, membership, leases: new PostgresNodeLeases(database, membership) },
      wakes,
      retentionMs: options.retentionMs ?? RETENTION_MS,
      snapshotRetentionMs: options.snapshotRetentionMs ?? SNAPSHOT_RETENTION_MS,
      maxWaiting: options.maxWaiting ?? MAX_WAITING,
      maxParked: options.maxParked ?? MAX_PARKED,
    });
    isOpen = true;
    return { store, membership };
  } catch (error) {
    await database.close();
    throw error;
  }
}
