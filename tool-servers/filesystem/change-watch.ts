// Tells when something on disk is no longer as it was seen last. The system's own notices make it quick, and a slow sweep
// makes it true: notices are missing on network file systems, after a folder was replaced, and when the system has no
// more to give.
//
// 1. A change is told when a look at the thing gives another answer, never because of a notice alone.
// 2. Several changes within COALESCE_MS are told once. 3. A notice about anything else costs no look.
// 4. A watch that missed a change is replaced. 5. After `remove` and `close` nothing is told.

import { type FSWatcher, watch } from 'node:fs';
import { COALESCE_MS, SWEEP_MS } from './limits.ts';

export interface Watched {
  /** Whose notices are about it. */
  readonly folder: string;
  /** Its name in the folder; undefined when everything in the folder is about it. */
  readonly name: string | undefined;
  /** What it is like now, in a form that can be compared; never rejects. */
  look(): Promise<string>;
  changed(): void;
}

interface Item extends Watched {
  seen: string | undefined;
  isLooking: boolean;
  isDue: boolean;
}

interface Folder {
  watcher: FSWatcher | undefined;
  /** Runs between a notice and the looks it causes. */
  timer: NodeJS.Timeout | undefined;
  readonly due: Set<Item>;
}

export class ChangeWatch {
  readonly #items = new Map<string, Item>();
  readonly #folders = new Map<string, Folder>();
  readonly #sweepMs: number;
  #sweep: NodeJS.Timeout | undefined;

  constructor(sweepMs = SWEEP_MS) {
    this.#sweepMs = sweepMs;
  }

  get size(): number {
    return this.#items.size;
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  /** Watches from now on; resolves when it has seen what it is like. The same key again changes nothing. */
  async add(key: string, watched: Watched): Promise<void> {
    if (this.#items.has(key)) return;
    const { folder, name } = watched;
    const item: Item = {
      folder,
      name,
      look: () => watched.look(),
      changed: () => watched.changed(),
      seen: undefined,
      isLooking: false,
      isDue: false,
    };
    this.#items.set(key, item);
    if (!this.#folders.has(folder))
      this.#folders.set(folder, { watcher: this.#open(folder), timer: undefined, due: new Set() });
    this.#sweep ??= setInterval(() => this.#sweepAll(), this.#sweepMs).unref();
    await this.#look(key, item);
  }

  remove(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    this.#items.delete(key);
    const folder = this.#folders.get(item.folder);
    folder?.due.delete(item);
    if ([...this.#items.values()].some((other) => other.folder === item.folder)) return;
    this.#drop(item.folder);
    if (this.#items.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  close(): void {
    for (const key of [...this.#items.keys()]) this.remove(key);
  }

  #open(path: string): FSWatcher | undefined {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => this.#noticed(path, name));
      watcher.on('error', () => this.#forget(path));
      return watcher;
    } catch {
      // Without it the sweep finds the changes, and tries again.
      return undefined;
    }
  }

  #forget(path: string): void {
    const folder = this.#folders.get(path);
    folder?.watcher?.close();
    if (folder) folder.watcher = undefined;
  }

  #drop(path: string): void {
    this.#forget(path);
    clearTimeout(this.#folders.get(path)?.timer);
    this.#folders.delete(path);
  }

  #noticed(path: string, name: string | null): void {
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    for (const item of this.#items.values()) {
      if (item.folder !== path) continue;
      if (name === null || item.name === undefined || item.name === name) folder.due.add(item);
    }
    if (folder.due.size === 0 || folder.timer !== undefined) return;
    folder.timer = setTimeout(() => {
      folder.timer = undefined;
      const due = [...folder.due];
      folder.due.clear();
      for (const [key, item] of this.#items) if (due.includes(item)) this.#look(key, item);
    }, COALESCE_MS).unref();
  }

  async #sweepAll(): Promise<void> {
    for (const [key, item] of [...this.#items]) {
      const isChanged = await this.#look(key, item);
      const folder = this.#folders.get(item.folder);
      if (folder === undefined) continue;
      if (isChanged) this.#forget(item.folder);
      folder.watcher ??= this.#open(item.folder);
    }
  }

  /** Whether it changed. One look at a time; one that is asked for meanwhile is done afterwards. */
  async #look(key: string, item: Item): Promise<boolean> {
    if (item.isLooking) {
      item.isDue = true;
      return false;
    }
    item.isLooking = true;
    const now = await item.look();
    item.isLooking = false;
    const isChanged = item.seen !== undefined && item.seen !== now;
    item.seen = now;
    if (this.#items.get(key) !== item) return false;
    if (isChanged) item.changed();
    if (!item.isDue) return isChanged;
    item.isDue = false;
    return (await this.#look(key, item)) || isChanged;
  }
}
