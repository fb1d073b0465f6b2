// Stores a server's cached description and lists in the state folder. The file is named by the hash of the
// catalog entry. An unreadable file counts as missing, and a failed write never fails a request. Files larger
// than the cache allows are not read (A8, ARCHITECTURE.md).

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Era, Eras } from '../../jsonrpc/modern-meta.ts';
import { MAX_LIST_BYTES, type TruncationReason } from '../lists/bounded-list.ts';
import type { ItemFaults } from '../lists/item-faults.ts';
import { type CacheHint, everyListKind, type ListKind, type Lists } from '../lists/lists.ts';
import type { ServerDescription } from './introduction.ts';

/** Version of the file format. A file of another version is ignored. */
const FORMAT = 3;
/** Maximum file size: items need up to twice their size as JSON text; the rest is for the description. */
const MAX_FILE_BYTES = 2 * everyListKind.length * MAX_LIST_BYTES + 64 * 1024 * 1024;

/** Server descriptions by protocol era (`legacy`: sessions; `modern`: stateless requests). */
export type ServerDescriptions = Readonly<Partial<Record<Era, ServerDescription>>>;
export type Hints = Readonly<Partial<Record<ListKind, CacheHint>>>;
/** Reasons why stored lists are truncated. */
export type Cuts = Readonly<Partial<Record<ListKind, TruncationReason>>>;
/** Faults of elements missing from the stored lists. */
export type UnreadableItems = Readonly<Partial<Record<ListKind, ItemFaults>>>;

/** Content of the file. */
export interface Stored {
  readonly descriptions: ServerDescriptions;
  readonly lists: Lists;
  readonly hints: Hints;
  readonly cuts?: Cuts;
  readonly unreadable?: UnreadableItems;
  /** Protocol eras that the server supports; absent before the first probe. */
  readonly eras?: Eras;
  /** True if every list is known, or declared missing by the server. */
  readonly isLearnt: boolean;
  /** Client capabilities that the gateway declared when it fetched the lists. */
  readonly offered: readonly string[];
}

export class ServerCacheFile {
  readonly #path: string | undefined;
  readonly #onProblem: (message: string) => void;
  #writing: Promise<void> | undefined;
  /** True if `save` was called after the last write began. */
  #isDirty = false;

  /** `path` is undefined if nothing is stored. `onProblem` receives errors of reading and writing. */
  constructor(path: string | undefined, onProblem: (message: string) => void) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  /** Returns the cache of an earlier run of the gateway. Never rejects. */
  async read(): Promise<Stored | undefined> {
    if (this.#path === undefined) return undefined;
    try {
      const { size } = await stat(this.#path);
      if (size > MAX_FILE_BYTES) throw new Error(`${size} bytes, at most ${MAX_FILE_BYTES} allowed`);
      // A gateway has written the content, so only the version of the format is checked.
      const stored = JSON.parse(await readFile(this.#path, 'utf8')) as Stored & { readonly format?: unknown };
      return stored.format === FORMAT ? stored : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#onProblem(
          `the cached lists in ${this.#path} are unreadable and are fetched again: ${(error as Error).message}`,
        );
      return undefined;
    }
  }

  /** Writes the current value of `stored`. Resolves after the write or a write error. */
  save(stored: () => Stored): Promise<void> {
    this.#isDirty = true;
    this.#writing ??= this.#write(stored).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Resolves when pending writes are done or have failed. */
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
      this.#onProblem(`could not write the cached lists to ${this.#path}: ${(error as Error).message}`);
    }
  }
}

/** Writes through a temporary file of a unique name: servers with equal entries share a file. */
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
