// Caches a server's description (introduction.ts) and lists, in memory and in the state folder, so a
// restarted gateway serves lists without starting the server. Lists respect the limits of bounded-list.ts
// (A8, ARCHITECTURE.md). When the memory for lists is exhausted, a new list does not replace the cached one.
// After `close` no list is cached, even if a fetch is still running.

import type { Era, Eras } from '../../jsonrpc/modern-meta.ts';
import { type BoundedList, cutMessages, ListBudget, type TruncationReason } from '../lists/bounded-list.ts';
import { checkedList } from '../lists/checked-list.ts';
import { fetchOwnLists, type OwnListsRequest } from '../lists/fetch-own-lists.ts';
import { faultSentence, type ItemFaults, joinFaults } from '../lists/item-faults.ts';
import { fetchList, UnknownListError } from '../lists/list-fetch.ts';
import { classKey } from '../lists/listing-capabilities.ts';
import {
  everyListKind,
  isSameItem,
  itemJson,
  type ListItem,
  type ListKind,
  type Lists,
  listKinds,
  noCache,
} from '../lists/lists.ts';
import { type FetchedList, type FetchedLists, type ListSet, OwnLists } from '../lists/own-lists.ts';
import { supportsTaskCalls, taskToolsIn } from '../lists/task-support.ts';
import type { Connection } from '../pool/connection.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import {
  type Cuts,
  type Hints,
  ServerCacheFile,
  type ServerDescriptions,
  type Stored,
  type UnreadableItems,
} from './cache-file.ts';
import type { ServerDescription } from './introduction.ts';

const noTools: ReadonlySet<string> = new Set();

export class ServerCache implements ListSet {
  readonly version = 0;
  /** Lists for single classes (clients with equal capabilities) and for private processes of sessions. */
  readonly own: OwnLists;
  lists: Lists = {};
  /** Cache hints per list, from modern servers (lifetime and scope). */
  hints: Hints = {};
  /** Protocol eras (sessions, stateless requests) found by probing a server with `era: auto`. */
  eras: Eras | undefined;
  /** Reason why each truncated list is incomplete. Complete lists have no entry. */
  cuts: Cuts = {};
  /** Names of the tools that require a task, if the server supports task calls. */
  taskTools: ReadonlySet<string> = noTools;

  readonly #file: ServerCacheFile;
  readonly #budget: ListBudget;
  readonly #onProblem: (message: string) => void;
  readonly #onRevision: () => void;
  readonly #onChange: (kinds: readonly ListKind[], isFirst: boolean) => void;
  readonly #watchers: ((kinds: readonly ListKind[]) => void)[] = [];
  readonly #reportedCuts = new Set<string>();
  /** Invalid items of the last fetch, per list. */
  #unreadable: UnreadableItems = {};
  /** The last log message about items, per list. */
  readonly #loggedFaults = new Map<ListKind, string | undefined>();
  /** The same lists as in `lists`, with their limits and reserved memory. */
  #boundedLists: Readonly<Partial<Record<ListKind, BoundedList>>> = {};
  #descriptions: ServerDescriptions = {};
  #wasFetched = false;
  /** Requested lists that the server has not returned yet. */
  #missing: readonly ListKind[] = [];
  #isClosed = false;
  /** Tools whose schemas send arguments as HTTP headers (`x-mcp-header`). */
  #annotated: ReadonlyMap<string, ListItem> = new Map();
  /** Source list of `#annotated`. */
  #annotatedSource: readonly ListItem[] | undefined;
  /**
   * Client capabilities that the gateway declared when it fetched the lists. Some servers list more items to
   * clients with more capabilities.
   */
  #offered: readonly string[] = [];

  constructor(
    file: string | undefined,
    /** `isFirst`: the lists were unknown before, so merged lists (of all servers) may have lacked them. */
    onChange: (kinds: readonly ListKind[], isFirst: boolean) => void,
    onProblem: (message: string) => void,
    /** Called after every change, to invalidate merged views. */
    onRevision: () => void = () => {},
    /** Memory budget for the lists. Default: a separate budget. */
    budget: ListBudget = new ListBudget(),
  ) {
    this.#file = new ServerCacheFile(file, onProblem);
    this.#budget = budget;
    this.own = new OwnLists(budget);
    this.#onChange = onChange;
    this.#onProblem = onProblem;
    this.#onRevision = onRevision;
  }

