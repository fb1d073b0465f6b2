// A work queue: the active mailboxes of one kind of work, and the places in which their runs take turns. Each kind has a
// queue of its own, so that one whose places are all taken holds up no other (A6). A claimer feeds it (claimer.ts).
//
// WQ1  at most `places` mailboxes, and `spare` ones, are claimed and not yet given back, and at most as many again are
//      overruns: runs that go on although they were told to end and waited for. Beyond that nothing more is claimed (A8). An
//      overrun that has ended at last goes on with its claim; only by those may there be more.
// WQ2  a mailbox is in `active` while it has a turn, in `resting` while it has none, and forgotten with its actor.
// WQ3  at most `maxResting` actors rest, none of them much longer than `lingerMs`.

import type { AnyActorRef } from 'xstate';
import { LinkedList } from '../../base/bounds/linked-list.ts';
import { hasEnded, tell } from '../../base/supervision/dead-letters.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Appended } from '../../store/store.ts';
import type { ClaimedTurn } from './claim.ts';
import { Claimer, type ClaimerOptions, type ClaimerQueue } from './claimer.ts';
import type { Committer } from './committer.ts';
import type { DeliveryWaits } from './delivery-waits.ts';
import { Mailbox } from './mailbox.ts';
import { QueueMetrics } from './queue-metrics.ts';
import type { QueueStats } from './queue-stats.ts';
import type { Work } from './work.ts';
import type { MakeGate, WorkGate } from './work-gate.ts';

export interface QueueOptions {
  /** In figures and in the log: `conversations`, `outbox/repohost`. */
  readonly name: string;
  /** The name of the parent actor of the mailboxes; several queues may have one. @default its own name */
  readonly parent?: string;
  readonly work: Work;
  /** How many mailboxes work at the same time. @default 256 */
  readonly places?: number;
  /** @default always open */
  readonly makeGate?: MakeGate | undefined;
  /** Claims beyond them, where the work may find that there is no place for an event (work-places.ts). @default 0 */
  readonly spare?: number;
}

/** What the queues share. */
export interface QueueHost extends ClaimerOptions {
  readonly committer: Committer;
  readonly deliveryWaits: DeliveryWaits;
  readonly random: () => number;
  readonly redact: (text: string) => string;
  readonly lingerMs: number;
  readonly maxResting: number;
  readonly patienceMs: number;
  /** Something has become idle. */
  onIdle(): void;
}

const DEFAULT_PLACES = 256;
const MAX_NOTE = 1_000;

export class WorkQueue implements ClaimerQueue {
  readonly name: string;
  readonly work: Work;
  readonly places: number;
  readonly #claims: number;
  readonly gate: WorkGate | undefined;
  readonly record: QueueMetrics;
  readonly committer: Committer;
  /** Nothing is claimed any more, and every claim is given back with its turn. */
  isDraining = false;
  /** Runs are told to end. */
  isStopping = false;

  readonly #host: QueueHost;
  readonly #claimer: Claimer;
  readonly #mailboxes = new Map<string, Mailbox>();
  readonly #active = new LinkedList<Mailbox>();
  readonly #resting = new LinkedList<Mailbox>();
  /** The actors' parent; several queues may have one. */
  readonly #parent: AnyActorRef;
  #isClosed = false;
  #taken = 0;
  #overruns = 0;

  constructor(options: QueueOptions, parent: AnyActorRef, host: QueueHost) {
    this.name = options.name;
    this.work = options.work;
    this.places = options.places ?? DEFAULT_PLACES;
    this.#claims = this.places + (options.spare ?? 0);
    this.record = new QueueMetrics(host.log, host.deliveryWaits);
    this.committer = host.committer;
    this.#host = host;
    this.#claimer = new Claimer(this, host);
    this.#parent = parent;
    // Last, because the gate may open at once.
    this.gate = options.makeGate?.(() => this.pump());
  }

  get isFull(): boolean {
    return this.#taken >= this.#claims;
  }

  get hasRoomForOverruns(): boolean {
    return this.#overruns < this.#claims;
  }

  /** Nothing is under way, nor on its way from the store. */
  get isIdle(): boolean {
    return this.#active.size === 0 && this.#claimer.isIdle;
  }

  get prefix(): string {
    return this.work.prefix;
  }

  get freePlaces(): number {
    return this.#claims - this.#taken;
  }

