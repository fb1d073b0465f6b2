// Mailboxes: which keys have unfinished events, who holds the claim on one, and which event is next. A key has an entry
// only while it has unfinished events, so that keys of the past cost nothing, however many there were.
//
// MX1  a mailbox is claimed exactly while its entry has a fence; that fence was given out once, and what comes with
//      another one changes nothing (S3).
// MX2  an unclaimed one stands ready at the time at which the first unfinished event of its key may begin; never while
//      that event is held, or a parked one holds the key.
// MX3  at most one event of a key runs, the one the claim was given with, or the first one after it (S4).
// MX4  a mailbox whose first event is suspected of ending the process stands among the suspects, wherever it stands.

import { isOverAfter, pauseAfterCrashMs } from '../../../machines/crashes.ts';
import type { StoredEvent } from '../event.ts';
import { endsTheProcess, LEASE_ENDED, PROCESS_ENDED, storable } from '../record-texts.ts';
import type { FirstOfKey, SqliteDeliveries, WholeFirst } from '../sqlite/deliveries.ts';
import type { SqliteSnapshots } from '../sqlite/snapshots.ts';
import type { SqliteCounter } from '../sqlite/values.ts';
import type { Turn, TurnRef, TurnResult } from '../store.ts';
import { type MailboxEntry, MailboxTable } from './mailbox-table.ts';

const HELD = Number.POSITIVE_INFINITY;
/** How many fences are drawn at once, since drawing is a write; those that are left over at the end are lost. */
const FENCES_DRAWN = 2 ** 24;

export interface ClaimWish {
  readonly max: number;
  /** No more mailboxes once their bodies and snapshots together exceed this. */
  readonly maxBytes: number;
  readonly keyPrefix: string;
  readonly leaseMs: number;
}

export class Mailboxes {
  readonly #deliveries: SqliteDeliveries;
  readonly #snapshots: SqliteSnapshots;
  readonly #counter: SqliteCounter;
  readonly #table = new MailboxTable();
  #fence = 0;
  #fencesLeft = 0;
  #isWakeDue = false;

  constructor(deliveries: SqliteDeliveries, snapshots: SqliteSnapshots, counter: SqliteCounter) {
    this.#deliveries = deliveries;
    this.#snapshots = snapshots;
    this.#counter = counter;
  }

