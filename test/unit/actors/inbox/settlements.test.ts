import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Settlements } from '../../../../actors/inbox/settlements.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const end = { state: 'done', answer: 'yes', note: undefined } as const;

test('whoever waits hears of the end once, and no timer is left (SE1)', async () => {
  const settlements = new Settlements(10);
  const waits = [
    settlements.wait('t', 'a', 100),
    settlements.wait('t', 'a', 100),
    settlements.wait('t', 'b', 100),
  ];
  settlements.settle('a', end);
  settlements.settle('a', { ...end, answer: 'no' });
  settlements.settle('unknown', end);
  expect([vi.getTimerCount(), settlements.size]).toEqual([1, 1]);
  vi.advanceTimersByTime(100);
  expect(await Promise.all(waits)).toEqual([end, end, undefined]);
  expect([vi.getTimerCount(), settlements.size]).toEqual([0, 0]);
});

test('a wait that is given up ends at once, and its place is for others', async () => {
  const settlements = new Settlements(1);
  const waiting = new AbortController();
  const first = settlements.wait('t', 'a', 100, waiting.signal);
  waiting.abort();
  expect([settlements.size, vi.getTimerCount()]).toEqual([0, 0]);
  expect(await first).toBeUndefined();
  const second = settlements.wait('t', 'a', 100, new AbortController().signal);
  expect(await settlements.wait('t', 'b', 100, waiting.signal)).toBeUndefined();
  settlements.settle('a', end);
  expect(await second).toEqual(end);
});

test('beyond the bound a wait is refused, and there is room again when one is over (SE2)', async () => {
  const settlements = new Settlements(1);
  const first = settlements.wait('t', 'a', 100);
  await expect(settlements.wait('t', 'b', 100)).rejects.toMatchObject({ code: 'ERR_OVERLOADED' });
  settlements.settle('a', end);
  const second = settlements.wait('t', 'b', 100);
  settlements.close();
  expect([await first, await second, await settlements.wait('t', 'c', 100)]).toEqual([
    end,
    undefined,
    undefined,
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a trigger whose events do not end leaves waits to others', async () => {
  const settlements = new Settlements(16);
  const greedy = Array.from({ length: 20 }, (_, n) => settlements.wait('slow', `s${n}`, 100));
  for (const wait of greedy) wait.catch(() => {});
  expect(settlements.size).toBe(8);
  await expect(greedy[8]).rejects.toMatchObject({ code: 'ERR_OVERLOADED' });
  const other = settlements.wait('quick', 'q', 100);
  settlements.settle('q', end);
  expect(await other).toEqual(end);
  settlements.close();
  expect(settlements.size).toBe(0);
});
