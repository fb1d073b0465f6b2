// Feeds a work queue with claimed events: it claims what waits in the store, or gets a claim together with the
// acceptance of an event. Both ways share the places of the queue.
//
// CA1  what the store may give to the calls that are under way, and what is held, is never more than there are places.
// CA2  who has waited for a place goes first: while the store may have more than there was room for, what is accepted
//      waits behind that; and one claim does not reserve all places, so that what is accepted meanwhile finds one.
// CA3  a reservation ends with its call, however that ends, and whoever waits is then claimed for.

import { InternalError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Appended, AppendOptions, Store } from '../../store/store.ts';
import type { ClaimedTurn } from './claim.ts';
import type { Tenure } from './tenure.ts';

/** What the claimer needs of its queue. */
export interface ClaimerQueue {
  readonly name: string;
  /** The keys of its work begin with this. */
  readonly prefix: string;
  /** Places that no mailbox has. */
  readonly freePlaces: number;
  /** The queue takes turns: it has started, and does not drain. */
  readonly isOpen: boolean;
  /** Has a mailbox work on the turn. */
  take(claimed: ClaimedTurn): void;
  noteOf(error: unknown): string;
  /** No call of the store is under way any more. */
  onIdle(): void;
}

export interface ClaimerOptions {
  readonly store: Pick<Store, 'append' | 'claim'>;
  readonly log: Log;
  readonly leaseMs: number;
  /** Renews what is held, where it is time to. Claims that ran out while the process stood still would be given out anew. */
  readonly renewFirst: () => void;
  /** Of what is claimed from now on. */
  readonly tenure: () => Tenure;
}

/** The most that one call of the store claims. */
const MAX_CLAIM = 64;
/** The pause after a call of the store that failed. */
const PAUSE_MS = 1_000;

export class Claimer {
  readonly #queue: ClaimerQueue;
  readonly #options: ClaimerOptions;
  /** Places that are kept for the results of calls that are under way. */
  #reserved = 0;
  /** Turns that came with the acceptance of their events in this tick. */
  #given: ClaimedTurn[] = [];
  #isClaiming = false;
  #isWoken = false;
  /** The store may have had more than there was room for. */
  #mayHaveMore = false;
  #isScheduled = false;
  #isFailing = false;
  #notBefore = 0;

  constructor(queue: ClaimerQueue, options: ClaimerOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  /** No call of the store is under way. */
  get isIdle(): boolean {
    return this.#reserved === 0 && !this.#isClaiming;
  }

  /**
   * Makes the event durable. Where its conversation has nothing else to do, and there is a place, its turn comes with that,
   * and begins after whoever sent it has been answered. Rejects as `append` does.
   */
  async accept(event: NewEvent): Promise<Appended> {
    const { leaseMs } = this.#options;
    if (!this.#queue.isOpen || this.#mayHaveMore || this.#room <= 0) return this.#append(event);
    const [heldUntil, tenure] = [performance.now() + leaseMs, this.#options.tenure()];
    this.#reserved += 1;
    try {
      const appended = await this.#append(event, { claimMs: leaseMs });
      if (appended.turn !== undefined) this.#takeSoon({ turn: appended.turn, heldUntil, tenure });
      return appended;
    } finally {
      this.#giveBack(1);
    }
  }

  /** Claims as much as there is room for, as long as the store has something. */
  pump(): void {
    if (this.#isClaiming) this.#isWoken = true;
    else if (this.#queue.isOpen && performance.now() >= this.#notBefore) void this.#claim();
  }

  /** A place has become free; all places that become free within this tick are claimed for together. */
  goOn(): void {
    if (!this.#mayHaveMore || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.pump();
    });
  }

  async #append(event: NewEvent, options?: AppendOptions): Promise<Appended> {
    const [appended] = await this.#options.store.append([event], options);
    if (appended === undefined) throw new InternalError('the store said nothing of an event');
    return appended;
  }

  get #room(): number {
    return this.#queue.freePlaces - this.#reserved;
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    try {
      do {
        this.#isWoken = false;
        const max = Math.min(MAX_CLAIM, this.#mayHaveMore ? this.#room : Math.ceil(this.#room / 2));
        if (max <= 0) {
          this.#mayHaveMore = true;
          break;
        }
        this.#mayHaveMore = await this.#claimUpTo(max);
        this.#isFailing = false;
      } while ((this.#isWoken || this.#mayHaveMore) && this.#queue.isOpen);
    } catch (error) {
      this.#notBefore = performance.now() + PAUSE_MS;
      if (!this.#isFailing)
        this.#options.log.warn(
          { work: this.#queue.name, reason: this.#queue.noteOf(error) },
          'no events can be claimed; it is tried again',
        );
      this.#isFailing = true;
    } finally {
      this.#isClaiming = false;
      if (this.isIdle) this.#queue.onIdle();
    }
  }

  /** Gives whether the store may have more. */
  async #claimUpTo(max: number): Promise<boolean> {
    const { store, leaseMs, renewFirst } = this.#options;
    renewFirst();
    const [heldUntil, tenure] = [performance.now() + leaseMs, this.#options.tenure()];
    this.#reserved += max;
    try {
      const turns = await store.claim(max, leaseMs, this.#queue.prefix);
      for (const turn of turns) this.#queue.take({ turn, heldUntil, tenure });
      return turns.length >= max;
    } finally {
      this.#reserved -= max;
    }
  }

  #takeSoon(given: ClaimedTurn): void {
    this.#reserved += 1;
    this.#given.push(given);
    if (this.#given.length === 1) setImmediate(this.#takeGiven);
  }

  readonly #takeGiven = (): void => {
    const given = this.#given;
    this.#given = [];
    for (const claimed of given) this.#queue.take(claimed);
    this.#giveBack(given.length);
  };

  #giveBack(places: number): void {
    this.#reserved -= places;
    if (this.isIdle) this.#queue.onIdle();
    this.goOn();
  }
}
