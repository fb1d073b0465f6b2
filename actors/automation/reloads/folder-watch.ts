// Watches a folder of trigger or agent files for changes: written or renamed files, or a replaced link.
// Notifications are debounced: an editor saves in several steps, and copying ten files is one change. Polling
// detects that the folder was removed or replaced, e.g. by a checkout, because the system continues to watch
// the removed folder.

import { type FSWatcher, statSync, watch } from 'node:fs';

const DEBOUNCE_MS = 250;
/** Maximum delay during continuous writes. */
const MAX_DEBOUNCE_MS = 2_000;
const POLL_MS = 2_000;

export class FolderWatch {
  readonly #folder: string;
  readonly #onChange: () => void;
  readonly #pollTimer: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  /** Identity of the watched folder; undefined if missing. */
  #watchedIdentity: string | undefined;
  /** Identity of the folder at the last poll. */
  #lastIdentity: string | undefined;
  #debounceTimer: NodeJS.Timeout | undefined;
  #debounceSince: number | undefined;

  constructor(folder: string, onChange: () => void) {
    this.#folder = folder;
    this.#onChange = onChange;
    // The first poll finds the folder, which is not a change: its notification is cancelled.
    this.#poll();
    clearTimeout(this.#debounceTimer);
    this.#debounceSince = undefined;
    this.#pollTimer = setInterval(() => this.#poll(), POLL_MS).unref();
  }

  close(): void {
    clearInterval(this.#pollTimer);
    clearTimeout(this.#debounceTimer);
    this.#watcher?.close();
  }

  #poll(): void {
    const identity = identityOf(this.#folder);
    if (identity !== this.#watchedIdentity) {
      this.#watcher?.close();
      this.#watchedIdentity = undefined;
      if (identity !== undefined) this.#open(identity);
    }
    // A new, removed or replaced folder is a change. An error of a running watch counts as a change, because
    // the watch may have missed one. An error at the start does not count.
    if (identity !== this.#lastIdentity) this.#notify();
    this.#lastIdentity = identity;
  }

  #open(identity: string): void {
    try {
      const watcher = watch(this.#folder, { persistent: false }, () => this.#notify());
      watcher.on('error', () => {
        this.#watchedIdentity = undefined;
        this.#lastIdentity = undefined;
      });
      this.#watcher = watcher;
      this.#watchedIdentity = identity;
    } catch {
      // The folder has disappeared, or no watch is available; retried at the next poll.
    }
  }

  /**
   * Calls `onChange` after a quiet period. During a change a file may be empty or missing; the trigger that
   * it defines must not disappear.
   */
  #notify(): void {
    const now = performance.now();
    this.#debounceSince ??= now;
    clearTimeout(this.#debounceTimer);
    const inMs = Math.min(DEBOUNCE_MS, this.#debounceSince + MAX_DEBOUNCE_MS - now);
    this.#debounceTimer = setTimeout(() => {
      this.#debounceSince = undefined;
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
