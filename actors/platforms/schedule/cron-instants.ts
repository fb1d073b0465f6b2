// Instants of a cron expression in a time zone: its local times (cron-times.ts), mapped across changes of the clocks. The
// rules of node-schedule are not used, because they lose a daily job where clocks go forward at midnight (Cairo, Santiago).
//
// CI1  a local time that the clocks skip comes later by what they skip: 02:30 at 03:30. If that is an instant of its own
//      too, it is one.
// CI2  a local time that comes twice counts the first time.
//      Where every hour counts neither holds: what is skipped is left out, and what comes twice counts twice.
// CI3  with a day of the month and a day of the week, either will do (POSIX, crontab).

import { CronTimes } from './cron-times.ts';
import { zoneOffset } from './zone-offset.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Further than what a change of the clocks can skip or repeat: a day, where the date line was moved. */
const AROUND_MS = 1.5 * DAY_MS;

export class CronInstants {
  readonly #times: CronTimes;
  readonly #offsetAt: (instantMs: number) => number;

  /** Throws for an invalid expression or zone. */
  constructor(cron: string, zone: string) {
    this.#times = new CronTimes(cron);
    this.#offsetAt = zoneOffset(zone);
  }

  /** The first instant after `ms` (epoch), or undefined when none ever comes. */
  after(ms: number): number | undefined {
    for (let from = ms; ; ) {
      const before = this.#offsetAt(from - AROUND_MS);
      const after = this.#offsetAt(from + AROUND_MS);
      const at = this.#timeAfter(from, before);
      const found = before === after ? at : Math.min(at, this.#timeAfter(from, after));
      if (found === Infinity) return undefined;
      // So far away the clocks may be others again.
      if (found > from + AROUND_MS) from = found - AROUND_MS;
      else if (before === after || this.#counts(found, before, after)) return found;
      else from = found;
    }
  }

  /** The first instant after `from` at which clocks with this offset show one of the local times; Infinity for none. */
  #timeAfter(from: number, offset: number): number {
    return this.#times.after(from + offset) - offset;
  }

  /** Whether a time that clocks with one of the two offsets show at `at`, around a change from the one to the other, counts. */
  #counts(at: number, before: number, after: number): boolean {
    const offset = this.#offsetAt(at);
    const isShown = this.#times.has(at + offset);
    if (this.#times.isEveryHour) return isShown;
    const wasShown = offset === after && this.#offsetAt(at + after - before) === before;
    if (isShown && !wasShown) return true;
    const isSkipped = offset === after && this.#offsetAt(at + before - after) === before;
    return isSkipped && this.#times.has(at + before);
  }
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
