// Triggers of type Schedule. Which instants there are says CronInstants; node-schedule waits for the next one, however far
// away; the store sees to it that each counts once, across restarts and among several who saw it come.
//
// SA1  an instant that comes while the trigger is open is brought in, unless the process was not there for a minute and
//      more (suspended, or its clock was set forward): then it was missed, like those before a start.
// SA2  missed instants go by `catchup`: none, the last, or all up to MAX_PENDING.
//      None was missed from before the first load of this expression in this zone: nobody has been waiting for them.
// SA3  a clock that is set back lets instants come a second time; the store knows them.

import { scheduleJob } from 'node-schedule';
import type { ScheduleTrigger } from '../../../config/resources/trigger.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { awaitedSince } from './awaited-since.ts';
import { CronInstants, lastInstants } from './cron-instants.ts';
import { forgetGone } from './gone-plans.ts';
import { readScheduleEvent } from './schedule-event.ts';
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
  now = Date.now,
  watchMs = WATCH_MS,
}: ScheduleOptions = {}): Adapter<ScheduleTrigger> {
  return {
    type: 'Schedule',
    read: readScheduleEvent,
    takes: () => true,
    async open(trigger: ScheduleTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { cron, timezone } = trigger.config;
      const instants = new CronInstants(cron, timezone);
      const since = await awaitedSince(trigger, host, now());
      const open = new OpenSchedule(trigger, host, { instants, now, watchMs });
      open.start(since);
      return open;
    },
    tidy: (store, isThere, keepMs) => forgetGone(store, { isThere, keepMs, now: now() }),
  };
}

class OpenSchedule implements OpenTrigger {
  readonly #trigger: ScheduleTrigger;
  readonly #instants: CronInstants;
  readonly #now: () => number;
  readonly #watch: NodeJS.Timeout;
  readonly #writer: TickWriter;
  /** Instants up to here are dealt with. */
  #seen = 0;
  #next: number | undefined;
  #cancelJob = (): void => {};

  constructor(
    trigger: ScheduleTrigger,
    host: SourceHost,
    {
      instants,
      now,
      watchMs,
    }: { readonly instants: CronInstants; readonly now: () => number; readonly watchMs: number },
  ) {
    this.#trigger = trigger;
    this.#instants = instants;
    this.#now = now;
    this.#writer = new TickWriter(trigger, host);
    this.#watch = setInterval(() => this.#look(), watchMs).unref();
  }

  /** Instants after `since` have been awaited already. */
  start(since: number): void {
    const now = this.#now();
    this.#seen = now;
    if (since < now) this.#miss(since, now);
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
    const wasSetBack = now < this.#seen;
    if (!wasSetBack && (this.#next === undefined || now < this.#next)) return false;
    const seen = wasSetBack ? now : this.#seen;
    const fresh = Math.max(seen, now - FRESH_MS);
    this.#seen = now;
    if (seen < fresh) this.#miss(seen, fresh);
    this.#writer.add(lastInstants(this.#instants, fresh, now, MAX_PENDING), false);
    this.#arm();
    return true;
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
