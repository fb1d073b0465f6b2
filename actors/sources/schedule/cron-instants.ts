// Which instants a cron expression stands for in a time zone. The calculation is our own: the parser inside node-schedule
// needs milliseconds for one instant, so that to walk a missed day would stall the process, loses a daily job where clocks
// go forward at midnight (Cairo, Santiago), and fires twice where they change by half an hour. Else they agree.
//
// CI1  a local time that the clocks skip comes later by what they skip: 02:30 at 03:30. If that is an instant of its own
//      too, it is one.
// CI2  a local time that comes twice counts the first time.
//      Where every hour counts neither holds: what is skipped is left out, and what comes twice counts twice.
// CI3  with a day of the month and a day of the week, either will do (POSIX, crontab).

import { type CronFields, cronFields } from './cron-fields.ts';
import { zoneOffset } from './zone-offset.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Further from any local time than a zone can be from UTC, and a change from it. */
const AROUND_MS = 1.5 * DAY_MS;
/** From one 29 February to the next, over 2100. */
const MAX_DAYS = 366 * 9;

/** A day in local time, as the number of days since 1970. */
type Day = number;

interface Plan {
  readonly day: Day;
  /** Its distance from UTC; where the clocks change around it, all its instants. */
  readonly instants: number | readonly number[];
}

export class CronInstants {
  readonly #fields: CronFields;
  readonly #offsetAt: (instantMs: number) => number;
  /** Of the last days asked for, by the number of the day modulo 3: one instant is looked for on up to three. */
  readonly #plans: Plan[] = [];

  /** Throws for an expression or a zone that is none. */
  constructor(cron: string, zone: string) {
    this.#fields = cronFields(cron);
    this.#offsetAt = zoneOffset(zone);
  }

  /** The first instant after `ms` (epoch), or undefined when none ever comes. */
  after(ms: number): number | undefined {
    // What the day before skips can come on this one, and after the first of this one.
    const today = Math.floor((ms + this.#offsetAt(ms)) / DAY_MS);
    let found = Infinity;
    for (let day = today - 1; day < today + MAX_DAYS; day += 1) {
      const isFound = found !== Infinity;
      if (this.#isIn(day)) found = Math.min(found, this.#firstOf(this.#planOf(day), ms));
      if (isFound || (found !== Infinity && typeof this.#planOf(day).instants === 'number')) return found;
    }
    return undefined;
  }

  #isIn(day: Day): boolean {
    const date = new Date(day * DAY_MS);
    const { months, days, weekdays } = this.#fields;
    if (!months.has(date.getUTCMonth() + 1)) return false;
    const isDay = days?.has(date.getUTCDate());
    const isWeekday = weekdays?.has(date.getUTCDay());
    if (isDay === undefined && isWeekday === undefined) return true;
    return isDay === true || isWeekday === true;
  }

  /** Infinity when the day has none after `ms`. */
  #firstOf({ day, instants }: Plan, ms: number): number {
    if (typeof instants !== 'number') return firstAfter(instants, ms);
    const begin = day * DAY_MS - instants;
    return begin + this.#timeAfter(Math.floor((ms - begin) / 1000)) * 1000;
  }

  /** The first time of a day that is later than `seconds`, both in seconds since midnight; Infinity for none. */
  #timeAfter(seconds: number): number {
    const { hours, minutes, seconds: ofMinute } = this.#fields;
    const from = Math.max(0, seconds + 1);
    for (const hour of hours) {
      if ((hour + 1) * 3600 <= from) continue;
      for (const minute of minutes) {
        const begin = hour * 3600 + minute * 60;
        if (begin + 60 <= from) continue;
        const second = ofMinute.find((each) => begin + each >= from);
        if (second !== undefined) return begin + second;
      }
    }
    return Infinity;
  }

  #planOf(day: Day): Plan {
    const place = Math.abs(day % 3);
    const kept = this.#plans[place];
    if (kept?.day === day) return kept;
    const plan = { day, instants: this.#instantsOfDay(day) };
    this.#plans[place] = plan;
    return plan;
  }

  #instantsOfDay(day: Day): Plan['instants'] {
    const before = this.#offsetAt(day * DAY_MS - AROUND_MS);
    const after = this.#offsetAt((day + 1) * DAY_MS + AROUND_MS);
    if (before === after) return before;
    const { hours, minutes, seconds } = this.#fields;
    const instants = new Set<number>();
    for (const hour of hours)
      for (const minute of minutes)
        for (const begin of this.#instantsOf(day * DAY_MS + (hour * 60 + minute) * MINUTE_MS, before, after))
          for (const second of seconds) instants.add(begin + second * 1000);
    return [...instants].sort((a, b) => a - b);
  }

  /** The instants at which clocks that go from one offset to the other show a local time. */
  #instantsOf(local: number, before: number, after: number): readonly number[] {
    const both = [local - before, local - after].filter(
      (instant, index) => this.#offsetAt(instant) === [before, after][index],
    );
    if (this.#fields.hours.length === 24) return both;
    return both.length === 0 ? [local - before] : both.slice(0, 1);
  }
}

/** The first of ascending numbers that is above `bound`; Infinity for none. */
function firstAfter(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) > bound) high = middle;
    else low = middle + 1;
  }
  return numbers[low] ?? Infinity;
}

/** The last `max` instants after `fromMs`, up to and with `toMs`, in order; both in epoch ms. */
export function lastInstants(
  instants: CronInstants,
  fromMs: number,
  toMs: number,
  max: number,
): readonly number[] {
  // Looked for in a span that doubles: there may be millions before those that are wanted.
  for (let span = MINUTE_MS; ; span *= 2) {
    const begin = Math.max(fromMs, toMs - span);
    const found: number[] = [];
    for (let at = instants.after(begin); at !== undefined && at <= toMs; at = instants.after(at))
      found.push(at);
    if (begin === fromMs || found.length >= max) return found.slice(-max);
  }
}
