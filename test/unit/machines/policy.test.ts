import { describe, expect, test } from 'vitest';
import { type RestartPolicy, restartPolicy, verdict } from '../../../machines/policy.ts';

const policy: RestartPolicy = {
  restart: 'transient',
  intensity: 3,
  periodMs: 1000,
  onLimit: 'park',
  parkMs: 5000,
  backoff: { minMs: 100, maxMs: 300, jitter: 0.5 },
};
const failed = { kind: 'failed', error: new Error('no') } as const;
const done = { kind: 'done' } as const;

describe('a verdict', () => {
  test('forgets a temporary child however it ended', () => {
    const temporary: RestartPolicy = { ...policy, restart: 'temporary' };
    expect(verdict(temporary, failed, [], 0, 0)).toEqual({ do: 'forget' });
    expect(verdict(temporary, done, [], 0, 0)).toEqual({ do: 'forget' });
  });

  test('forgets a transient child that is done, and restarts one that failed', () => {
    expect(verdict(policy, done, [], 0, 0)).toEqual({ do: 'forget' });
    expect(verdict(policy, failed, [], 0, 0)).toEqual({ do: 'restart', inMs: 100 });
  });

  test('restarts a permanent child that is done', () => {
    expect(verdict({ ...policy, restart: 'permanent' }, done, [], 0, 0)).toEqual({
      do: 'restart',
      inMs: 100,
    });
  });

  test('doubles the pause with each restart that still counts, up to the longest', () => {
    expect(verdict(policy, failed, [0], 10, 0)).toEqual({ do: 'restart', inMs: 200 });
    expect(verdict(policy, failed, [0, 5], 10, 0)).toEqual({ do: 'restart', inMs: 300 });
  });

  test('lets chance take off its share, but never goes below the shortest pause', () => {
    expect(verdict(policy, failed, [0, 5], 10, 1)).toEqual({ do: 'restart', inMs: 150 });
    expect(verdict(policy, failed, [], 10, 1)).toEqual({ do: 'restart', inMs: 100 });
  });

  test('parks, or escalates, the failure after the last restart that is allowed', () => {
    expect(verdict(policy, failed, [0, 1, 2], 999, 0)).toEqual({ do: 'park', forMs: 5000 });
    expect(verdict({ ...policy, onLimit: 'escalate' }, failed, [0, 1, 2], 999, 0)).toEqual({
      do: 'escalate',
    });
  });

  test('no longer counts a restart that is a period old', () => {
    expect(verdict(policy, failed, [0, 1, 2], 1000, 0)).toEqual({ do: 'restart', inMs: 300 });
  });

  test('parks the first failure when no restart is allowed', () => {
    expect(verdict({ ...policy, intensity: 0 }, failed, [], 0, 0)).toEqual({ do: 'park', forMs: 5000 });
  });
});

describe('the policy of a catalog entry', () => {
  const settings = {
    intensity: 5,
    period_seconds: 60,
    min_backoff_ms: 250,
    max_backoff_seconds: 30,
    park_seconds: 60,
  };

  test('is transient, parks at the limit, and counts in milliseconds', () => {
    expect(restartPolicy(settings)).toEqual({
      restart: 'transient',
      intensity: 5,
      periodMs: 60_000,
      onLimit: 'park',
      parkMs: 60_000,
      backoff: { minMs: 250, maxMs: 30_000, jitter: 0.2 },
    });
  });

  test('refuses a pause of 0, which would restart without end', () => {
    expect(() => restartPolicy({ ...settings, min_backoff_ms: 0 })).toThrow(RangeError);
    expect(() => restartPolicy({ ...settings, min_backoff_ms: Number.NaN })).toThrow(RangeError);
  });

  test('keeps pauses within what a Node timer can wait', () => {
    const { backoff } = restartPolicy({ ...settings, max_backoff_seconds: 1e12 });
    expect(backoff.maxMs).toBe(2 ** 31 - 1);
  });

  test('lets the shortest pause win over a longest one below it', () => {
    expect(restartPolicy({ ...settings, max_backoff_seconds: 0.1 }).backoff).toMatchObject({ maxMs: 250 });
  });
});
