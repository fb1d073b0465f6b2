// Brings the instants of one trigger into the store, one after the other, and sees to those that overlap. What the store
// cannot take now is kept, within a bound, and tried again: an instant that has come is not lost because a disk was full.
//
// TW1  each instant goes through `tick` of the store, which takes it once, whoever brings it and however often.
// TW2  `skip`: while the one before is not settled the new one is recorded as ignored. `replace`: the one before is.
//      Both are about instants that come while one is handled; those that were missed queue up behind each other.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { DeliveryState } from '../../store/delivery.ts';
import type { NewEvent } from '../../store/event.ts';
import type { SourceHost } from '../adapter.ts';
import { type Correction, goOnFrom } from './clock-correction.ts';
import { scheduleEvent, scheduleIdPrefix, tickName } from './event.ts';

export const MAX_PENDING = 1_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Of one trigger that have not ended: those beyond are looked at with the next instant. */
const MAX_UNSETTLED = 100;
const unsettled: readonly DeliveryState[] = ['queued', 'running', 'retrying', 'held', 'waiting'];

interface Instant {
  readonly at: number;
  readonly wasMissed: boolean;
}

export class TickWriter {
  readonly #trigger: ScheduleTrigger;
  readonly #host: SourceHost;
  readonly #pending: Instant[] = [];
  /** To be carried out before any instant. */
  #correction: Correction | undefined;
  /** How far the clock had come before it was last corrected. */
  #reached: number;
  #isWriting = false;
  #isClosed = false;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(trigger: ScheduleTrigger, host: SourceHost, reached: number) {
    this.#trigger = trigger;
    this.#host = host;
    this.#reached = reached;
  }

  /** Takes instants in their order; beyond the bound the oldest are given up. */
  add(instants: readonly number[], wasMissed: boolean): void {
    if (instants.length === 0) return;
    for (const at of instants) this.#pending.push({ at, wasMissed });
    const count = this.#pending.length - MAX_PENDING;
    if (count > 0) {
      this.#pending.splice(0, count);
      this.#host.log.warn({ trigger: this.#trigger.name, count }, 'instants of a schedule were given up');
    }
    this.#begin();
  }

  /** The clock was set back. What is not written yet and lies ahead of it now will come by itself. */
  correct({ now, reached }: Correction): void {
    const kept = this.#pending.filter(({ at }) => at <= now);
    this.#pending.splice(0, Infinity, ...kept);
    this.#reached = reached;
    this.#correction = { now: Math.min(now, this.#correction?.now ?? now), reached };
    this.#begin();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #begin(): void {
    if (!this.#isWriting && this.#timer === undefined) void this.#write();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    this.#timer = undefined;
    try {
      while (!this.#isClosed && (this.#correction !== undefined || this.#pending.length > 0)) {
        await this.#writeFirst();
        this.#pauseMs = FIRST_PAUSE_MS;
      }
    } catch (error) {
      this.#onRefused(error);
    } finally {
      this.#isWriting = false;
    }
  }

  async #writeFirst(): Promise<void> {
    const correction = this.#correction;
    if (correction !== undefined) {
      await goOnFrom(this.#host, this.#trigger, correction);
      if (this.#correction === correction) this.#correction = undefined;
      return;
    }
    const [first] = this.#pending;
    if (first === undefined) return;
    await this.#tick(first);
    // It may have been given up meanwhile, with another in its place.
    if (this.#pending[0] === first) this.#pending.shift();
  }

  #onRefused(error: unknown): void {
    if (this.#isClosed) return;
    const { name } = this.#trigger;
    const inMs = this.#pauseMs;
    this.#host.log.warn(
      { trigger: name, err: error, in_ms: inMs },
      'an instant of a schedule could not be stored',
    );
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, inMs * 2);
    this.#timer = setTimeout(() => void this.#write(), inMs).unref();
  }

  async #tick({ at, wasMissed }: Instant): Promise<void> {
    const { store } = this.#host;
    const { name, config } = this.#trigger;
    const event = await this.#newEvent(at);
    const isOverlapping = !wasMissed && config.overlap !== 'queue';
    const before = isOverlapping ? await this.#unsettled() : [];
    const isNew = await store.tick(tickName(name), at, event);
    const [first] = before;
    if (!isNew || first === undefined) return;
    if (config.overlap === 'skip') {
      await this.#host.discard(event.id, `left out: ${first.id} had not ended`);
      return;
    }
    const note = `replaced by ${event.id}`;
    // One that has not begun is only struck out; one that runs is told to end, where the host can do that.
    for (const { id } of before)
      if (!(await this.#host.discard(id, note))) await this.#host.cancel?.(id, note);
  }

  async #newEvent(at: number): Promise<NewEvent> {
    let event = scheduleEvent(this.#trigger, at);
    // It may have come before the clock was set back, and more than once.
    for (let time = 2; at <= this.#reached && (await this.#isKnown(event)); time += 1)
      event = scheduleEvent(this.#trigger, at, time);
    return event;
  }

  async #isKnown({ id }: NewEvent): Promise<boolean> {
    return (await this.#host.store.delivery(id)) !== undefined;
  }

  #unsettled() {
    const idPrefix = scheduleIdPrefix(this.#trigger.name);
    return this.#host.store.deliveries({ idPrefix, states: unsettled, limit: MAX_UNSETTLED });
  }
}
