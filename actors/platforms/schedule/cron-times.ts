// Local times that match a cron expression, without time zones: in milliseconds, as if they were UTC.

import { type CronFields, parseCron } from '../../../config/resources/fields/cron.ts';

const DAY_MS = 86_400_000;
/** Longest interval between two matches: eight years, from 29 February 2096 to 2104. */
const MAX_DAYS = 8 * 366;

export class CronTimes {
  readonly #fields: CronFields;
  /** Hours, minutes and seconds in seconds since midnight, ascending. */
  readonly #clock: readonly [hours: number[], minutes: number[], seconds: number[]];
  readonly isEveryHour: boolean;

  /** Throws if the expression is invalid. */
  constructor(cron: string) {
    const fields = parseCron(cron);
    if (typeof fields === 'string') throw new TypeError(`${JSON.stringify(cron)}: ${fields}`);
    const { hours, minutes, seconds } = fields;
    this.#fields = fields;
    this.#clock = [ascending(hours, 3600), ascending(minutes, 60), ascending(seconds, 1)];
    this.isEveryHour = hours.size === 24;
  }

  /** Returns the first match after `ms`, or Infinity. */
  after(ms: number): number {
    const first = Math.floor(ms / 1000) + 1;
    const today = Math.floor((first * 1000) / DAY_MS);
    for (let day = today; day <= today + MAX_DAYS; day += 1) {
      if (!this.#hasDay(day * DAY_MS)) continue;
      const second = this.#secondFrom(day === today ? first - (day * DAY_MS) / 1000 : 0);
      if (second !== undefined) return day * DAY_MS + second * 1000;
    }
    return Infinity;
  }

  has(ms: number): boolean {
    return this.after(ms - 1) === ms;
  }

  #hasDay(midnight: number): boolean {
    const date = new Date(midnight);
    const { days, months, weekdays, hasLastDay, lastWeekdays, isEitherDay } = this.#fields;
    const month = date.getUTCMonth();
    if (!months.has(month + 1)) return false;
    const isInOtherMonth = (count: number) => new Date(midnight + count * DAY_MS).getUTCMonth() !== month;
    const weekday = date.getUTCDay();
    const isDay = days.has(date.getUTCDate()) || (hasLastDay && isInOtherMonth(1));
    const isWeekday = weekdays.has(weekday) || (lastWeekdays.has(weekday) && isInOtherMonth(7));
    return isEitherDay ? isDay || isWeekday : isDay && isWeekday;
  }

  /** Returns the first match at or after `from`, both in seconds since midnight. */
  #secondFrom(from: number): number | undefined {
    const [hours, minutes, seconds] = this.#clock;
    for (const hour of hours) {
      if (hour + 3599 < from) continue;
      for (const minute of minutes) {
        if (hour + minute + 59 < from) continue;
        const second = seconds.find((each) => hour + minute + each >= from);
        if (second !== undefined) return hour + minute + second;
      }
    }
    return undefined;
  }
}

function ascending(values: ReadonlySet<number>, factor: number): number[] {
  return [...values].sort((a, b) => a - b).map((value) => value * factor);
}
