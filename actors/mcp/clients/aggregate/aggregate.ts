// The aggregate: all servers as one, with merged lists under prefixed names, and the way back from a name or uri to its
// server. It is built from the servers' caches, whether they run or sleep, and rebuilt only when one of these has
// changed.
//
// GA1  the order is that of the catalog, then that of each server: the same input gives the same bytes.
// GA2  names are unique and built by tool-names.ts, for all enabled servers and all known tools: no other
//     server's tools and no narrower view change a name's target.
// GA3  each item is valid for strict clients of the era of the request (server/lists/checked-list.ts).

import { KeptResult } from '../../jsonrpc/compose.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { rawJson } from '../../jsonrpc/span.ts';
import type { ServerCache } from '../../servers/cache/server-cache.ts';
import type { ServerDescription } from '../../servers/cache/server-description.ts';
import { checkedList, type ListableItem } from '../../servers/lists/checked-list.ts';
import { annotationFaultOf } from '../../servers/lists/invalid-tools.ts';
import {
  type CacheHint,
  itemJson,
  type ListItem,
  type ListKind,
  listKinds,
  noCache,
  strictest,
} from '../../servers/lists/lists.ts';
import { withoutTaskSupport } from '../../servers/lists/task-support.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { ListPages, type ServerItems } from './list-pages.ts';
import { mergedInstructions } from './merged-instructions.ts';
import type { Lookup, Target } from './resolution.ts';
import { type ToolFilter, toolFilter } from './tool-filter.ts';
import { MergedNames } from './tool-names.ts';
import { matchesTemplate } from './uri-template.ts';

/** One entry of a merged list. */
export interface Shown extends Target {
  /** The name clients see; of resources and templates the uri. */
  readonly name: string;
  /** Form for modern clients and tool search. */
  readonly item: ListItem;
  readonly legacyItem: ListItem;
  /** Characters of its text in the list. */
  readonly chars: number;
}

/** Servers in a view. */
export interface ServerSource {
  /** In the order of the catalog. */
  all(): readonly ManagedServer[];
  /** Changes with the servers, their caches and the filter. */
  readonly revision: number;
}

/** Of those who see only a part of the servers. */
export interface Narrowing {
  /** All servers there are: names are made as if all were seen. */
  everyone(): readonly ManagedServer[];
  /** Whether they see this tool of a server that they see. */
  isAllowed(server: string, tool: string): boolean;
}

/** Pages that are kept ready, in bytes over all lists; those of a longer list are made anew each time. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** The same for each part of the servers: a full page. */
const KEPT_BYTES_NARROWED = 4 * 1024 * 1024;

interface MergedList {
  /** Pages by cursor; both eras share a map unless an item has two forms. */
  readonly pages: Readonly<Record<Era, Map<string | undefined, KeptResult>>>;
  readonly list: readonly ServerItems<Shown>[];
  readonly targets: ReadonlyMap<string, Shown>;
  /** The servers that may have more than is in the list. */
  readonly incomplete: readonly string[];
  hint: CacheHint | undefined;
}

export class Aggregate implements Lookup {
  readonly #source: ServerSource;
  readonly #filters = new WeakMap<ManagedServer, ToolFilter>();
  readonly #lists = new Map<ListKind, MergedList>();
  readonly #pages: ListPages;
  #stamp = 0;
  #revision = -1;
  #keptBytes = 0;
  readonly #mostKeptBytes: number;
  readonly #narrowing: Narrowing | undefined;

  constructor(source: ServerSource, pageItems?: number, narrowing?: Narrowing) {
    this.#source = source;
    this.#pages = new ListPages(pageItems);
    this.#narrowing = narrowing;
    this.#mostKeptBytes = narrowing === undefined ? KEPT_BYTES : KEPT_BYTES_NARROWED;
  }

  /** Goes up whenever the servers, or what is known of one, may have changed. */
  get stamp(): number {
    this.#refresh();
    return this.#stamp;
  }

