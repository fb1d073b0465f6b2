// Decides which clients are told that a merged list has changed: those that were shown another one than there is now.
// Changes are counted, and of each client it is kept up to which count it knows them.
//
// NW1  while a client asks for a list it hears nothing of it: the answer has all there is.
// NW2  after a whole answer it hears of what is new since then, once for all of it, and of nothing else. After one that
//      lacked something it hears of that when it is learnt, although it may have seen it meanwhile.
// NW3  who has not asked for a list hears of its changes, not of what is learnt for the first time.

import { everyListKind, type ListKind, listKinds } from '../../servers/lists/lists.ts';

/** How a request for a list was answered: with all there may be, with what is known so far, or not. */
export type ListCompleteness = 'whole' | 'partial' | 'none';

type PerKind = Record<ListKind, number>;

const perKind = (value: number): PerKind => ({
  tools: value,
  prompts: value,
  resources: value,
  resourceTemplates: value,
});

/** Both lists of resources have one notice. */
const kindsByNotice: readonly (readonly [ListKind, ...ListKind[]])[] = [
  ['tools'],
  ['prompts'],
  ['resources', 'resourceTemplates'],
];

export class ListChanges {
  /** How many times there was something new. */
  #count = 0;
  /** Of each list, when it was last another one, and when that was a change of what was known before. */
  readonly #newAt = perKind(0);
  readonly #changedAt = perKind(0);
  /** What the oldest answer to a modern client was, of which no listening client has heard since. */
  readonly #given: Partial<PerKind> = {};

  get count(): number {
    return this.#count;
  }

  /** `isFirst`: it was not known before. */
  add(kinds: readonly ListKind[], isFirst: boolean): void {
    this.#count += 1;
    for (const kind of kinds) {
      this.#newAt[kind] = this.#count;
      if (!isFirst) this.#changedAt[kind] = this.#count;
    }
  }

  hasNewSince(count: number, kind: ListKind): boolean {
    return this.#newAt[kind] > count;
  }

  hasChangedSince(count: number, kind: ListKind): boolean {
    return this.#changedAt[kind] > count;
  }

  /** A client without a session was shown this list. Which of those that listen it is, nobody knows. */
  gave(kind: ListKind): void {
    this.#given[kind] ??= this.#count;
  }

  /** What clients that listen are to hear, by the first list of each notice; `since` is when this one last heard. */
  dueToListener(since: number): ListKind[] {
    const isDue = (kind: ListKind) =>
      this.hasChangedSince(since, kind) || this.hasNewSince(this.#given[kind] ?? this.#count, kind);
    return kindsByNotice.flatMap((kinds) => (kinds.some(isDue) ? [kinds[0]] : []));
  }

  /** All that listen have heard. */
  toldListeners(): void {
    for (const kind of everyListKind)
      if (this.hasNewSince(this.#given[kind] ?? this.#count, kind)) delete this.#given[kind];
  }
}

/** How far a session has come. */
export class ListCopies {
  /** What there was when it was last shown the list, or told of it. */
  readonly #heardAt: PerKind;
  readonly #asking = perKind(0);
  readonly #hasCopy: Partial<Record<ListKind, true>> = {};

  /** `since`: when the session began. */
  constructor(since: number) {
    this.#heardAt = perKind(since);
  }

  ask(kind: ListKind): void {
    this.#asking[kind] += 1;
  }

  /** The request is over. */
  end(kind: ListKind, news: ListChanges, answer: ListCompleteness): void {
    this.#asking[kind] -= 1;
    if (answer === 'none') return;
    if (answer === 'whole' || this.#hasCopy[kind] !== true) this.#heardAt[kind] = news.count;
    this.#hasCopy[kind] = true;
  }

  /** Whether there is something to take. */
  isDue(news: ListChanges): boolean {
    return kindsByNotice.some((kinds) => this.#areDue(kinds, news));
  }

  /** The notices that are due, as methods; whoever takes them sends them. */
  take(news: ListChanges): string[] {
    const due = kindsByNotice.filter((kinds) => this.#areDue(kinds, news));
    for (const kind of due.flat()) this.#heardAt[kind] = news.count;
    return due.map(([kind]) => listKinds[kind].changed);
  }

  #areDue(kinds: readonly ListKind[], news: ListChanges): boolean {
    return kinds.every((kind) => this.#asking[kind] === 0) && kinds.some((kind) => this.#isDue(kind, news));
  }

  #isDue(kind: ListKind, news: ListChanges): boolean {
    const since = this.#heardAt[kind];
    return this.#hasCopy[kind] ? news.hasNewSince(since, kind) : news.hasChangedSince(since, kind);
  }
}
