import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeliveryWaits } from '../../../../../actors/events/inbox/delivery-waits.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const end = { state: 'done', answer: 'yes', note: undefined } as const;

test('a waiting caller receives the outcome of its delivery once, and no timer remains', async () => {
  const deliveryWaits = new DeliveryWaits(10);
  const pendingWaits = [
    deliveryWaits.wait('t', 'a', 100),
    deliveryWaits.wait('t', 'a', 100),
    deliveryWaits.wait('t', 'b', 100),
  ];
  deliveryWaits.settle('a', end);
  deliveryWaits.settle('a', { ...end, answer: 'no' });
  deliveryWaits.settle('unknown', end);
  expect([vi.getTimerCount(), deliveryWaits.size]).toEqual([1, 1]);
  vi.advanceTimersByTime(100);
  expect(await Promise.all(pendingWaits)).toEqual([end, end, undefined]);
  expect([vi.getTimerCount(), deliveryWaits.size]).toEqual([0, 0]);
});

test('the listener for deliveries receives each outcome and each deferral, with or without waiting callers', async () => {
  const notified: unknown[] = [];
  const deliveryWaits = new DeliveryWaits(10, {
    onSettled: (id, { state }) => notified.push([id, state]),
    onDeferred: (id) => notified.push(id),
    watchedIds: () => ['c'],
    onRemoteStart: () => {},
    onRemoteRows: () => {},
  });
  const wait = deliveryWaits.wait('t', 'a', 100);
  deliveryWaits.notifyDeferred('a');
  expect([deliveryWaits.size, [...deliveryWaits.awaitedIds()]]).toEqual([1, ['a', 'c']]);
  deliveryWaits.settle('a', end);
  deliveryWaits.settle('b', end);
  expect(notified).toEqual(['a', ['a', 'done'], ['b', 'done']]);
  expect(await wait).toEqual(end);
});

test('an aborted wait for a delivery ends immediately, and frees its slot', async () => {
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

test('waits for deliveries beyond the limit are rejected until another wait ends', async () => {
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

test('a trigger with many waiting callers leaves slots for waiting callers of other triggers', async () => {
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
