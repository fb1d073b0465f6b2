import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pauseOf, retryAfterMs } from '../../../../libs/rest/retry-after.ts';

const HOST_TIME = Date.parse('2020-02-03T04:05:06Z');
const date = new Date(HOST_TIME).toUTCString();
const at = (ms: number) => new Date(HOST_TIME + ms).toUTCString();

describe('Retry-After', () => {
  test.each([
    ['30', 30_000],
    [' 1.25 ', 1_250],
    ['0', 0],
    [at(90_000), 90_000],
    [at(-90_000), 0],
    ['999999999', 86_400_000],
    ['9999999999', 86_400_000],
    ['7, 20', 20_000],
    ['Mon Feb  3 04:06:06 2020', 60_000],
    ['Monday, 03-Feb-20 04:06:06 GMT', 60_000],
  ])('of "%s" is a delay of %i ms by the platform\'s clock', (value, ms) => {
    expect(retryAfterMs(new Headers({ 'retry-after': value, date }))).toBe(ms);
  });

  test.each(['', '-1', 'soon', '1e9', '12 s', '20, soon', '9'.repeat(31)])('of "%s" is ignored', (value) => {
    expect(retryAfterMs(new Headers({ 'retry-after': value, date }))).toBeUndefined();
  });

  test('that is missing yields no delay', () => {
    expect(retryAfterMs(new Headers())).toBeUndefined();
    expect(pauseOf(undefined, 0)).toBeUndefined();
  });

  test('is read by the local clock if the response has no Date header', () => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    expect(retryAfterMs(new Headers({ 'retry-after': inAMinute }))).toBeGreaterThan(50_000);
  });

  test('of any value is read as at most one day, or as undefined', () => {
    const header = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map(String),
    );
    fc.assert(
      fc.property(header, fc.integer(), (text, nowMs) => {
        const ms = pauseOf(text, nowMs);
        if (ms === undefined) return;
        expect(Number.isInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(86_400_000);
      }),
    );
  });
});
