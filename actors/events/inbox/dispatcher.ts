// Runs the work queues on the store, one queue per kind of work: claims mailboxes (all events of a key),
// handles their events, and commits the results. It does not know the meaning of events.
//
// Each claimed event is committed once, or its claim is lost and the store redelivers the event. Events with
// the same key are handled in order, never concurrently (A4, ARCHITECTURE.md). A key that hangs or fails does
// not delay other keys. After `drain` neither runs nor timers remain; unreleased claims expire.

import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { InternalError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Life } from '../../gateway/life.ts';
import type { NewEvent } from '../../store/event.ts';
import type { AppendOutcome, Store } from '../../store/store.ts';
import { currentClaimEpoch } from './claim-epoch.ts';
import { ClaimKeeper } from './claim-keeper.ts';
import { Committer } from './committer.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';
import { type DeliveryListener, DeliveryWaits } from './delivery-waits.ts';
import { mailboxesLogic } from './mailboxes-actor.ts';
import { discardEffects } from './notices.ts';
import type { QueueStats } from './queue-stats.ts';
import { RemoteDeliveries } from './remote-deliveries.ts';
import type { Effects } from './work.ts';
import { type QueueOptions, WorkQueue } from './work-queue.ts';

export interface DispatcherOptions {
  /** Spawns the parent actors of the mailboxes. */
  readonly life: Pick<Life, 'spawn'>;
  readonly store: Store;
  /** One queue per kind of work. No key prefix may be a prefix of another. */
  readonly queues: readonly QueueOptions[];
  readonly log: Log;
  /** Redacts secrets in a text. */
  readonly redact?: (text: string) => string;
  /** Returns a number in 0…1, for the jitter of retries. */
  readonly random?: () => number;
  /** Lease duration of claims without renewal. @default 30000 */
  readonly leaseMs?: number;
  /** Renewal interval of claims. @default 10000 */
  readonly renewMs?: number;
  /** Interval of claims for waiting events, besides the notifications of the store. @default 1000 */
  readonly pollMs?: number;
  /** Time that an idle mailbox keeps its actor. @default 5000 */
  readonly lingerMs?: number;
  /** Maximum number of idle mailboxes with an actor, per kind of work. @default 1024 */
  readonly maxResting?: number;
  /** Time that an aborted run keeps its slot if it does not stop. @default 5000 */
  readonly patienceMs?: number;
  /** Maximum number of pending `waitUntilSettled` calls. @default 1024 */
  readonly maxWaiting?: number;
  readonly listener?: DeliveryListener;
  /** Interval of deadline checks. @default 100 */
  readonly tickMs?: number;
}

