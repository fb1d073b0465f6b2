// A search index over tools: BM25 over name, title, server and description. It is built with the first search, and then
// updated by what has changed in the list, since a server that merely starts makes a new list of the same tools.
//
// TI1  only tools of the list are found: what `tools: { allow, deny }` hides is not in it.
// TI2  the same list and query give the same hits in the same order: equal scores go by the place in the list.
// TI3  a tool whose exact name is asked for comes before every other.
// TI4 (A8)  tools are found by MAX_WORDS words at most, and no server can take them all: a tool beyond that is found by its
//          exact name, and in the list of all.

import MiniSearch, { type SearchOptions } from 'minisearch';
import { editDistance } from '../../../../config/reader/suggest.ts';
import { Budget, Share } from '../../../base/bounds/budget.ts';
import { isSameItem, itemJson } from '../../servers/lists/lists.ts';
import type { Shown } from '../aggregate/aggregate.ts';
import { isTelling, wordsOf } from './tool-words.ts';

export interface ToolQuery {
  /** Words; '' finds everything, in the order of the list. */
  readonly query: string;
  /** Only tools of servers this says yes to. */
  readonly isWanted?: (server: string) => boolean;
}

export interface IndexedTool {
  readonly shown: Shown;
  /** Of this and the description the beginning. */
  readonly title: string | undefined;
  readonly description: string | undefined;
}

export interface ToolHit {
  readonly tool: IndexedTool;
  /** 0 when nothing was asked for by words. */
  readonly score: number;
}

interface Entry extends IndexedTool {
  readonly id: string;
  /** How many the index holds for it; undefined when it is not in there. */
  words: number | undefined;
  place: number;
}

/** The gist of a tool stands at the beginning; a manual behind it would only thin it out. */
const MAX_DESCRIPTION = 400;
/** Over all tools. A word takes some 60 bytes for each tool that has it, and 650 where no other has it, as measured. */
const MAX_WORDS = 500_000;
const MAX_QUERY_WORDS = 16;
/** Comparing two names letter by letter takes the product of their lengths. */
const MAX_NEAR_LENGTH = 100;
const MAX_COMPARED = 30;
const fields = ['name', 'title', 'server', 'description'];

const searchOptions: SearchOptions = {
  boost: { name: 4, title: 3, server: 1.5 },
  prefix: (word) => word.length >= 3,
  fuzzy: (word) => (word.length >= 5 ? 0.2 : false),
  maxFuzzy: 2,
  weights: { prefix: 0.4, fuzzy: 0.2 },
};

/** A name that was misremembered: more slips are forgiven, and what descriptions say does not matter. */
const nearOptions: SearchOptions = { fields: ['name', 'server'], fuzzy: 0.3 };

