// Waits for a database that is away while the gateway starts: after a power cut both come up together, and the database needs longer.
//
// The wait has an end, and is told now and then. What no wait helps against, a wrong password or a database that is not there, ends it
// at once.

import { setTimeout as elapse } from 'node:timers/promises';
import { StoreFullError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import { DatabaseAwayError } from './faults.ts';

export interface AwaitOptions {
  readonly log: Pick<Log, 'warn'>;
  /** The gateway is stopping: nobody needs the database any more. */
  readonly isEnding: () => boolean;
  /** 60 s unless given. */
  readonly waitMs?: number;
  readonly tryEveryMs?: number;
  readonly toldEveryMs?: number;
}

const WAIT_MS = 60_000;
const TRY_EVERY_MS = 500;
const TOLD_EVERY_MS = 10_000;

/** Gives what `open` gives, tried until then. Rejects with its last error. */
export async function awaitDatabase<T>(
  open: () => Promise<T>,
  { log, isEnding, waitMs = WAIT_MS, tryEveryMs = TRY_EVERY_MS, toldEveryMs = TOLD_EVERY_MS }: AwaitOptions,
): Promise<T> {
  const begunAt = performance.now();
  for (let tellAt = begunAt; ; await elapse(tryEveryMs))
    try {
      return await open();
    } catch (error) {
      const now = performance.now();
      if (!isPassing(error) || isEnding() || now - begunAt >= waitMs) throw error;
      if (now < tellAt) continue;
      log.warn({ reason: error.message }, 'the database cannot be reached; it is tried again');
      tellAt = now + toldEveryMs;
    }
}

function isPassing(error: unknown): error is Error {
  return error instanceof DatabaseAwayError || error instanceof StoreFullError;
}
