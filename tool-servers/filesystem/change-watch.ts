// Tells when something on disk is no longer as it was seen last. The system's own notices make it quick, and a slow sweep
// makes it true: notices are missing on network file systems, after a folder was replaced, and when the system has no
// more to give.
//
// 1. A change is told when a look at the thing gives another answer, never because of a notice alone.
// 2. Several changes within COALESCE_MS are told once. 3. A notice about anything else costs no look.
// 4. A watch that missed a change is replaced. 5. After `remove` and `close` nothing is told.
// 6. A look that took long is not repeated before REST_FACTOR times that time; one thing is looked at once at a time.

import { type FSWatcher, watch } from 'node:fs';
import { COALESCE_MS, REST_FACTOR, SWEEP_MS } from './limits.ts';

export interface Watched {
  /** Whose notices are about it. */
  readonly folder: string;
  /** Its name in the folder; undefined when it is the folder's names. */
  readonly name: string | undefined;
  /** What it is like now, in a form that can be compared; never rejects. */
  look(): Promise<string>;
  changed(): void;
}

interface Item extends Watched {
  readonly key: string;
  seen: string | undefined;
  isLooking: boolean;
  /** When it may be looked at again, by `performance.now()`. */
  restsUntil: number;
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
      key,
      folder,
      name,
      look: () => watched.look(),
      changed: () => watched.changed(),
      seen: undefined,
      isLooking: false,
      restsUntil: 0,
    };
    this.#items.set(key, item);
    if (!this.#folders.has(folder))
      this.#folders.set(folder, { watcher: this.#open(folder), timer: undefined, due: new Set() });
    this.#sweep ??= setInterval(() => this.#sweepAll(), this.#sweepMs).unref();
    await this.#look(item);
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
      const watcher = watch(path, { persistent: false }, (event, name) => this.#noticed(path, event, name));
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

  #noticed(path: string, event: string, name: string | null): void {
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    for (const item of this.#items.values()) {
      if (item.folder !== path) continue;
      // The other event is about content: it changes no name.
      const isAbout = item.name === undefined ? event === 'rename' : name === null || item.name === name;
      if (isAbout) folder.due.add(item);
    }
    this.#lookSoon(folder);
  }

  #lookSoon(folder: Folder): void {
    if (folder.due.size === 0 || folder.timer !== undefined) return;
    let waitMs = COALESCE_MS;
    for (const { restsUntil } of folder.due) waitMs = Math.max(waitMs, restsUntil - performance.now());
    folder.timer = setTimeout(() => {
      folder.timer = undefined;
      // The others wait for the end of the look that is under way.
      const due = [...folder.due].filter(({ isLooking }) => !isLooking);
      for (const item of due) {
        folder.due.delete(item);
        this.#look(item);
      }
    }, waitMs).unref();
  }

  async #sweepAll(): Promise<void> {
    for (const item of [...this.#items.values()]) {
      if (performance.now() < item.restsUntil) continue;
      const isChanged = await this.#look(item);
      const folder = this.#folders.get(item.folder);
      if (folder === undefined) continue;
      if (isChanged) this.#forget(item.folder);
      folder.watcher ??= this.#open(item.folder);
    }
  }

  /** Whether it changed; not when it is being looked at already. */
  async #look(item: Item): Promise<boolean> {
    if (item.isLooking) return false;
    item.isLooking = true;
    const start = performance.now();
    const now = await item.look();
    const end = performance.now();
    item.restsUntil = end + (end - start) * REST_FACTOR;
    item.isLooking = false;
    const isChanged = item.seen !== undefined && item.seen !== now;
    item.seen = now;
    if (this.#items.get(item.key) !== item) return false;
    if (isChanged) item.changed();
    const folder = this.#folders.get(item.folder);
    if (folder?.due.has(item)) this.#lookSoon(folder);
    return isChanged;
  }
}
