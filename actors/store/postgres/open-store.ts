// Opens the gateway's store on PostgreSQL, with the limits of the configuration. Retries while the database
// starts, and logs the membership. Loaded only with `store.postgres`.

import { hostname } from 'node:os';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { OpenStore } from '../store-part.ts';
import { awaitDatabase } from './await-database.ts';
import { openPostgresStore } from './open-postgres-store.ts';

const DAY_MS = 86_400_000;
const MEGABYTE = 1024 * 1024;

export const openStore: OpenStore = async (
  { store: { postgres }, node, deliveries },
  { log, prepare, onRejected, onFailed, isStopping },
) => {
  if (postgres === undefined) throw new StoreUnavailableError('store.postgres is not configured');
  const name = node.name ?? hostname();
  const open = () =>
    openPostgresStore({
      url: postgres.url,
      connections: postgres.connections,
      retentionMs: deliveries.retention_days * DAY_MS,
      snapshotRetentionMs: deliveries.remember_days * DAY_MS,
      maxWaiting: deliveries.max_waiting,
      maxParked: deliveries.max_parked,
      node: {
        name,
        address: node.address ?? '',
        watcher: {
          onLost: () =>
            log.warn(
              { node: name },
              'database was unavailable too long: other nodes take over the running events',
            ),
          onJoined: (epoch) => log.info({ node: name, epoch }, 'joined the cluster'),
        },
      },
      migrating: {
        onWaiting: () => log.info({}, 'another gateway migrates the store; waiting'),
        onLargeTable: (table, bytes) =>
          log.info({ table, mb: Math.round(bytes / MEGABYTE) }, 'copying a large table before the migration'),
      },
      onMigrated: ({ from, to, copy }) => {
        if ('reason' in copy)
          log.warn({ from, to, reason: copy.reason }, 'store migrated without a copy of the earlier version');
        else
          log.info(
            { from, to, copy: copy.schema, remove: `DROP SCHEMA ${copy.schema} CASCADE` },
            'store migrated; keeping a copy of the earlier version',
          );
      },
      onRejected,
      onFailed,
    });
  const { store } = await awaitDatabase(open, { log, isStopping });
  try {
    await prepare(store);
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
};
