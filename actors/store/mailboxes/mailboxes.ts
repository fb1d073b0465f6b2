// Mailboxes of the embedded engine: claims them, and finds the next event of a key. Only keys with unfinished
// events have an entry (mailbox-table.ts), so finished keys use no memory.
//
// A claim has a fence: a number that is issued once. A result with another fence changes nothing. A key runs
// a single event: the event returned with the claim, or a later event under the same claim. An unclaimed
// mailbox is ready when its first unfinished event may start; it is not ready if that event is held
// (`held_by`: its trigger is paused, or no concurrency slot is free) or a parked event blocks the key. A
// suspect is an event that was running when the process crashed.

import { isDeadAfter, pauseAfterCrashMs } from '../../../machines/crashes.ts';
import type { StoredEvent } from '../event.ts';
import { crashNote, LEASE_ENDED, PROCESS_ENDED, toStorableText } from '../record-texts.ts';
import type { FirstOfKey, SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { SqliteSnapshots } from '../sqlite/snapshots.ts';
import type { SqliteCounter } from '../sqlite/values.ts';
import type { Turn, TurnRef, TurnResult } from '../store.ts';
import { canStart, isUnfinished } from '../turn-rules.ts';
import { type MailboxEntry, MailboxTable } from './mailbox-table.ts';

const NEVER = Number.POSITIVE_INFINITY;
/**
 * Number of fences drawn from the counter at a time, because each draw is a disk write. Unused fences are
 * lost with the process.
 */
const FENCES_PER_DRAW = 2 ** 24;

export interface ClaimRequest {
  readonly max: number;
  /** Maximum size of the returned bodies and snapshots; the last body may exceed it. */
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

  /** Starts a transaction. */
  begin(now: number): void {
    // A failed transaction or `nextAfter` may have put the table at a later time. Then the clock moved back.
    if (this.#table.now > now) this.#table.moveBack(now);
    if (this.#table.begin(now)) this.#isWakeDue = true;
  }

  /** Undoes changes when the transaction fails. */
  rollBack(): void {
    this.#table.rollBack();
    // The failed transaction possibly reserved the remaining fences.
    this.#fencesLeft = 0;
  }

  /** Returns true if any mailbox became claimable since the last call. */
  takeWake(): boolean {
    const wasDue = this.#isWakeDue;
    this.#isWakeDue = false;
    return wasDue;
  }

  /** Makes the next `takeWake` return true, because more mailboxes can be claimed. */
  requestWake(): void {
    this.#isWakeDue = true;
  }

  /** Returns true if the key has no unfinished event, hence a new event can be claimed on arrival. */
  isFree(key: string): boolean {
    return this.#table.get(key) === undefined;
  }

  /** Adds a new event to the key. */
  addEvent(key: string, now: number): void {
    const entry = this.#table.get(key);
    if (entry === undefined) this.#setReady(key, now);
    else this.#table.setMore(entry);
  }

  /** Adds a new event to an idle key, and claims the key for it. Returns the fence. */
  addClaimedEvent(key: string, seq: number, leaseMs: number, now: number): number {
    const fence = this.#drawFence();
    this.#table.set(key, now + leaseMs, { fence, seq, leaseMs, crashes: 0 }, false);
    return fence;
  }

  /** Updates the mailbox when an operation other than a commit has changed its events. */
  reschedule(key: string, now: number): void {
    const entry = this.#table.get(key);
    // With a claim, `advance` looks for the next event anyway.
    if (entry?.claim === undefined) this.#schedule(key, this.#deliveries.first(key), now);
    else this.#table.setMore(entry);
  }

  /** Blocks the key for a parked event. */
  block(key: string): void {
    this.#table.setBlocked(key, true);
  }

  /** Unblocks the key. The caller then calls `reschedule`. */
  unblock(key: string): void {
    this.#table.setBlocked(key, false);
  }

  /**
   * Claims ready mailboxes, longest ready first. Mailboxes whose first event cannot start yet are
   * rescheduled.
   */
  claim({ max, maxBytes, keyPrefix, leaseMs }: ClaimRequest, now: number): readonly Turn[] {
    const turns: Turn[] = [];
    let bytes = 0;
    for (let count = 0; count < max; count += 1) {
      const entry = this.#table.firstReady(keyPrefix);
      if (entry === undefined) return turns;
      if (bytes > maxBytes) break;
      const { key, claim } = entry;
      if (claim !== undefined) this.#deliveries.expire(claim.seq, LEASE_ENDED, now);
      const first = this.#deliveries.firstWithBody(key);
      if (!canStart(first, now)) {
        this.#schedule(key, first, now);
        continue;
      }
      const { event } = first;
      const fence = this.#drawFence();
      const snapshot = this.#snapshots.get(key);
      this.#deliveries.startAttempt(event, now);
      const { seq, crashes } = event;
      this.#table.set(key, now + leaseMs, { fence, seq, leaseMs, crashes });
      turns.push({ key, fence, event, snapshot });
      bytes += event.body.byteLength + (snapshot?.length ?? 0);
    }
    // The loop ended at `maxBytes` or rescheduled mailboxes; ready mailboxes may remain for another claim.
    if (turns.length < max) this.#isWakeDue = true;
    return turns;
  }

  renew(turns: readonly TurnRef[], leaseMs: number, now: number): readonly TurnRef[] {
    return turns.filter(({ key, fence }) => {
      const entry = this.#table.get(toStorableText(key));
      if (entry?.claim?.fence !== fence) return false;
      this.#extend(entry, entry.claim, leaseMs, now);
      return true;
    });
  }

  /**
   * Returns true if the result belongs to the current claim of the key. An expired claim stays current until
   * another claim replaces it.
   */
  isCurrent(key: string, { fence, seq }: TurnResult): boolean {
    const claim = this.#table.get(key)?.claim;
    return claim?.fence === fence && claim.seq === seq;
  }

  /** Extends the claim and returns the next event of the key; or releases the claim. */
  advance(key: string, result: TurnResult, now: number): StoredEvent | undefined {
    const entry = this.#table.get(key);
    if (entry?.claim === undefined) return undefined;
    // A finished suspect allows others to start.
    if (entry.crashes > 0 && this.#table.hasReadySuspects) this.#isWakeDue = true;
    const isHeldUp = isUnfinished(result.outcome) || entry.isBlocked;
    if (!isHeldUp && !entry.mayHaveMore) {
      this.#table.delete(key);
      return undefined;
    }
    const endsClaim = isHeldUp || result.isLast === true;
    const first = endsClaim ? undefined : this.#deliveries.firstWithBody(key);
    // Only `claim` starts a suspect, because it checks the running suspects.
    if (!canStart(first, now) || first.crashes > 0) {
      this.#schedule(key, endsClaim ? this.#deliveries.first(key) : first, now);
      return undefined;
    }
    const { event } = first;
    this.#deliveries.startAttempt(event, now);
    this.#extend(entry, event, entry.claim.leaseMs, now);
    return event;
  }

  /** Extends the claim at a checkpoint. */
  extendClaim(key: string, now: number): void {
    const entry = this.#table.get(key);
    if (entry?.claim !== undefined) this.#extend(entry, entry.claim, entry.claim.leaseMs, now);
  }

  /** Releases the first `max` events that are held by `heldBy`. Returns the number of affected mailboxes. */
  release(heldBy: string, max: number, now: number): number {
    const keys = this.#deliveries.release(toStorableText(heldBy), max);
    // With a claim, `advance` looks for the next event anyway.
    for (const key of keys)
      if (this.#table.get(key)?.claim === undefined) this.#schedule(key, this.#deliveries.first(key), now);
    return keys.size;
  }

  /**
   * Adjusts the table to a clock step. Claims keep the remaining duration, ready mailboxes stay ready, and
   * others follow the moved retries of the deliveries.
   */
  onClockSet(byMs: number, now: number): void {
    this.#table.moveClaims(byMs);
    const readyUntil = Math.min(now, now - byMs);
    for (const { key, claim, dueAt } of this.#table.all()) {
      if (claim !== undefined || dueAt <= readyUntil || dueAt === NEVER) continue;
      this.#schedule(key, this.#deliveries.first(key), now);
    }
  }

  /** Loads unfinished events from the file. Claims of the previous process are void. */
  load(now: number): void {
    const suspects = this.#deliveries.suspects();
    const held = this.#deliveries.heldSeqs();
    const unfinished = this.#deliveries.unfinishedInOrder();
    for (const [, seq, state] of unfinished) {
      const crashes = suspects.get(seq) ?? 0;
      if (state === 'running') this.#crash(seq, crashes + 1, now);
      // The pause of a suspect restarts with the process (machines/crashes.ts).
      else if (state === 'retrying' && crashes > 0)
        this.#deliveries.delayRetry(seq, now + pauseAfterCrashMs(crashes));
    }
    for (const [key, seq, state] of unfinished) {
      if (!this.isFree(key)) continue;
      // All other events have known values, which saves a query for each.
      const needsQuery = state === 'running' || state === 'retrying' || suspects.has(seq);
      this.#schedule(
        key,
        needsQuery ? this.#deliveries.first(key) : { seq, isHeld: held.has(seq), retryAt: null, crashes: 0 },
        now,
      );
    }
  }

  /** Counts a crash for an event that was running. At the crash limit the event is dead. */
  #crash(seq: number, crashes: number, now: number): void {
    if (isDeadAfter(crashes)) this.#deliveries.crash(seq, crashNote(crashes), crashes, undefined, now);
    else this.#deliveries.crash(seq, PROCESS_ENDED, crashes, now + pauseAfterCrashMs(crashes), now);
  }

  /** Returns the next timestamp later than `time` at which a mailbox is ready or a claim expires. */
  nextAfter(time: number): number | undefined {
    return this.#table.nextAfter(time);
  }

  #setReady(key: string, now: number, crashes = 0): void {
    this.#table.set(key, now, undefined, true, crashes);
    this.#isWakeDue = true;
  }

  #extend(
    { key, claim, mayHaveMore }: MailboxEntry,
    event: Pick<StoredEvent, 'seq' | 'crashes'>,
    leaseMs: number,
    now: number,
  ): void {
    if (claim === undefined) return;
    const { seq, crashes } = event;
    this.#table.set(key, now + leaseMs, { fence: claim.fence, seq, leaseMs, crashes }, mayHaveMore);
  }

  /** Releases the claim, if any, and schedules the mailbox for its first event. */
  #schedule(key: string, first: FirstOfKey | undefined, now: number): void {
    if (this.#table.get(key)?.isBlocked === true) {
      this.#table.set(key, NEVER);
      return;
    }
    if (first === undefined) {
      this.#table.delete(key);
      return;
    }
    const { isHeld, retryAt, crashes } = first;
    if (isHeld) this.#table.set(key, NEVER);
    else if (retryAt !== null && retryAt > now) this.#table.set(key, retryAt, undefined, true, crashes);
    else this.#setReady(key, now, crashes);
  }

  /** Returns a fence above all earlier fences, also over restarts. */
  #drawFence(): number {
    if (this.#fencesLeft === 0) {
      this.#fence = this.#counter.draw(FENCES_PER_DRAW);
      this.#fencesLeft = FENCES_PER_DRAW;
    }
    this.#fencesLeft -= 1;
    return this.#fence++;
  }
}
