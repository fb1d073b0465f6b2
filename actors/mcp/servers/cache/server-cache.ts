// What is known of a server without asking it: its introduction and its lists. Kept in memory and, by the hash of
// its catalog entry, in the state folder, so that a restarted gateway lists everything without starting anything.
//
// KN1 (A8)  a list is held as far as its bounds allow (bounded-list.ts), read from the file or from the server; where the
//           gateway has no room for a new one the old one stays. What is cut is told once, and stands in `cuts`.
// KN2       after `close` nothing of the lists is held, whatever was still being fetched.

import type { Era, Eras } from '../../jsonrpc/modern-meta.ts';
import { type BoundedList, type Cut, cutMessages, ListBudget } from '../lists/bounded-list.ts';
import { checkedList } from '../lists/checked-list.ts';
import { faultSentence, type ItemFaults, joinFaults } from '../lists/item-faults.ts';
import { fetchList, UnknownListError } from '../lists/list-fetch.ts';
import {
  everyListKind,
  isSameItem,
  itemJson,
  type ListItem,
  type ListKind,
  type Lists,
  listKinds,
} from '../lists/lists.ts';
import { takesTaskCalls, taskToolsIn } from '../lists/task-support.ts';
import type { Connection } from '../pool/connection.ts';
import {
  type Cuts,
  type Hints,
  ServerCacheFile,
  type ServerDescriptions,
  type Stored,
  type Unreadable,
} from './server-cache-file.ts';
import type { ServerDescription } from './server-description.ts';

const noTools: ReadonlySet<string> = new Set();

export class ServerCache {
  lists: Lists = {};
  /** How long, and for whom, a modern server lets its lists be kept. */
  hints: Hints = {};
  /** What a server under `era: auto` has turned out to speak. */
  eras: Eras | undefined;
  /** Why the rest of a list is left out; of lists that are whole there is none. */
  cuts: Cuts = {};
  /** Names of the tools that require a task, if the server supports task calls. */
  taskTools: ReadonlySet<string> = noTools;

  readonly #file: ServerCacheFile;
  readonly #budget: ListBudget;
  readonly #onProblem: (what: string) => void;
  readonly #onRevision: () => void;
  readonly #onChange: (kinds: readonly ListKind[], isFirst: boolean) => void;
  readonly #watchers: ((kinds: readonly ListKind[]) => void)[] = [];
  readonly #toldCuts = new Set<string>();
  /** Items that were unreadable at the last fetch, per list. */
  #unreadable: Unreadable = {};
  /** The last log message about items, per list. */
  readonly #loggedFaults = new Map<ListKind, string | undefined>();
  #heldLists: Readonly<Partial<Record<ListKind, BoundedList>>> = {};
  #descriptions: ServerDescriptions = {};
  #wasAsked = false;
  /** The lists that it could not give when it was asked, and never before. */
  #missing: readonly ListKind[] = [];
  #isClosed = false;
  /** Tools with header annotations. */
  #annotated: ReadonlyMap<string, ListItem> = new Map();
  /** Source list of `#annotated`. */
  #lookedThrough: readonly ListItem[] | undefined;
  /** What the client could do on whose connection the lists were learnt; some servers offer more to those who can more. */
  #offered: readonly string[] = [];

  constructor(
    file: string | undefined,
    /** `isFirst`: these lists were unknown before, so that only an aggregate can have been shown without them. */
    onChange: (kinds: readonly ListKind[], isFirst: boolean) => void,
    onProblem: (what: string) => void,
    /** Told of every change, so that derived views are made anew. */
    onRevision: () => void = () => {},
    /** What the lists may take; by default they have a budget of their own. */
    room: ListBudget = new ListBudget(),
  ) {
    this.#file = new ServerCacheFile(file, onProblem);
    this.#budget = room;
    this.#onChange = onChange;
    this.#onProblem = onProblem;
    this.#onRevision = onRevision;
  }

  /** Calls `watcher` first with the changed lists of a fetch. */
  watch(watcher: (kinds: readonly ListKind[]) => void): void {
    this.#watchers.push(watcher);
  }

  /** How the server has introduced itself, in whichever era. */
  get description(): ServerDescription | undefined {
    return this.#descriptions.legacy ?? this.#descriptions.modern;
  }

  /** How it has introduced itself in one era. */
  descriptionIn(era: Era): ServerDescription | undefined {
    return this.#descriptions[era];
  }

  /** Whether the server has given everything at some time, or said that it has none; to be asked for its eras is less. */
  get isLearnt(): boolean {
    return this.#wasAsked && this.#missing.length === 0;
  }

