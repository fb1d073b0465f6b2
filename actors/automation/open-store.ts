// Opens the store of the triggers: in the state folder, within the bounds of the settings; what is found about it goes
// into the log.

import { join } from 'node:path';
import type { StoreUnavailableError } from '../errors.ts';
import type { Log } from '../log.ts';
import { openRetryingStore } from '../store/sqlite-store.ts';
import type { Store } from '../store/store.ts';

const STORE_FILE = 'store.sqlite';
export const DAY_MS = 86_400_000;

export interface StoreBounds {
  readonly retentionDays: number;
  /** A conversation that is not gone on with is forgotten after so long. */
  readonly rememberDays: number;
  readonly maxWaiting: number;
}

export interface StoreUse {
  readonly log: Log;
  readonly prepare: (store: Store) => Promise<void>;
  /** On a full disk there is none, and everything is refused; later there may be. */
  readonly onThere: (isThere: boolean) => void;
  /** Called for each call that was refused for want of room. */
  readonly onRefusedFull: (error: Error) => void;
  readonly onFailed: (error: StoreUnavailableError) => void;
}

/** Rejects with StoreUnavailableError, but where there is only no room. */
export function openStore(stateDir: string, bounds: StoreBounds, use: StoreUse): Promise<Store> {
  const { log, prepare, onThere, onRefusedFull, onFailed } = use;
  return openRetryingStore({
    file: join(stateDir, STORE_FILE),
    retentionMs: bounds.retentionDays * DAY_MS,
    rememberMs: bounds.rememberDays * DAY_MS,
    maxWaiting: bounds.maxWaiting,
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
}
