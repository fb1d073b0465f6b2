// Matches parked events with wakers. A parked event waits for a named event of its key, its waker. It blocks
// the key exactly if it has `holdsKey`.
//
// Either event can arrive first; the match is part of the transaction in which the second one arrives. A key
// therefore never has both an event that waits for a name and a queued event that wakes this name. When a
// wait completes, the timers that wake the same name are cancelled, unless another event of the key waits for
// it.

import { canPark, canParkAny, parkRefusal } from '../parked-shares.ts';
import type { SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { SqliteParkedEvents } from '../sqlite/parked-events.ts';
import type { SqliteTimers } from '../sqlite/timers.ts';
import type { TurnResult } from '../store.ts';
import type { Mailboxes } from './mailboxes.ts';

export class ParkedEvents {
  readonly #records: SqliteParkedEvents;
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #timers: SqliteTimers;
  readonly #maxParked: number;

  constructor(
    records: SqliteParkedEvents,
    deliveries: SqliteDeliveries,
    mailboxes: Mailboxes,
    timers: SqliteTimers,
    maxParked: number,
  ) {
    this.#records = records;
    this.#deliveries = deliveries;
    this.#mailboxes = mailboxes;
    this.#timers = timers;
    this.#maxParked = maxParked;
  }

  /** Blocks keys with `holdsKey` events at the start. */
  load(): void {
    for (const key of this.#records.blockedKeys()) this.#mailboxes.block(key);
  }

  /** Returns true if any event of the key is waiting for the name. */
  isAwaited(key: string, name: string): boolean {
    return this.#records.firstWaiting(key, name) !== undefined;
  }

  /** Returns the reason why the event must not be parked; undefined if it may. */
  refusalOf({ seq, parkedOn = '', trigger, run }: TurnResult, key: string): string | undefined {
    const maxParked = this.#maxParked;
    if (canParkAny(this.#records.parkedTotal, maxParked)) return undefined;
    const target = this.#records.targetOf(seq, run);
    const usage = this.#records.usage({ key, trigger: trigger ?? null, target });
    if (canPark(usage, maxParked)) return undefined;
    // A waker continues the event immediately.
    const waker = this.#records.waker(key, parkedOn);
    return waker === undefined || waker === seq ? parkRefusal(maxParked) : undefined;
  }

  /**
   * Parks the event, or wakes it immediately if its waker is already queued. Apply other effects of the
   * result first, because its emitted events may contain the waker.
   */
  park(result: TurnResult, key: string, now: number): void {
    const { seq, parkedOn: name = '', holdsKey = false, trigger, note, state, run } = result;
    const target = this.#records.targetOf(seq, run);
    this.#records.park({ seq, name, holdsKey, trigger, target, note }, state);
    this.#deliveries.unfinished.delete(seq);
    if (holdsKey) this.#mailboxes.block(key);
    const waker = this.#records.waker(key, name);
    if (waker === undefined) this.#records.setWakeTime(seq, this.#timers.firstThatWakes(key, name) ?? null);
    else this.#wake(key, name, waker, now);
  }

  /** Wakes a parked event if the queued event is its waker. Returns true if so; the waker is then done. */
  onQueued(seq: number, key: string, now: number): boolean {
    const name = this.#records.nameToWake(seq);
    return name !== undefined && this.#wake(key, name, seq, now);
  }

  /** Cancels a wait, because an operator decided about the event. */
  cancelWait(seq: number, key: string): void {
    const name = this.#records.awaitedName(seq);
    if (name === undefined) return;
    this.#records.clearWait(seq);
    this.#onWaitOver(key, name);
  }

  #wake(key: string, name: string, waker: number, now: number): boolean {
    const woken = this.#records.firstWaiting(key, name);
    if (woken === undefined) return false;
    this.#records.wake(woken.seq, waker);
    this.#deliveries.unfinished.add(woken.seq, { id: woken.id, key });
    this.#deliveries.endWaker(waker, `it woke ${woken.id}`, now);
    this.#onWaitOver(key, name);
    // The woken event is queued now, and may itself wake an event.
    this.onQueued(woken.seq, key, now);
    this.#mailboxes.reschedule(key, now);
    return true;
  }

  #onWaitOver(key: string, name: string): void {
    if (!this.#records.isBlocked(key)) this.#mailboxes.unblock(key);
    if (!this.isAwaited(key, name)) this.#timers.cancelThatWake(key, name);
  }
}
