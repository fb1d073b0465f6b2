// Writes a trigger's instants to the store in order, and applies the setting `overlap`. Retries store
// failures with a bounded queue, because a full disk must not lose instants.
//
// The store's `tick` accepts each instant once, whichever node adds it. `skip` ignores a new instant while
// the previous one is unsettled; `replace` ignores the previous one. Missed instants are queued without
// regard to `overlap`.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { DeliveryState } from '../../store/delivery.ts';
import type { NewEvent } from '../../store/event.ts';
import type { TriggerHost } from '../adapter.ts';
import { applyCorrection, type Correction } from './clock-correction.ts';
import { scheduleEvent, scheduleIdPrefix, tickName } from './event.ts';

export const MAX_PENDING = 1_000;
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Maximum number of unsettled events per check; the next instant checks the remaining events. */
const MAX_UNSETTLED = 100;
const unsettled: readonly DeliveryState[] = ['queued', 'running', 'retrying', 'held', 'waiting'];

interface Instant {
  readonly at: number;
  readonly wasMissed: boolean;
}

export class TickWriter {
  readonly #trigger: ScheduleTrigger;
  readonly #host: TriggerHost;
  readonly #pending: Instant[] = [];
  /** Pending correction, applied before any instant. */
  #correction: Correction | undefined;
  /** Maximum of the clock before the last correction. */
  #reached: number;
  #isWriting = false;
  #isClosed = false;
  #pauseMs = MIN_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(trigger: ScheduleTrigger, host: TriggerHost, reached: number) {
    this.#trigger = trigger;
    this.#host = host;
    this.#reached = reached;
  }

  /** Adds instants in order. Above MAX_PENDING, the oldest instants are dropped. */
  add(instants: readonly number[], wasMissed: boolean): void {
    if (instants.length === 0) return;
    for (const at of instants) this.#pending.push({ at, wasMissed });
    const count = this.#pending.length - MAX_PENDING;
    if (count > 0) {
      this.#pending.splice(0, count);
      this.#host.log.warn({ trigger: this.#trigger.name, count }, 'dropped instants of a schedule');
    }
    this.#startWriting();
  }

  /** Applies a clock correction. Removes pending instants that are in the future again. */
  correct({ now, reached }: Correction): void {
    const past = this.#pending.filter(({ at }) => at <= now);
    this.#pending.splice(0, Infinity, ...past);
    this.#reached = reached;
    this.#correction = { now: Math.min(now, this.#correction?.now ?? now), reached };
    this.#startWriting();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #startWriting(): void {
    if (!this.#isWriting && this.#timer === undefined) void this.#write();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    this.#timer = undefined;
    try {
      while (!this.#isClosed && (this.#correction !== undefined || this.#pending.length > 0)) {
        await this.#writeFirst();
        this.#pauseMs = MIN_PAUSE_MS;
      }
    } catch (error) {
      this.#onStoreFailure(error);
    } finally {
      this.#isWriting = false;
    }
  }

  async #writeFirst(): Promise<void> {
    const correction = this.#correction;
    if (correction !== undefined) {
      await applyCorrection(this.#host, this.#trigger, correction);
      if (this.#correction === correction) this.#correction = undefined;
      return;
    }
    const [first] = this.#pending;
    if (first === undefined) return;
    await this.#tick(first);
    // `add` or `correct` can remove it meanwhile.
    if (this.#pending[0] === first) this.#pending.shift();
  }

  #onStoreFailure(error: unknown): void {
    if (this.#isClosed) return;
    const { name } = this.#trigger;
    const inMs = this.#pauseMs;
    this.#host.log.warn(
      { trigger: name, err: error, in_ms: inMs },
      'could not store an instant of a schedule',
    );
    this.#pauseMs = Math.min(MAX_PAUSE_MS, inMs * 2);
    this.#timer = setTimeout(() => void this.#write(), inMs).unref();
  }

  async #tick({ at, wasMissed }: Instant): Promise<void> {
    const { store } = this.#host;
    const { name, config } = this.#trigger;
    const event = await this.#newEvent(at);
    const isOverlapping = !wasMissed && config.overlap !== 'queue';
    const running = isOverlapping ? await this.#unsettled() : [];
    const isNew = await store.tick(tickName(name), at, event);
    const [first] = running;
    if (!isNew || first === undefined) return;
    if (config.overlap === 'skip') {
      await this.#host.discard(event.id, `skipped: ${first.id} had not ended`);
      return;
    }
    const note = `replaced by ${event.id}`;
    // Discards a queued delivery; cancels a running one, if the host supports that.
    for (const { id } of running)
      if (!(await this.#host.discard(id, note))) await this.#host.cancel?.(id, note);
  }

  async #newEvent(at: number): Promise<NewEvent> {
    let event = scheduleEvent(this.#trigger, at);
    // The instant may have occurred before a clock correction, even repeatedly.
    for (let time = 2; at <= this.#reached && (await this.#isStored(event)); time += 1)
      event = scheduleEvent(this.#trigger, at, time);
    return event;
  }

  async #isStored({ id }: NewEvent): Promise<boolean> {
    return (await this.#host.store.delivery(id)) !== undefined;
  }

  #unsettled() {
    const idPrefix = scheduleIdPrefix(this.#trigger.name);
    return this.#host.store.deliveries({ idPrefix, states: unsettled, limit: MAX_UNSETTLED });
  }
}
