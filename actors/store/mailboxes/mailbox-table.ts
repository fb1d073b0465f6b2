// In-memory table of the mailboxes with unfinished events: when they are ready, and their claims. Claims are
// not in the file, since they do not survive the process; each start rebuilds the table from the events.
//
// A mailbox is in the ready list of its kind (longest ready first) or in the heap of later mailboxes. It is
// in neither if its first event is `held` (its trigger is paused, or no concurrency slot is free) or a parked
// event blocks it. `rollBack` restores the state at `begin`, except for the order of ready mailboxes. A
// suspect is an event that was running when the process crashed; only a limited number of suspects may run
// together (machines/crashes.ts).

import { mayStartWith } from '../../../machines/crashes.ts';
import { LinkedList, type ListMember } from '../../base/bounds/linked-list.ts';
import { crashDomainOf } from '../crash-domain.ts';
import { isKind, kindOf } from '../key-kinds.ts';
import { DueHeap, type Timed } from './due-heap.ts';

/** Claim on a mailbox, granted for an event. */
export interface ClaimEntry {
  readonly fence: number;
  /** Event that was returned with the claim. */
  readonly seq: number;
  readonly leaseMs: number;
  /** Number of crashes during that event; above 0 the event is a suspect. */
  readonly crashes: number;
}

/** Mailbox with unfinished events. Written by the table only. */
export class MailboxEntry implements ListMember<MailboxEntry>, Timed {
  readonly key: string;
  /** See kindOf. */
  readonly kind: string;
  /** Time at which the mailbox is ready, or at which its claim expires; Infinity if neither. */
  dueAt = Number.POSITIVE_INFINITY;
  claim: ClaimEntry | undefined;
  /** False only if the claimed event is certainly the only unfinished event of the key. */
  mayHaveMore = true;
  /** A parked event blocks the mailbox: none of its events is ready. */
  isBlocked = false;
  /** Crashes of the first event, or of the claimed event. */
  crashes = 0;
  heapIndex = -1;
  previous: MailboxEntry | undefined;
  next: MailboxEntry | undefined;

  constructor(key: string) {
    this.key = key;
    this.kind = kindOf(key);
  }
}

interface EntryChange {
  readonly entry: MailboxEntry;
  readonly existed: boolean;
  readonly dueAt: number;
  readonly claim: ClaimEntry | undefined;
  readonly mayHaveMore: boolean;
  readonly isBlocked: boolean;
  readonly crashes: number;
}

export class MailboxTable {
  readonly #entries = new Map<string, MailboxEntry>();
  /** Ready mailboxes by kind, except suspects: a claim for a kind does not scan other mailboxes. */
  readonly #ready = new Map<string, LinkedList<MailboxEntry>>();
  /** Ready mailboxes of all kinds whose first event is a suspect. */
  readonly #readySuspects = new LinkedList<MailboxEntry>();
  /** Number of claimed suspects, by crash domain and then by crash count. */
  readonly #runningSuspects = new Map<string, number[]>();
  readonly #later = new DueHeap<MailboxEntry>();
  /** Changes since `begin`, in order. */
  readonly #changes: EntryChange[] = [];
  #now = 0;

  /**
   * Starts a transaction at `now` (epoch ms) that can be rolled back. Returns true if any mailbox is newly
   * ready.
   */
  begin(now: number): boolean {
    this.#changes.length = 0;
    return this.#advance(now);
  }

  rollBack(): void {
    for (let change = this.#changes.pop(); change !== undefined; change = this.#changes.pop()) {
      const { entry, existed, dueAt, claim, mayHaveMore, isBlocked, crashes } = change;
      this.#unlist(entry);
      this.#setClaim(entry, claim, crashes);
      entry.mayHaveMore = mayHaveMore;
      entry.isBlocked = isBlocked;
      if (existed) {
        this.#entries.set(entry.key, entry);
        this.#enlist(entry, dueAt);
      } else this.#entries.delete(entry.key);
    }
  }

  /** Current time, epoch milliseconds. The ready lists contain all mailboxes due until now. */
  get now(): number {
    return this.#now;
  }

  get(key: string): MailboxEntry | undefined {
    return this.#entries.get(key);
  }