  /** Calls `watcher` with the lists that a fetch has changed, before `onChange`. */
  watch(watcher: (kinds: readonly ListKind[]) => void): void {
    this.#watchers.push(watcher);
  }

  /** The description of the server; the one for sessions if the descriptions of both eras are known. */
  get description(): ServerDescription | undefined {
    return this.#descriptions.legacy ?? this.#descriptions.modern;
  }

  descriptionIn(era: Era): ServerDescription | undefined {
    return this.#descriptions[era];
  }

  /** True if every list is known, or declared missing by the server. */
  get isLearnt(): boolean {
    return this.#wasFetched && this.#missing.length === 0;
  }

  /** True if all lists were requested since the gateway started, or fetched successfully before. */
  get wasFetched(): boolean {
    return this.#wasFetched;
  }

  /**
   * Returns true if this connection declares capabilities (`offered`) that the cached lists were not fetched
   * with. Only the handshake of a legacy connection declares capabilities.
   */
  mayLearnMoreFrom({ era, offered }: Pick<Connection, 'era' | 'offered'>): boolean {
    return era === 'legacy' && offered.some((capability) => !this.#offered.includes(capability));
  }

  /** Returns true if clients of this class (listing-capabilities.ts) may see other lists, still unknown. */
  lacksListsOf(key: string): boolean {
    return key !== classKey(this.#offered) && !this.own.hasClass(key);
  }

  /** Stores the description of the server in this era. */
  setDescription(era: Era, description: ServerDescription): void {
    this.#descriptions = { ...this.#descriptions, [era]: description };
    this.#findTaskTools();
    this.#onRevision();
  }

  setEras(eras: Eras | undefined): void {
    this.eras = eras;
    void this.#save();
  }

  /** Returns a listed tool's input schema if it annotates headers (`x-mcp-header`). */
  inputSchemaOf(tool: string): unknown {
    const { tools } = this.lists;
    if (this.#annotatedSource !== tools) {
      this.#annotatedSource = tools;
      this.#annotated = annotatedToolsIn(tools ?? []);
    }
    const item = this.#annotated.get(tool);
    if (item === undefined) return undefined;
    return (JSON.parse(itemJson(item)) as { inputSchema?: unknown }).inputSchema;
  }

  /** Returns the invalid items of this list: repaired or omitted in merged lists. */
  faultsOf(kind: ListKind): ItemFaults {
    const { [kind]: items } = this.lists;
    return joinFaults(this.#unreadable[kind], items && checkedList(kind, items).faults);
  }

  #findTaskTools(): void {
    const isTaskServer = supportsTaskCalls(this.#descriptions.legacy);
    this.taskTools = isTaskServer ? taskToolsIn(this.lists.tools ?? []) : noTools;
  }

  /** Loads the cache of an earlier run of the gateway. */
  async load(): Promise<void> {
    const stored = await this.#file.read();
    // With a description, the server has responded meanwhile, and its lists are newer.
    if (stored === undefined || this.#isClosed || this.description !== undefined) return;
    this.#descriptions = stored.descriptions;
    for (const kind of everyListKind) {
      const items = stored.lists[kind];
      if (items === undefined) continue;
      const list = this.#budget.newList();
      for (const item of items) list.add(item);
      list.cut ??= stored.cuts?.[kind];
      list.reserve(checkedList(kind, list.items).repairedBytes);
      this.#put(kind, list, stored.unreadable?.[kind]);
    }
    this.hints = stored.hints;
    this.eras = stored.eras;
    this.#wasFetched = stored.isLearnt;
    this.#offered = stored.offered;
    this.#onRevision();
  }

  /** Releases all lists. Later fetches store no list. */
  close(): void {
    this.#isClosed = true;
    for (const list of Object.values(this.#boundedLists)) list.release();
    this.#boundedLists = {};
    this.own.close();
  }

  /**
   * Stores the description and fetches all lists. If a fetch fails, the cached list remains. `isPrivate`: the
   * connection belongs to one session, so the lists are also stored for the class of its client.
   */
  async learn(connection: Connection, timeoutMs: number, isPrivate = false): Promise<void> {
    if (connection.description !== undefined) this.setDescription(connection.era, connection.description);
    const fetched: Partial<Record<ListKind, FetchedList>> = {};
    await this.#fetch(connection, everyListKind, timeoutMs, isPrivate ? fetched : undefined);
    this.#wasFetched = true;
    if (isPrivate) this.#storeClass(classKey(connection.offered), fetched);
    this.#onRevision();
    await this.#save();
  }

  /** Refetches these lists and returns the changed kinds. Calls the change listeners. Never rejects. */
  async refresh(
    connection: Connection,
    kinds: readonly ListKind[],
    timeoutMs: number,
  ): Promise<readonly ListKind[]> {
    const changedKinds = await this.#fetch(connection, kinds, timeoutMs);
    // Callers need not wait for the disk.
    void this.#save();
    return changedKinds;
  }

  /** Fetches the lists for one client class. Never rejects. */
  async learnClass(key: string, request: Omit<OwnListsRequest, 'kinds'>): Promise<void> {
    const every = { ...request, kinds: everyListKind };
    const changedKinds = this.#storeClass(key, await fetchOwnLists(every, this.#budget, this.#onProblem));
    if (changedKinds.length > 0) this.#onChange(changedKinds, false);
  }

  /** Fetches a private process's changed lists, for its client only. Never rejects. */
  async refreshOwn(member: PoolMember, kinds: readonly ListKind[], timeoutMs: number): Promise<void> {
    const { connection } = member;
    const fetched = await fetchOwnLists({ connection, kinds, timeoutMs }, this.#budget, this.#onProblem);
    if (this.#isClosed || member.isClosing) return;
    const base = this.own.find(undefined, classKey(connection.offered)) ?? this;
    this.own.storeMember(member, base, fetched);
  }

  /** Stores a class's lists. Lists that could not be fetched are taken from the cache. */
  #storeClass(key: string, fetched: FetchedLists): readonly ListKind[] {
    if (this.#isClosed) return [];
    const complete: Partial<Record<ListKind, FetchedList>> = {};
    for (const kind of everyListKind) {
      const { [kind]: own } = fetched;
      const { [kind]: cached } = this.lists;
      if (own !== undefined && (cached === undefined || !areSame(own.items, cached))) complete[kind] = own;
      else if (cached !== undefined)
        complete[kind] = { items: cached, cut: this.cuts[kind], hint: this.hints[kind] ?? noCache };
    }
    return this.own.storeClass(key, complete, this.lists);
  }

  /** Fetches the lists that the server has not returned so far. Never rejects. */
  async fetchMissing(connection: Connection, timeoutMs: number): Promise<void> {
    await this.refresh(connection, this.#missing, timeoutMs);
  }

  async #fetch(
    connection: Connection,
    kinds: readonly ListKind[],
    timeoutMs: number,
    fetched?: Partial<Record<ListKind, FetchedList>> | undefined,
  ): Promise<readonly ListKind[]> {
    const capabilities = connection.description?.capabilities ?? {};
    const { era, offered } = connection;
    // With fewer capabilities than in an earlier fetch, the lists may be partial.
    const isPartial = era === 'legacy' && this.#offered.some((capability) => !offered.includes(capability));
    if (!isPartial && era === 'legacy') this.#offered = offered;
    const failedKinds: ListKind[] = [];
    const newKinds: ListKind[] = [];
    const changedKinds: ListKind[] = [];
    await Promise.all(
      kinds.map(async (kind) => {
        if (capabilities[listKinds[kind].capability] === undefined) return;
        const list = this.#budget.newList();
        try {
          const hint = await fetchList(connection, kind, timeoutMs, list);
          const before = this.lists[kind];
          if (fetched !== undefined) fetched[kind] = { items: [...list.items], cut: list.cut, hint };
          if (isPartial && before !== undefined) addMissingItems(list, before);
          if (this.#store(kind, list)) (before === undefined ? newKinds : changedKinds).push(kind);
          this.hints = { ...this.hints, [kind]: hint };
        } catch (error) {
          list.release();
          const isUnknown = this.lists[kind] === undefined;
          // Many servers declare resources without implementing templates, so a failed fetch counts as an
          // empty list.
          const countsAsEmpty = kind === 'resourceTemplates' || error instanceof UnknownListError;
          if (isUnknown && countsAsEmpty) this.#put(kind, this.#budget.newList());
          else if (isUnknown) failedKinds.push(kind);
          if (!isUnknown || kind !== 'resourceTemplates')
            this.#onProblem(`${listKinds[kind].method} failed: ${(error as Error).message}`);
        }
      }),
    );
    if (this.#isClosed) return [];
    // A kind that was not fetched now keeps its earlier result.
    const isMissing = (kind: ListKind) =>
      failedKinds.includes(kind) || (!kinds.includes(kind) && this.#missing.includes(kind));
    this.#missing = everyListKind.filter((kind) => this.lists[kind] === undefined && isMissing(kind));
    this.#onRevision();
    // An empty first list needs no notification.
    const firstKinds = newKinds.filter((kind) => this.lists[kind]?.length !== 0);
    if (firstKinds.length > 0) this.#notifyChange(firstKinds, true);
    if (changedKinds.length > 0) this.#notifyChange(changedKinds, false);
    return changedKinds;
  }

  #notifyChange(kinds: readonly ListKind[], isFirst: boolean): void {
    for (const watcher of this.#watchers) watcher(kinds);
    this.#onChange(kinds, isFirst);
  }

  /**
   * Stores a fetched list, unless it is unchanged or exceeds the memory budget. Returns true if the list
   * changed.
   */
  #store(kind: ListKind, list: BoundedList): boolean {
    const before = this.lists[kind];
    const isSame = before !== undefined && areSame(list.items, before);
    if (!isSame && !list.reserve(checkedList(kind, list.items).repairedBytes)) list.cut = 'gateway_full';
    const staysCached = before !== undefined && (isSame || list.cut === 'gateway_full');
    if (this.#isClosed || staysCached) list.release();
    if (this.#isClosed) return false;
    if (staysCached) {
      this.#noteCut(kind, list.cut);
      this.#noteFaults(kind, list.unreadable);
    } else this.#put(kind, list);
    return !staysCached;
  }

  /** Replaces the cached list. */
  #put(kind: ListKind, list: BoundedList, unreadable: ItemFaults | undefined = list.unreadable): void {
    this.#boundedLists[kind]?.release();
    this.#boundedLists = { ...this.#boundedLists, [kind]: list };
    this.lists = { ...this.lists, [kind]: list.items };
    if (kind === 'tools') this.#findTaskTools();
    this.#noteCut(kind, list.cut);
    this.#noteFaults(kind, unreadable);
  }

  #noteFaults(kind: ListKind, unreadable: ItemFaults): void {
    this.#unreadable = { ...this.#unreadable, [kind]: unreadable };
    const sentence = faultSentence(listKinds[kind].method, this.faultsOf(kind));
    if (sentence !== undefined && sentence !== this.#loggedFaults.get(kind)) this.#onProblem(sentence);
    this.#loggedFaults.set(kind, sentence);
  }

  #noteCut(kind: ListKind, cut: TruncationReason | undefined): void {
    const { [kind]: previous, ...others } = this.cuts;
    if (cut === previous) return;
    this.cuts = cut === undefined ? others : { ...others, [kind]: cut };
    if (cut === undefined || this.#reportedCuts.has(`${kind} ${cut}`)) return;
    this.#reportedCuts.add(`${kind} ${cut}`);
    this.#onProblem(
      `${listKinds[kind].method} is cut off after ${this.lists[kind]?.length ?? 0} items (${cut}): ${cutMessages[cut]}`,
    );
  }

  /** Resolves after every change was written, or failed to be written. */
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

/**
 * Returns the tools whose schemas annotate headers; usually few. `before` and `after` are the JSON of a tool
 * around its name.
 */
function annotatedToolsIn(tools: readonly ListItem[]): ReadonlyMap<string, ListItem> {
  const annotated = tools.filter(({ before, after }) => (before + after).includes('x-mcp-header'));
  // The items are reversed, so that the first of several items with the same name wins.
  return new Map(annotated.reverse().map((item) => [item.key, item]));
}

/**
 * Adds the items that `before` has in addition: a list fetched with fewer capabilities does not remove items.
 */
function addMissingItems(list: BoundedList, before: readonly ListItem[]): void {
  const keys = new Set(list.items.map(({ key }) => key));
  for (const item of before) if (!keys.has(item.key)) list.add(item);
}

function areSame(some: readonly ListItem[], others: readonly ListItem[]): boolean {
  return some.length === others.length && some.every((item, at) => isSameItem(item, others[at] as ListItem));
}