export class ToolIndex {
  readonly #list: () => ReadonlyMap<string, Shown>;
  readonly #search = new MiniSearch<Entry>({
    fields,
    extractField,
    tokenize: (text) => {
      const words = wordsOf(text);
      this.#words += words.length;
      return words;
    },
    processTerm: (word) => (isTelling(word) ? word : null),
    autoVacuum: false,
    searchOptions,
  });
  readonly #budget = new Budget(MAX_WORDS);
  /** By server, for as long as the process lives: ids are few and short. */
  readonly #shares = new Map<string, Share>();
  /** Words that were ever made. */
  #words = 0;
  #entries = new Map<string, Entry>();
  /** By the name its server has for it, in lower case. */
  readonly #byKey = new Map<string, Set<Entry>>();
  #seen: ReadonlyMap<string, Shown> | undefined;

  constructor(list: () => ReadonlyMap<string, Shown>) {
    this.#list = list;
  }

  /** Every tool that fits, the best first. */
  find({ query, isWanted = () => true }: ToolQuery): ToolHit[] {
    this.#follow();
    const fits = ({ shown }: Entry) => isWanted(shown.server.id);
    if (query.trim() === '')
      return [...this.#entries.values()].filter(fits).map((tool) => ({ tool, score: 0 }));
    const hits = new Map<Entry, number>();
    for (const { id, score } of this.#search.search(searchText(query))) {
      const entry = this.#entries.get(id as string);
      if (entry !== undefined && fits(entry)) hits.set(entry, score);
    }
    let best = 0;
    for (const score of hits.values()) best = Math.max(best, score);
    for (const [entry, rank] of this.#exact(query.trim()))
      if (fits(entry)) hits.set(entry, (hits.get(entry) ?? 0) + rank * (best + 1));
    return [...hits]
      .map(([tool, score]) => ({ tool, score: Math.round(score * 1000) / 1000 }))
      .sort((a, b) => b.score - a.score || a.tool.place - b.tool.place);
  }

  /** Names like one that is not in the list, the likest first. */
  near(name: string, most = 5): string[] {
    this.#follow();
    const meant = comparable(name);
    const found = this.#search.search(searchText(meant), nearOptions).slice(0, MAX_COMPARED);
    const distance = ({ shown }: Entry) =>
      Math.min(...[shown.name, shown.key].map((one) => editDistance(meant, comparable(one))));
    const likest = found
      .flatMap(({ id }) => this.#entries.get(id as string) ?? [])
      .map((entry) => ({ entry, slips: distance(entry) }))
      .sort((a, b) => a.slips - b.slips || a.entry.place - b.entry.place);
    // Nobody who mistyped a name wants to hear of those that only have a word with it in common.
    const mistyped = likest.filter(({ slips }) => slips <= meant.length / 3);
    return (mistyped.length > 0 ? mistyped : likest).slice(0, most).map(({ entry }) => entry.id);
  }

  /** The name clients see is one tool's only; the name a server has for it may be that of several. */
  *#exact(query: string): Iterable<[Entry, rank: number]> {
    const named = this.#entries.get(query);
    if (named !== undefined) yield [named, 2];
    for (const entry of this.#byKey.get(query.toLowerCase()) ?? []) if (entry !== named) yield [entry, 1];
  }

  #follow(): void {
    const list = this.#list();
    if (list === this.#seen) return;
    const before = this.#entries;
    const entries = new Map<string, Entry>();
    const fresh: Entry[] = [];
    for (const shown of list.values()) {
      const known = before.get(shown.name);
      const place = entries.size;
      if (
        known !== undefined &&
        known.shown.server.id === shown.server.id &&
        isSameItem(known.shown.item, shown.item)
      ) {
        entries.set(shown.name, { ...known, shown, place });
        continue;
      }
      const entry = { id: shown.name, shown, place, words: undefined, ...gist(itemJson(shown.item)) };
      entries.set(shown.name, entry);
      fresh.push(entry);
    }
    this.#drop(before, entries, fresh);
    for (const entry of entries.values()) if (entry.words === undefined) this.#add(entry);
    this.#entries = entries;
    this.#byKey.clear();
    for (const entry of entries.values()) {
      const key = entry.shown.key.toLowerCase();
      const same = this.#byKey.get(key);
      if (same === undefined) this.#byKey.set(key, new Set([entry]));
      else same.add(entry);
    }
    this.#seen = list;
  }

  #drop(before: ReadonlyMap<string, Entry>, now: ReadonlyMap<string, Entry>, fresh: readonly Entry[]): void {
    const changed = new Set(fresh.map(({ id }) => id));
    const gone = [...before.values()].filter(({ id }) => !now.has(id) || changed.has(id));
    for (const entry of gone) this.#budget.give(entry.words ?? 0, this.#shareOf(entry));
    // Taking out costs as much as putting in, so that a list that is all new is built anew.
    if (gone.length > 0 && gone.length === before.size) this.#search.removeAll();
    else for (const entry of gone) if (entry.words !== undefined) this.#search.remove(entry);
  }

  #add(entry: Entry): void {
    const before = this.#words;
    this.#search.add(entry);
    const words = this.#words - before;
    if (this.#budget.take(words, this.#shareOf(entry))) entry.words = words;
    else this.#search.remove(entry);
  }

  #shareOf({ shown }: Entry): Share {
    const { id } = shown.server;
    const share = this.#shares.get(id) ?? new Share();
    this.#shares.set(id, share);
    return share;
  }
}

function comparable(name: string): string {
  return name.slice(0, MAX_NEAR_LENGTH).toLowerCase();
}

function extractField(entry: Entry, field: string): string {
  switch (field) {
    case 'id':
      return entry.id;
    case 'name':
      return entry.shown.key.slice(0, MAX_DESCRIPTION);
    case 'title':
      return entry.title ?? '';
    case 'server':
      return entry.shown.server.id;
    default:
      return entry.description ?? '';
  }
}

/** A long query costs time by its words, and says no more with its hundredth. */
function searchText(query: string): string {
  return [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS).join(' ');
}

function gist(json: string): Pick<IndexedTool, 'title' | 'description'> {
  const { title, description, annotations } = JSON.parse(json) as Record<string, unknown>;
  const second = typeof annotations === 'object' && annotations !== null ? annotations : {};
  return {
    title: textIn(title) ?? textIn((second as Record<string, unknown>).title),
    description: textIn(description),
  };
}

/** Its beginning, as a text of its own: a piece of a long one would hold all of it. */
function textIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value.length <= MAX_DESCRIPTION ? value : Buffer.from(value.slice(0, MAX_DESCRIPTION)).toString();
}