  get isOpen(): boolean {
    if (this.#isClosed || this.isDraining || this.gate?.isOpen === false) return false;
    return !this.#host.tenure().isOver;
  }

  get patienceMs(): number {
    return this.#host.patienceMs;
  }

  /** Those with a turn. */
  active(): readonly Mailbox[] {
    return [...this.#active];
  }

  random(): number {
    return this.#host.random();
  }

  /** An error as it may stand in a record. */
  readonly noteOf = (error: unknown): string =>
    this.#host.redact(error instanceof Error ? error.message : String(error)).slice(0, MAX_NOTE);

  /** Makes the event durable; see Claimer. */
  accept(event: NewEvent): Promise<Appended> {
    return this.#claimer.accept(event);
  }

  /** Claims as much as there is room for, as long as the store has something. */
  pump(): void {
    this.#claimer.pump();
  }

  /** Checks the deadlines. `now` in performance.now() milliseconds. */
  tick(now: number): void {
    for (const mailbox of this.#active) mailbox.tick(now);
    // What waits is for another node.
    if (this.isDraining && this.isIdle) this.gate?.close();
    const { lingerMs, maxResting } = this.#host;
    for (let first = this.#resting.first; first !== undefined; first = this.#resting.first) {
      if (this.#resting.size <= maxResting && first.restingSince + lingerMs > now) break;
      this.#dismiss(first);
    }
  }

  /** Ends the actors; what is still under way is dropped, and its claims expire. */
  close(): void {
    this.gate?.close();
    for (const mailbox of [...this.#mailboxes.values()]) this.forget(mailbox);
    // Another queue may have ended it.
    if (!hasEnded(this.#parent)) tell(this.#parent, { type: 'shutdown' });
    this.#isClosed = true;
  }

  stats(): QueueStats {
    const states: Record<string, number> = {};
    for (const { ref } of this.#mailboxes.values()) {
      const state = stateWord(ref?.getSnapshot().value);
      states[state] = (states[state] ?? 0) + 1;
    }
    return {
      active: this.#active.size,
      resting: this.#resting.size,
      overruns: this.#overruns,
      places: this.places,
      states,
      ...this.record.figures(),
    };
  }

  // For the claimer.

  take(claimed: ClaimedTurn): void {
    const { turn, tenure } = claimed;
    // Too late: everything has ended, and so will the claim. Or that is over, and others have it.
    if (this.#isClosed || tenure.isOver) return;
    let mailbox = this.#mailboxes.get(turn.key);
    if (mailbox === undefined) {
      mailbox = new Mailbox(this, turn.key);
      this.#mailboxes.set(turn.key, mailbox);
    }
    mailbox.offer(claimed);
  }

  onIdle(): void {
    if (this.isIdle) this.#host.onIdle();
  }

  // For the mailboxes.

  /** The mailbox has a turn, and takes a place. */
  occupy(mailbox: Mailbox): void {
    if (mailbox.hasPlace) return;
    if (mailbox.isOverrun) this.#overruns -= 1;
    else {
      this.#resting.delete(mailbox);
      this.#active.add(mailbox);
    }
    // One that was an overrun may take a place that is not there: it has its claim already.
    mailbox.isOverrun = false;
    mailbox.hasPlace = true;
    this.#taken += 1;
  }

  /** The run of the mailbox does not end: the mailbox is an overrun, and its place is free for others. */
  yieldPlace(mailbox: Mailbox): void {
    if (!mailbox.hasPlace) return;
    mailbox.hasPlace = false;
    mailbox.isOverrun = true;
    this.#taken -= 1;
    this.#overruns += 1;
    this.record.overrun(mailbox);
    this.#claimer.goOn();
  }

  /** The mailbox has nothing to do, and its actor waits for the next turn. */
  rest(mailbox: Mailbox): void {
    this.#release(mailbox);
    mailbox.restingSince = performance.now();
    this.#resting.add(mailbox);
    const { first, size } = this.#resting;
    if (first !== undefined && first !== mailbox && size > this.#host.maxResting) this.#dismiss(first);
  }

  /** Gives the mailbox an actor. */
  open(mailbox: Mailbox): void {
    if (!this.#isClosed) tell(this.#parent, { type: 'mailbox.open', mailbox });
  }

  /** Removes the mailbox from the queue. */
  forget(mailbox: Mailbox): void {
    this.#release(mailbox);
    this.#resting.delete(mailbox);
    if (this.#mailboxes.get(mailbox.key) === mailbox) this.#mailboxes.delete(mailbox.key);
  }

  /** Gives back the place of the mailbox, if it has one. */
  #release(mailbox: Mailbox): void {
    if (mailbox.hasPlace) this.#taken -= 1;
    else if (mailbox.isOverrun) this.#overruns -= 1;
    else return;
    mailbox.hasPlace = false;
    mailbox.isOverrun = false;
    this.#active.delete(mailbox);
    this.onIdle();
    this.#claimer.goOn();
  }

  #dismiss(mailbox: Mailbox): void {
    this.forget(mailbox);
    if (mailbox.ref !== undefined) tell(mailbox.ref, { type: 'quiet' });
  }
}

/** The state of a mailbox as one word: of `busy` its inner state, and `none` where the actor has failed. */
function stateWord(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? String(Object.values(value)[0]) : 'none';
}
