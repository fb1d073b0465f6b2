// Adapter for triggers of type Schedule. An instant is a time at which a cron expression fires. CronInstants
// computes the instants, node-schedule sets a timer for the next one, and the store accepts each instant
// once, across restarts and nodes.
//
// - An instant is added when it occurs while the trigger is open. If the process was suspended, or its clock
//   jumped forward, by a minute or more, the skipped instants count as missed, as after downtime.
// - `catchup` selects which missed instants are added: none, the last, or all up to MAX_PENDING. Instants
//   before the first load of the expression and zone never count as missed.
// - If the clock goes back by up to a minute, instants repeat, and the store rejects the repetitions. A
//   larger step is a clock correction (clock-correction.ts), detected within WATCH_MS; the schedule then
//   follows the corrected clock. If the clock later passes its earlier maximum, the instants below that
//   maximum do not count as missed.

import { scheduleJob } from 'node-schedule';
import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Store } from '../../store/store.ts';
import type { Adapter, OpenTrigger, TriggerHost } from '../adapter.ts';
import { readBaseline, type ScheduleBaseline } from './baseline.ts';
import { CORRECTION_MS } from './clock-correction.ts';
import { CronInstants, lastInstants } from './cron-instants.ts';
import { readScheduleEvent } from './event.ts';
import { deleteRemovedPlans } from './removed-plans.ts';
import { MAX_PENDING, TickWriter } from './tick-writer.ts';

/** Interval of clock checks, because timers ignore clock changes. */
const WATCH_MS = 30_000;
/** Age below which an instant is on time, not missed. */
const FRESH_MS = 60_000;

export interface ScheduleOptions {
  /** Clock of the schedule, epoch ms. */
  readonly now?: () => number;
  readonly watchMs?: number;
}

export function scheduleAdapter({
  now: clock,
  watchMs = WATCH_MS,
}: ScheduleOptions = {}): Adapter<ScheduleTrigger> {
  // Nodes that share a store use the store's clock.
  const clockOf = (store: Pick<Store, 'now'>) => clock ?? (() => store.now());
  return {
    type: 'Schedule',
    read: readScheduleEvent,
    async open(trigger: ScheduleTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const { cron, timezone } = trigger.config;
      const instants = new CronInstants(cron, timezone);
      const now = clockOf(host.store);
      const baseline = await readBaseline(trigger, host, now());
      const open = new OpenSchedule(trigger, host, { instants, now, watchMs, baseline });
      open.start();
      return open;
    },
    deleteUnusedState: (store, exists, keepMs) =>
      deleteRemovedPlans(store, { exists, keepMs, now: clockOf(store)() }),
  };
}

class OpenSchedule implements OpenTrigger {
  readonly #trigger: ScheduleTrigger;
  readonly #instants: CronInstants;
  readonly #now: () => number;
  readonly #baseline: ScheduleBaseline;
  readonly #watch: NodeJS.Timeout;
  readonly #writer: TickWriter;
  /** All instants up to this time are handled. */
  #handled = 0;
  /** Maximum of the clock since the last correction. */
  #newest = 0;
  /** Maximum of the clock before corrections. */
  #reached: number;
  #next: number | undefined;
  #cancelJob = (): void => {};

  constructor(
    trigger: ScheduleTrigger,
    host: TriggerHost,
    {
      instants,
      now,
      watchMs,
      baseline,
    }: {
      readonly instants: CronInstants;
      readonly now: () => number;
      readonly watchMs: number;
      readonly baseline: ScheduleBaseline;
    },
  ) {
    this.#trigger = trigger;
    this.#instants = instants;
    this.#now = now;
    this.#baseline = baseline;
    this.#reached = baseline.reached;
    this.#writer = new TickWriter(trigger, host, baseline.reached);
    this.#watch = setInterval(() => this.#check(), watchMs).unref();
  }

  start(): void {
    const { since } = this.#baseline;
    const now = this.#now();
    this.#handled = now;
    this.#newest = Math.max(now, since);
    if (since < now) this.#addMissed(this.#missedFrom(since, now), now);
    this.#scheduleNext();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.#cancelJob();
    this.#writer.close();
  }

  /** Adds the instants that have occurred. Returns false if no instant has. */
  #check(): boolean {
    const now = this.#now();
    const newest = this.#newest;
    if (newest - now > CORRECTION_MS) {
      this.#correct(now);
      return true;
    }
    this.#newest = Math.max(newest, now);
    const wasSetBack = now < this.#handled;
    if (!wasSetBack && (this.#next === undefined || now < this.#next)) return false;
    const begin = now - newest > FRESH_MS ? this.#missedFrom(this.#handled, now) : this.#handled;
    const handled = wasSetBack ? now : begin;
    // Later instants are on time; earlier instants were missed.
    const fresh = Math.max(handled, now - FRESH_MS);
    this.#handled = now;
    if (handled < fresh) this.#addMissed(handled, fresh);
    this.#writer.add(lastInstants(this.#instants, fresh, now, MAX_PENDING), false);
    this.#scheduleNext();
    return true;
  }

  #correct(now: number): void {
    this.#reached = Math.max(this.#reached, this.#newest);
    this.#newest = now;
    this.#handled = now;
    this.#writer.correct({ now, reached: this.#reached });
    this.#scheduleNext();
  }

  /** Returns the beginning of the missed range between `from` and `to`. */
  #missedFrom(from: number, to: number): number {
    return this.#reached <= to ? Math.max(from, this.#reached) : from;
  }

  /** Called at the next instant, or slightly earlier if the clock went back. */
  readonly #onTimer = (): void => {
    if (!this.#check()) this.#scheduleNext();
  };

  /** Adds the missed instants in the range (`from`, `to`]. */
  #addMissed(from: number, to: number): void {
    const { catchup } = this.#trigger.config;
    if (catchup === 'none') return;
    const max = catchup === 'last' ? 1 : MAX_PENDING;
    this.#writer.add(lastInstants(this.#instants, from, to, max), true);
  }

  #scheduleNext(): void {
    this.#cancelJob();
    const next = this.#instants.after(this.#handled);
    this.#next = next;
    if (next === undefined) return;
    const inMs = next - this.#now();
    // The timer follows the process clock, which may differ from `now`.
    const job = scheduleJob(new Date(Date.now() + Math.max(1, inMs)), this.#onTimer);
    // scheduleJob returns null for past dates.
    const timer = job === null ? setTimeout(this.#onTimer, 0) : undefined;
    this.#cancelJob = () => {
      clearTimeout(timer);
      job?.cancel();
    };
  }
}
