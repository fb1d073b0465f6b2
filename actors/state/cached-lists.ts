// Paths and cleanup of the files that cache the lists of servers, such as their tools: a file per catalog
// entry, named by the entry's hash. After an entry was changed or removed, the file is kept for RETENTION_MS,
// since the entry may return.
//
// At the start and daily, each gateway sets the modification time of the files that its catalog uses.
// Gateways that share a folder therefore keep files that another catalog uses. Other files in the folder
// are not touched. The files are only a cache, so no method rejects.

import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { CoalescedRuns } from '../base/time/coalesced-runs.ts';

const HOUR_MS = 3_600_000;
export const RETENTION_MS = 30 * 24 * HOUR_MS;
/** Minimum age of the modification time before it is set to the current time. */
const FRESH_MS = 12 * HOUR_MS;
/** Age at which an unfinished file is removed; no write takes that long. */
const ABANDONED_AFTER_MS = HOUR_MS;

const finished = /^([0-9a-f]{16})\.json$/;
const unfinished = /^[0-9a-f]{16}\.json\.[\w-]+\.tmp$/;

export class CachedListFiles {
  readonly #folder: string;
  readonly #onWarning: (message: string) => void;
  readonly #sweeps: CoalescedRuns<number>;

  /** `usedHashes` returns the hashes of the current catalog entries. */
  constructor(stateDir: string, usedHashes: () => ReadonlySet<string>, onWarning: (message: string) => void) {
    this.#folder = join(stateDir, 'lists');
    this.#sweeps = new CoalescedRuns(() => this.#sweep(usedHashes));
    this.#onWarning = onWarning;
  }

  /** Returns the path for the entry's hash. */
  path(hash: string): string {
    return join(this.#folder, `${hash}.json`);
  }

  /** Marks used files and removes unused ones. Returns the number of removed files. Never rejects. */
  sweep(): Promise<number> {
    return this.#sweeps.run();
  }

  async #sweep(usedHashes: () => ReadonlySet<string>): Promise<number> {
    let removed = 0;
    try {
      const usedNow = usedHashes();
      for (const name of await namesIn(this.#folder)) {
        const hash = finished.exec(name)?.[1];
        if (hash === undefined && !unfinished.test(name)) continue;
        const path = join(this.#folder, name);
        const ageMs = Date.now() - (await modifiedAt(path));
        if (hash !== undefined && usedNow.has(hash)) {
          if (ageMs > FRESH_MS) await mark(path);
        } else if (ageMs > (hash === undefined ? ABANDONED_AFTER_MS : RETENTION_MS)) {
          // A reload could have restored the entry meanwhile.
          if (hash !== undefined && usedHashes().has(hash)) continue;
          await rm(path, { force: true });
          removed += 1;
        }
      }
    } catch (error) {
      this.#onWarning(`could not sweep ${this.#folder}: ${(error as Error).message}`);
    }
    return removed;
  }
}

/** Returns the file names; none if the folder does not exist. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return (await unlessMissing(readdir(folder))) ?? [];
}

/** Returns the last modification in epoch ms, or now if the file no longer exists. */
async function modifiedAt(path: string): Promise<number> {
  return (await unlessMissing(stat(path)))?.mtimeMs ?? Date.now();
}

async function mark(path: string): Promise<void> {
  const now = new Date();
  await unlessMissing(utimes(path, now, now));
}

async function unlessMissing<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
