// The file in the state folder that holds what is known of a server, under the hash of its catalog entry. It is a cache: an
// unreadable one is as good as none, and a failed write costs a start, not a request.
//
// KF1 (A8)  no file is read that is larger than what is held of a server could make it.

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Era, Eras } from '../../jsonrpc/modern-meta.ts';
import { type Cut, MAX_LIST_BYTES } from '../lists/bounded-list.ts';
import type { ItemFaults } from '../lists/item-faults.ts';
import { type CacheHint, everyListKind, type ListKind, type Lists } from '../lists/lists.ts';
import type { ServerDescription } from './server-description.ts';

const FORMAT = 3;
/** As text in JSON the items take up to twice their bytes; the rest is for what the server has said of itself. */
const MAX_FILE_BYTES = 2 * everyListKind.length * MAX_LIST_BYTES + 64 * 1024 * 1024;

export type ServerDescriptions = Readonly<Partial<Record<Era, ServerDescription>>>;
export type Hints = Readonly<Partial<Record<ListKind, CacheHint>>>;
export type Cuts = Readonly<Partial<Record<ListKind, Cut>>>;
/** Faults of elements missing from the stored lists. */
export type Unreadable = Readonly<Partial<Record<ListKind, ItemFaults>>>;

export interface Stored {
  readonly descriptions: ServerDescriptions;
  readonly lists: Lists;
  readonly hints: Hints;
  readonly cuts?: Cuts;
  readonly unreadable?: Unreadable;
  readonly eras?: Eras;
  readonly isLearnt: boolean;
  readonly offered: readonly string[];
}

export class ServerCacheFile {
  readonly #path: string | undefined;
  readonly #onProblem: (what: string) => void;
  #writing: Promise<void> | undefined;
  #isDirty = false;

  /** Without a path nothing is kept. */
  constructor(path: string | undefined, onProblem: (what: string) => void) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  /** What an earlier run of the gateway has learnt. Never rejects. */
  async read(): Promise<Stored | undefined> {
    if (this.#path === undefined) return undefined;
    try {
      const { size } = await stat(this.#path);
      if (size > MAX_FILE_BYTES)
        throw new Error(`it has ${size} bytes, and ${MAX_FILE_BYTES} at most are read`);
      const stored = JSON.parse(await readFile(this.#path, 'utf8')) as Stored & { readonly format?: unknown };
      return stored.format === FORMAT ? stored : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#onProblem(
          `the cached lists in ${this.#path} are unreadable and are fetched anew: ${(error as Error).message}`,
        );
      return undefined;
    }
  }

  /** Writes what `stored` gives by then; resolves once that is on the disk, or could not be put there. */
  save(stored: () => Stored): Promise<void> {
    this.#isDirty = true;
    this.#writing ??= this.#write(stored).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Resolves when everything saved so far is on the disk, or could not be put there. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #write(stored: () => Stored): Promise<void> {
    if (this.#path === undefined) return;
    try {
      while (this.#isDirty) {
        this.#isDirty = false;
        await replaceFile(this.#path, JSON.stringify({ format: FORMAT, ...stored() }));
      }
    } catch (error) {
      this.#onProblem(`the lists could not be kept in ${this.#path}: ${(error as Error).message}`);
    }
  }
}

/** Servers with equal entries share a file, and may write it at the same moment: each under a name of its own first. */
async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
