// What is known of a server without asking it: its introduction and its lists. Kept in memory and, by the hash of
// its catalog entry, in the state folder, so that a restarted gateway lists everything without starting anything.
// The file is a cache: an unreadable one is as good as none, and a failed write costs a start, not a request.

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Advert } from './advert.ts';
import type { Connection } from './connection.ts';
import type { Eras } from './eras.ts';
import {
  type CacheHint,
  everyListKind,
  fetchList,
  itemJson,
  type ListItem,
  type ListKind,
  type Lists,
  listKinds,
} from './lists.ts';

const FORMAT = 3;

interface Stored {
  readonly format?: unknown;
  readonly adverts: Adverts;
  readonly lists: Lists;
  readonly hints: Hints;
  readonly eras?: Eras;
  readonly isLearnt: boolean;
  readonly offered: readonly string[];
}

type Adverts = Readonly<Partial<Record<Era, Advert>>>;
type Hints = Readonly<Partial<Record<ListKind, CacheHint>>>;

export class Known {
  lists: Lists = {};
  /** How long, and for whom, a modern server lets its lists be kept. */
  hints: Hints = {};
  /** What a server under `era: auto` has turned out to speak. */
  eras: Eras | undefined;

  readonly #file: string | undefined;
  readonly #onProblem: (what: string) => void;
  readonly #onRevision: () => void;
  readonly #onChange: (kinds: readonly ListKind[], isFirst: boolean) => void;
  #adverts: Adverts = {};
  #isLearnt = false;
  /** What the client could do on whose connection the lists were learnt; some servers offer more to those who can more. */
  #offered: readonly string[] = [];
  #writing: Promise<void> | undefined;
  #isDirty = false;

  constructor(
    file: string | undefined,
    /** `isFirst`: these lists were unknown before, so that only an aggregate can have been shown without them. */
    onChange: (kinds: readonly ListKind[], isFirst: boolean) => void,
    onProblem: (what: string) => void,
    /** Told of every change, so that derived views are made anew. */
    onRevision: () => void = () => {},
  ) {
    this.#file = file;
    this.#onChange = onChange;
    this.#onProblem = onProblem;
    this.#onRevision = onRevision;
  }

  /** How the server has introduced itself, in whichever era. */
  get advert(): Advert | undefined {
    return this.#adverts.legacy ?? this.#adverts.modern;
  }

  /** How it has introduced itself in one era. */
  advertIn(era: Era): Advert | undefined {
    return this.#adverts[era];
  }

  /** Whether the server has been asked for everything at some time; to be asked for its eras is less. */
  get isLearnt(): boolean {
    return this.#isLearnt;
  }

  /** Whether the server may show more on this connection than it has shown so far. */
  mayLearnMoreFrom({ era, offered }: Pick<Connection, 'era' | 'offered'>): boolean {
    return era === 'legacy' && offered.some((capability) => !this.#offered.includes(capability));
  }

  note(era: Era, advert: Advert): void {
    this.#adverts = { ...this.#adverts, [era]: advert };
    this.#onRevision();
  }

  setEras(eras: Eras | undefined): void {
    this.eras = eras;
    void this.#save();
  }

  /** The input schema of a tool as it was last listed. */
  inputSchemaOf(tool: string): unknown {
    const item = this.lists.tools?.find(({ key }) => key === tool);
    // Only schemas that ask for headers are of interest, and few do.
    if (item === undefined || !(item.before + item.after).includes('x-mcp-header')) return undefined;
    return (JSON.parse(itemJson(item)) as { inputSchema?: unknown }).inputSchema;
  }

  /** Reads what an earlier run of the gateway has learnt. */
  async load(): Promise<void> {
    if (this.#file === undefined) return;
    try {
      const stored = JSON.parse(await readFile(this.#file, 'utf8')) as Stored;
      if (stored.format !== FORMAT || this.advert !== undefined) return;
      this.#adverts = stored.adverts;
      this.lists = stored.lists;
      this.hints = stored.hints;
      this.eras = stored.eras;
      this.#isLearnt = stored.isLearnt;
      this.#offered = stored.offered;
      this.#onRevision();
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
    if (connection.advert !== undefined) this.note(connection.era, connection.advert);
    await this.#fetch(connection, everyListKind, timeoutMs);
    this.#isLearnt = true;
    this.#onRevision();
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
    const { era, offered } = connection;
    const isPartial = era === 'legacy' && this.#offered.some((capability) => !offered.includes(capability));
    if (!isPartial && era === 'legacy') this.#offered = offered;
    const learnt: ListKind[] = [];
    const changed: ListKind[] = [];
    await Promise.all(
      kinds.map(async (kind) => {
        if (capabilities[listKinds[kind].capability] === undefined) return;
        try {
          const { items: shown, hint } = await fetchList(connection, kind, timeoutMs);
          this.hints = { ...this.hints, [kind]: hint };
          const before = this.lists[kind];
          const items = isPartial && before !== undefined ? united(shown, before) : shown;
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
    this.#onRevision();
    const news = learnt.filter((kind) => this.lists[kind]?.length !== 0);
    if (news.length > 0) this.#onChange(news, true);
    if (changed.length > 0) this.#onChange(changed, false);
    return changed;
  }

  /** Resolves when everything learnt so far is on the disk, or could not be put there. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  #save(): Promise<void> {
    this.#isDirty = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#file === undefined) return;
    try {
      while (this.#isDirty) {
        this.#isDirty = false;
        const { lists, hints, eras } = this;
        const stored: Stored = {
          format: FORMAT,
          adverts: this.#adverts,
          lists,
          hints,
          ...(eras === undefined ? {} : { eras }),
          isLearnt: this.#isLearnt,
          offered: this.#offered,
        };
        await replaceFile(this.#file, JSON.stringify(stored));
      }
    } catch (error) {
      this.#onProblem(`the lists could not be kept in ${this.#file}: ${(error as Error).message}`);
    }
  }
}

/** What one client is shown, and what another is that can do more: what is missing here may be hidden here only. */
function united(shown: readonly ListItem[], before: readonly ListItem[]): ListItem[] {
  const keys = new Set(shown.map(({ key }) => key));
  return [...shown, ...before.filter(({ key }) => !keys.has(key))];
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
