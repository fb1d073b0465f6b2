// Feeds a work queue with claimed events, in two ways: it claims waiting events of the store, and it accepts
// new events, which are stored and claimed in the same call. Both use the slots of the queue.
//
// Each store call reserves the slots that its claims may need, until it returns; so claims never exceed the
// slots. If the store has more waiting events, an accepted event is only stored, and queues behind them. A
// claim call normally reserves half of the free slots; the rest are for events accepted in the meantime.

import { InternalError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { NewEvent } from '../../store/event.ts';
import type { AppendOptions, AppendOutcome, Store } from '../../store/store.ts';
import type { ClaimedTurn } from './claim.ts';
import type { ClaimEpoch } from './claim-epoch.ts';

/** Part of the queue that the claimer needs. */
export interface ClaimerQueue {
  readonly name: string;
  /** Key prefix of the work. */
  readonly prefix: string;
  readonly freeSlots: number;
  /** True if the queue may claim events. */
  readonly isOpen: boolean;
  /** Passes a claimed event, which the store returned as a turn, to its mailbox. */
  offer(claim: ClaimedTurn): void;
  /** Returns the redacted text of an error. */
  noteOf(error: unknown): string;
  /** Called when the last pending store call returns. */
  onIdle(): void;
}

export interface ClaimerOptions {
  readonly store: Pick<Store, 'append' | 'claim' | 'now'>;
  readonly log: Log;
  readonly leaseMs: number;
  /**
   * Renews the existing claims if due. It is called before each claim: after a process suspension the own
   * claims have possibly expired, and the store would return the same events.
   */
  readonly renewIfDue: () => void;
  /** Returns the epoch for new claims: the node's current membership in the cluster (claim-epoch.ts). */
  readonly epoch: () => ClaimEpoch;
}

/** Maximum number of claims per store call. */
const MAX_CLAIM = 64;
/** Pause after failed store calls. */
const PAUSE_MS = 1_000;

export class Claimer {
  readonly #queue: ClaimerQueue;
  readonly #options: ClaimerOptions;
  /** Slots reserved for pending store calls. */
  #reserved = 0;
  /** Claims of events that were accepted in this tick. */
  #acceptedClaims: ClaimedTurn[] = [];
  #isClaiming = false;
  /** True if `pump` was called during the claim call: the loop then repeats it. */
  #isWoken = false;
  /** True if the store possibly has more waiting events than the queue has free slots. */
  #mayHaveMore = false;
  #isScheduled = false;
  #isFailing = false;
  /** Earliest time of the next claim call, in performance.now() milliseconds. */
  #notBefore = 0;

  constructor(queue: ClaimerQueue, options: ClaimerOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  /** True if no store call is pending. */
  get isIdle(): boolean {
    return this.#reserved === 0 && !this.#isClaiming;
  }

  /**
   * Makes the event durable. If the key is idle and a slot is free, the event is claimed in the same call,
   * and the run starts in the next tick, when the caller has responded to the sender. Rejects like `append`.
   */
  async accept(event: NewEvent): Promise<AppendOutcome> {
    const { leaseMs } = this.#options;
    if (!this.#queue.isOpen || this.#mayHaveMore || this.#freeSlots <= 0) return this.#append(event);
    const [expiresAt, epoch] = [performance.now() + leaseMs, this.#options.epoch()];
    this.#reserved += 1;
    try {
      const appended = await this.#append(event, { claimMs: leaseMs });
      if (appended.turn !== undefined) this.#offerInNextTick({ turn: appended.turn, expiresAt, epoch });
      return appended;
    } finally {
      this.#releaseSlots(1);
    }
  }

  /** Claims events, repeatedly, while slots are free and the store has waiting events. */
  pump(): void {
    if (this.#isClaiming) this.#isWoken = true;
    else if (this.#queue.isOpen && performance.now() >= this.#notBefore) void this.#claim();
  }

  /** Schedules a claim for the next tick, when a slot becomes free and events may be waiting. */
  scheduleClaim(): void {
    if (!this.#mayHaveMore || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.pump();
    });
  }

  async #append(event: NewEvent, options?: AppendOptions): Promise<AppendOutcome> {
    const [appended] = await this.#options.store.append([event], options);
    if (appended === undefined) throw new InternalError('the store returned no result for an event');
    return appended;
  }

  get #freeSlots(): number {
    return this.#queue.freeSlots - this.#reserved;
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    try {
      do {
        this.#isWoken = false;
        const max = Math.min(MAX_CLAIM, this.#mayHaveMore ? this.#freeSlots : Math.ceil(this.#freeSlots / 2));
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
          'could not claim events; retrying',
        );
      this.#isFailing = true;
    } finally {
      this.#isClaiming = false;
      if (this.isIdle) this.#queue.onIdle();
    }
  }

  /** Claims up to `max` events and passes them to the queue. Returns whether more may be waiting. */
  async #claimUpTo(max: number): Promise<boolean> {
    const { store, leaseMs, renewIfDue } = this.#options;
    renewIfDue();
    const [expiresAt, epoch] = [performance.now() + leaseMs, this.#options.epoch()];
    this.#reserved += max;
    try {
      const turns = await store.claim(max, leaseMs, this.#queue.prefix);
      for (const turn of turns) this.#queue.offer({ turn, expiresAt, epoch });
      return turns.length >= max;
    } finally {
      this.#reserved -= max;
    }
  }

  #offerInNextTick(claim: ClaimedTurn): void {
    this.#reserved += 1;
    this.#acceptedClaims.push(claim);
    if (this.#acceptedClaims.length === 1) setImmediate(this.#offerAccepted);
  }

  readonly #offerAccepted = (): void => {
    const claims = this.#acceptedClaims;
    this.#acceptedClaims = [];
    for (const claim of claims) this.#queue.offer(claim);
    this.#releaseSlots(claims.length);
  };

  #releaseSlots(count: number): void {
    this.#reserved -= count;
    if (this.isIdle) this.#queue.onIdle();
    this.scheduleClaim();
  }
}