  /** Whether it was asked for everything in this run of the gateway or, with success, in an earlier one. */
  get wasAsked(): boolean {
    return this.#wasAsked;
  }

  /** Whether the server may show more on this connection than it has shown so far. */
  mayLearnMoreFrom({ era, offered }: Pick<Connection, 'era' | 'offered'>): boolean {
    return era === 'legacy' && offered.some((capability) => !this.#offered.includes(capability));
  }

  note(era: Era, description: ServerDescription): void {
    this.#descriptions = { ...this.#descriptions, [era]: description };
    this.#findTaskTools();
    this.#onRevision();
  }

  setEras(eras: Eras | undefined): void {
    this.eras = eras;
    void this.#save();
  }

  /** The input schema of a tool as it was last listed, where that asks for headers. */
  inputSchemaOf(tool: string): unknown {
    const { tools } = this.lists;
    if (this.#lookedThrough !== tools) {
      this.#lookedThrough = tools;
      this.#annotated = annotatedIn(tools ?? []);
    }
    const item = this.#annotated.get(tool);
    if (item === undefined) return undefined;
    return (JSON.parse(itemJson(item)) as { inputSchema?: unknown }).inputSchema;
  }

  /** Invalid list items and the outcome in merged lists. */
  faultsOf(kind: ListKind): ItemFaults {
    const { [kind]: items } = this.lists;
    return joinFaults(this.#unreadable[kind], items && checkedList(kind, items).faults);
  }

  #findTaskTools(): void {
    const isTaskServer = takesTaskCalls(this.#descriptions.legacy);
    this.taskTools = isTaskServer ? taskToolsIn(this.lists.tools ?? []) : noTools;
  }

  /** Reads what an earlier run of the gateway has learnt. */
  async load(): Promise<void> {
    const stored = await this.#file.read();
    if (stored === undefined || this.#isClosed || this.description !== undefined) return;
    this.#descriptions = stored.descriptions;
    for (const kind of everyListKind) {
      const items = stored.lists[kind];
      if (items === undefined) continue;
      const held = this.#budget.newList();
      for (const item of items) held.add(item);
      held.cut ??= stored.cuts?.[kind];
      held.reserve(checkedList(kind, held.items).repairedBytes);
      this.#put(kind, held, stored.unreadable?.[kind]);
    }
    this.hints = stored.hints;
    this.eras = stored.eras;
    this.#wasAsked = stored.isLearnt;
    this.#offered = stored.offered;
    this.#onRevision();
  }

  /** The server is gone for good. */
  close(): void {
    this.#isClosed = true;
    for (const held of Object.values(this.#heldLists)) held.release();
    this.#heldLists = {};
  }

  /** Takes the introduction and asks for every list; a list that fails keeps its last known state. */
  async learn(connection: Connection, timeoutMs: number): Promise<void> {
    if (connection.description !== undefined) this.note(connection.era, connection.description);
    await this.#fetch(connection, everyListKind, timeoutMs);
    this.#wasAsked = true;
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

  /** Asks for those lists that the server could not give so far. Never rejects. */
  async askAgain(connection: Connection, timeoutMs: number): Promise<void> {
    await this.refresh(connection, this.#missing, timeoutMs);
  }

  async #fetch(
    connection: Connection,
    kinds: readonly ListKind[],
    timeoutMs: number,
  ): Promise<readonly ListKind[]> {
    const capabilities = connection.description?.capabilities ?? {};
    const { era, offered } = connection;
    const isPartial = era === 'legacy' && this.#offered.some((capability) => !offered.includes(capability));
    if (!isPartial && era === 'legacy') this.#offered = offered;
    const failed: ListKind[] = [];
    const learnt: ListKind[] = [];
    const changed: ListKind[] = [];
    await Promise.all(
      kinds.map(async (kind) => {
        if (capabilities[listKinds[kind].capability] === undefined) return;
        const held = this.#budget.newList();
        try {
          const hint = await fetchList(connection, kind, timeoutMs, held);
          const before = this.lists[kind];
          if (isPartial && before !== undefined) unite(held, before);
          if (this.#take(kind, held)) (before === undefined ? learnt : changed).push(kind);
          this.hints = { ...this.hints, [kind]: hint };
        } catch (error) {
          held.release();
          const isUnknown = this.lists[kind] === undefined;
          // Many servers declare resources and know no templates: an unknown method is an empty list.
          const isNone = kind === 'resourceTemplates' || error instanceof UnknownListError;
          if (isUnknown && isNone) this.#put(kind, this.#budget.newList());
          else if (isUnknown) failed.push(kind);
          if (!isUnknown || kind !== 'resourceTemplates')
            this.#onProblem(`${listKinds[kind].method} failed: ${(error as Error).message}`);
        }
      }),
    );
    if (this.#isClosed) return [];
    const isMissing = (kind: ListKind) =>
      failed.includes(kind) || (!kinds.includes(kind) && this.#missing.includes(kind));
    this.#missing = everyListKind.filter((kind) => this.lists[kind] === undefined && isMissing(kind));
    this.#onRevision();
    const news = learnt.filter((kind) => this.lists[kind]?.length !== 0);
    if (news.length > 0) this.#changed(news, true);
    if (changed.length > 0) this.#changed(changed, false);
    return changed;
  }

  #changed(kinds: readonly ListKind[], isFirst: boolean): void {
    for (const watcher of this.#watchers) watcher(kinds);
    this.#onChange(kinds, isFirst);
  }

  /** Holds a list that was fetched, unless it is the one that is held already; whether there is another one now. */
  #take(kind: ListKind, held: BoundedList): boolean {
    const before = this.lists[kind];
    const isSame = before !== undefined && areSame(held.items, before);
    if (!isSame && !held.reserve(checkedList(kind, held.items).repairedBytes)) held.cut = 'gateway_full';
    const isKept = before !== undefined && (isSame || held.cut === 'gateway_full');
    if (this.#isClosed || isKept) held.release();
    if (this.#isClosed) return false;
    if (isKept) {
      this.#noteCut(kind, held.cut);
      this.#noteFaults(kind, held.unreadable);
    } else this.#put(kind, held);
    return !isKept;
  }

  #put(kind: ListKind, held: BoundedList, unreadable: ItemFaults | undefined = held.unreadable): void {
    this.#heldLists[kind]?.release();
    this.#heldLists = { ...this.#heldLists, [kind]: held };
    this.lists = { ...this.lists, [kind]: held.items };
    if (kind === 'tools') this.#findTaskTools();
    this.#noteCut(kind, held.cut);
    this.#noteFaults(kind, unreadable);
  }

  #noteFaults(kind: ListKind, unreadable: ItemFaults): void {
    this.#unreadable = { ...this.#unreadable, [kind]: unreadable };
    const sentence = faultSentence(listKinds[kind].method, this.faultsOf(kind));
    if (sentence !== undefined && sentence !== this.#loggedFaults.get(kind)) this.#onProblem(sentence);
    this.#loggedFaults.set(kind, sentence);
  }

  #noteCut(kind: ListKind, cut: Cut | undefined): void {
    const { [kind]: told, ...others } = this.cuts;
    if (cut === told) return;
    this.cuts = cut === undefined ? others : { ...others, [kind]: cut };
    if (cut === undefined || this.#toldCuts.has(`${kind} ${cut}`)) return;
    this.#toldCuts.add(`${kind} ${cut}`);
    this.#onProblem(
      `${listKinds[kind].method} is cut off after ${this.lists[kind]?.length ?? 0} items (${cut}): ${cutMessages[cut]}`,
    );
  }

  /** Resolves when everything learnt so far is on the disk, or could not be put there. */
  flush(): Promise<void> {
    return this.#file.flush();
  }

  #save(): Promise<void> {
    return this.#file.save(() => this.#stored());
  }

  #stored(): Stored {
    const { lists, hints, cuts, eras } = this;
    return {
      descriptions: this.#descriptions,
      lists,
      hints,
      cuts,
      unreadable: this.#unreadable,
      ...(eras === undefined ? {} : { eras }),
      isLearnt: this.isLearnt,
      offered: this.#offered,
    };
  }
}

/** The tools whose schemas may ask for headers; few do. */
function annotatedIn(tools: readonly ListItem[]): ReadonlyMap<string, ListItem> {
  const annotated = tools.filter(({ before, after }) => (before + after).includes('x-mcp-header'));
  // Of several with one name the first is meant.
  return new Map(annotated.reverse().map((item) => [item.key, item]));
}

/** What one client is shown, and what another is that can do more: what is missing here may be hidden here only. */
function unite(shown: BoundedList, before: readonly ListItem[]): void {
  const keys = new Set(shown.items.map(({ key }) => key));
  for (const item of before) if (!keys.has(item.key)) shown.add(item);
}

function areSame(some: readonly ListItem[], others: readonly ListItem[]): boolean {
  return some.length === others.length && some.every((item, at) => isSameItem(item, others[at] as ListItem));
}
