// Mailboxes and slots for one kind of work. Each kind of work has a separate queue, so that a full queue does
// not delay other kinds (A6, ARCHITECTURE.md). The claimer (claimer.ts) feeds the queue with claimed events.
//
// The queue has `slots` + `spare` slots, and claims one mailbox per slot. The same number of zombie runs is
// allowed: aborted runs that still execute after `patienceMs`, without a slot. When a zombie run finally
// stops, its mailbox gets a slot even above the limit, since it already has a claim. Mailboxes are in
// `active` while they process an event, and in `resting` while they are idle and keep their actor for reuse.

import type { AnyActorRef } from 'xstate';
import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { LinkedList } from '../../base/bounds/linked-list.ts';
import { hasEnded, sendOrCount } from '../../base/supervision/dead-letters.ts';
import type { NewEvent } from '../../store/event.ts';
import type { AppendOutcome } from '../../store/store.ts';
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
  /** Name in metrics and in the log: `conversations`, `outbox/repohost`. */
  readonly name: string;
  /** Name of the parent actor of the mailboxes; queues may share one. @default name of the queue */
  readonly parent?: string;
  readonly work: Work;
  /** Maximum number of concurrent runs. @default 256 */
  readonly slots?: number;
  /** @default always open */
  readonly makeGate?: MakeGate | undefined;
  /**
   * Additional slots for events that cannot run yet: with separate limits per receiver (work-slots.ts), an
   * event must be claimed before it can be requeued for its receiver. @default 0
   */
  readonly spare?: number;
  /** Returns the usage of the slots by trigger and receiver. */
  readonly usage?: () => LimitUsage;
}

/** Services and settings that all queues share. */
export interface QueueHost extends ClaimerOptions {
  readonly committer: Committer;
  readonly deliveryWaits: DeliveryWaits;
  readonly random: () => number;
  readonly redact: (text: string) => string;
  readonly lingerMs: number;
  readonly maxResting: number;
  readonly patienceMs: number;
  /** Called when a queue becomes idle. */
  onIdle(): void;
}

const DEFAULT_SLOTS = 256;
const MAX_NOTE = 1_000;

export class WorkQueue implements ClaimerQueue {
  readonly name: string;
  readonly work: Work;
  readonly slots: number;
  readonly usage: QueueOptions['usage'];
  /** Slots, including `spare`. */
  readonly #maxClaims: number;
  /** Closed if another node of the cluster does this work. Undefined: always open. */
  readonly gate: WorkGate | undefined;
  readonly metrics: QueueMetrics;
  readonly committer: Committer;
  /** The queue claims no more events, and releases each claim after the current event. */
  isDraining = false;
  /** Runs are aborted before they start, because the gateway stops. */
  isStopping = false;

  readonly #host: QueueHost;
  readonly #claimer: Claimer;
  readonly #mailboxes = new Map<string, Mailbox>();
  readonly #active = new LinkedList<Mailbox>();
  readonly #resting = new LinkedList<Mailbox>();
  readonly #parent: AnyActorRef;
  #isClosed = false;
  #usedSlots = 0;
  #zombies = 0;

  constructor(options: QueueOptions, parent: AnyActorRef, host: QueueHost) {
    this.name = options.name;
    this.work = options.work;
    this.slots = options.slots ?? DEFAULT_SLOTS;
    this.usage = options.usage;
    this.#maxClaims = this.slots + (options.spare ?? 0);
    this.metrics = new QueueMetrics(host.log, host.deliveryWaits);
    this.committer = host.committer;
    this.#host = host;
    this.#claimer = new Claimer(this, host);
    this.#parent = parent;
    // Last, because the gate may call `pump` immediately.
    this.gate = options.makeGate?.(() => this.pump());
  }

  get isFull(): boolean {
    return this.#usedSlots >= this.#maxClaims;
  }

  get hasZombieCapacity(): boolean {
    return this.#zombies < this.#maxClaims;
  }

  /** True without active mailboxes and pending store calls. */
  get isIdle(): boolean {
    return this.#active.size === 0 && this.#claimer.isIdle;
  }

  get prefix(): string {
    return this.work.prefix;
  }

  get freeSlots(): number {
    return this.#maxClaims - this.#usedSlots;
  }

