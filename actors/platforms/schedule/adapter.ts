// Triggers of type Schedule. Which instants there are says CronInstants; node-schedule waits for the next one, however far
// away; the store sees to it that each counts once, across restarts and among several who saw it come.
//
// SCH1  an instant that comes while the trigger is open is brought in, unless the process was not there for a minute and
//      more (suspended, or its clock was set forward): then it was missed, like those before a start.
// SCH2  missed instants go by `catchup`: none, the last, or all up to MAX_PENDING.
//      None was missed from before the first load of this expression in this zone: nobody has been waiting for them.
// SCH3  a clock that is set back by up to a minute lets instants come a second time; the store knows them. Set back by more it
//      was corrected (clock-correction.ts): it is looked at every WATCH_MS, and what is left is waited for no longer.
// SCH4  where the clock jumps over the time that it had reached before a correction, what came until then was not missed.

import { scheduleJob } from 'node-schedule';
import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Store } from '../../store/store.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { type Awaited, awaitedSince } from './awaited-since.ts';
import { CORRECTION_MS } from './clock-correction.ts';
import { CronInstants, lastInstants } from './cron-instants.ts';
import { readScheduleEvent } from './event.ts';
import { forgetGone } from './gone-plans.ts';
import { MAX_PENDING, TickWriter } from './tick-writer.ts';

/** Timers do not follow a clock that is set. This often it is looked at. */
const WATCH_MS = 30_000;
const FRESH_MS = 60_000;

export interface ScheduleOptions {
  /** Epoch ms. */
  readonly now?: () => number;
  readonly watchMs?: number;
}

export function scheduleAdapter({
  now: given,
  watchMs = WATCH_MS,
}: ScheduleOptions = {}): Adapter<ScheduleTrigger> {
  // Where several nodes share a store theirs is one clock.
  const clockOf = (store: Pick<Store, 'now'>) => given ?? (() => store.now?.() ?? Date.now());
  return {
    type: 'Schedule',
    read: readScheduleEvent,
    async open(trigger: ScheduleTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { cron, timezone } = trigger.config;
      const instants = new CronInstants(cron, timezone);
      const now = clockOf(host.store);
      const awaited = await awaitedSince(trigger, host, now());
      const open = new OpenSchedule(trigger, host, { instants, now, watchMs, awaited });
      open.start();
      return open;
    },
    tidy: (store, isThere, keepMs) => forgetGone(store, { isThere, keepMs, now: clockOf(store)() }),
  };
}

class OpenSchedule implements OpenTrigger {
  readonly #trigger: ScheduleTrigger;
  readonly #instants: CronInstants;
  readonly #now: () => number;
  readonly #awaited: Awaited;
  readonly #watch: NodeJS.Timeout;
  readonly #writer: TickWriter;
  /** Instants up to here are dealt with. */
  #seen = 0;
  /** The latest time that was seen since the clock was last corrected, and before that. */
  #newest = 0;
  #reached: number;
  #next: number | undefined;
  #cancelJob = (): void => {};

  constructor(
    trigger: ScheduleTrigger,
    host: SourceHost,
    {
      instants,
      now,
      watchMs,
      awaited,
    }: {
      readonly instants: CronInstants;
      readonly now: () => number;
      readonly watchMs: number;
      readonly awaited: Awaited;
    },
  ) {
    this.#trigger = trigger;
    this.#instants = instants;
    this.#now = now;
    this.#awaited = awaited;
    this.#reached = awaited.reached;
    this.#writer = new TickWriter(trigger, host, awaited.reached);
    this.#watch = setInterval(() => this.#look(), watchMs).unref();
  }

  start(): void {
    const { since } = this.#awaited;
    const now = this.#now();
    this.#seen = now;
    this.#newest = Math.max(now, since);
    if (since < now) this.#miss(this.#jumped(since, now), now);
    this.#arm();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.#cancelJob();
    this.#writer.close();
  }

  /** Deals with what has come; false when nothing has. */
  #look(): boolean {
    const now = this.#now();
    const newest = this.#newest;
    if (newest - now > CORRECTION_MS) {
      this.#correct(now);
      return true;
    }
    this.#newest = Math.max(newest, now);
    const wasSetBack = now < this.#seen;
    if (!wasSetBack && (this.#next === undefined || now < this.#next)) return false;
    const begin = now - newest > FRESH_MS ? this.#jumped(this.#seen, now) : this.#seen;
    const seen = wasSetBack ? now : begin;
    const fresh = Math.max(seen, now - FRESH_MS);
    this.#seen = now;
    if (seen < fresh) this.#miss(seen, fresh);
    this.#writer.add(lastInstants(this.#instants, fresh, now, MAX_PENDING), false);
    this.#arm();
    return true;
  }

  #correct(now: number): void {
    this.#reached = Math.max(this.#reached, this.#newest);
    this.#newest = now;
    this.#seen = now;
    this.#writer.correct({ now, reached: this.#reached });
    this.#arm();
  }

  /** Where what was jumped over begins: nobody was here after `from`, up to `to`. */
  #jumped(from: number, to: number): number {
    return this.#reached <= to ? Math.max(from, this.#reached) : from;
  }

  /** The time of the next instant has come, but for a clock that was set back a little. */
  readonly #onTime = (): void => {
    if (!this.#look()) this.#arm();
  };

  /** Instants after `from`, up to and with `to`, came while nobody was here. */
  #miss(from: number, to: number): void {
    const { catchup } = this.#trigger.config;
    if (catchup === 'none') return;
    const max = catchup === 'last' ? 1 : MAX_PENDING;
    this.#writer.add(lastInstants(this.#instants, from, to, max), true);
  }

  #arm(): void {
    this.#cancelJob();
    const next = this.#instants.after(this.#seen);
    this.#next = next;
    if (next === undefined) return;
    const inMs = next - this.#now();
    // It waits by the clock of the process, whichever clock `now` is.
    const job = scheduleJob(new Date(Date.now() + Math.max(1, inMs)), this.#onTime);
    // None for a moment that has passed already.
    const timer = job === null ? setTimeout(this.#onTime, 0) : undefined;
    this.#cancelJob = () => {
      clearTimeout(timer);
      job?.cancel();
    };
  }
}
