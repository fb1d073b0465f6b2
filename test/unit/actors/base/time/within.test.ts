import { expect, test } from 'vitest';
import { within } from '../../../../../actors/base/time/within.ts';

const never = new Promise<string>(() => {});

test('a wait with a time limit ends with the result or error of the operation, or with the default after the limit', async () => {
  expect(await within(1_000, Promise.resolve('result'))).toBe('result');
  await expect(within(1_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await within(5, never)).toBeUndefined();
  expect(await within(5, never, () => 'late')).toBe('late');
  const fail = () => {
    throw new Error('too slow');
  };
  await expect(within(5, never, fail)).rejects.toThrow('too slow');
});

test('a wait that ends before its time limit leaves no timer and does not compute the default', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
  const before = timers();
  await within(60_000, Promise.resolve(), () => expect.unreachable());
  expect(timers()).toBe(before);
});

test('an operation that fails after the time limit of its wait causes no unhandled rejection', async () => {
  let reject: (error: Error) => void = () => {};
  const slow = new Promise<void>((_, fail) => {
    reject = fail;
  });
  await within(1, slow);
  reject(new Error('too late'));
  // Vitest fails the file on an unhandled rejection.
  await within(1, never);
});
