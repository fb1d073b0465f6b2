// What is known of a server without asking it: its introduction and its lists. Kept in memory and, by the hash of
// its catalog entry, in the state folder, so that a restarted gateway lists everything without starting anything.
// The file is a cache: an unreadable one is as good as none, and a failed write costs a start, not a request.

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Advert } from './advert.ts';
import type { Connection } from './connection.ts';
import { everyListKind, fetchList, type ListKind, type Lists, listKinds } from './lists.ts';

const FORMAT = 1;

export class Known {
  advert: Advert | undefined;
  lists: Lists = {};
  /** Goes up with every change, so that derived views know when to build themselves anew. */
  revision = 0;

  readonly #file: string | undefined;
  readonly #onProblem: (what: string) => void;
  readonly #onChange: (kinds: readonly ListKind[], isFirst: boolean) => void;
  #isWriting = false;
  #isDirty = false;

  constructor(
    file: string | undefined,
    /** `isFirst`: these lists were unknown before, so that only an aggregate can have been shown without them. */
    onChange: (kinds: readonly ListKind[], isFirst: boolean) => void,
    onProblem: (what: string) => void,
  ) {
    this.#file = file;
    this.#onChange = onChange;
    this.#onProblem = onProblem;
  }

  /** Whether the server has introduced itself at some time. */
  get hasAdvert(): boolean {
    return this.advert !== undefined;
  }

  /** Reads what an earlier run of the gateway has learnt. */
  async load(): Promise<void> {
    if (this.#file === undefined) return;
    try {
      const stored = JSON.parse(await readFile(this.#file, 'utf8')) as {
        format?: unknown;
        advert: Advert;
        lists: Lists;
      };
      if (stored.format !== FORMAT || this.advert !== undefined) return;
      this.advert = stored.advert;
      this.lists = stored.lists;
      this.revision += 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.#onProblem(
          `the cached lists in ${this.#file} are unreadable and are fetched anew: ${(error as Error).message}`,
        );
      }
    }
  }

  /** Takes the introduction and asks for every list; a list that fails keeps its last known state. */
  async learn(connection: Connection, timeoutMs: number): Promise<void> {
    this.advert = connection.advert;
    await this.#fetch(connection, everyListKind, timeoutMs);
    await this.#save();
  }

  /** Asks for some lists again, and gives those that have changed, of which everybody is told. Never rejects. */
  async refresh(
    connection: Connection,
    kinds: readonly ListKind[],
    timeoutMs: number,
  ): Promise<readonly ListKind[]> {
    const changed = await this.#fetch(connection, kinds, timeoutMs);
    // Nobody who waits for the lists waits for the disk.
    void this.#save();
    return changed;
  }

  async #fetch(
    connection: Connection,
    kinds: readonly ListKind[],
    timeoutMs: number,
  ): Promise<readonly ListKind[]> {
    const capabilities = connection.advert?.capabilities ?? {};
    const learnt: ListKind[] = [];
    const changed: ListKind[] = [];
    await Promise.all(
      kinds.map(async (kind) => {
        if (capabilities[listKinds[kind].capability] === undefined) return;
        try {
          const items = await fetchList(connection, kind, timeoutMs);
          const before = this.lists[kind];
          if (before === undefined) learnt.push(kind);
          else if (JSON.stringify(items) !== JSON.stringify(before)) changed.push(kind);
          this.lists = { ...this.lists, [kind]: items };
        } catch (error) {
          // Many servers declare resources and know no templates: an unknown method is an empty list.
          if (this.lists[kind] === undefined && kind === 'resourceTemplates')
            this.lists = { ...this.lists, [kind]: [] };
          else this.#onProblem(`${listKinds[kind].method} failed: ${(error as Error).message}`);
        }
      }),
    );
    this.revision += 1;
    const news = learnt.filter((kind) => this.lists[kind]?.length !== 0);
    if (news.length > 0) this.#onChange(news, true);
    if (changed.length > 0) this.#onChange(changed, false);
    return changed;
  }

  async #save(): Promise<void> {
    if (this.#file === undefined) return;
    this.#isDirty = true;
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      while (this.#isDirty) {
        this.#isDirty = false;
        const text = JSON.stringify({ format: FORMAT, advert: this.advert, lists: this.lists });
        await replaceFile(this.#file, text);
      }
    } catch (error) {
      this.#onProblem(`the lists could not be kept in ${this.#file}: ${(error as Error).message}`);
    } finally {
      this.#isWriting = false;
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
