// Watches a folder for changes: a file written, renamed, or exchanged as a whole by a link. It gives hints only,
// debounced: an editor saves in several steps, and a copy of ten files is one change.
//
// A folder that is away for a while, or exchanged by another of the same name, as during a checkout, is found again: the
// watch of the system stays with the one that was removed, and says nothing.

import { type FSWatcher, statSync, watch } from 'node:fs';

const GATHER_MS = 250;
/** Who writes on and on is not waited for longer. */
const LONGEST_GATHER_MS = 2_000;
const LOOK_MS = 2_000;

export class FolderWatch {
  readonly #folder: string;
  readonly #onChange: () => void;
  readonly #looking: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  /** Which folder is watched; undefined while there is none. */
  #watched: string | undefined;
  /** Which folder was there when it was looked for last. */
  #seen: string | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #gatheringSince: number | undefined;

  constructor(folder: string, onChange: () => void) {
    this.#folder = folder;
    this.#onChange = onChange;
    this.#look();
    clearTimeout(this.#gathering);
    this.#gatheringSince = undefined;
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#looking);
    clearTimeout(this.#gathering);
    this.#watcher?.close();
  }

  #look(): void {
    const identity = identityOf(this.#folder);
    if (identity !== this.#watched) {
      this.#watcher?.close();
      this.#watched = undefined;
      if (identity !== undefined) this.#open(identity);
    }
    // What happened while nobody watched is unknown; that nobody can watch is no change.
    if (identity !== this.#seen) this.#tell();
    this.#seen = identity;
  }

  #open(identity: string): void {
    try {
      const watcher = watch(this.#folder, { persistent: false }, () => this.#tell());
      watcher.on('error', () => {
        this.#watched = undefined;
        this.#seen = undefined;
      });
      this.#watcher = watcher;
      this.#watched = identity;
    } catch {
      // It has gone in between, or the system has no more watches to give: looked for again.
    }
  }

  /** Quiet is waited for: in the middle of a change a file may be empty or away, and its trigger must not be gone for that. */
  #tell(): void {
    const now = performance.now();
    this.#gatheringSince ??= now;
    clearTimeout(this.#gathering);
    const inMs = Math.min(GATHER_MS, this.#gatheringSince + LONGEST_GATHER_MS - now);
    this.#gathering = setTimeout(() => {
      this.#gatheringSince = undefined;
      this.#onChange();
    }, inMs).unref();
  }
}

function identityOf(folder: string): string | undefined {
  try {
    const { dev, ino, birthtimeMs } = statSync(folder);
    return `${dev}:${ino}:${birthtimeMs}`;
  } catch {
    return undefined;
  }
}
