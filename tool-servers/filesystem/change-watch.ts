// Watches files and folders for changes. File system events report most changes quickly. A slow sweep over
// all items finds the rest: events are missing on network file systems, after a folder was replaced, and
// when the system is out of watchers.
//
// 1. An item changes when its fingerprint differs. An event only starts a check.
// 2. Several changes within COALESCE_MS are reported once. Events for unwatched names are ignored.
// 3. A watcher that missed a change is replaced. `remove` and `close` stop all reports.
// 4. After each check, the item pauses for REST_FACTOR times the duration. Checks per item do not overlap.

import { type FSWatcher, watch } from 'node:fs';
import { COALESCE_MS, REST_FACTOR, SWEEP_MS } from './limits.ts';

export interface WatchedItem {
  /** Folder whose events concern the item. */
  readonly folder: string;
  /** Name in the folder; undefined to watch the list of names. */
  readonly name: string | undefined;
  /** Returns a comparable description of the current state; never rejects. */
  fingerprint(): Promise<string>;
  onChange(): void;
}

interface ItemState extends WatchedItem {
  readonly key: string;
  lastFingerprint: string | undefined;
  isChecking: boolean;
  /** Earliest time of the next check, by `performance.now()`. */
  nextCheckAt: number;
}

interface Folder {
  watcher: FSWatcher | undefined;
  /** Delay between an event and the check. */
  timer: NodeJS.Timeout | undefined;
  /** Items to check when the timer fires. */
  readonly due: Set<ItemState>;
}

export class ChangeWatch {
  readonly #items = new Map<string, ItemState>();
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

  /** Watches an item; resolves after the first check. Does nothing if `key` is already watched. */
  async add(key: string, options: WatchedItem): Promise<void> {
    if (this.#items.has(key)) return;
    const { folder, name } = options;
    const item: ItemState = {
      key,
      folder,
      name,
      fingerprint: () => options.fingerprint(),
      onChange: () => options.onChange(),
      lastFingerprint: undefined,
      isChecking: false,
      nextCheckAt: 0,
    };
    this.#items.set(key, item);
    if (!this.#folders.has(folder))
      this.#folders.set(folder, { watcher: this.#openWatcher(folder), timer: undefined, due: new Set() });
    this.#sweep ??= setInterval(() => this.#sweepAll(), this.#sweepMs).unref();
    await this.#check(item);
  }

  remove(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    this.#items.delete(key);
    const folder = this.#folders.get(item.folder);
    folder?.due.delete(item);
    if ([...this.#items.values()].some((other) => other.folder === item.folder)) return;
    this.#removeFolder(item.folder);
    if (this.#items.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  close(): void {
    for (const key of [...this.#items.keys()]) this.remove(key);
  }

  #openWatcher(path: string): FSWatcher | undefined {
    try {
      const watcher = watch(path, { persistent: false }, (event, name) =>
        this.#handleEvent(path, event, name),
      );
      watcher.on('error', () => this.#closeWatcher(path));
      return watcher;
    } catch {
      // The sweep detects changes instead, and opens the watcher later.
      return undefined;
    }
  }

  #closeWatcher(path: string): void {
    const folder = this.#folders.get(path);
    folder?.watcher?.close();
    if (folder) folder.watcher = undefined;
  }

  #removeFolder(path: string): void {
    this.#closeWatcher(path);
    clearTimeout(this.#folders.get(path)?.timer);
    this.#folders.delete(path);
  }

  #handleEvent(path: string, event: string, name: string | null): void {
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    for (const item of this.#items.values()) {
      if (item.folder !== path) continue;
      // A 'change' event concerns content, not names.
      const concernsItem = item.name === undefined ? event === 'rename' : name === null || item.name === name;
      if (concernsItem) folder.due.add(item);
    }
    this.#scheduleCheck(folder);
  }

  #scheduleCheck(folder: Folder): void {
    if (folder.due.size === 0 || folder.timer !== undefined) return;
    let waitMs = COALESCE_MS;
    for (const { nextCheckAt } of folder.due) waitMs = Math.max(waitMs, nextCheckAt - performance.now());
    folder.timer = setTimeout(() => {
      folder.timer = undefined;
      // #check schedules the items again that it is checking now.
      const due = [...folder.due].filter(({ isChecking }) => !isChecking);
      for (const item of due) {
        folder.due.delete(item);
        this.#check(item);
      }
    }, waitMs).unref();
  }

  async #sweepAll(): Promise<void> {
    for (const item of [...this.#items.values()]) {
      if (performance.now() < item.nextCheckAt) continue;
      const isChanged = await this.#check(item);
      const folder = this.#folders.get(item.folder);
      if (folder === undefined) continue;
      if (isChanged) this.#closeWatcher(item.folder);
      folder.watcher ??= this.#openWatcher(item.folder);
    }
  }

  /** Returns true if the item has changed; false during another check. */
  async #check(item: ItemState): Promise<boolean> {
    if (item.isChecking) return false;
    item.isChecking = true;
    const start = performance.now();
    const fingerprint = await item.fingerprint();
    const end = performance.now();
    item.nextCheckAt = end + (end - start) * REST_FACTOR;
    item.isChecking = false;
    const isChanged = item.lastFingerprint !== undefined && item.lastFingerprint !== fingerprint;
    item.lastFingerprint = fingerprint;
    if (this.#items.get(item.key) !== item) return false;
    if (isChanged) item.onChange();
    const folder = this.#folders.get(item.folder);
    if (folder?.due.has(item)) this.#scheduleCheck(folder);
    return isChanged;
  }
}
