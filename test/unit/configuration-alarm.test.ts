// The alarm about faulty files: raised by a refused reload, and cleared by a check or a reload.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Problem } from '../../config/reader/problem.ts';
import { ConfigurationAlarm } from '../../src/configuration-alarm.ts';

const CHECKED_MS = 10_000;
const problem = (message: string): Problem => ({
  ...{ file: 'gateway.yaml', line: 1, column: 1, severity: 'error' },
  message,
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Returns an alarm whose checks wait for `files`. */
function bench() {
  const acts: string[] = [];
  const checks: ((problems: readonly Problem[]) => void)[] = [];
  const alarm = new ConfigurationAlarm({
    alarms: {
      raise: (_, message) => void acts.push(message.includes('port') ? 'raise port' : 'raise other'),
      clear: () => void acts.push('clear'),
    },
    problems: () => new Promise((resolve) => checks.push(resolve)),
  });
  return { alarm, acts, checks };
}

test('after a configuration problem the files are checked repeatedly until they are correct', async () => {
  const { alarm, acts, checks } = bench();
  alarm.update([problem('port')]);
  await vi.advanceTimersByTimeAsync(CHECKED_MS);
  checks[0]?.([problem('host')]);
  await vi.advanceTimersByTimeAsync(CHECKED_MS);
  checks[1]?.([]);
  await vi.advanceTimersByTimeAsync(10 * CHECKED_MS);
  expect([acts, checks.length]).toEqual([['raise port', 'raise other', 'clear'], 2]);
});

test('a configuration check that ends after a successful reload does not raise the alarm again', async () => {
  const { alarm, acts, checks } = bench();
  alarm.update([problem('port')]);
  await vi.advanceTimersByTimeAsync(CHECKED_MS);
  alarm.update([]);
  checks[0]?.([problem('port')]);
  await vi.advanceTimersByTimeAsync(10 * CHECKED_MS);
  expect([acts, checks.length]).toEqual([['raise port', 'clear'], 1]);
});