  /** A transaction begins. */
  begin(now: number): void {
    // A look ahead, or a transaction that failed, may have gone by a clock that has been put right since.
    if (this.#table.now > now) this.#table.turnBack(now);
    if (this.#table.begin(now)) this.#isWakeDue = true;
  }

  /** The transaction has changed nothing. */
  rollBack(): void {
    this.#table.rollBack();
    // The fences may have been drawn in that transaction.
    this.#fencesLeft = 0;
  }

  /** Whether something has become claimable since this was last asked. */
  takeWake(): boolean {
    const wasDue = this.#isWakeDue;
    this.#isWakeDue = false;
    return wasDue;
  }

  /** Notes that there is more to claim than was given. */
  notice(): void {
    this.#isWakeDue = true;
  }

  /** The key has no unfinished event, so that a new one could be claimed as it comes. */
  isFree(key: string): boolean {
    return this.#table.get(key) === undefined;
  }

  /** The key has a new event at its end. */
  open(key: string, now: number): void {
    const entry = this.#table.get(key);
    if (entry === undefined) this.#setReady(key, now);
    else this.#table.setMore(entry);
  }

  /** The key, which was free, has a new event that runs from the beginning. Gives the fence. */
  openClaimed(key: string, seq: number, leaseMs: number, now: number): number {
    const fence = this.#drawFence();
    this.#table.set(key, now + leaseMs, { fence, seq, leaseMs, crashes: 0 }, false);
    return fence;
  }

  /** An event of the key has come back or gone by another way than a turn: who is first may have changed. */
  reconsider(key: string, now: number): void {
    const entry = this.#table.get(key);
    // Whoever holds the claim looks for the first one after its own event anyway.
    if (entry?.claim === undefined) this.#settle(key, this.#deliveries.first(key), now);
    else this.#table.setMore(entry);
  }

  /** A parked event holds the key from now on: nothing of it runs. */
  lock(key: string): void {
    this.#table.setLocked(key, true);
  }

  /** No parked event holds it any more; `reconsider` has it go on. */
  unlock(key: string): void {
    this.#table.setLocked(key, false);
  }

  /** Claims what is ready, longest ready first; what turns out to have to wait is put where it belongs. */
  claim({ max, maxBytes, keyPrefix, leaseMs }: ClaimWish, now: number): readonly Turn[] {
    const turns: Turn[] = [];
    let bytes = 0;
    for (let looked = 0; looked < max; looked += 1) {
      const entry = this.#table.firstReady(keyPrefix);
      if (entry === undefined) return turns;
      if (bytes > maxBytes) break;
      const { key, claim } = entry;
      if (claim !== undefined) this.#deliveries.breakOff(claim.seq, LEASE_ENDED, now);
      const first = this.#deliveries.wholeFirst(key);
      if (!canBegin(first, now)) {
        this.#settle(key, first, now);
        continue;
      }
      const { event } = first;
      const fence = this.#drawFence();
      const snapshot = this.#snapshots.get(key);
      this.#deliveries.begin(event, now);
      const { seq, crashes } = event;
      this.#table.set(key, now + leaseMs, { fence, seq, leaseMs, crashes });
      turns.push({ key, fence, event, snapshot });
      bytes += event.body.byteLength + (snapshot?.length ?? 0);
    }
    // There may be more behind those that were not given.
    if (turns.length < max) this.#isWakeDue = true;
    return turns;
  }

  renew(turns: readonly TurnRef[], leaseMs: number, now: number): readonly TurnRef[] {
    return turns.filter(({ key, fence }) => {
      const entry = this.#table.get(storable(key));
      if (entry?.claim?.fence !== fence) return false;
      this.#prolong(entry, entry.claim, leaseMs, now);
      return true;
    });
  }

  /** Whether that event was given under this claim, and nobody else has one by now; its time may be over. */
  isCurrent(key: string, { fence, seq }: TurnResult): boolean {
    const claim = this.#table.get(key)?.claim;
    return claim?.fence === fence && claim.seq === seq;
  }

  /** After a turn: the next event under the same claim, prolonged by its length, or the end of the claim. */
  advance(key: string, result: TurnResult, now: number): StoredEvent | undefined {
    const entry = this.#table.get(key);
    if (entry?.claim === undefined) return undefined;
    // Others may have waited for it to come to an end.
    if (entry.crashes > 0 && this.#table.hasReadySuspects) this.#isWakeDue = true;
    const staysFirst = isUnfinished(result.outcome) || entry.isLocked;
    if (!staysFirst && !entry.mayHaveMore) {
      this.#table.delete(key);
      return undefined;
    }
    const isOver = staysFirst || result.isLast === true;
    const first = isOver ? undefined : this.#deliveries.wholeFirst(key);
    // A suspect begins by a claim: then it is known what else runs.
    if (!canBegin(first, now) || first.crashes > 0) {
      this.#settle(key, isOver ? this.#deliveries.first(key) : first, now);
      return undefined;
    }
    const { event } = first;
    this.#deliveries.begin(event, now);
    this.#prolong(entry, event, entry.claim.leaseMs, now);
    return event;
  }

  /** After a checkpoint the turn goes on, under a claim that is prolonged. */
  goOn(key: string, now: number): void {
    const entry = this.#table.get(key);
    if (entry?.claim !== undefined) this.#prolong(entry, entry.claim, entry.claim.leaseMs, now);
  }

  /** Lets go on so much of what was held by that name; gives how many mailboxes held something so. */
  release(heldBy: string, max: number, now: number): number {
    const keys = this.#deliveries.release(storable(heldBy), max);
    // Whoever holds a claim looks for the first one after its own event anyway.
    for (const key of keys)
      if (this.#table.get(key)?.claim === undefined) this.#settle(key, this.#deliveries.first(key), now);
    return keys.size;
  }

  /**
   * The clock was set, by so much. Claims go by what has really passed. Set back, what stands ready would wait until the
   * time at which it became so comes again; what has to wait for a retry keeps its time.
   */
  onClockSet(byMs: number, now: number): void {
    this.#table.moveClaims(byMs);
    if (byMs > 0) return;
    for (const { key, claim, dueAt } of this.#table.all()) {
      if (claim !== undefined || dueAt <= now || dueAt === HELD) continue;
      this.#settle(key, this.#deliveries.first(key), now);
    }
  }

  /** Finds what is unfinished in the file; the claims on it have ended with those who held them. */
  load(now: number): void {
    const suspects = this.#deliveries.suspects();
    const held = this.#deliveries.held();
    const unfinished = this.#deliveries.unfinishedInOrder();
    for (const [, seq, state] of unfinished) {
      const crashes = suspects.get(seq) ?? 0;
      if (state === 'running') this.#crash(seq, crashes + 1, now);
      // CS4: without it, the process has ended as well.
      else if (state === 'retrying' && crashes > 0)
        this.#deliveries.waitLonger(seq, now + pauseAfterCrashMs(crashes));
    }
    for (const [key, seq, state] of unfinished) {
      if (!this.isFree(key)) continue;
      // Only these have more to say than their state; everything else is asked nothing, for there may be very many.
      const isAsked = state === 'running' || state === 'retrying' || suspects.has(seq);
      this.#settle(
        key,
        isAsked ? this.#deliveries.first(key) : { seq, isHeld: held.has(seq), retryAt: null, crashes: 0 },
        now,
      );
    }
  }

  /** The process ended while the event was handled. One that was to be given up, and ended the process in that, is over. */
  #crash(seq: number, crashes: number, now: number): void {
    if (isOverAfter(crashes)) this.#deliveries.crash(seq, endsTheProcess(crashes), crashes, undefined, now);
    else this.#deliveries.crash(seq, PROCESS_ENDED, crashes, now + pauseAfterCrashMs(crashes), now);
  }

  /** When the next one after that time may be claimed, or a claim ends. */
  nextAfter(time: number): number | undefined {
    return this.#table.nextAfter(time);
  }

  #setReady(key: string, now: number, crashes = 0): void {
    this.#table.set(key, now, undefined, true, crashes);
    this.#isWakeDue = true;
  }

  #prolong(
    { key, claim, mayHaveMore }: MailboxEntry,
    event: Pick<StoredEvent, 'seq' | 'crashes'>,
    leaseMs: number,
    now: number,
  ): void {
    if (claim === undefined) return;
    const { seq, crashes } = event;
    this.#table.set(key, now + leaseMs, { fence: claim.fence, seq, leaseMs, crashes }, mayHaveMore);
  }

