// Events that are parked, and those that wake them: whichever comes first, they find each other inside one transaction.
//
// WA1  no key ever has both an event that waits for a name and one that waits for its turn and wakes that name.
// WA2  with the wait of an event its timers end: those of its key that wake by its name, unless another one waits for it.
// WA3  a key is locked exactly while an event that waits holds it.

import type { SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { SqliteTimers } from '../sqlite/timers.ts';
import type { SqliteWaits } from '../sqlite/waits.ts';
import type { TurnResult } from '../store.ts';
import type { Mailboxes } from './mailboxes.ts';

export class Waits {
  readonly #records: SqliteWaits;
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #timers: SqliteTimers;

  constructor(
    records: SqliteWaits,
    deliveries: SqliteDeliveries,
    mailboxes: Mailboxes,
    timers: SqliteTimers,
  ) {
    this.#records = records;
    this.#deliveries = deliveries;
    this.#mailboxes = mailboxes;
    this.#timers = timers;
  }

  /** Finds the keys that are held, at the start. */
  load(): void {
    for (const key of this.#records.heldKeys()) this.#mailboxes.lock(key);
  }

  /** Whether somebody waits in the key for that name. */
  isAwaited(key: string, name: string): boolean {
    return this.#records.waiting(key, name) !== undefined;
  }

  /**
   * The event of the turn waits from now on, unless what wakes it has come before. What else the turn says must have been
   * taken: it may be in that.
   */
  park(result: TurnResult, key: string, now: number): void {
    const { seq, parkedOn: name = '', holdsKey = false, trigger, note, state } = result;
    this.#records.park({ seq, name, holdsKey, trigger, note }, state);
    if (holdsKey) this.#mailboxes.lock(key);
    const waker = this.#records.waker(key, name);
    if (waker === undefined) this.#records.noteUntil(seq, this.#timers.firstThatWakes(key, name) ?? null);
    else this.#wake(key, name, waker, now);
  }

  /** An event waits for its turn from now on. Gives whether it has woken another one instead, and so is over. */
  onQueued(seq: number, key: string, now: number): boolean {
    const name = this.#records.wakesOf(seq);
    return name !== undefined && this.#wake(key, name, seq, now);
  }

  /** An event that waits is to wait no more, and is not woken: somebody else has decided what becomes of it. */
  end(seq: number, key: string): void {
    const name = this.#records.waitsFor(seq);
    if (name === undefined) return;
    this.#records.end(seq);
    this.#onEnded(key, name);
  }

  #wake(key: string, name: string, waker: number, now: number): boolean {
    const woken = this.#records.waiting(key, name);
    if (woken === undefined) return false;
    this.#records.wake(woken.seq, waker);
    this.#deliveries.endWaker(waker, `it woke ${woken.id}`, now);
    this.#onEnded(key, name);
    // It waits for its turn now, and somebody may have begun to wait for what it wakes itself.
    this.onQueued(woken.seq, key, now);
    this.#mailboxes.reconsider(key, now);
    return true;
  }

  #onEnded(key: string, name: string): void {
    if (!this.#records.isHeld(key)) this.#mailboxes.unlock(key);
    if (!this.isAwaited(key, name)) this.#timers.cancelThatWake(key, name);
  }
}
