// The table of mailboxes that have something to do, in memory: since when each is ready, and who holds the claim on it.
// On disk there are only the events with their states. A claim ends with the process that gave it, so that nothing is
// lost with this table, and nothing has to be written for it.
//
// MT1  a mailbox stands among those that are ready, by the kind of its key and the longest first; or among those
//      that will be, by their time; or nowhere, while its first event is held, or a parked one holds it.
// MT2  `rollBack` makes of the table what it was at `begin`, but for the order among those that are ready.
// MT3  time does not go back but by `turnBack`.
// MT4  what is suspected of ending the process is given only where it may begin beside those of its kind that run.

import { mayBeginBeside } from '../../../machines/crashes.ts';
import { type Linked, LinkedList } from '../../base/bounds/linked-list.ts';
import { isKind, kindOf } from '../key-kinds.ts';
import { neighbourhoodOf } from '../neighbourhood.ts';
import { DueHeap, type Timed } from './due-heap.ts';

/** The claim on a mailbox, and what it was given for. */
export interface ClaimEntry {
  readonly fence: number;
  /** The event that was given with the claim. */
  readonly seq: number;
  readonly leaseMs: number;
  /** The crashes of that event: above 0 it is a suspect. */
  readonly crashes: number;
}

/** Anybody may read it; only the table writes it. */
export class MailboxEntry implements Linked<MailboxEntry>, Timed {
  readonly key: string;
  /** See kindOf. */
  readonly kind: string;
  /** Infinity while it waits for something else than a time. While it is claimed: the end of the claim. */
  dueAt = Number.POSITIVE_INFINITY;
  claim: ClaimEntry | undefined;
  /** False only when the event under the claim is surely the only unfinished one of the key. */
  mayHaveMore = true;
  /** A parked event holds it: it is not ready, whatever is in it. */
  isLocked = false;
  /** The crashes of the event that is first, or under the claim. */
  crashes = 0;
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
  readonly claim: ClaimEntry | undefined;
  readonly mayHaveMore: boolean;
  readonly isLocked: boolean;
  readonly crashes: number;
}

export class MailboxTable {
  readonly #entries = new Map<string, MailboxEntry>();
  /** Ready mailboxes by the kind of the key, so that a claim for one kind does not go through a backlog of the others. */
  readonly #ready = new Map<string, LinkedList<MailboxEntry>>();
  /** Ready mailboxes of any kind whose first event is a suspect. */
  readonly #readySuspects = new LinkedList<MailboxEntry>();
  /** How many suspects are under a claim: by their neighbourhood, and there by their crashes. */
  readonly #running = new Map<string, number[]>();
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
      const { entry, wasThere, dueAt, claim, mayHaveMore, isLocked, crashes } = change;
      this.#take(entry);
      this.#give(entry, claim, crashes);
      entry.mayHaveMore = mayHaveMore;
      entry.isLocked = isLocked;
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
  set(
    key: string,
    dueAt: number,
    claim?: ClaimEntry,
    mayHaveMore = true,
    crashes = claim?.crashes ?? 0,
  ): void {
    const known = this.#entries.get(key);
    const entry = known ?? new MailboxEntry(key);
    this.#note(entry, known !== undefined);
    if (known === undefined) this.#entries.set(key, entry);
    else this.#take(entry);
    this.#give(entry, claim, crashes);
    entry.mayHaveMore = mayHaveMore;
    this.#put(entry, dueAt);
  }

  /** Another event of the key is there, behind that of the claim. */
  setMore(entry: MailboxEntry): void {
    if (entry.mayHaveMore) return;
    this.#note(entry, true);
    entry.mayHaveMore = true;
  }

  /** From now on, or no longer, a parked event holds the mailbox. */
  setLocked(key: string, isLocked: boolean): void {
    const known = this.#entries.get(key);
    if ((known?.isLocked ?? false) === isLocked) return;
    const entry = known ?? new MailboxEntry(key);
    this.#note(entry, known !== undefined);
    if (known === undefined) this.#entries.set(key, entry);
    entry.isLocked = isLocked;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#note(entry, true);
    this.#take(entry);
    this.#give(entry, undefined, 0);
    entry.isLocked = false;
    this.#entries.delete(key);
  }