  /** Forgets what was made of the servers when it may be wrong. */
  #refresh(): void {
    const { revision } = this.#source;
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#stamp += 1;
    this.#lists.clear();
    this.#keptBytes = 0;
  }

  /** The servers that take part: those not switched off. */
  *servers(): Iterable<ManagedServer> {
    for (const server of this.#source.all()) if (server.entry.enabled) yield server;
  }

  /** Those not switched off, seen or not. */
  #everyone(): readonly ManagedServer[] {
    return (this.#narrowing?.everyone() ?? this.#source.all()).filter(({ entry }) => entry.enabled);
  }

  isAllowed(server: ManagedServer, tool: string): boolean {
    let filter = this.#filters.get(server);
    if (filter === undefined) {
      filter = toolFilter(server.entry.tools);
      this.#filters.set(server, filter);
    }
    return filter(tool) && this.#narrowing?.isAllowed(server.id, tool) !== false;
  }

  /** Whether clients may see this tool in a list. */
  isShown(server: ManagedServer, tool: ListItem): boolean {
    return this.isAllowed(server, tool.key) && annotationFaultOf(server, tool) === undefined;
  }

  /** A page of the merged list, the first without a cursor. Throws RpcFault -32602 for what is no cursor of this list. */
  list(kind: ListKind, cursor?: string, era: Era = 'legacy'): KeptResult {
    const { pages, list } = this.#merged(kind);
    const kept = pages[era].get(cursor);
    if (kept !== undefined) return kept;
    const page = this.#page(kind, list, cursor, era);
    if (this.#keptBytes + page.size <= this.#mostKeptBytes) {
      this.#keptBytes += page.size;
      pages[era].set(cursor, page);
    }
    return page;
  }

  /** Every tool clients may see, by name, in the order of the list; another map as soon as it may be another list. */
  tools(): ReadonlyMap<string, Shown> {
    return this.#merged('tools').targets;
  }

  /** Where a prefixed tool or prompt name leads. */
  find(kind: 'tools' | 'prompts', name: string): Target | undefined {
    return this.#merged(kind).targets.get(name);
  }

  /**
   * Where a name leads that is in no list. It may still be right where what is listed does not hold for everybody: at a
   * server that lists more for some clients, or more than is kept, or whose lists could not be learnt. It knows best.
   */
  findUnlisted(kind: 'tools' | 'prompts', name: string): Target | undefined {
    const everyone = this.#everyone();
    const plain = new MergedNames(everyone.map(({ id }) => id)).readPlain(name);
    if (plain === undefined) return undefined;
    const { server: id, tool: key } = plain;
    const found = everyone.find((server) => server.id === id);
    if (found === undefined || !this.#source.all().includes(found)) return undefined;
    const { cache, entry } = found;
    if (entry.isolation === 'shared' && cache.isLearnt && cache.cuts[kind] === undefined) return undefined;
    const isHidden = kind === 'tools' && !this.isAllowed(found, key);
    const isKnown = cache.lists[kind]?.some((item) => item.key === key) === true;
    return isHidden || isKnown ? undefined : { server: found, key };
  }

  /** Where a resource is read: by the uri itself, then by template, then by being the only server with resources. */
  findResource(uri: string): Target | undefined {
    const listed = this.#merged('resources').targets.get(uri);
    if (listed !== undefined) return listed;
    for (const target of this.#merged('resourceTemplates').targets.values()) {
      if (matchesTemplate(target.key, uri)) return { server: target.server, key: uri };
    }
    const able = [...this.servers()].filter(
      (server) => server.cache.description?.capabilities.resources !== undefined,
    );
    const [only] = able;
    return only !== undefined && able.length === 1 ? { server: only, key: uri } : undefined;
  }

  findTemplate(template: string): Target | undefined {
    return this.#merged('resourceTemplates').targets.get(template) ?? this.findResource(template);
  }

  /**
   * What the servers can do together, as far as it is known; what is not known yet may be anything. Lists, and notices
   * of their changes, there are in any case, since servers come and go. Of `extensions`, `experimental` and `tasks`
   * nothing is said: what they add is methods and ids that belong to one server, and is found at its own address.
   */
  capabilities(): Record<string, unknown> {
    const descriptions = [...this.servers()].map((server) => server.cache.description);
    const has = (isIn: (capabilities: ServerDescription['capabilities']) => boolean) =>
      descriptions.some((description) => description === undefined || isIn(description.capabilities));
    const canSubscribe = has(
      ({ resources }) => (resources as { subscribe?: unknown } | undefined)?.subscribe === true,
    );
    return {
      tools: { listChanged: true },
      resources: { listChanged: true, ...(canSubscribe ? { subscribe: true } : {}) },
      prompts: { listChanged: true },
      ...(has(({ logging }) => logging !== undefined) ? { logging: {} } : {}),
      ...(has(({ completions }) => completions !== undefined) ? { completions: {} } : {}),
    };
  }

  /** What the servers tell models about themselves. */
  instructions(): string | undefined {
    return mergedInstructions(this.servers());
  }

  /** The servers of which the list is not known, or not whole. */
  incomplete(kind: ListKind): readonly string[] {
    return this.#merged(kind).incomplete;
  }

  /** How long a list may be kept, and by whom: what holds for every server's part of it. */
  cacheHint(kind: ListKind): CacheHint {
    const merged = this.#merged(kind);
    merged.hint ??= this.#hint(kind);
    return merged.hint;
  }

  #hint(kind: ListKind): CacheHint {
    const hints: CacheHint[] = [];
    for (const { cache } of this.servers()) {
      const { lists, hints: own } = cache;
      // Without the part of a server that has one the list is out of date as soon as that is known.
      if (hasPart(cache, kind)) hints.push((lists[kind] === undefined ? undefined : own[kind]) ?? noCache);
    }
    return strictest(hints);
  }

  #merged(kind: ListKind): MergedList {
    this.#refresh();
    let merged = this.#lists.get(kind);
    if (merged === undefined) {
      merged = this.#build(kind);
      this.#lists.set(kind, merged);
    }
    return merged;
  }

  #build(kind: ListKind): MergedList {
    const isPrefixed = kind === 'tools' || kind === 'prompts';
    const targets = new Map<string, Shown>();
    const list: ServerItems<Shown>[] = [];
    let hasEraForms = false;
    const servers = [...this.servers()];
    const names = isPrefixed ? new MergedNames(this.#everyone().map(({ id }) => id)) : undefined;
    for (const server of servers) {
      const all = listableItems(server.cache, kind);
      const named = names?.namesOf(
        server.id,
        all.map(({ key }) => key),
      );
      const items: Shown[] = [];
      for (const { key, modern, legacy } of all) {
        if (kind === 'tools' && !this.isShown(server, modern)) continue;
        const item = kind === 'tools' ? withoutTaskSupport(modern) : modern;
        const legacyItem = legacy === modern ? item : kind === 'tools' ? withoutTaskSupport(legacy) : legacy;
        const name = named?.get(key) ?? key;
        // A resource is its uri: a second server's resource of the same uri could never be read.
        if (targets.has(name)) continue;
        const chars = name.length + item.before.length + item.after.length;
        const shown = { name, server, key, item, legacyItem, chars };
        hasEraForms ||= item !== legacyItem;
        targets.set(name, shown);
        items.push(shown);
      }
      list.push({ server: server.id, items });
    }
    const incomplete = servers.filter(
      ({ cache }) =>
        hasPart(cache, kind) && (cache.lists[kind] === undefined || cache.cuts[kind] !== undefined),
    );
    const legacy: MergedList['pages'][Era] = new Map();
    return {
      pages: { legacy, modern: hasEraForms ? new Map() : legacy },
      list,
      targets,
      incomplete: incomplete.map(({ id }) => id),
      hint: undefined,
    };
  }

  #page(
    kind: ListKind,
    list: readonly ServerItems<Shown>[],
    cursor: string | undefined,
    era: Era,
  ): KeptResult {
    const { items, nextCursor } = this.#pages.page(kind, list, cursor);
    const form = era === 'legacy' ? 'legacyItem' : 'item';
    const text = `[${items.map((shown) => itemJson(shown[form], shown.name)).join(',')}]`;
    const more = nextCursor === undefined ? '' : `,"nextCursor":${rawJson(nextCursor)}`;
    return new KeptResult(`{${rawJson(kind)}:${Buffer.from(text, 'utf8').toString('latin1')}${more}}`);
  }
}

function listableItems({ lists }: ServerCache, kind: ListKind): readonly ListableItem[] {
  const items = lists[kind];
  return items === undefined ? [] : checkedList(kind, items).items;
}

/** Whether the server has such a list; what is not known may have one. */
function hasPart({ description }: ServerCache, kind: ListKind): boolean {
  return description === undefined || description.capabilities[listKinds[kind].capability] !== undefined;
}