  all(): readonly MailboxEntry[] {
    return [...this.#entries.values()];
  }

  /** Sets the ready time of a mailbox, epoch milliseconds, or the claim's expiry. */
  set(
    key: string,
    dueAt: number,
    claim?: ClaimEntry,
    mayHaveMore = true,
    crashes = claim?.crashes ?? 0,
  ): void {
    const existing = this.#entries.get(key);
    const entry = existing ?? new MailboxEntry(key);
    this.#recordChange(entry, existing !== undefined);
    if (existing === undefined) this.#entries.set(key, entry);
    else this.#unlist(entry);
    this.#setClaim(entry, claim, crashes);
    entry.mayHaveMore = mayHaveMore;
    this.#enlist(entry, dueAt);
  }

  /** Notes that the key has further events behind the claimed event. */
  setMore(entry: MailboxEntry): void {
    if (entry.mayHaveMore) return;
    this.#recordChange(entry, true);
    entry.mayHaveMore = true;
  }

  /** Sets `isBlocked`. The caller then calls `set`, which moves the mailbox out of the lists or back. */
  setBlocked(key: string, isBlocked: boolean): void {
    const existing = this.#entries.get(key);
    if ((existing?.isBlocked ?? false) === isBlocked) return;
    const entry = existing ?? new MailboxEntry(key);
    this.#recordChange(entry, existing !== undefined);
    if (existing === undefined) this.#entries.set(key, entry);
    entry.isBlocked = isBlocked;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#recordChange(entry, true);
    this.#unlist(entry);
    this.#setClaim(entry, undefined, 0);
    entry.isBlocked = false;
    this.#entries.delete(key);
  }

  /** True if suspects are ready, even if running suspects block them. */
  get hasReadySuspects(): boolean {
    return this.#readySuspects.size > 0;
  }

  /** Returns the longest ready mailbox with this key prefix that is allowed to start. */
  firstReady(keyPrefix: string): MailboxEntry | undefined {
    const trusted = this.#firstTrusted(keyPrefix);
    const suspect = this.#firstSuspect(keyPrefix);
    return suspect === undefined || (trusted !== undefined && trusted.dueAt <= suspect.dueAt)
      ? trusted
      : suspect;
  }

  #firstTrusted(keyPrefix: string): MailboxEntry | undefined {
    // Fast path: callers nearly always pass a kind's prefix.
    if (isKind(keyPrefix)) return this.#ready.get(keyPrefix)?.first;
    let found: MailboxEntry | undefined;
    for (const [kind, list] of this.#ready) {
      if (!kind.startsWith(keyPrefix) && !keyPrefix.startsWith(kind)) continue;
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
      if (entry.key.startsWith(keyPrefix) && this.#mayStart(entry)) return entry;
    return undefined;
  }

  /** Returns true if the suspect may run together with the running suspects (machines/crashes.ts). */
  #mayStart(suspect: MailboxEntry): boolean {
    const domain = crashDomainOf(suspect.key);
    let inDomain = 0;
    let maxCrashes = 0;
    for (const [runningDomain, counts] of this.#runningSuspects) {
      const isInDomain = runningDomain === domain;
      for (const [crashes, count = 0] of counts.entries()) {
        // A mailbox with an expired claim does not count against itself.
        const others = count - Number(isInDomain && suspect.claim?.crashes === crashes);
        if (others === 0) continue;
        maxCrashes = Math.max(maxCrashes, crashes);
        if (isInDomain && crashes >= suspect.crashes) inDomain += others;
      }
    }
    return mayStartWith(suspect.crashes, inDomain, maxCrashes);
  }

  /** Returns the next ready time after `time`, epoch milliseconds. */
  nextAfter(time: number): number | undefined {
    this.#advance(time);
    return this.#later.first?.dueAt;
  }

  /** Moves the expiry of claims by a clock step; their duration is unchanged. */
  moveClaims(byMs: number): void {
    for (const entry of this.all()) {
      if (entry.claim === undefined) continue;
      this.#recordChange(entry, true);
      this.#unlist(entry);
      this.#enlist(entry, entry.dueAt + byMs);
    }
  }

  /** Rebuilds the ready lists when the clock has moved backwards to `now`. */
  moveBack(now: number): void {
    this.#now = now;
    for (const entry of [...this.#entries.values()].sort((one, other) => one.dueAt - other.dueAt)) {
      const { dueAt } = entry;
      this.#unlist(entry);
      this.#enlist(entry, dueAt);
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

  #recordChange(entry: MailboxEntry, existed: boolean): void {
    const { dueAt, claim, mayHaveMore, isBlocked, crashes } = entry;
    this.#changes.push({ entry, existed, dueAt, claim, mayHaveMore, isBlocked, crashes });
  }

  /** Sets claim and crashes. The entry must be in no list, because the crashes decide its list. */
  #setClaim(entry: MailboxEntry, claim: ClaimEntry | undefined, crashes: number): void {
    this.#count(entry.key, entry.claim, -1);
    entry.claim = claim;
    entry.crashes = crashes;
    this.#count(entry.key, claim, 1);
  }

  #count(key: string, claim: ClaimEntry | undefined, by: number): void {
    if (claim === undefined || claim.crashes === 0) return;
    const domain = crashDomainOf(key);
    const counts = this.#runningSuspects.get(domain) ?? [];
    counts[claim.crashes] = (counts[claim.crashes] ?? 0) + by;
    if (counts.some((count) => count > 0)) this.#runningSuspects.set(domain, counts);
    else this.#runningSuspects.delete(domain);
  }

  #enlist(entry: MailboxEntry, dueAt: number): void {
    entry.dueAt = dueAt;
    if (dueAt <= this.#now) this.#listOf(entry).add(entry);
    else if (dueAt !== Number.POSITIVE_INFINITY) this.#later.add(entry);
  }

  #unlist(entry: MailboxEntry): void {
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
