import { expect, test } from 'vitest';
import { within } from '../../../../../actors/base/time/within.ts';

const never = new Promise<string>(() => {});

test('a wait ends with the result or error of the operation, and with the default only after its limit', async () => {
  expect(await within(1_000, Promise.resolve('result'))).toBe('result');
  await expect(within(1_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await within(5, never)).toBeUndefined();
  expect(await within(5, never, () => 'late')).toBe('late');
  const fail = () => {
    throw new Error('too slow');
  };
  await expect(within(5, never, fail)).rejects.toThrow('too slow');
});

test('a limit that is not reached leaves no timer and calls nothing', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
  const before = timers();
  await within(60_000, Promise.resolve(), () => expect.unreachable());
  expect(timers()).toBe(before);
});

test('an error after the limit is not unhandled', async () => {
  let reject: (error: Error) => void = () => {};
  const slow = new Promise<void>((_, fail) => {
    reject = fail;
  });
  await within(1, slow);
  reject(new Error('too late'));
  // Vitest fails the file on an unhandled rejection.
  await within(1, never);
});
