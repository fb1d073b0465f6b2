// Runs the work queues over the store: claims mailboxes, has their actors handle one event at a time, and commits the
// results. It knows the store and the kinds of work, and nothing of what an event means.
//
// DI1  every claimed event ends exactly once: committed, or its claim was lost and it comes again.
// DI2  two events of one key are never handled at the same time in this process (A4), and of one key in order.
// DI3  one key holds up no other: not by a handler that hangs or fails, nor by a store that refuses its outcome (A6).
// DI4  everything is bounded: places, overruns, resting actors, events per claim, who waits for an end (A8).
// DI5  after `drain` nothing runs, no timer is set, and every claim has been given back that could be in time.
// DI6  what is claimed under a membership ends with it, before another node may have it (tenure.ts, libs/rest/standstill.ts).

import { InternalError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Life } from '../../gateway/life.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Appended, Store } from '../../store/store.ts';
import { ClaimKeeper } from './claim-keeper.ts';
import { Committer } from './committer.ts';
import { type DeliveryListener, DeliveryWaits } from './delivery-waits.ts';
import { Elsewhere } from './elsewhere.ts';
import { mailboxesLogic } from './mailboxes-actor.ts';
import { discardEffects } from './notices.ts';
import type { QueueStats } from './queue-stats.ts';
import type { Settled } from './settled.ts';
import { presentTenure } from './tenure.ts';
import type { Effects } from './work.ts';
import { type QueueOptions, WorkQueue } from './work-queue.ts';

export interface DispatcherOptions {
  /** Spawns the parent actors of the mailboxes. */
  readonly life: Pick<Life, 'spawn'>;
  readonly store: Store;
  /** One queue for each kind of work; no prefix may be the beginning of another. */
  readonly queues: readonly QueueOptions[];
  readonly log: Log;
  /** Redacts secrets in notes. */
  readonly redact?: (text: string) => string;
  /** A random number in 0…1, for the pauses before an event is tried again. */
  readonly random?: () => number;
  /** How long a claim holds without being renewed. @default 30000 */
  readonly leaseMs?: number;
  /** @default 10000 */
  readonly renewMs?: number;
  /** How often the store is asked although it did not wake the dispatcher. @default 1000 */
  readonly pollMs?: number;
  /** How long an actor stays after its last turn. @default 5000 */
  readonly lingerMs?: number;
  /** How many actors of one kind of work may rest. @default 1024 */
  readonly maxResting?: number;
  /** How long a run that was told to end keeps its place. @default 5000 */
  readonly patienceMs?: number;
  /** How many may wait for the end of an event. @default 1024 */
  readonly maxWaiting?: number;
  readonly listener?: DeliveryListener;
  /** How often deadlines are checked; they are kept with this precision. @default 100 */
  readonly tickMs?: number;
}

