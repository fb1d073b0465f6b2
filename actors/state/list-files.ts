// The files that hold what servers have said of themselves, one for each catalog entry, under the entry's hash. An entry
// that is changed or taken out leaves its file behind, and may come back; what nobody has used for long is removed.
//
// LF1  a file that this gateway's catalog uses is never removed, however long ago it was written.
// LF2  nor one that another gateway in the same folder uses: each marks its own, by the time of the last change, at its
//      start and once a day, and only what has had no mark for KEPT_MS is removed.
// LF3  only files of this form are touched; they are a cache, so that nothing here fails.

import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { CoalescedRuns } from '../base/time/coalesced-runs.ts';

const HOUR_MS = 3_600_000;
export const KEPT_MS = 30 * 24 * HOUR_MS;
/** A mark is not repeated so soon: a start after a start, or a reload, has nothing to write. */
const FRESH_MS = 12 * HOUR_MS;
/** No write takes so long: its writer was killed. */
const LEFT_AFTER_MS = HOUR_MS;

const finished = /^([0-9a-f]{16})\.json$/;
const unfinished = /^[0-9a-f]{16}\.json\.[\w-]+\.tmp$/;

export class ListFiles {
  readonly #folder: string;
  readonly #onWarning: (message: string) => void;
  readonly #sweeps: CoalescedRuns<number>;

  /** `used` gives the hashes of the catalog's entries, as they are now. */
  constructor(stateDir: string, used: () => ReadonlySet<string>, onWarning: (message: string) => void) {
    this.#folder = join(stateDir, 'lists');
    this.#sweeps = new CoalescedRuns(() => this.#sweep(used));
    this.#onWarning = onWarning;
  }

  /** Where the lists of the entry of this hash are. */
  path(hash: string): string {
    return join(this.#folder, `${hash}.json`);
  }

  /** Marks the files in use, and removes those that are in nobody's. Gives how many it has removed. Never rejects. */
  sweep(): Promise<number> {
    return this.#sweeps.run();
  }

  async #sweep(used: () => ReadonlySet<string>): Promise<number> {
    let removed = 0;
    try {
      const marked = used();
      for (const name of await namesIn(this.#folder)) {
        const hash = finished.exec(name)?.[1];
        if (hash === undefined && !unfinished.test(name)) continue;
        const path = join(this.#folder, name);
        const ageMs = Date.now() - (await changedAt(path));
        if (hash !== undefined && marked.has(hash)) {
          if (ageMs > FRESH_MS) await mark(path);
        } else if (ageMs > (hash === undefined ? LEFT_AFTER_MS : KEPT_MS)) {
          // A reload may have brought the entry back since.
          if (hash !== undefined && used().has(hash)) continue;
          await rm(path, { force: true });
          removed += 1;
        }
      }
    } catch (error) {
      this.#onWarning(`${this.#folder} is not swept: ${(error as Error).message}`);
    }
    return removed;
  }
}

/** None while no server has been asked for anything. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return (await unlessMissing(readdir(folder))) ?? [];
}

/** Epoch ms; now, for a file that has been removed or renamed meanwhile. */
async function changedAt(path: string): Promise<number> {
  return (await unlessMissing(stat(path)))?.mtimeMs ?? Date.now();
}

async function mark(path: string): Promise<void> {
  const now = new Date();
  await unlessMissing(utimes(path, now, now));
}

async function unlessMissing<T>(doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
