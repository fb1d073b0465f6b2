// The mailboxes that have something to do, in memory: since when each is ready, and who holds the claim on it. On disk there
// are only the events with their states: a claim ends with the process that gave it, so that nothing is lost with this
// table, and nothing has to be written for it.
//
// MT1  a mailbox stands among those that are ready, by the first word of its key and the longest first; or among those
//      that will be, by their time; or nowhere, while its first event is held.
// MT2  `rollBack` makes of the table what it was at `begin`, but for the order among those that are ready.
// MT3  time does not go back but by `turnBack`.

import { type Linked, LinkedList } from '../linked-list.ts';
import { DueHeap, type Timed } from './due-heap.ts';

/** One that holds a mailbox, and what for. */
export interface Claim {
  readonly fence: number;
  /** The event that was given with it. */
  readonly seq: number;
  readonly leaseMs: number;
}

/** Read by everybody, written by the table alone. */
export class MailboxEntry implements Linked<MailboxEntry>, Timed {
  readonly key: string;
  /** The first word of the key, with its slash. */
  readonly kind: string;
  /** Infinity while nothing but a word of somebody makes it ready. While it is claimed: the end of the claim. */
  dueAt = Number.POSITIVE_INFINITY;
  claim: Claim | undefined;
  /** False only when the event under the claim is surely the only unfinished one of the key. */
  mayHaveMore = true;
  heapIndex = -1;
  previous: MailboxEntry | undefined;
  next: MailboxEntry | undefined;

  constructor(key: string) {
    this.key = key;
    this.kind = kindOf(key);
  }
}

interface Before {
  readonly entry: MailboxEntry;
  readonly wasThere: boolean;
  readonly dueAt: number;
  readonly claim: Claim | undefined;
  readonly mayHaveMore: boolean;
}

export class MailboxTable {
  readonly #entries = new Map<string, MailboxEntry>();
  /** By the first word of the key: whoever asks for one kind does not wade through a backlog of the others. */
  readonly #ready = new Map<string, LinkedList<MailboxEntry>>();
  readonly #later = new DueHeap<MailboxEntry>();
  /** What has changed since `begin`, the last change last. */
  readonly #changes: Before[] = [];
  #now = 0;

  /** What is changed from here on may be rolled back. Gives whether something has become ready by then, epoch ms. */
  begin(now: number): boolean {
    this.#changes.length = 0;
    return this.#advance(now);
  }

  rollBack(): void {
    for (let change = this.#changes.pop(); change !== undefined; change = this.#changes.pop()) {
      const { entry, wasThere, dueAt, claim, mayHaveMore } = change;
      this.#take(entry);
      entry.claim = claim;
      entry.mayHaveMore = mayHaveMore;
      if (wasThere) {
        this.#entries.set(entry.key, entry);
        this.#put(entry, dueAt);
      } else this.#entries.delete(entry.key);
    }
  }

  /** What has become ready stands so by then, epoch ms. */
  get now(): number {
    return this.#now;
  }

  get(key: string): MailboxEntry | undefined {
    return this.#entries.get(key);
  }

  all(): readonly MailboxEntry[] {
    return [...this.#entries.values()];
  }

  /** Has the mailbox ready at that time, epoch ms; under the claim until then, if there is one. */
  set(key: string, dueAt: number, claim?: Claim, mayHaveMore = true): void {
    const known = this.#entries.get(key);
    const entry = known ?? new MailboxEntry(key);
    this.#note(entry, known !== undefined);
    if (known === undefined) this.#entries.set(key, entry);
    else this.#take(entry);
    entry.claim = claim;
    entry.mayHaveMore = mayHaveMore;
    this.#put(entry, dueAt);
  }

  /** Another event of the key is there, behind that of the claim. */
  setMore(entry: MailboxEntry): void {
    if (entry.mayHaveMore) return;
    this.#note(entry, true);
    entry.mayHaveMore = true;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#note(entry, true);
    this.#take(entry);
    this.#entries.delete(key);
  }

  /** The one that has been ready for longest, of those whose keys begin so. */
  firstReady(keyPrefix: string): MailboxEntry | undefined {
    const kind = kindOf(keyPrefix);
    if (kind !== '' && kind === keyPrefix) return this.#ready.get(kind)?.first;
    let found: MailboxEntry | undefined;
    for (const [own, list] of this.#ready) {
      if (kind !== '' && own !== kind) continue;
      for (const entry of list) {
        if (found !== undefined && found.dueAt <= entry.dueAt) break;
        if (entry.key.startsWith(keyPrefix)) {
          found = entry;
          break;
        }
      }
    }
    return found;
  }

  /** When, after that time, the next one will be ready, epoch ms. */
  nextAfter(time: number): number | undefined {
    this.#advance(time);
    return this.#later.first?.dueAt;
  }

  /** The clock was set, by so much: a claim holds as long as it would have held. */
  moveClaims(byMs: number): void {
    for (const entry of this.all()) {
      if (entry.claim === undefined) continue;
      this.#note(entry, true);
      this.#take(entry);
      this.#put(entry, entry.dueAt + byMs);
    }
  }

  /** The clock was set back: what is ready now is what is due by the new time. */
  turnBack(now: number): void {
    this.#now = now;
    for (const entry of [...this.#entries.values()].sort((one, other) => one.dueAt - other.dueAt)) {
      const { dueAt } = entry;
      this.#take(entry);
      this.#put(entry, dueAt);
    }
  }

  #advance(now: number): boolean {
    this.#now = Math.max(this.#now, now);
    let hasAny = false;
    for (let first = this.#later.first; first !== undefined; first = this.#later.first) {
      if (first.dueAt > this.#now) break;
      this.#later.delete(first);
      this.#listOf(first.kind).add(first);
      hasAny = true;
    }
    return hasAny;
  }

  #note(entry: MailboxEntry, wasThere: boolean): void {
    const { dueAt, claim, mayHaveMore } = entry;
    this.#changes.push({ entry, wasThere, dueAt, claim, mayHaveMore });
  }

  #put(entry: MailboxEntry, dueAt: number): void {
    entry.dueAt = dueAt;
    if (dueAt <= this.#now) this.#listOf(entry.kind).add(entry);
    else if (dueAt !== Number.POSITIVE_INFINITY) this.#later.add(entry);
  }

  #take(entry: MailboxEntry): void {
    if (entry.heapIndex >= 0) this.#later.delete(entry);
    else this.#listOf(entry.kind).delete(entry);
  }

  #listOf(kind: string): LinkedList<MailboxEntry> {
    let list = this.#ready.get(kind);
    if (list === undefined) {
      list = new LinkedList();
      this.#ready.set(kind, list);
    }
    return list;
  }
}

function kindOf(key: string): string {
  return key.slice(0, key.indexOf('/') + 1);
}
