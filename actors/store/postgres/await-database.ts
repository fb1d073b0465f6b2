// Retries to open the database at the start of the gateway. When power returns, the database may start later
// than the gateway. The time is limited, and the retries are logged periodically. Permanent errors, such as a
// wrong password or a missing database, are thrown immediately.

import { setTimeout as elapse } from 'node:timers/promises';
import { StoreFullError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import { DatabaseAwayError } from './faults.ts';

export interface AwaitOptions {
  readonly log: Pick<Log, 'warn'>;
  /** Returns true if the gateway is stopping. */
  readonly isStopping: () => boolean;
  /** @default 60 seconds */
  readonly waitMs?: number;
  readonly tryEveryMs?: number;
  readonly logEveryMs?: number;
}

const WAIT_MS = 60_000;
const TRY_EVERY_MS = 500;
const LOG_EVERY_MS = 10_000;

/** Returns the result of `open`, retrying until it succeeds. Rejects with the last error. */
export async function awaitDatabase<T>(
  open: () => Promise<T>,
  { log, isStopping, waitMs = WAIT_MS, tryEveryMs = TRY_EVERY_MS, logEveryMs = LOG_EVERY_MS }: AwaitOptions,
): Promise<T> {
  const startedAt = performance.now();
  for (let logAt = startedAt; ; await elapse(tryEveryMs))
    try {
      return await open();
    } catch (error) {
      const now = performance.now();
      if (!isTemporary(error) || isStopping() || now - startedAt >= waitMs) throw error;
      if (now < logAt) continue;
      log.warn({ reason: error.message }, 'could not reach the database; retrying');
      logAt = now + logEveryMs;
    }
}

function isTemporary(error: unknown): error is Error {
  return error instanceof DatabaseAwayError || error instanceof StoreFullError;
}