  /** The mailbox is unclaimed from now on; MX2. */
  #settle(key: string, first: FirstOfKey | undefined, now: number): void {
    if (this.#table.get(key)?.isLocked === true) {
      this.#table.set(key, HELD);
      return;
    }
    if (first === undefined) {
      this.#table.delete(key);
      return;
    }
    const { isHeld, retryAt, crashes } = first;
    if (isHeld) this.#table.set(key, HELD);
    else if (retryAt !== null && retryAt > now) this.#table.set(key, retryAt, undefined, true, crashes);
    else this.#setReady(key, now, crashes);
  }

  /** Fences grow over restarts too, and where the claim before is forgotten. */
  #drawFence(): number {
    if (this.#fencesLeft === 0) {
      this.#fence = this.#counter.draw(FENCES_DRAWN);
      this.#fencesLeft = FENCES_DRAWN;
    }
    this.#fencesLeft -= 1;
    return this.#fence++;
  }
}

function isUnfinished(outcome: TurnResult['outcome']): boolean {
  return outcome === 'retrying' || outcome === 'deferred' || outcome === 'held' || outcome === 'queued';
}

function canBegin(first: WholeFirst | undefined, now: number): first is WholeFirst {
  return first !== undefined && !first.isHeld && (first.retryAt ?? 0) <= now;
}
