// Opens the engine that gateways have, SQLite in the state folder, within the bounds of the settings; what is found about it
// goes into the log. Loaded only where a store is opened.

import { join } from 'node:path';
import type { OpenStore } from './store-part.ts';
import { openRetryingStore } from './worker/sqlite-store.ts';

const STORE_FILE = 'store.sqlite';
const DAY_MS = 86_400_000;

export const openStore: OpenStore = ({ state_dir, deliveries }, host) => {
  const { log, prepare, onThere, onRefusedFull, onFailed } = host;
  return openRetryingStore({
    file: join(state_dir, STORE_FILE),
    retentionMs: deliveries.retention_days * DAY_MS,
    rememberMs: deliveries.remember_days * DAY_MS,
    maxWaiting: deliveries.max_waiting,
    onDamage: (what) => log.error({ reason: what }, 'the store has lost the end of its log'),
    onDamagedRecord: (what) => log.error({ reason: what }, 'a record of the store is damaged'),
    onRefusedFull,
    onFailed,
    prepare,
    onFull: ({ message }) => {
      onThere(false);
      log.error({ reason: message }, 'triggers do not work: the store cannot be opened; it is tried again');
    },
    onOpened: () => {
      onThere(true);
      log.info({}, 'the store is open: triggers work');
    },
  });
};
