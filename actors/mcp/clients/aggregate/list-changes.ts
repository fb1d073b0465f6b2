// Decides which clients receive list_changed for a merged list (of several servers): only clients with an
// outdated copy. Changes are numbered, and the number of each client's copy is recorded. While a client
// requests a list it gets no notification, because the response contains all changes. After a complete
// response only later changes are notified; after an incomplete response also the missing part. A client that
// never requested the list is notified of changes, but not of lists fetched for the first time.

import { everyListKind, type ListKind, listKinds } from '../../servers/lists/lists.ts';

/** Completeness in a list response: complete, without the items of some servers, or no list. */
export type ListCompleteness = 'whole' | 'partial' | 'none';

type PerKind = Record<ListKind, number>;

const perKind = (value: number): PerKind => ({
  tools: value,
  prompts: value,
  resources: value,
  resourceTemplates: value,
});

/** Resources and resource templates share a notification. */
const kindsByNotice: readonly (readonly [ListKind, ...ListKind[]])[] = [
  ['tools'],
  ['prompts'],
  ['resources', 'resourceTemplates'],
];

export class ListChanges {
  /** Number of changes so far. */
  #count = 0;
  /** Number of the last change per list. */
  readonly #newAt = perKind(0);
  /** Number of the last change per list, without lists fetched for the first time. */
  readonly #changedAt = perKind(0);
  /**
   * Change number of the oldest copy at a sessionless client that is not notified yet. Such a client may
   * listen to changes in a separate request.
   */
  readonly #sessionlessCopies: Partial<PerKind> = {};

  get count(): number {
    return this.#count;
  }

  /** Records a change. `isFirst`: the list was unknown before. */
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

  /** Records a list response to a sessionless client; any listening client may have requested it. */
  recordCopy(kind: ListKind): void {
    this.#sessionlessCopies[kind] ??= this.#count;
  }

  /**
   * Returns one list kind per notification due for a listening client. `since` is the change number of its
   * last notification.
   */
  dueKinds(since: number): ListKind[] {
    const isDue = (kind: ListKind) =>
      this.hasChangedSince(since, kind) ||
      this.hasNewSince(this.#sessionlessCopies[kind] ?? this.#count, kind);
    return kindsByNotice.flatMap((kinds) => (kinds.some(isDue) ? [kinds[0]] : []));
  }

  /** Records that all listening clients were notified. Copies without later changes remain recorded. */
  markNotified(): void {
    for (const kind of everyListKind)
      if (this.hasNewSince(this.#sessionlessCopies[kind] ?? this.#count, kind))
        delete this.#sessionlessCopies[kind];
  }
}

/** Versions of a session client's list copies. */
export class ListCopies {
  /** Change number of the client's last response or notification. */
  readonly #copyAt: PerKind;
  readonly #openRequests = perKind(0);
  readonly #hasCopy: Partial<Record<ListKind, true>> = {};

  /** `since` is the change number at the start of the session. */
  constructor(since: number) {
    this.#copyAt = perKind(since);
  }

  /** Records the start of list requests. */
  beginRequest(kind: ListKind): void {
    this.#openRequests[kind] += 1;
  }

  /** Records the completion of list requests. */
  endRequest(kind: ListKind, changes: ListChanges, answer: ListCompleteness): void {
    this.#openRequests[kind] -= 1;
    if (answer === 'none') return;
    // A missing part is recorded as a change when it arrives. A later incomplete response may lack changes
    // that are still due, so it keeps the older number.
    if (answer === 'whole' || this.#hasCopy[kind] !== true) this.#copyAt[kind] = changes.count;
    this.#hasCopy[kind] = true;
  }

  /** True if the client has, or is requesting, any list. */
  get isUsed(): boolean {
    return (
      Object.keys(this.#hasCopy).length > 0 || Object.values(this.#openRequests).some((count) => count > 0)
    );
  }

  /** Returns true if a notification is due. */
  isDue(changes: ListChanges): boolean {
    return kindsByNotice.some((kinds) => this.#areDue(kinds, changes));
  }

  /** Returns the methods of the due notifications and records them as sent. */
  takeNotifications(changes: ListChanges): string[] {
    const due = kindsByNotice.filter((kinds) => this.#areDue(kinds, changes));
    for (const kind of due.flat()) this.#copyAt[kind] = changes.count;
    return due.map(([kind]) => listKinds[kind].changed);
  }

  #areDue(kinds: readonly ListKind[], changes: ListChanges): boolean {
    return (
      kinds.every((kind) => this.#openRequests[kind] === 0) &&
      kinds.some((kind) => this.#isDue(kind, changes))
    );
  }

  #isDue(kind: ListKind, changes: ListChanges): boolean {
    const since = this.#copyAt[kind];
    return this.#hasCopy[kind] ? changes.hasNewSince(since, kind) : changes.hasChangedSince(since, kind);
  }
}
