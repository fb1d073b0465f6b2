import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeliveryWaits } from '../../../../../actors/events/inbox/delivery-waits.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const end = { state: 'done', answer: 'yes', note: undefined } as const;

test('whoever waits hears of the end once, and no timer is left (SE1)', async () => {
  const deliveryWaits = new DeliveryWaits(10);
  const waits = [
    deliveryWaits.wait('t', 'a', 100),
    deliveryWaits.wait('t', 'a', 100),
    deliveryWaits.wait('t', 'b', 100),
  ];
  deliveryWaits.settle('a', end);
  deliveryWaits.settle('a', { ...end, answer: 'no' });
  deliveryWaits.settle('unknown', end);
  expect([vi.getTimerCount(), deliveryWaits.size]).toEqual([1, 1]);
  vi.advanceTimersByTime(100);
  expect(await Promise.all(waits)).toEqual([end, end, undefined]);
  expect([vi.getTimerCount(), deliveryWaits.size]).toEqual([0, 0]);
});

test('its listener hears of each end and of what comes again, whether somebody waits or not', async () => {
  const heard: unknown[] = [];
  const deliveryWaits = new DeliveryWaits(10, {
    onSettled: (id, { state }) => heard.push([id, state]),
    onPutOff: (id) => heard.push(id),
    watched: () => ['c'],
    onBegunElsewhere: () => {},
    onRowsElsewhere: () => {},
  });
  const wait = deliveryWaits.wait('t', 'a', 100);
  deliveryWaits.putOff('a');
  expect([deliveryWaits.size, [...deliveryWaits.awaited()]]).toEqual([1, ['a', 'c']]);
  deliveryWaits.settle('a', end);
  deliveryWaits.settle('b', end);
  expect(heard).toEqual(['a', ['a', 'done'], ['b', 'done']]);
  expect(await wait).toEqual(end);
});

test('a wait that is given up ends at once, and its place is for others', async () => {
  const deliveryWaits = new DeliveryWaits(1);
  const waiting = new AbortController();
  const first = deliveryWaits.wait('t', 'a', 100, waiting.signal);
  waiting.abort();
  expect([deliveryWaits.size, vi.getTimerCount()]).toEqual([0, 0]);
  expect(await first).toBeUndefined();
  const second = deliveryWaits.wait('t', 'a', 100, new AbortController().signal);
  expect(await deliveryWaits.wait('t', 'b', 100, waiting.signal)).toBeUndefined();
  deliveryWaits.settle('a', end);
  expect(await second).toEqual(end);
});

test('beyond the bound a wait is refused, and there is room again when one is over (SE2)', async () => {
  const deliveryWaits = new DeliveryWaits(1);
  const first = deliveryWaits.wait('t', 'a', 100);
  await expect(deliveryWaits.wait('t', 'b', 100)).rejects.toMatchObject({ code: 'ERR_OVERLOADED' });
  deliveryWaits.settle('a', end);
  const second = deliveryWaits.wait('t', 'b', 100);
  deliveryWaits.close();
  expect([await first, await second, await deliveryWaits.wait('t', 'c', 100)]).toEqual([
    end,
    undefined,
    undefined,
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a trigger whose events do not end leaves waits to others', async () => {
  const deliveryWaits = new DeliveryWaits(16);
  const greedy = Array.from({ length: 20 }, (_, n) => deliveryWaits.wait('slow', `s${n}`, 100));
  for (const wait of greedy) wait.catch(() => {});
  expect(deliveryWaits.size).toBe(8);
  await expect(greedy[8]).rejects.toMatchObject({ code: 'ERR_OVERLOADED' });
  const other = deliveryWaits.wait('quick', 'q', 100);
  deliveryWaits.settle('q', end);
  expect(await other).toEqual(end);
  deliveryWaits.close();
  expect(deliveryWaits.size).toBe(0);
});
