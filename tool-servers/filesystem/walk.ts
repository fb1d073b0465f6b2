// A bounded walk through a folder and what is below it, folder by folder, the near ones first: when it has to stop, what
// it has seen is the upper part of the tree.
//
// 1. It never enters a symbolic link, so it ends, and stays where it began. 2. It stops at its bounds and remembers which.
// 3. A folder that cannot be read is counted and passed; only the one it starts from must be readable.

import { join } from 'node:path';
import { ToolError } from '../tool-error.ts';
import type { Confinement, Entry } from './confinement.ts';
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
  /** Whether it has more entries than the bound left room for. */
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
    const { size } = this.#limits;
    const unreadable = this.#unreadable;
    const folders = unreadable === 1 ? '1 folder' : `${unreadable} folders`;
    return [...(size > 0 ? this.#limits : []), ...(unreadable > 0 ? [`${folders} could not be read`] : [])];
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
      if (performance.now() > this.#deadline) {
        this.#limits.add(`${this.#bounds.maxMs / 1_000} seconds were over`);
        return;
      }
      const folder = await this.#list(path, relative, room);
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

  async #list(path: string, relative: string, room: number): Promise<WalkedFolder | undefined> {
    try {
      const listed = await this.#confinement.list(path, room);
      this.#visited += listed.entries.length;
      if (listed.isTruncated) this.#limits.add(`${this.#bounds.maxEntries} entries were looked at`);
      const entries = listed.entries.filter(({ name }) => !this.#isExcluded(below(relative, name)));
      return { path: listed.path, relative, entries, isCut: listed.isTruncated };
    } catch (error) {
      if (relative === '' || !(error instanceof ToolError)) throw error;
      this.#unreadable++;
      return undefined;
    }
  }
}

/** The path of `name` in the folder `relative`. */
export function below(relative: string, name: string): string {
  return relative === '' ? name : `${relative}/${name}`;
}
