// Instants of a cron expression in a time zone: the matching local times (cron-times.ts), mapped to UTC
// across daylight saving changes. The rules of node-schedule are not used: they lose a daily job if clocks go
// forward at midnight (Cairo, Santiago).
//
// - If the clock skips 02:30, the instant occurs at 03:30, and only once if the expression also matches
//   03:30.
// - If 02:30 occurs twice, only the first occurrence counts.
// - Neither rule applies to expressions for every hour: they omit skipped hours and fire in repeated hours.
// - An expression with a day of the month and a day of the week matches on either (POSIX, crontab).

import { CronTimes } from './cron-times.ts';
import { zoneOffset } from './zone-offset.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Longer than any offset change: a day, when the date line moves. */
const AROUND_MS = 1.5 * DAY_MS;

export class CronInstants {
  readonly #times: CronTimes;
  readonly #offsetAt: (instantMs: number) => number;

  /** Throws if the expression or zone is invalid. */
  constructor(cron: string, zone: string) {
    this.#times = new CronTimes(cron);
    this.#offsetAt = zoneOffset(zone);
  }

  /** Returns the first instant after `ms` (epoch); undefined if it does not exist. */
  after(ms: number): number | undefined {
    for (let from = ms; ; ) {
      const before = this.#offsetAt(from - AROUND_MS);
      const after = this.#offsetAt(from + AROUND_MS);
      const at = this.#timeAfter(from, before);
      const next = before === after ? at : Math.min(at, this.#timeAfter(from, after));
      if (next === Infinity) return undefined;
      // The offsets may change before `next`.
      if (next > from + AROUND_MS) from = next - AROUND_MS;
      else if (before === after || this.#isInstant(next, before, after)) return next;
      else from = next;
    }
  }

  /** Returns the first match after `from` at this offset, or Infinity. */
  #timeAfter(from: number, offset: number): number {
    return this.#times.after(from + offset) - offset;
  }

  /** Returns true if the match at `at` counts, near a change from offset `before` to `after`. */
  #isInstant(at: number, before: number, after: number): boolean {
    const offset = this.#offsetAt(at);
    const isMatch = this.#times.has(at + offset);
    if (this.#times.isEveryHour) return isMatch;
    // The same local time occurred before the clock was set back.
    const isRepetition = offset === after && this.#offsetAt(at + after - before) === before;
    if (isMatch && !isRepetition) return true;
    // The clock was set forward over the local time.
    const isSkipped = offset === after && this.#offsetAt(at + before - after) === before;
    return isSkipped && this.#times.has(at + before);
  }
}

/** Returns the last `max` instants in the range (`fromMs`, `toMs`], in order. Epoch ms. */
export function lastInstants(
  instants: CronInstants,
  fromMs: number,
  toMs: number,
  max: number,
): readonly number[] {
  // Doubles the span until it is large enough, because there may be millions of earlier instants.
  for (let span = MINUTE_MS; ; span *= 2) {
    const begin = Math.max(fromMs, toMs - span);
    const results: number[] = [];
    for (let at = instants.after(begin); at !== undefined && at <= toMs; at = instants.after(at))
      results.push(at);
    if (begin === fromMs || results.length >= max) return results.slice(-max);
  }
}
