// Alarms of the gateway itself, such as a full disk. Parts raise and clear them; the front ends show the
// list. The log has a line when an alarm is raised, every REPEAT_MS while it lasts, and when it is cleared.
// Each code has at most one alarm, so list and log are bounded.
//
// - A state lasts from `raise` to `clear`.
// - `record` counts an occurrence, for example a refused request. Its alarm is cleared QUIET_MS after the
//   last one.

import type { Log } from '../errors/log.ts';
import type { Part } from '../supervision/part.ts';
import { type AlarmCode, type AlarmSeverity, alarmSeverities } from './alarm-codes.ts';

export interface Alarm {
  readonly code: AlarmCode;
  readonly severity: AlarmSeverity;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Number of occurrences; undefined for a state. */
  readonly count: number | undefined;
  /** Fact, value and remedy; not redacted. */
  readonly message: string;
}

interface ActiveAlarm {
  readonly since: number;
  count: number | undefined;
  message: string;
  readonly repeatTimer: NodeJS.Timeout;
  /** Ends the alarm of an occurrence. */
  quietTimer?: NodeJS.Timeout | undefined;
}

export const REPEAT_MS = 15 * 60_000;
export const QUIET_MS = 5 * 60_000;

export class Alarms implements Part {
  readonly #log: Log;
  readonly #active = new Map<AlarmCode, ActiveAlarm>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Active alarms: errors first, then warnings, each by start time. */
  get list(): readonly Alarm[] {
    const alarms = [...this.#active].map(([code, { since, count, message }]) => {
      return { code, severity: alarmSeverities[code], since, count, message };
    });
    return alarms.sort((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
  }

  has(code: AlarmCode): boolean {
    return this.#active.has(code);
  }

  /** Begins the alarm of a state, or updates its message. */
  raise(code: AlarmCode, message: string): void {
    this.#set(code, message, undefined);
  }

  /** Ends an alarm. Ignores an inactive alarm. */
  clear(code: AlarmCode): void {
    const alarm = this.#active.get(code);
    if (alarm === undefined) return;
    this.#active.delete(code);
    stopTimers(alarm);
    const { since, count } = alarm;
    this.#log.info({ alarm: code, since: new Date(since).toISOString(), count }, 'alarm cleared');
  }

  /** Counts an occurrence. The alarm is cleared QUIET_MS after the last one. */
  record(code: AlarmCode, message: string): void {
    const count = (this.#active.get(code)?.count ?? 0) + 1;
    const alarm = this.#set(code, message, count);
    if (alarm.quietTimer !== undefined) alarm.quietTimer.refresh();
    else alarm.quietTimer = setTimeout(() => this.clear(code), QUIET_MS).unref();
  }

  /** Stops the timers. The list stays. */
  async drain(): Promise<void> {
    for (const alarm of this.#active.values()) stopTimers(alarm);
  }

  #set(code: AlarmCode, message: string, count: number | undefined): ActiveAlarm {
    const active = this.#active.get(code);
    if (active !== undefined) return Object.assign(active, { message, count });
    const repeatTimer = setInterval(() => this.#report(code, false), REPEAT_MS).unref();
    const alarm: ActiveAlarm = { since: Date.now(), count, message, repeatTimer };
    this.#active.set(code, alarm);
    this.#report(code, true);
    return alarm;
  }

  #report(alarm: AlarmCode, isNew: boolean): void {
    const active = this.#active.get(alarm);
    if (active === undefined) return;
    const { count, message: reason } = active;
    const since = new Date(active.since).toISOString();
    if (alarmSeverities[alarm] === 'error')
      this.#log.error({ alarm, since, count, reason }, isNew ? 'alarm raised' : 'alarm continues');
    else this.#log.warn({ alarm, since, count, reason }, isNew ? 'alarm raised' : 'alarm continues');
  }
}

function stopTimers({ repeatTimer, quietTimer }: ActiveAlarm): void {
  clearInterval(repeatTimer);
  clearTimeout(quietTimer);
}