const nothing = Promise.resolve([]);
/** The part of the grace of a drain that is kept for aborted runs to end, and for the last commits. */
const LAST_MS = 500;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues: readonly WorkQueue[];
  readonly #committer: Committer;
  readonly #deliveryWaits: DeliveryWaits;
  readonly #keeper: ClaimKeeper;
  /** Undefined where no other node handles events. */
  readonly #elsewhere: Elsewhere | undefined;
  readonly #pollMs: number;
  #pollAt = 0;
  /** Names of the parent actors, with their queues. */
  readonly #byParent = new Map<string, WorkQueue[]>();
  readonly #timer: NodeJS.Timeout;
  readonly #stopWaking: () => void;
  readonly #stopWatching: (() => void) | undefined;
  #drained: Promise<void> | undefined;
  #whenIdle: (() => void) | undefined;

  /** Starts to handle events, in a later task. */
  constructor(options: DispatcherOptions) {
    const { life, store, log, leaseMs = 30_000, renewMs = 10_000 } = options;
    this.#options = options;
    this.#pollMs = options.pollMs ?? 1_000;
    this.#committer = new Committer(store, log);
    const { listener } = options;
    this.#deliveryWaits = new DeliveryWaits(options.maxWaiting ?? 1_024, listener, (id, { state }) =>
      this.#elsewhere?.told(id, state),
    );
    this.#elsewhere = this.#elsewhereOf(store);
    this.#keeper = new ClaimKeeper(store, { leaseMs, renewMs }, log, performance.now());
    const host = {
      store,
      log,
      committer: this.#committer,
      deliveryWaits: this.#deliveryWaits,
      random: options.random ?? Math.random,
      redact: options.redact ?? ((text: string) => text),
      leaseMs,
      renewFirst: () => this.#renew(performance.now()),
      tenure: () => presentTenure(store.cluster?.membership),
      lingerMs: options.lingerMs ?? 5_000,
      maxResting: options.maxResting ?? 1_024,
      patienceMs: options.patienceMs ?? 5_000,
      onIdle: () => this.#onIdle(),
    };
    this.#queues = options.queues.map((queue) => {
      const { parent = queue.name } = queue;
      const made = new WorkQueue(queue, life.spawn(parent, mailboxesLogic), host);
      this.#byParent.set(parent, [...(this.#byParent.get(parent) ?? []), made]);
      return made;
    });
    this.#stopWaking = store.wake(() => this.#pump());
    this.#stopWatching = store.cluster?.membership.watch({
      onLost: () => {
        for (const mailbox of this.#active()) mailbox.onTenureEnded();
      },
      onJoined: () => this.#pump(),
    });
    this.#elsewhere?.begin();
    this.#timer = setInterval(this.#tick, options.tickMs ?? 100).unref();
    this.#pump();
  }

  /**
   * Ends within `graceMs`: nothing new is claimed, and what runs may end. Shortly before the end the signals of what still
   * runs are aborted, and claims are given back.
   */
  drain(graceMs: number): Promise<void> {
    this.#drained ??= this.#drain(graceMs);
    return this.#drained;
  }

  /** Makes the event durable; it is handled as soon as may be. Rejects as the store's `append` does. */
  accept(event: NewEvent): Promise<Appended> {
    const queue = this.#queues.find(({ work }) => event.key.startsWith(work.prefix));
    if (queue === undefined)
      return Promise.reject(new InternalError(`no work takes what comes to ${event.key}`));
    return event.wakes === undefined ? queue.accept(event) : this.#acceptWaker(queue, event);
  }

  /**
   * Resolves when that event has ended in this process or parks, or with undefined after `timeoutMs`; ask before it is accepted.
   * `givenUp` ends the wait: for whoever finds that there is nothing to wait for. Rejects with OverloadedError when too
   * many wait.
   */
  settled(
    trigger: string,
    id: string,
    timeoutMs: number,
    givenUp?: AbortSignal,
  ): Promise<Settled | undefined> {
    return this.#deliveryWaits.wait(trigger, id, timeoutMs, givenUp);
  }

  /** Ends an event that waits, is held or dead, as ignored; whoever sent it or waits for it is told. False for any other. */
  async discard(id: string, note: string): Promise<boolean> {
    const { store } = this.#options;
    const isDone = await store.discard(id, note, await this.#discardEffects(id));
    if (isDone) this.#deliveryWaits.settle(id, { state: 'ignored', answer: undefined, note });
    return isDone;
  }

  /** Ends every wait with undefined, and from now on each new one at once. */
  endWaits(): void {
    this.#deliveryWaits.close();
  }

  /** Cancels the attempt at that event, which is then `ignored`. False when the event is not being handled here. */
  cancel(id: string, note: string): boolean {
    return this.#active().some((mailbox) => mailbox.event.id === id && mailbox.cancel(note));
  }

  /** Metrics by the name of the queue. */
  stats(): Readonly<Record<string, QueueStats>> {
    return Object.fromEntries(this.#queues.map((queue) => [queue.name, queue.stats()]));
  }

  /** Of the queues whose mailboxes stand under the same actor, by its name. */
  statsByParent(): Readonly<Record<string, readonly QueueStats[]>> {
    return Object.fromEntries(
      [...this.#byParent].map(([name, queues]) => [name, queues.map((queue) => queue.stats())]),
    );
  }

  #elsewhereOf(store: Store): Elsewhere | undefined {
    if (store.standings === undefined) return undefined;
    const { log, listener } = this.#options;
    const waits = this.#deliveryWaits;
    return new Elsewhere({
      store: { delivery: (id) => store.delivery(id), standings: (ids) => store.standings?.(ids) ?? nothing },
      log,
      awaited: () => waits.awaited(),
      onSettled: (id, settled) => waits.settle(id, settled),
      onPutOff: (id) => waits.putOff(id),
      onBegun: (id) => listener?.onBegunElsewhere(id),
      onRows: (id, count) => listener?.onRowsElsewhere(id, count),
    });
  }

  async #discardEffects(id: string): Promise<Pick<Effects, 'emit' | 'cancelTimers'>> {
    const { store, log, redact = String } = this.#options;
    const found = await store.delivery(id);
    const work = found && this.#queues.find((queue) => found.key.startsWith(queue.prefix))?.work;
    if (found === undefined || work === undefined) return {};
    try {
      const { receivedAt: at, attempts: attempt } = found;
      return discardEffects({ ...found, at, attempt, state: undefined }, work, found.trigger);
    } catch (error) {
      const reason = redact(error instanceof Error ? error.message : String(error));
      log.error({ delivery: id, reason }, 'nobody could be told what becomes of an event');
      return {};
    }
  }

  /** One that has woken another is over with its acceptance: no turn of it will tell. */
  async #acceptWaker(queue: WorkQueue, event: NewEvent): Promise<Appended> {
    const appended = await queue.accept(event);
    if (appended.outcome !== 'duplicate' && appended.state === 'done')
      this.#deliveryWaits.settle(event.id, { state: 'done', answer: undefined, note: undefined });
    return appended;
  }

  readonly #tick = (): void => {
    const now = performance.now();
    for (const queue of this.#queues) queue.tick(now);
    this.#renew(now);
    if (now < this.#pollAt) return;
    this.#pollAt = now + this.#pollMs;
    this.#pump();
  };

  #pump(): void {
    for (const queue of this.#queues) queue.pump();
  }

  /** Renews the claims that are held long, when it is time to. */
  #renew(now: number): void {
    this.#keeper.tick(now, () => this.#active());
  }

  #active() {
    return this.#queues.flatMap((queue) => queue.active());
  }

  async #drain(graceMs: number): Promise<void> {
    const lastMs = Math.min(LAST_MS, graceMs / 2);
    this.#stopWaking();
    for (const queue of this.#queues) queue.isDraining = true;
    await this.#idle(graceMs - lastMs);
    for (const queue of this.#queues) queue.isStopping = true;
    for (const mailbox of this.#active()) mailbox.apply({ type: 'cut', cut: 'stopped' });
    await this.#idle(lastMs / 2);
    for (const mailbox of this.#active()) mailbox.apply({ type: 'surrender' });
    await this.#idle(lastMs / 2);
    clearInterval(this.#timer);
    this.#stopWatching?.();
    this.#elsewhere?.close();
    this.#committer.close();
    this.endWaits();
    for (const queue of this.#queues) queue.close();
  }

  /** Resolves when nothing is under way, or when the time is up. */
  #idle(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#whenIdle = undefined;
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.#whenIdle = end;
      this.#onIdle();
    });
  }

  #onIdle(): void {
    if (this.#whenIdle !== undefined && this.#queues.every(({ isIdle }) => isIdle)) this.#whenIdle();
  }
}
