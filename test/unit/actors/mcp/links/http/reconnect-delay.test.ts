import { expect, test } from 'vitest';
import { reconnectDelayMs } from '../../../../../../actors/mcp/links/http/reconnect-delay.ts';

const attempts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 60, 5000];

test('the reconnect delay doubles from 250 ms to 30 s if the server sets none', () => {
  expect(attempts.map((failures) => reconnectDelayMs(failures, undefined, () => 1))).toEqual([
    250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000,
  ]);
});

test('the jitter reduces the reconnect delay by at most half', () => {
  for (const failures of attempts) {
    const least = reconnectDelayMs(failures, undefined, () => 0);
    expect(least).toBe(reconnectDelayMs(failures, undefined, () => 1) / 2);
  }
});

test('the reconnect delay is never below the delay that the server requested, and at least 10 ms', () => {
  for (const retryMs of [0, 1, 20, 1000, 600_000])
    for (const failures of attempts)
      for (const random of [0, 0.5, 1])
        expect(reconnectDelayMs(failures, retryMs, () => random)).toBeGreaterThanOrEqual(
          Math.max(10, retryMs),
        );
});
