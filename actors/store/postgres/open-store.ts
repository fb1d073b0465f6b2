// Opens the store of a gateway on PostgreSQL, within the bounds of the settings; what is found about it goes into the log. Loaded only
// where `store.postgres` is configured.

import { hostname } from 'node:os';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { OpenStore } from '../store-part.ts';
import { awaitDatabase } from './await-database.ts';
import { openPostgresStore } from './open-postgres-store.ts';

const DAY_MS = 86_400_000;

export const openStore: OpenStore = async (
  { store: { postgres }, node, deliveries },
  { log, prepare, onThere, onRefusedFull, onFailed, isEnding },
) => {
  if (postgres === undefined) throw new StoreUnavailableError('store.postgres is not configured');
  const name = node.name ?? hostname();
  const open = () =>
    openPostgresStore({
      url: postgres.url,
      connections: postgres.connections,
      retentionMs: deliveries.retention_days * DAY_MS,
      rememberMs: deliveries.remember_days * DAY_MS,
      maxWaiting: deliveries.max_waiting,
      node: {
        name,
        address: node.address ?? '',
        watcher: {
          onLost: () =>
            log.warn({ node: name }, 'the database was away for too long: what ran here is given to others'),
          onJoined: (epoch) => log.info({ node: name, epoch }, 'this node works on the database'),
        },
      },
      onRefusedFull,
      onFailed,
    });
  const { store } = await awaitDatabase(open, { log, isEnding });
  try {
    await prepare(store);
  } catch (error) {
    await store.close();
    throw error;
  }
  onThere(true);
  return store;
};