  /** Whether suspects wait for others to end. */
  get hasReadySuspects(): boolean {
    return this.#readySuspects.size > 0;
  }

  /** The one that has been ready for longest, of those whose keys begin so and that may begin. */
  firstReady(keyPrefix: string): MailboxEntry | undefined {
    const found = this.#firstTrusted(keyPrefix);
    const suspect = this.#firstSuspect(keyPrefix);
    return suspect === undefined || (found !== undefined && found.dueAt <= suspect.dueAt) ? found : suspect;
  }

  #firstTrusted(keyPrefix: string): MailboxEntry | undefined {
    // Nearly always it is a whole kind that is asked for.
    if (isKind(keyPrefix)) return this.#ready.get(keyPrefix)?.first;
    let found: MailboxEntry | undefined;
    for (const [own, list] of this.#ready) {
      if (!own.startsWith(keyPrefix) && !keyPrefix.startsWith(own)) continue;
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

  #firstSuspect(keyPrefix: string): MailboxEntry | undefined {
    for (const entry of this.#readySuspects)
      if (entry.key.startsWith(keyPrefix) && this.#mayBegin(entry)) return entry;
    return undefined;
  }

  #mayBegin({ key, claim, crashes: own }: MailboxEntry): boolean {
    const neighbourhood = neighbourhoodOf(key);
    let near = 0;
    let worst = 0;
    for (const [where, counts] of this.#running) {
      const isNear = where === neighbourhood;
      for (const [crashes, count = 0] of counts.entries()) {
        // One whose claim ran out does not stand in its own way.
        const others = count - Number(isNear && claim?.crashes === crashes);
        if (others === 0) continue;
        worst = Math.max(worst, crashes);
        if (isNear && crashes >= own) near += others;
      }
    }
    return mayBeginBeside(own, near, worst);
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
      this.#listOf(first).add(first);
      hasAny = true;
    }
    return hasAny;
  }

  #note(entry: MailboxEntry, wasThere: boolean): void {
    const { dueAt, claim, mayHaveMore, isLocked, crashes } = entry;
    this.#changes.push({ entry, wasThere, dueAt, claim, mayHaveMore, isLocked, crashes });
  }

  /** It must stand nowhere: what it is suspected of decides where. */
  #give(entry: MailboxEntry, claim: ClaimEntry | undefined, crashes: number): void {
    this.#count(entry.key, entry.claim, -1);
    entry.claim = claim;
    entry.crashes = crashes;
    this.#count(entry.key, claim, 1);
  }

  #count(key: string, claim: ClaimEntry | undefined, by: number): void {
    if (claim === undefined || claim.crashes === 0) return;
    const neighbourhood = neighbourhoodOf(key);
    const counts = this.#running.get(neighbourhood) ?? [];
    counts[claim.crashes] = (counts[claim.crashes] ?? 0) + by;
    if (counts.some((count) => count > 0)) this.#running.set(neighbourhood, counts);
    else this.#running.delete(neighbourhood);
  }

  #put(entry: MailboxEntry, dueAt: number): void {
    entry.dueAt = dueAt;
    if (dueAt <= this.#now) this.#listOf(entry).add(entry);
    else if (dueAt !== Number.POSITIVE_INFINITY) this.#later.add(entry);
  }

  #take(entry: MailboxEntry): void {
    if (entry.heapIndex >= 0) this.#later.delete(entry);
    else this.#listOf(entry).delete(entry);
  }

  #listOf({ kind, crashes }: MailboxEntry): LinkedList<MailboxEntry> {
    if (crashes > 0) return this.#readySuspects;
    let list = this.#ready.get(kind);
    if (list === undefined) {
      list = new LinkedList();
      this.#ready.set(kind, list);
    }
    return list;
  }
}
