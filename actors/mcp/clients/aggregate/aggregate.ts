// Merged view of several servers (/mcp, /mcp/@NAME): their lists under prefixed names, and the server that
// each name or uri belongs to. Built from the cached lists, so servers need not run; rebuilt only after
// changes. Lists are in catalog order, then in server order: equal caches produce equal bytes. Names are
// computed from all enabled servers (tool-names.ts), so they are equal in a view of fewer servers. Items are
// valid for strict clients of the requested era: legacy (sessions) or modern (2026-07-28).

import { EncodedResult } from '../../jsonrpc/compose.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { rawJson } from '../../jsonrpc/span.ts';
import type { ServerCache } from '../../servers/cache/cache.ts';
import type { ServerDescription } from '../../servers/cache/introduction.ts';
import { checkedList, type ListableItem } from '../../servers/lists/checked-list.ts';
import { annotationFaultOf } from '../../servers/lists/invalid-tools.ts';
import {
  type CacheHint,
  combineHints,
  itemJson,
  type ListItem,
  type ListKind,
  listKinds,
  noCache,
} from '../../servers/lists/lists.ts';
import type { ListSet } from '../../servers/lists/own-lists.ts';
import { withoutTaskSupport } from '../../servers/lists/task-support.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { pagesOf, qualify, readQualified, withPages } from './address-form.ts';
import { ListPages, type ServerItems } from './list-pages.ts';
import { mergeExtensions } from './merged-extensions.ts';
import { mergeInstructions } from './merged-instructions.ts';
import type { NameLookup, ResolvedTarget } from './resolution.ts';
import { type ToolFilter, toolFilter } from './tool-filter.ts';
import { MergedNames } from './tool-names.ts';
import { matchesTemplate } from './uri-template.ts';

/** Item in a merged list. */
export interface MergedItem extends ResolvedTarget {
  /** Prefixed name for tools and prompts; uri for resources and templates. */
  readonly name: string;
  /** Item for modern clients and tool search. */
  readonly item: ListItem;
  readonly legacyItem: ListItem;
  /** Length of the text in the list, in characters. */
  readonly chars: number;
}

/** Servers in a view. */
export interface ServerSource {
  /** The servers in the order of the catalog. */
  all(): readonly ManagedServer[];
  /** Changes when the servers, their caches or the filter change. */
  readonly revision: number;
}

/** Restricts a view to some servers and tools. */
export interface Narrowing {
  /** All servers. Names are computed from all servers, so they are equal in every view. */
  allServers(): readonly ManagedServer[];
  /** Returns true if the view contains this tool. */
  isAllowed(server: string, tool: string): boolean;
}

/** Cache size for all list pages, in bytes. Further pages are built for each request. */
const PAGE_CACHE_BYTES = 16 * 1024 * 1024;
/** Cache size of a view with fewer servers or with other lists. A full page fits. */
const VIEW_PAGE_CACHE_BYTES = 4 * 1024 * 1024;

interface MergedList {
  /** Cached pages by cursor. Both eras share one map unless an item differs between them. */
  readonly pages: Readonly<Record<Era, Map<string | undefined, EncodedResult>>>;
  readonly list: readonly ServerItems<MergedItem>[];
  readonly targets: ReadonlyMap<string, MergedItem>;
  /** Servers with an unknown or truncated list. */
  readonly incomplete: readonly string[];
  hint: CacheHint | undefined;
}

export class Aggregate implements NameLookup {
  readonly #source: ServerSource;
  readonly #filters = new WeakMap<ManagedServer, ToolFilter>();
  readonly #lists = new Map<ListKind, MergedList>();
  readonly #pages: ListPages;
  #stamp = 0;
  /** Revision of `#source` at the last refresh; initially none. */
  #revision = -1;
  #cachedBytes = 0;
  readonly #maxCachedBytes: number;
  readonly #narrowing: Narrowing | undefined;
  /** Lists that servers returned for one client, different from the cached lists. */
  readonly #ownLists: ReadonlyMap<ManagedServer, ListSet>;
  /** First server per address of a listed resource or of a tool's page (HTML interface of an app). */
  #owners: ReadonlyMap<string, ManagedServer> | undefined;

