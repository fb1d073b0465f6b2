// Polls the state of events that other nodes handle, for callers and listeners in this process. One statement
// queries all events; without callers and listeners there is no poll. Events of this process are reported
// directly by the dispatcher (`markReported`).
//
// Completion or parking on another node is reported within two polls, and never twice. The state at the first
// poll is reported only if the second poll confirms it, since the event may be about to rerun.

import type { Log } from '../../base/errors/log.ts';
import type { EventStatus, Store } from '../../store/store.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';

export interface RemoteDeliveriesHost {
  readonly store: Pick<Store, 'delivery'> & Required<Pick<Store, 'statuses'>>;
  readonly log: Log;
  /** Returns the ids of the events to poll. */
  awaitedIds(): Iterable<string>;
  /** The event is settled or parked. */
  onSettled(id: string, settled: DeliveryOutcome): void;
  /** The attempt failed or was deferred; the event runs later. */
  onDeferred(id: string): void;
  /** Another node has started an attempt. */
  onStarted(id: string): void;
  /** The event's journal now has `count` rows. */
  onRows(id: string, count: number): void;
}

interface TrackedStatus extends EventStatus {
  /** True after this state was reported: completion or parking. */
  isReported: boolean;
}

const POLL_MS = 200;
const settledStates: ReadonlySet<string> = new Set(['done', 'dead', 'ignored', 'waiting']);
const deferredStates: ReadonlySet<string> = new Set(['retrying', 'held', 'queued']);

export class RemoteDeliveries {
  readonly #host: RemoteDeliveriesHost;
  /** Last known states of the awaited events. */
  #tracked = new Map<string, TrackedStatus>();
  #isPolling = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(host: RemoteDeliveriesHost) {
    this.#host = host;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.poll(), POLL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Records that this process has reported the state itself. */
  markReported(id: string, state: DeliveryOutcome['state']): void {
    const tracked = this.#tracked.get(id);
    if (tracked !== undefined) this.#tracked.set(id, { ...tracked, state, isReported: true });
  }

  /** Polls the store once. Never rejects. */
  async poll(): Promise<void> {
    if (this.#isPolling) return;
    const ids = new Set(this.#host.awaitedIds());
    for (const id of this.#tracked.keys()) if (!ids.has(id)) this.#tracked.delete(id);
    if (ids.size === 0) return;
    this.#isPolling = true;
    try {
      for (const status of await this.#host.store.statuses([...ids])) await this.#compare(status);
    } catch (error) {
      // The next poll retries; callers have timeouts.
      this.#host.log.debug({ reason: (error as Error).message }, 'could not poll events of other nodes');
    } finally {
      this.#isPolling = false;
    }
  }

  /** Compares the status with the previous poll, and reports the changes. */
  async #compare(now: EventStatus): Promise<void> {
    const { id, state, steps } = now;
    const before = this.#tracked.get(id);
    const hasChanged = before?.state !== state || before.attempts !== now.attempts;
    const isSettled = settledStates.has(state);
    this.#tracked.set(id, { ...now, isReported: isSettled && !hasChanged && before?.isReported === true });
    if (steps > (before?.steps ?? 0)) this.#host.onRows(id, steps);
    if (isSettled) {
      // A state found at the first poll is reported by the second one, unless this process reports it itself
      // in between (`markReported`).
      const isFirstPoll = before === undefined;
      if (!isFirstPoll && (hasChanged || !before.isReported)) await this.#reportSettled(id);
    } else if (hasChanged && state === 'running') this.#host.onStarted(id);
    else if (hasChanged && before !== undefined && deferredStates.has(state)) this.#host.onDeferred(id);
  }

  async #reportSettled(id: string): Promise<void> {
    const delivery = await this.#host.store.delivery(id);
    const tracked = this.#tracked.get(id);
    if (delivery === undefined || tracked === undefined || tracked.isReported) return;
    const { state, answer, note, waitingFor, until } = delivery;
    if (state !== 'done' && state !== 'dead' && state !== 'ignored' && state !== 'waiting') return;
    tracked.isReported = true;
    this.#host.onSettled(id, { state, answer, note, waitingFor, until });
  }
}
