// Alarms over time: repeated log lines, and the end of alarms about occurrences.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Alarms, QUIET_MS, REPEAT_MS } from '../../../../actors/base/alarms/alarms.ts';
import type { Log } from '../../../../actors/base/errors/log.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

function newAlarms() {
  const lines: string[] = [];
  const line = (level: string) => (fields: object, message: string) => {
    const { alarm, count, reason } = fields as { alarm: string; count?: number; reason?: string };
    lines.push([level, message, alarm, reason, count].filter((part) => part !== undefined).join(' '));
  };
  const log: Log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  return { alarms: new Alarms(log), lines };
}

test('the alarm of a state is logged when raised, at each interval while it lasts, and when cleared', () => {
  const { alarms, lines } = newAlarms();
  alarms.raise('disk_full', 'no space');
  alarms.raise('disk_full', 'no space at all');
  expect(lines).toEqual(['error alarm raised disk_full no space']);
  vi.advanceTimersByTime(2 * REPEAT_MS);
  const repeated = 'error alarm continues disk_full no space at all';
  expect(lines.slice(1)).toEqual([repeated, repeated]);
  expect(alarms.list).toEqual([
    { code: 'disk_full', severity: 'error', since: 1_000_000, count: undefined, message: 'no space at all' },
  ]);
  alarms.clear('disk_full');
  alarms.clear('disk_full');
  vi.advanceTimersByTime(2 * REPEAT_MS);
  expect(lines.slice(3)).toEqual(['info alarm cleared disk_full']);
  expect(alarms.list).toEqual([]);
});

test('an alarm counts its occurrences, and is cleared some time after the last occurrence', () => {
  const { alarms, lines } = newAlarms();
  for (let n = 1; n <= 1_000; n += 1) alarms.record('requests_refused', `request ${n}`);
  expect(lines).toEqual(['warn alarm raised requests_refused request 1 1']);
  expect(alarms.list).toMatchObject([{ count: 1_000, message: 'request 1000' }]);
  vi.advanceTimersByTime(QUIET_MS - 1);
  alarms.record('requests_refused', 'another');
  vi.advanceTimersByTime(QUIET_MS - 1);
  expect(alarms.has('requests_refused')).toBe(true);
  vi.advanceTimersByTime(1);
  expect(lines.slice(1)).toEqual(['info alarm cleared requests_refused 1001']);
  alarms.record('requests_refused', 'later');
  expect(alarms.list).toMatchObject([{ count: 1 }]);
});

test('the list of alarms has each active code once, errors first, after any sequence of events', () => {
  const codes = ['disk_full', 'database_unavailable', 'fallback_listener'] as const;
  const occurrences = ['clock_changed', 'requests_refused'] as const;
  const event = fc.oneof(
    fc.record({ act: fc.constantFrom('raise' as const, 'clear' as const), code: fc.constantFrom(...codes) }),
    fc.record({ act: fc.constant('record' as const), code: fc.constantFrom(...occurrences) }),
    fc.record({ act: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * QUIET_MS }) }),
  );
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const { alarms, lines } = newAlarms();
      const active = new Map<string, number>();
      for (const each of events) {
        if (each.act === 'wait') {
          vi.advanceTimersByTime(each.ms);
          for (const [code, endsAt] of active) if (endsAt <= Date.now()) active.delete(code);
        } else if (each.act === 'record') {
          alarms.record(each.code, 'a fact');
          active.set(each.code, Date.now() + QUIET_MS);
        } else if (each.act === 'raise') {
          alarms.raise(each.code, 'a fact');
          active.set(each.code, Number.POSITIVE_INFINITY);
        } else {
          alarms.clear(each.code);
          active.delete(each.code);
        }
        expect(alarms.list.map(({ code }) => code).sort()).toEqual([...active.keys()].sort());
        const severities = alarms.list.map(({ severity }) => severity);
        expect(severities).toEqual([...severities].sort());
      }
      const count = (text: string) => lines.filter((line) => line.includes(text)).length;
      expect(count('alarm raised') - count('alarm cleared')).toBe(active.size);
    }),
  );
});
