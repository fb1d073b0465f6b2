// Opens the default engine: SQLite, in the state folder, with the limits of the configuration. Loaded only if
// a part of the gateway needs a store.

import { storeFileIn } from './store-file.ts';
import type { OpenStore } from './store-part.ts';
import { openRetryingStore } from './worker/sqlite-store.ts';

const DAY_MS = 86_400_000;

export const openStore: OpenStore = ({ state_dir, deliveries }, host) => {
  const { log, prepare, onMissing, onOpened, onRejected, onFailed } = host;
  return openRetryingStore({
    file: storeFileIn(state_dir),
    retentionMs: deliveries.retention_days * DAY_MS,
    snapshotRetentionMs: deliveries.remember_days * DAY_MS,
    maxWaiting: deliveries.max_waiting,
    maxParked: deliveries.max_parked,
    onDamage: (what) => log.error({ reason: what }, 'store log is damaged: its last transactions are lost'),
    onDamagedRecord: (what) => log.error({ reason: what }, 'store record is damaged'),
    onMigrated: ({ from, to, copy }) =>
      log.info({ from, to, copy }, 'store migrated; keeping a copy of the earlier version'),
    onRejected,
    onFailed,
    prepare,
    onFull: onMissing,
    onOpened,
  });
};
