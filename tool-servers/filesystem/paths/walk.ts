// Bounded breadth-first walk through a folder tree. If it stops early, it has visited the upper levels.
//
// 1. It never follows symbolic links, so it terminates and stays in the start folder.
// 2. It stops at its limits, also in the middle of a folder, and records the limit that was reached.
// 3. Unreadable folders are counted and skipped; only the start must be readable.

import { join } from 'node:path';
import { ToolError } from '../../tool-error.ts';
import type { Confinement, FolderEntry } from '../confinement/confinement.ts';
import { TimeSlices } from '../time-slices.ts';
import type { Glob } from './glob.ts';

export interface WalkBounds {
  readonly maxEntries: number;
  /** Maximum depth, relative to the start. */
  readonly maxDepth: number;
  readonly maxMs: number;
}

export interface VisitedFolder {
  readonly path: string;
  /** Path from the start, joined by `/`; empty for the start. */
  readonly relative: string;
  /** Entries that no exclusion pattern matches. */
  readonly entries: readonly FolderEntry[];
  /** True if a limit omitted entries. */
  readonly isCut: boolean;
}

export class Walk {
  readonly #confinement: Confinement;
  readonly #bounds: WalkBounds;
  readonly #isExcluded: Glob;
  readonly #deadline: number;
  readonly #limits = new Set<string>();
  #visitedCount = 0;
  #unreadableCount = 0;

  constructor(confinement: Confinement, bounds: WalkBounds, isExcluded: Glob) {
    this.#confinement = confinement;
    this.#bounds = bounds;
    this.#isExcluded = isExcluded;
    this.#deadline = performance.now() + bounds.maxMs;
  }

  get visitedCount(): number {
    return this.#visitedCount;
  }

  /** Reasons for an incomplete walk; empty if the walk is complete. */
  get limits(): readonly string[] {
    const unreadable = this.#unreadableCount;
    const folders = unreadable === 1 ? '1 folder' : `${unreadable} folders`;
    return [...this.#limits, ...(unreadable > 0 ? [`${folders} could not be read`] : [])];
  }

  /** Yields the folders. Throws a ToolError if the start is unreadable, or the reason of `signal`. */
  async *folders(start: string, signal: AbortSignal): AsyncGenerator<VisitedFolder> {
    const queue = [{ path: start, relative: '', depth: 0 }];
    for (let next = 0; next < queue.length; next++) {
      signal.throwIfAborted();
      const { path, relative, depth } = queue[next] as (typeof queue)[number];
      const remaining = this.#bounds.maxEntries - this.#visitedCount;
      if (remaining <= 0) {
        this.#limits.add(`the limit of ${this.#bounds.maxEntries} entries was reached`);
        return;
      }
      if (this.#isOver()) return;
      const folder = await this.#list(path, relative, remaining, signal);
      if (folder === undefined) continue;
      yield folder;
      for (const { name, kind } of folder.entries) {
        if (kind !== 'directory') continue;
        if (depth < this.#bounds.maxDepth)
          queue.push({
            path: join(folder.path, name),
            relative: childPath(relative, name),
            depth: depth + 1,
          });
        else this.#limits.add(`folders deeper than ${this.#bounds.maxDepth} levels were skipped`);
      }
    }
  }

  /**
   * Returns the matching entries of the folder `relative`; `isCut` is true if the time limit was reached.
   * @throws the reason of `signal`
   */
  async select(
    relative: string,
    entries: readonly FolderEntry[],
    matches: Glob,
    signal: AbortSignal,
  ): Promise<{ selected: FolderEntry[]; isCut: boolean }> {
    const selected: FolderEntry[] = [];
    const slices = new TimeSlices(signal);
    for (const entry of entries) {
      if (slices.isDue) {
        await slices.pause();
        if (this.#isOver()) return { selected, isCut: true };
      }
      if (matches(childPath(relative, entry.name))) selected.push(entry);
    }
    return { selected, isCut: false };
  }

  #isOver(): boolean {
    const isOver = performance.now() > this.#deadline;
    if (isOver) this.#limits.add(`the time limit of ${this.#bounds.maxMs / 1_000} seconds was reached`);
    return isOver;
  }

  async #list(
    path: string,
    relative: string,
    remaining: number,
    signal: AbortSignal,
  ): Promise<VisitedFolder | undefined> {
    try {
      const listing = await this.#confinement.list(path, remaining, signal);
      this.#visitedCount += listing.entries.length;
      if (listing.isTruncated)
        this.#limits.add(`the limit of ${this.#bounds.maxEntries} entries was reached`);
      const isIncluded = (relative: string) => !this.#isExcluded(relative);
      const { selected, isCut } = await this.select(relative, listing.entries, isIncluded, signal);
      return { path: listing.path, relative, entries: selected, isCut: isCut || listing.isTruncated };
    } catch (error) {
      // The reason of the signal may be a ToolError.
      if (relative === '' || signal.aborted || !(error instanceof ToolError)) throw error;
      this.#unreadableCount++;
      return undefined;
    }
  }
}

/** Returns the path of `name` in the folder `relative`. */
export function childPath(relative: string, name: string): string {
  return relative === '' ? name : `${relative}/${name}`;
}