  /** `pages` is the number of items per page, or the pages of another view, whose cursors stay valid. */
  constructor(
    source: ServerSource,
    pages?: number | ListPages,
    narrowing?: Narrowing,
    ownLists: ReadonlyMap<ManagedServer, ListSet> = new Map(),
  ) {
    this.#source = source;
    this.#pages = pages instanceof ListPages ? pages : new ListPages(pages);
    this.#narrowing = narrowing;
    this.#ownLists = ownLists;
    const isMain = narrowing === undefined && ownLists.size === 0;
    this.#maxCachedBytes = isMain ? PAGE_CACHE_BYTES : VIEW_PAGE_CACHE_BYTES;
  }

  /** Increases after possible changes of servers or caches. Results of an older stamp are outdated. */
  get stamp(): number {
    this.#refresh();
    return this.#stamp;
  }

  /** Drops the merged lists if the servers or caches changed. */
  #refresh(): void {
    const { revision } = this.#source;
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#stamp += 1;
    this.#lists.clear();
    this.#owners = undefined;
    this.#cachedBytes = 0;
  }

  /** Returns the same view with other lists of some servers. Cursors are valid in both. */
  withLists(ownLists: ReadonlyMap<ManagedServer, ListSet>): Aggregate {
    return new Aggregate(this.#source, this.#pages, this.#narrowing, ownLists);
  }

  /** Returns the enabled servers of the view. */
  *servers(): Iterable<ManagedServer> {
    for (const server of this.#source.all()) if (server.entry.enabled) yield server;
  }

  /** Returns all enabled servers, not only the servers of the view. */
  #allEnabled(): readonly ManagedServer[] {
    return (this.#narrowing?.allServers() ?? this.#source.all()).filter(({ entry }) => entry.enabled);
  }

  isAllowed(server: ManagedServer, tool: string): boolean {
    let filter = this.#filters.get(server);
    if (filter === undefined) {
      filter = toolFilter(server.entry.tools);
      this.#filters.set(server, filter);
    }
    return filter(tool) && this.#narrowing?.isAllowed(server.id, tool) !== false;
  }

  /** Returns true if lists contain this tool. */
  isVisible(server: ManagedServer, tool: ListItem): boolean {
    return this.isAllowed(server, tool.key) && annotationFaultOf(server, tool) === undefined;
  }

  /** Returns a page of the merged list, by default the first. Throws RpcFault -32602 for invalid cursors. */
  list(kind: ListKind, cursor?: string, era: Era = 'legacy'): EncodedResult {
    const { pages, list } = this.#mergedList(kind);
    const cachedPage = pages[era].get(cursor);
    if (cachedPage !== undefined) return cachedPage;
    const page = this.#page(kind, list, cursor, era);
    if (this.#cachedBytes + page.size <= this.#maxCachedBytes) {
      this.#cachedBytes += page.size;
      pages[era].set(cursor, page);
    }
    return page;
  }

  /** Returns the visible tools by name, in list order. Possible changes produce a new map. */
  tools(): ReadonlyMap<string, MergedItem> {
    return this.#mergedList('tools').targets;
  }

  /** Resolves a merged tool or prompt name. */
  find(kind: 'tools' | 'prompts', name: string): ResolvedTarget | undefined {
    return this.#mergedList(kind).targets.get(name);
  }

  /**
   * Resolves a name that is in no list. The server may know it: some servers list more items to some clients,
   * and lists may be truncated or not yet fetched. The server decides.
   */
  findUnlisted(kind: 'tools' | 'prompts', name: string): ResolvedTarget | undefined {
    const allEnabled = this.#allEnabled();
    const plain = new MergedNames(allEnabled.map(({ id }) => id)).readPlain(name);
    if (plain === undefined) return undefined;
    const { server: id, tool: key } = plain;
    const owner = allEnabled.find((server) => server.id === id);
    if (owner === undefined || !this.#source.all().includes(owner)) return undefined;
    const { cache, entry } = owner;
    // A shared server has the same list for all clients. If it is complete (not cut), it contains every name.
    if (entry.isolation === 'shared' && cache.isLearnt && cache.cuts[kind] === undefined) return undefined;
    const isHidden = kind === 'tools' && !this.isAllowed(owner, key);
    // A known item is listed under another name, or omitted.
    const isKnown = cache.lists[kind]?.some((item) => item.key === key) === true;
    return isHidden || isKnown ? undefined : { server: owner, key };
  }

  /** Resolves a listed resource, or a page that a listed tool names. */
  findListedResource(uri: string): ResolvedTarget | undefined {
    const listedTarget = this.#mergedList('resources').targets.get(uri);
    if (listedTarget !== undefined) return listedTarget;
    const owner = this.#addressOwners().get(uri);
    return owner === undefined ? undefined : { server: owner, key: uri };
  }

  /** Resolves a resource: by uri, by template, or to the only server with resources. */
  findResource(uri: string): ResolvedTarget | undefined {
    const target = this.findListedResource(uri) ?? this.#findQualified(uri);
    if (target !== undefined) return target;
    for (const template of this.#mergedList('resourceTemplates').targets.values()) {
      if (matchesTemplate(template.name, uri)) return { server: template.server, key: uri };
    }
    const [only, ...others] = this.resourceServers();
    return only !== undefined && others.length === 0 ? { server: only, key: uri } : undefined;
  }

  /** Resolves a qualified address, which contains the server id (address-form.ts). */
  #findQualified(uri: string): ResolvedTarget | undefined {
    const qualified = readQualified(uri);
    if (qualified === undefined) return undefined;
    for (const server of this.servers())
      if (server.id === qualified.server) return { server, key: qualified.uri };
    return undefined;
  }

  /** Returns the servers that declare resources. */
  resourceServers(): readonly ManagedServer[] {
    return [...this.servers()].filter(
      (server) => server.cache.description?.capabilities.resources !== undefined,
    );
  }

  findTemplate(template: string): ResolvedTarget | undefined {
    return this.#mergedList('resourceTemplates').targets.get(template) ?? this.findResource(template);
  }

  /** Returns the server that keeps this address unchanged; undefined if no list contains the address. */
  ownerOf(uri: string): ManagedServer | undefined {
    return this.#addressOwners().get(uri);
  }

  /** Returns true if a server's own address has the form of a qualified one, so it must be qualified too. */
  isAmbiguous(uri: string): boolean {
    const qualified = readQualified(uri);
    if (qualified === undefined) return false;
    for (const { id } of this.servers()) if (id === qualified.server) return true;
    return false;
  }

  /** Returns the server that keeps each address: the first in the catalog. */
  #addressOwners(): ReadonlyMap<string, ManagedServer> {
    this.#refresh();
    if (this.#owners !== undefined) return this.#owners;
    const owners = new Map<string, ManagedServer>();
    const add = (uri: string, server: ManagedServer) => {
      if (!owners.has(uri) && !this.isAmbiguous(uri)) owners.set(uri, server);
    };
    for (const server of this.servers()) {
      const { resources = [], tools = [] } = this.listsOf(server).lists;
      for (const { key } of checkedList('resources', resources).items) add(key, server);
      for (const tool of tools) for (const page of pagesOf(tool)) add(page, server);
    }
    this.#owners = owners;
    return owners;
  }

  /** Returns the clients' address for a resource of the server. */
  #addressOf(server: ManagedServer, uri: string): string {
    const owner = this.ownerOf(uri);
    const isPlain = owner === undefined || owner === server;
    return isPlain && !this.isAmbiguous(uri) ? uri : (qualify(server.id, uri) ?? uri);
  }

  /** Returns the lists of the server that this view shows. */
  listsOf(server: ManagedServer): ListSet {
    return this.#ownLists.get(server) ?? server.cache;
  }

  /**
   * Returns the merged capabilities. A server with an unknown description counts as having all
   * capabilities. Lists and their change notifications are always included, because servers may be added
   * later. `experimental` and `tasks` are omitted: their methods and ids are server-specific and only
   * available at the server's address.
   */
  capabilities(era: Era = 'legacy'): Record<string, unknown> {
    const servers = [...this.servers()];
    const descriptions = servers.map((server) => server.cache.description);
    const someServer = (has: (capabilities: ServerDescription['capabilities']) => boolean) =>
      descriptions.some((description) => description === undefined || has(description.capabilities));
    const canSubscribe = someServer(
      ({ resources }) => (resources as { subscribe?: unknown } | undefined)?.subscribe === true,
    );
    const extensions = mergeExtensions(servers, era);
    return {
      tools: { listChanged: true },
      resources: { listChanged: true, ...(canSubscribe ? { subscribe: true } : {}) },
      prompts: { listChanged: true },
      ...(someServer(({ logging }) => logging !== undefined) ? { logging: {} } : {}),
      ...(someServer(({ completions }) => completions !== undefined) ? { completions: {} } : {}),
      ...(extensions === undefined ? {} : { extensions }),
    };
  }

  /** Returns the merged instructions of the servers. */
  instructions(): string | undefined {
    return mergeInstructions(this.servers());
  }

  /** Returns the servers with an unknown or truncated list. */
  incomplete(kind: ListKind): readonly string[] {
    return this.#mergedList(kind).incomplete;
  }

  /** Returns the cache hint for a merged list: the strictest hint. */
  cacheHint(kind: ListKind): CacheHint {
    const mergedList = this.#mergedList(kind);
    mergedList.hint ??= this.#hint(kind);
    return mergedList.hint;
  }

  #hint(kind: ListKind): CacheHint {
    const hints: CacheHint[] = [];
    for (const server of this.servers()) {
      const { lists, hints: own } = this.listsOf(server);
      // A merged list becomes outdated when a server's missing list arrives.
      if (mayHaveList(server.cache, kind))
        hints.push((lists[kind] === undefined ? undefined : own[kind]) ?? noCache);
    }
    return combineHints(hints);
  }

  #mergedList(kind: ListKind): MergedList {
    this.#refresh();
    let mergedList = this.#lists.get(kind);
    if (mergedList === undefined) {
      mergedList = this.#build(kind);
      this.#lists.set(kind, mergedList);
    }
    return mergedList;
  }

  #build(kind: ListKind): MergedList {
    const isPrefixed = kind === 'tools' || kind === 'prompts';
    const targets = new Map<string, MergedItem>();
    const list: ServerItems<MergedItem>[] = [];
    let differsByEra = false;
    const servers = [...this.servers()];
    const names = isPrefixed ? new MergedNames(this.#allEnabled().map(({ id }) => id)) : undefined;
    for (const server of servers) {
      const rename = (uri: string) => this.#addressOf(server, uri);
      const adapt = (item: ListItem) =>
        kind === 'tools' ? withPages(withoutTaskSupport(item), rename) : item;
      const all = listableItems(this.listsOf(server), kind);
      const mergedNames = names?.namesOf(
        server.id,
        all.map(({ key }) => key),
      );
      const items: MergedItem[] = [];
      for (const { key, modern, legacy } of all) {
        if (kind === 'tools' && !this.isVisible(server, modern)) continue;
        const item = adapt(modern);
        const legacyItem = legacy === modern ? item : adapt(legacy);
        let name = mergedNames?.get(key) ?? key;
        if (kind === 'resources') name = rename(key);
        else if (kind === 'resourceTemplates' && (targets.has(key) || this.isAmbiguous(key)))
          name = qualify(server.id, key) ?? key;
        // The first server wins if the address of the second cannot be qualified.
        if (targets.has(name)) continue;
        const chars = name.length + item.before.length + item.after.length;
        const mergedItem = { name, server, key, item, legacyItem, chars };
        differsByEra ||= item !== legacyItem;
        targets.set(name, mergedItem);
        items.push(mergedItem);
      }
      list.push({ server: server.id, items });
    }
    const incomplete = servers.filter((server) => {
      const { lists, cuts } = this.listsOf(server);
      return mayHaveList(server.cache, kind) && (lists[kind] === undefined || cuts[kind] !== undefined);
    });
    const legacy: MergedList['pages'][Era] = new Map();
    return {
      pages: { legacy, modern: differsByEra ? new Map() : legacy },
      list,
      targets,
      incomplete: incomplete.map(({ id }) => id),
      hint: undefined,
    };
  }

  #page(
    kind: ListKind,
    list: readonly ServerItems<MergedItem>[],
    cursor: string | undefined,
    era: Era,
  ): EncodedResult {
    const { items, nextCursor } = this.#pages.page(kind, list, cursor);
    const form = era === 'legacy' ? 'legacyItem' : 'item';
    // EncodedResult expects raw JSON as a Latin-1 string, one character per byte (span.ts).
    const text = `[${items.map((mergedItem) => itemJson(mergedItem[form], mergedItem.name)).join(',')}]`;
    const more = nextCursor === undefined ? '' : `,"nextCursor":${rawJson(nextCursor)}`;
    return new EncodedResult(`{${rawJson(kind)}:${Buffer.from(text, 'utf8').toString('latin1')}${more}}`);
  }
}

/** Returns a server's items that are valid for clients. */
function listableItems({ lists }: Pick<ListSet, 'lists'>, kind: ListKind): readonly ListableItem[] {
  const items = lists[kind];
  return items === undefined ? [] : checkedList(kind, items).items;
}

/** Returns true unless the server has declared that it lacks this kind of list. */
function mayHaveList({ description }: ServerCache, kind: ListKind): boolean {
  return description === undefined || description.capabilities[listKinds[kind].capability] !== undefined;
}
