// Server idle detection, with a fake clock.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { IdleTimer } from '../../../../../../actors/mcp/servers/life/idle-timer.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function make(idleTimeoutMs: number) {
  const startedAt = performance.now();
  const state = { isBusy: false, usedAt: startedAt };
  const reports: [string, number][] = [];
  const clock = new IdleTimer({
    idleTimeoutMs,
    isBusy: () => state.isBusy,
    lastUsedAt: () => state.usedAt,
    onQuiet: (span) => reports.push([span, Math.round(performance.now() - startedAt)]),
  });
  clock.start();
  return { clock, state, reports };
}

test('the idle timer reports half and the whole of the idle timeout, each once and at the right time', () => {
  const { reports } = make(1000);
  vi.advanceTimersByTime(5000);
  expect(reports).toEqual([
    ['half', 500],
    ['whole', 1000],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('the idle timer restarts after a call, and reports half of the idle timeout a second time', () => {
  const { reports, state } = make(1000);
  vi.advanceTimersByTime(700);
  state.usedAt = performance.now();
  vi.advanceTimersByTime(5000);
  expect(reports).toEqual([
    ['half', 500],
    ['half', 1200],
    ['whole', 1700],
  ]);
});

test('the idle timer does not run during work, and starts at its end', () => {
  const { reports, state } = make(1000);
  state.isBusy = true;
  vi.advanceTimersByTime(10_300);
  expect(reports).toEqual([]);
  state.isBusy = false;
  state.usedAt = performance.now();
  vi.advanceTimersByTime(5000);
  expect(reports).toEqual([
    ['half', 10_800],
    ['whole', 11_300],
  ]);
});

test('the idle timer with an idle timeout of 0 never reports', () => {
  const { reports } = make(0);
  vi.advanceTimersByTime(1e9);
  expect(reports).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a stopped idle timer is silent and can be started again; two starts create one timer', () => {
  const { clock, state, reports } = make(1000);
  vi.advanceTimersByTime(400);
  clock.stop();
  vi.advanceTimersByTime(5000);
  expect([reports, vi.getTimerCount()]).toEqual([[], 0]);
  state.usedAt = performance.now();
  clock.start();
  clock.start();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(5000);
  expect(reports).toEqual([
    ['half', 5900],
    ['whole', 6400],
  ]);
});

test('the idle timer reports idleness at the exact time for any sequence of calls', () => {
  // The timer checks every 10 ms, so the pauses avoid half of the idle timeout.
  const pause = fc.oneof(fc.integer({ min: 1, max: 499 }), fc.integer({ min: 511, max: 989 }));
  fc.assert(
    fc.property(fc.array(pause, { maxLength: 15 }), (pauses) => {
      const { reports, state, clock } = make(1000);
      const expected: [string, number][] = [];
      let now = 0;
      for (const length of [...pauses, 1010]) {
        if (length >= 500) expected.push(['half', now + 500]);
        if (length >= 1000) expected.push(['whole', now + 1000]);
        vi.advanceTimersByTime(length);
        now += length;
        state.usedAt = performance.now();
      }
      expect(reports.map(([span]) => span)).toEqual(expected.map(([span]) => span));
      for (const [index, [, at]] of reports.entries()) {
        const due = expected[index]?.[1] ?? 0;
        expect(at).toBeGreaterThanOrEqual(due);
        expect(at).toBeLessThanOrEqual(due + 10);
      }
      clock.stop();
    }),
    { numRuns: 200 },
  );
});
