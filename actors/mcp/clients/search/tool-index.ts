// Search index of tools over name, title, server and description, for find_tools (tool-search.ts). It ranks
// tools by BM25, a common relevance score. Built by the first search, then updated with changed tools only,
// because a server that starts lists the same tools again. Only listed tools are found, so `tools: { allow,
// deny }` applies. Equal scores are ordered by list position, so equal lists and queries give equal results.
// The index holds up to MAX_WORDS terms, shared among the servers (A8, ARCHITECTURE.md); tools without an
// index entry are found by exact name and by an empty query.

import MiniSearch, { type SearchOptions } from 'minisearch';
import { editDistance } from '../../../../config/reader/suggest.ts';
import { Budget, Share } from '../../../base/bounds/budget.ts';
import { isSameItem, itemJson } from '../../servers/lists/lists.ts';
import type { MergedItem } from '../aggregate/aggregate.ts';
import { isSignificant, splitWords } from './tool-words.ts';

export interface ToolQuery {
  /** Search terms; '' returns all tools in list order. */
  readonly query: string;
  /** Selects servers. Default: all. */
  readonly isWanted?: (server: string) => boolean;
}

export interface IndexedTool {
  /** The tool in the list of all servers' tools. */
  readonly listing: MergedItem;
  /** Title and description, cut to MAX_DESCRIPTION. */
  readonly title: string | undefined;
  readonly description: string | undefined;
}

export interface ToolHit {
  readonly tool: IndexedTool;
  /** 0 for empty queries. */
  readonly score: number;
}

interface IndexEntry extends IndexedTool {
  /** Name in this list, usually `server__tool`, which is unique. */
  readonly id: string;
  /** Number of indexed terms; undefined if the tool is not indexed. */
  wordCount: number | undefined;
  /** Position in this list. */
  position: number;
}

/**
 * Maximum length of indexed texts. The specific part of a description comes first; the rest would dilute the
 * score.
 */
const MAX_DESCRIPTION = 400;
/**
 * Maximum number of terms in the index. Measured memory: 60 bytes per term and tool, 650 bytes for a term of
 * one tool only.
 */
const MAX_WORDS = 500_000;
const MAX_QUERY_WORDS = 16;
/** Maximum length of names compared by edit distance. The cost is the product of the lengths. */
const MAX_NEAR_LENGTH = 100;
/** Maximum number of names compared by edit distance. */
const MAX_COMPARED = 30;
const fields = ['name', 'title', 'server', 'description'];

const searchOptions: SearchOptions = {
  boost: { name: 4, title: 3, server: 1.5 },
  prefix: (word) => word.length >= 3,
  fuzzy: (word) => (word.length >= 5 ? 0.2 : false),
  maxFuzzy: 2,
  weights: { prefix: 0.4, fuzzy: 0.2 },
};

/** Options for misspelled names: more errors are allowed, and descriptions are ignored. */
const nearOptions: SearchOptions = { fields: ['name', 'server'], fuzzy: 0.3 };

