// When a server counts as quiet, to the millisecond, on a clock of the test's own.

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
  const heard: [string, number][] = [];
  const clock = new IdleTimer({
    idleTimeoutMs,
    isBusy: () => state.isBusy,
    lastUsedAt: () => state.usedAt,
    onQuiet: (span) => heard.push([span, Math.round(performance.now() - startedAt)]),
  });
  clock.start();
  return { clock, state, heard };
}

test('half and whole of the idle time are told once each, in time', () => {
  const { heard } = make(1000);
  vi.advanceTimersByTime(5000);
  expect(heard).toEqual([
    ['half', 500],
    ['whole', 1000],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a call in between starts the time anew, and half is told again', () => {
  const { heard, state } = make(1000);
  vi.advanceTimersByTime(700);
  state.usedAt = performance.now();
  vi.advanceTimersByTime(5000);
  expect(heard).toEqual([
    ['half', 500],
    ['half', 1200],
    ['whole', 1700],
  ]);
});

test('work under way keeps a server from being quiet; the time counts from its end', () => {
  const { heard, state } = make(1000);
  state.isBusy = true;
  vi.advanceTimersByTime(10_300);
  expect(heard).toEqual([]);
  state.isBusy = false;
  state.usedAt = performance.now();
  vi.advanceTimersByTime(5000);
  expect(heard).toEqual([
    ['half', 10_800],
    ['whole', 11_300],
  ]);
});

test('an idle time of 0 is never over', () => {
  const { heard } = make(0);
  vi.advanceTimersByTime(1e9);
  expect(heard).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a stopped clock is silent, and can be started again; started twice it is one clock', () => {
  const { clock, state, heard } = make(1000);
  vi.advanceTimersByTime(400);
  clock.stop();
  vi.advanceTimersByTime(5000);
  expect([heard, vi.getTimerCount()]).toEqual([[], 0]);
  state.usedAt = performance.now();
  clock.start();
  clock.start();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(5000);
  expect(heard).toEqual([
    ['half', 5900],
    ['whole', 6400],
  ]);
});

test('whatever the calls, quiet is told at the moment it is reached, and whole only after the whole of it', () => {
  // The clock looks no more often than every 10 ms: a call in the very moment of half time may come before it.
  const pause = fc.oneof(fc.integer({ min: 1, max: 499 }), fc.integer({ min: 511, max: 989 }));
  fc.assert(
    fc.property(fc.array(pause, { maxLength: 15 }), (pauses) => {
      const { heard, state, clock } = make(1000);
      const expected: [string, number][] = [];
      let now = 0;
      for (const length of [...pauses, 1010]) {
        if (length >= 500) expected.push(['half', now + 500]);
        if (length >= 1000) expected.push(['whole', now + 1000]);
        vi.advanceTimersByTime(length);
        now += length;
        state.usedAt = performance.now();
      }
      expect(heard.map(([span]) => span)).toEqual(expected.map(([span]) => span));
      for (const [index, [, at]] of heard.entries()) {
        const due = expected[index]?.[1] ?? 0;
        expect(at).toBeGreaterThanOrEqual(due);
        expect(at).toBeLessThanOrEqual(due + 10);
      }
      clock.stop();
    }),
    { numRuns: 200 },
  );
});