/** Result for a store without `statuses`, which only a shared store has. */
const noStatuses = Promise.resolve([]);
/** Last part of the drain time, reserved for aborting runs and committing their results. */
const LAST_MS = 500;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues: readonly WorkQueue[];
  readonly #committer: Committer;
  readonly #deliveryWaits: DeliveryWaits;
  readonly #keeper: ClaimKeeper;
  /** Undefined unless other nodes handle events of this store. */
  readonly #remoteDeliveries: RemoteDeliveries | undefined;
  readonly #pollMs: number;
  #pollAt = 0;
  /** Queues by parent actor name. */
  readonly #byParent = new Map<string, WorkQueue[]>();
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribeFromStore: () => void;
  readonly #stopWatchingMembership: (() => void) | undefined;
  #drained: Promise<void> | undefined;
  #whenIdle: (() => void) | undefined;

  /** Starts to claim and handle events. */
  constructor(options: DispatcherOptions) {
    const { life, store, log, leaseMs = 30_000, renewMs = 10_000 } = options;
    this.#options = options;
    this.#pollMs = options.pollMs ?? 1_000;
    this.#committer = new Committer(store, log);
    const { listener } = options;
    // Deliveries that settle in this process are reported directly. The poll must not report them again.
    this.#deliveryWaits = new DeliveryWaits(options.maxWaiting ?? 1_024, listener, (id, { state }) =>
      this.#remoteDeliveries?.markReported(id, state),
    );
    this.#remoteDeliveries = this.#watchRemote(store);
    this.#keeper = new ClaimKeeper(store, { leaseMs, renewMs }, log, performance.now());
    const host = {
      store,
      log,
      committer: this.#committer,
      deliveryWaits: this.#deliveryWaits,
      random: options.random ?? Math.random,
      redact: options.redact ?? ((text: string) => text),
      leaseMs,
      renewIfDue: () => this.#renew(performance.now()),
      epoch: () => currentClaimEpoch(store.cluster?.membership),
      lingerMs: options.lingerMs ?? 5_000,
      maxResting: options.maxResting ?? 1_024,
      patienceMs: options.patienceMs ?? 5_000,
      onIdle: () => this.#onIdle(),
    };
    this.#queues = options.queues.map((queue) => {
      const { parent = queue.name } = queue;
      const workQueue = new WorkQueue(queue, life.spawn(parent, mailboxesLogic), host);
      this.#byParent.set(parent, [...(this.#byParent.get(parent) ?? []), workQueue]);
      return workQueue;
    });
    // The store calls this when it has new events.
    this.#unsubscribeFromStore = store.wake(() => this.#pump());
    this.#stopWatchingMembership = store.cluster?.membership.watch({
      onLost: () => {
        for (const mailbox of this.#active()) mailbox.onMembershipLost();
      },
      onJoined: () => this.#pump(),
    });
    this.#remoteDeliveries?.start();
    this.#timer = setInterval(this.#tick, options.tickMs ?? 100).unref();
    this.#pump();
  }

  /**
   * Stops within `graceMs`: claims no further events, and lets runs finish. Shortly before `graceMs` it
   * aborts the remaining runs and releases their claims.
   */
  drain(graceMs: number): Promise<void> {
    this.#drained ??= this.#drain(graceMs);
    return this.#drained;
  }

  /** Makes the event durable, and schedules its run. Rejects like the store's `append`. */
  accept(event: NewEvent): Promise<AppendOutcome> {
    const queue = this.#queues.find(({ work }) => event.key.startsWith(work.prefix));
    if (queue === undefined)
      return Promise.reject(new InternalError(`no work queue handles the key ${event.key}`));
    return event.wakes === undefined ? queue.accept(event) : this.#acceptWaker(queue, event);
  }

  /**
   * Resolves when the event is settled (`done`, `ignored` or `dead`) or parked until some event wakes it;
   * with undefined after `timeoutMs` or when `signal` aborts. Call it before the event is accepted. Rejects
   * with OverloadedError if too many calls are pending.
   */
  waitUntilSettled(
    trigger: string,
    id: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<DeliveryOutcome | undefined> {
    return this.#deliveryWaits.wait(trigger, id, timeoutMs, signal);
  }

  /**
   * Settles a queued, retrying, `held`, parked or dead event as `ignored`, and notifies its sender and the
   * waiting callers. Returns false in other states.
   */
  async discard(id: string, note: string): Promise<boolean> {
    const { store } = this.#options;
    const isDiscarded = await store.discard(id, note, await this.#discardEffects(id));
    if (isDiscarded) this.#deliveryWaits.settle(id, { state: 'ignored', answer: undefined, note });
    return isDiscarded;
  }

  /** Resolves all pending and later `waitUntilSettled` calls with undefined. */
  endWaits(): void {
    this.#deliveryWaits.close();
  }

  /**
   * Cancels the running attempt; the event becomes `ignored`. Returns false if the event does not run in this
   * process.
   */
  cancel(id: string, note: string): boolean {
    return this.#active().some((mailbox) => mailbox.event.id === id && mailbox.cancel(note));
  }

  /** Returns the metrics by queue name. */
  stats(): Readonly<Record<string, QueueStats>> {
    return Object.fromEntries(this.#queues.map((queue) => [queue.name, queue.stats()]));
  }

  /** Returns the usage of the limits of runs and of waiting requests, by setting. */
  limits(): Readonly<Record<string, LimitUsage>> {
    const slots = this.#queues.flatMap(({ name, usage }) => {
      const limit = name === 'conversations' ? 'deliveries.concurrency' : `slots of ${name}`;
      return usage === undefined ? [] : [[limit, usage()] as const];
    });
    return {
      ...Object.fromEntries(slots),
      'waiting requests': this.#deliveryWaits.usage,
    };
  }

  /** Returns the metrics by the name of the parent actor. */
  statsByParent(): Readonly<Record<string, readonly QueueStats[]>> {
    return Object.fromEntries(
      [...this.#byParent].map(([name, queues]) => [name, queues.map((queue) => queue.stats())]),
    );
  }

  #watchRemote(store: Store): RemoteDeliveries | undefined {
    if (store.statuses === undefined) return undefined;
    const { log, listener } = this.#options;
    const waits = this.#deliveryWaits;
    return new RemoteDeliveries({
      store: {
        delivery: (id) => store.delivery(id),
        statuses: (ids) => store.statuses?.(ids) ?? noStatuses,
      },
      log,
      awaitedIds: () => waits.awaitedIds(),
      onSettled: (id, outcome) => waits.settle(id, outcome),
      onDeferred: (id) => waits.notifyDeferred(id),
      onStarted: (id) => listener?.onRemoteStart(id),
      // Rows that the other node has added to the event's journal.
      onRows: (id, count) => listener?.onRemoteRows(id, count),
    });
  }

  async #discardEffects(id: string): Promise<Pick<Effects, 'emit' | 'cancelTimers'>> {
    const { store, log, redact = String } = this.#options;
    const delivery = await store.delivery(id);
    const work = delivery && this.#queues.find((queue) => delivery.key.startsWith(queue.prefix))?.work;
    if (delivery === undefined || work === undefined) return {};
    try {
      const { receivedAt: at, attempts: attempt } = delivery;
      return discardEffects({ ...delivery, at, attempt, state: undefined }, work, delivery.trigger);
    } catch (error) {
      const reason = redact(error instanceof Error ? error.message : String(error));
      log.error({ delivery: id, reason }, 'could not notify the sender of a discarded event');
      return {};
    }
  }

  /**
   * Accepts an event that wakes a parked event. If it has no other purpose, it is done immediately and never
   * runs, so its waiting callers are notified here.
   */
  async #acceptWaker(queue: WorkQueue, event: NewEvent): Promise<AppendOutcome> {
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

  /** Renews the claims if due. */
  #renew(now: number): void {
    this.#keeper.tick(now, () => this.#active());
  }

  #active() {
    return this.#queues.flatMap((queue) => queue.active());
  }

  async #drain(graceMs: number): Promise<void> {
    const lastMs = Math.min(LAST_MS, graceMs / 2);
    this.#unsubscribeFromStore();
    for (const queue of this.#queues) queue.isDraining = true;
    await this.#untilIdle(graceMs - lastMs);
    for (const queue of this.#queues) queue.isStopping = true;
    for (const mailbox of this.#active()) mailbox.apply({ type: 'abort', reason: 'stopped' });
    await this.#untilIdle(lastMs / 2);
    for (const mailbox of this.#active()) mailbox.apply({ type: 'surrender' });
    await this.#untilIdle(lastMs / 2);
    clearInterval(this.#timer);
    this.#stopWatchingMembership?.();
    this.#remoteDeliveries?.close();
    this.#committer.close();
    this.endWaits();
    for (const queue of this.#queues) queue.close();
  }

  /** Resolves when all queues are idle, or after the timeout. */
  #untilIdle(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#whenIdle = undefined;
        resolve();
      };
      const timer = setTimeout(finish, timeoutMs);
      this.#whenIdle = finish;
      this.#onIdle();
    });
  }

  #onIdle(): void {
    if (this.#whenIdle !== undefined && this.#queues.every(({ isIdle }) => isIdle)) this.#whenIdle();
  }
}