export class ToolIndex {
  readonly #list: () => ReadonlyMap<string, MergedItem>;
  readonly #search = new MiniSearch<IndexEntry>({
    fields,
    extractField,
    // Also counts the terms, for the budget of the server (`#add`).
    tokenize: (text) => {
      const words = splitWords(text);
      this.#words += words.length;
      return words;
    },
    processTerm: (word) => (isSignificant(word) ? word : null),
    autoVacuum: false,
    searchOptions,
  });
  /** Terms in the index. */
  readonly #budget = new Budget(MAX_WORDS);
  /** Shares of the index terms by server id. Entries are never removed, because ids are short. */
  readonly #shares = new Map<string, Share>();
  /** Number of terms created so far. */
  #words = 0;
  #entries = new Map<string, IndexEntry>();
  /** Entries by tool name at the server, in lower case. */
  readonly #byKey = new Map<string, Set<IndexEntry>>();
  #indexedList: ReadonlyMap<string, MergedItem> | undefined;

  constructor(list: () => ReadonlyMap<string, MergedItem>) {
    this.#list = list;
  }

  /** Returns all matching tools, best first. */
  find({ query, isWanted = () => true }: ToolQuery): ToolHit[] {
    this.#update();
    const isSelected = ({ listing }: IndexEntry) => isWanted(listing.server.id);
    if (query.trim() === '')
      return [...this.#entries.values()].filter(isSelected).map((tool) => ({ tool, score: 0 }));
    const hits = new Map<IndexEntry, number>();
    for (const { id, score } of this.#search.search(searchText(query))) {
      const entry = this.#entries.get(id as string);
      if (entry !== undefined && isSelected(entry)) hits.set(entry, score);
    }
    let best = 0;
    for (const score of hits.values()) best = Math.max(best, score);
    // Tools with exactly this name come before all others.
    for (const [entry, rank] of this.#exact(query.trim()))
      if (isSelected(entry)) hits.set(entry, (hits.get(entry) ?? 0) + rank * (best + 1));
    return [...hits]
      .map(([tool, score]) => ({ tool, score: Math.round(score * 1000) / 1000 }))
      .sort((a, b) => b.score - a.score || a.tool.position - b.tool.position);
  }

  /** Returns names similar to an unknown name, best first. */
  near(name: string, most = 5): string[] {
    this.#update();
    const searchedName = comparable(name);
    const hits = this.#search.search(searchText(searchedName), nearOptions).slice(0, MAX_COMPARED);
    const distance = ({ listing }: IndexEntry) =>
      Math.min(
        ...[listing.name, listing.key].map((listedName) =>
          editDistance(searchedName, comparable(listedName)),
        ),
      );
    const ranked = hits
      .flatMap(({ id }) => this.#entries.get(id as string) ?? [])
      .map((entry) => ({ entry, edits: distance(entry) }))
      .sort((a, b) => a.edits - b.edits || a.entry.position - b.entry.position);
    // Names with few edits are probably meant. The other hits only share a term, and are used without them.
    const similar = ranked.filter(({ edits }) => edits <= searchedName.length / 3);
    return (similar.length > 0 ? similar : ranked).slice(0, most).map(({ entry }) => entry.id);
  }

  /** Returns the tools with exactly this merged name (one at most) or this name at their server. */
  *#exact(query: string): Iterable<[IndexEntry, rank: number]> {
    const exact = this.#entries.get(query);
    if (exact !== undefined) yield [exact, 2];
    for (const entry of this.#byKey.get(query.toLowerCase()) ?? []) if (entry !== exact) yield [entry, 1];
  }

  /** Updates the index if the list changed. */
  #update(): void {
    const list = this.#list();
    if (list === this.#indexedList) return;
    const before = this.#entries;
    const entries = new Map<string, IndexEntry>();
    const newEntries: IndexEntry[] = [];
    for (const listing of list.values()) {
      const previous = before.get(listing.name);
      const position = entries.size;
      if (
        previous !== undefined &&
        previous.listing.server.id === listing.server.id &&
        isSameItem(previous.listing.item, listing.item)
      ) {
        entries.set(listing.name, { ...previous, listing, position });
        continue;
      }
      const entry = {
        id: listing.name,
        listing,
        position,
        wordCount: undefined,
        ...titleAndDescription(itemJson(listing.item)),
      };
      entries.set(listing.name, entry);
      newEntries.push(entry);
    }
    this.#drop(before, entries, newEntries);
    for (const entry of entries.values()) if (entry.wordCount === undefined) this.#add(entry);
    this.#entries = entries;
    this.#byKey.clear();
    for (const entry of entries.values()) {
      const key = entry.listing.key.toLowerCase();
      const same = this.#byKey.get(key);
      if (same === undefined) this.#byKey.set(key, new Set([entry]));
      else same.add(entry);
    }
    this.#indexedList = list;
  }

  /** Removes entries that are missing in the new list, or changed, from the index. */
  #drop(
    before: ReadonlyMap<string, IndexEntry>,
    now: ReadonlyMap<string, IndexEntry>,
    newEntries: readonly IndexEntry[],
  ): void {
    const changedIds = new Set(newEntries.map(({ id }) => id));
    const removedEntries = [...before.values()].filter(({ id }) => !now.has(id) || changedIds.has(id));
    for (const entry of removedEntries) this.#budget.release(entry.wordCount ?? 0, this.#shareOf(entry));
    // A removal costs as much as an insertion, so a completely new list replaces the index.
    if (removedEntries.length > 0 && removedEntries.length === before.size) this.#search.removeAll();
    else for (const entry of removedEntries) if (entry.wordCount !== undefined) this.#search.remove(entry);
  }

  #add(entry: IndexEntry): void {
    const before = this.#words;
    // The number of terms is known only after the insertion, because `tokenize` counts them.
    this.#search.add(entry);
    const wordCount = this.#words - before;
    if (this.#budget.acquire(wordCount, this.#shareOf(entry))) entry.wordCount = wordCount;
    else this.#search.remove(entry);
  }

  #shareOf({ listing }: IndexEntry): Share {
    const { id } = listing.server;
    const share = this.#shares.get(id) ?? new Share();
    this.#shares.set(id, share);
    return share;
  }
}

function comparable(name: string): string {
  return name.slice(0, MAX_NEAR_LENGTH).toLowerCase();
}

function extractField(entry: IndexEntry, field: string): string {
  switch (field) {
    case 'id':
      return entry.id;
    case 'name':
      return entry.listing.key.slice(0, MAX_DESCRIPTION);
    case 'title':
      return entry.title ?? '';
    case 'server':
      return entry.listing.server.id;
    default:
      return entry.description ?? '';
  }
}

/** Returns the first query terms; further terms cost time without better results. */
function searchText(query: string): string {
  return [...new Set(splitWords(query))].slice(0, MAX_QUERY_WORDS).join(' ');
}

function titleAndDescription(json: string): Pick<IndexedTool, 'title' | 'description'> {
  const { title, description, annotations } = JSON.parse(json) as Record<string, unknown>;
  // Older servers send the title in the annotations.
  const second = typeof annotations === 'object' && annotations !== null ? annotations : {};
  return {
    title: textIn(title) ?? textIn((second as Record<string, unknown>).title),
    description: textIn(description),
  };
}

/** Returns the beginning as a copy; a slice would retain the whole text. */
function textIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value.length <= MAX_DESCRIPTION ? value : Buffer.from(value.slice(0, MAX_DESCRIPTION)).toString();
}
