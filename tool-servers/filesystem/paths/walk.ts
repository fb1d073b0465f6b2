// A bounded walk through a folder and what is below it, folder by folder, the near ones first: when it has to stop, what
// it has seen is the upper part of the tree.
//
// 1. It never enters a symbolic link, so it ends, and stays where it began. 2. It stops at its bounds and remembers which,
//    in the middle of a folder too.
// 3. A folder that cannot be read is counted and passed; only the one it starts from must be readable.

import { join } from 'node:path';
import { ToolError } from '../../tool-error.ts';
import type { Confinement, Entry } from '../confinement/confinement.ts';
import { TimeSlices } from '../time-slices.ts';
import type { Glob } from './glob.ts';

export interface WalkBounds {
  readonly maxEntries: number;
  /** Folders below the start that are entered. */
  readonly maxDepth: number;
  readonly maxMs: number;
}

export interface WalkedFolder {
  readonly path: string;
  /** From the start, joined by `/`; empty for the start. */
  readonly relative: string;
  /** Without what is excluded. */
  readonly entries: readonly Entry[];
  /** Whether it has more entries than the bounds left room or time for. */
  readonly isCut: boolean;
}

export class Walk {
  readonly #confinement: Confinement;
  readonly #bounds: WalkBounds;
  readonly #isExcluded: Glob;
  readonly #deadline: number;
  readonly #limits = new Set<string>();
  #visited = 0;
  #unreadable = 0;

  constructor(confinement: Confinement, bounds: WalkBounds, isExcluded: Glob) {
    this.#confinement = confinement;
    this.#bounds = bounds;
    this.#isExcluded = isExcluded;
    this.#deadline = performance.now() + bounds.maxMs;
  }

  get visited(): number {
    return this.#visited;
  }

  /** Why the walk is not complete, for people; empty when it is. */
  get limits(): readonly string[] {
    const unreadable = this.#unreadable;
    const folders = unreadable === 1 ? '1 folder' : `${unreadable} folders`;
    return [...this.#limits, ...(unreadable > 0 ? [`${folders} could not be read`] : [])];
  }

  /** @throws ToolError when the start cannot be read; the reason of `signal` */
  async *folders(start: string, signal: AbortSignal): AsyncGenerator<WalkedFolder> {
    const open = [{ path: start, relative: '', depth: 0 }];
    for (let next = 0; next < open.length; next++) {
      signal.throwIfAborted();
      const { path, relative, depth } = open[next] as (typeof open)[number];
      const room = this.#bounds.maxEntries - this.#visited;
      if (room <= 0) {
        this.#limits.add(`${this.#bounds.maxEntries} entries were looked at`);
        return;
      }
      if (this.#isOver()) return;
      const folder = await this.#list(path, relative, room, signal);
      if (folder === undefined) continue;
      yield folder;
      for (const { name, kind } of folder.entries) {
        if (kind !== 'directory') continue;
        if (depth < this.#bounds.maxDepth)
          open.push({ path: join(folder.path, name), relative: below(relative, name), depth: depth + 1 });
        else this.#limits.add(`folders are deeper than ${this.#bounds.maxDepth}`);
      }
    }
  }

  /**
   * Those of `entries` of the folder `relative` whose path fits; fewer when the time is over.
   * @throws the reason of `signal`
   */
  async select(
    relative: string,
    entries: readonly Entry[],
    fits: Glob,
    signal: AbortSignal,
  ): Promise<{ selected: Entry[]; isCut: boolean }> {
    const selected: Entry[] = [];
    const slices = new TimeSlices(signal);
    for (const entry of entries) {
      if (slices.isDue) {
        await slices.next();
        if (this.#isOver()) return { selected, isCut: true };
      }
      if (fits(below(relative, entry.name))) selected.push(entry);
    }
    return { selected, isCut: false };
  }

  #isOver(): boolean {
    const isOver = performance.now() > this.#deadline;
    if (isOver) this.#limits.add(`${this.#bounds.maxMs / 1_000} seconds were over`);
    return isOver;
  }

  async #list(
    path: string,
    relative: string,
    room: number,
    signal: AbortSignal,
  ): Promise<WalkedFolder | undefined> {
    try {
      const listed = await this.#confinement.list(path, room, signal);
      this.#visited += listed.entries.length;
      if (listed.isTruncated) this.#limits.add(`${this.#bounds.maxEntries} entries were looked at`);
      const isIncluded = (relative: string) => !this.#isExcluded(relative);
      const { selected, isCut } = await this.select(relative, listed.entries, isIncluded, signal);
      return { path: listed.path, relative, entries: selected, isCut: isCut || listed.isTruncated };
    } catch (error) {
      // The reason of the signal may be one too.
      if (relative === '' || signal.aborted || !(error instanceof ToolError)) throw error;
      this.#unreadable++;
      return undefined;
    }
  }
}

/** The path of `name` in the folder `relative`. */
export function below(relative: string, name: string): string {
  return relative === '' ? name : `${relative}/${name}`;
}