  /** True if the queue may claim events. */
  get isOpen(): boolean {
    if (this.#isClosed || this.isDraining || this.gate?.isOpen === false) return false;
    return !this.#host.epoch().isOver;
  }

  get patienceMs(): number {
    return this.#host.patienceMs;
  }

  /** Returns the active mailboxes. */
  active(): readonly Mailbox[] {
    return [...this.#active];
  }

  random(): number {
    return this.#host.random();
  }

  now(): number {
    return this.#host.store.now();
  }

  /** Returns the redacted and truncated error text, for records. */
  readonly noteOf = (error: unknown): string =>
    this.#host.redact(error instanceof Error ? error.message : String(error)).slice(0, MAX_NOTE);

  accept(event: NewEvent): Promise<AppendOutcome> {
    return this.#claimer.accept(event);
  }

  /** Claims events while there are free slots and the store has waiting events. */
  pump(): void {
    this.#claimer.pump();
  }

  /** Checks deadlines; `now` in performance.now() milliseconds. */
  tick(now: number): void {
    for (const mailbox of this.#active) mailbox.tick(now);
    // Without runs, another node may take over the work.
    if (this.isDraining && this.isIdle) this.gate?.close();
    const { lingerMs, maxResting } = this.#host;
    for (let first = this.#resting.first; first !== undefined; first = this.#resting.first) {
      if (this.#resting.size <= maxResting && first.restingSince + lingerMs > now) break;
      this.#removeIdle(first);
    }
  }

  /** Stops the actors and drops the remaining runs, whose claims expire. */
  close(): void {
    this.gate?.close();
    for (const mailbox of [...this.#mailboxes.values()]) this.forget(mailbox);
    // Another queue with the same parent may have stopped it.
    if (!hasEnded(this.#parent)) sendOrCount(this.#parent, { type: 'shutdown' });
    this.#isClosed = true;
  }

  stats(): QueueStats {
    const states: Record<string, number> = {};
    for (const { ref } of this.#mailboxes.values()) {
      const state = stateName(ref?.getSnapshot().value);
      states[state] = (states[state] ?? 0) + 1;
    }
    return {
      active: this.#active.size,
      resting: this.#resting.size,
      overruns: this.#zombies,
      places: this.slots,
      states,
      ...this.metrics.readFigures(),
    };
  }

  // Called by the claimer.

  offer(claim: ClaimedTurn): void {
    const { turn, epoch } = claim;
    // Not released: the claim expires.
    if (this.#isClosed || epoch.isOver) return;
    let mailbox = this.#mailboxes.get(turn.key);
    if (mailbox === undefined) {
      mailbox = new Mailbox(this, turn.key);
      this.#mailboxes.set(turn.key, mailbox);
    }
    mailbox.offer(claim);
  }

  onIdle(): void {
    if (this.isIdle) this.#host.onIdle();
  }

  // Called by the mailboxes.

  /** Marks the mailbox as active, and assigns a slot to it. */
  occupy(mailbox: Mailbox): void {
    if (mailbox.hasSlot) return;
    if (mailbox.isZombie) this.#zombies -= 1;
    else {
      this.#resting.delete(mailbox);
      this.#active.add(mailbox);
    }
    // May exceed the limit after a zombie run, since the mailbox already has a claim.
    mailbox.isZombie = false;
    mailbox.hasSlot = true;
    this.#usedSlots += 1;
  }

  /** Marks the run as a zombie run, and frees its slot. */
  yieldSlot(mailbox: Mailbox): void {
    if (!mailbox.hasSlot) return;
    mailbox.hasSlot = false;
    mailbox.isZombie = true;
    this.#usedSlots -= 1;
    this.#zombies += 1;
    this.metrics.noteZombie(mailbox);
    this.#claimer.scheduleClaim();
  }

  /** Marks the mailbox as idle, and keeps its actor for the next event. */
  rest(mailbox: Mailbox): void {
    this.#release(mailbox);
    mailbox.restingSince = performance.now();
    this.#resting.add(mailbox);
    const { first, size } = this.#resting;
    if (first !== undefined && first !== mailbox && size > this.#host.maxResting) this.#removeIdle(first);
  }

  /** Starts an actor for the mailbox. */
  openActor(mailbox: Mailbox): void {
    if (!this.#isClosed) sendOrCount(this.#parent, { type: 'mailbox.open', mailbox });
  }

  /** Removes the mailbox, without stopping its actor. */
  forget(mailbox: Mailbox): void {
    this.#release(mailbox);
    this.#resting.delete(mailbox);
    if (this.#mailboxes.get(mailbox.key) === mailbox) this.#mailboxes.delete(mailbox.key);
  }

  /** Frees the slot of the mailbox, if any. */
  #release(mailbox: Mailbox): void {
    if (mailbox.hasSlot) this.#usedSlots -= 1;
    else if (mailbox.isZombie) this.#zombies -= 1;
    else return;
    mailbox.hasSlot = false;
    mailbox.isZombie = false;
    this.#active.delete(mailbox);
    this.onIdle();
    this.#claimer.scheduleClaim();
  }

  /** Removes an idle mailbox and stops its actor. */
  #removeIdle(mailbox: Mailbox): void {
    this.forget(mailbox);
    if (mailbox.ref !== undefined) sendOrCount(mailbox.ref, { type: 'quiet' });
  }
}

/** Returns the state name of an actor: for `busy` its inner state; `none` without an actor. */
function stateName(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? String(Object.values(value)[0]) : 'none';
}
