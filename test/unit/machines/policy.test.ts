import { describe, expect, test } from 'vitest';
import { decideRestart, type RestartPolicy, restartPolicy } from '../../../machines/policy.ts';

const policy: RestartPolicy = {
  restart: 'transient',
  intensity: 3,
  periodMs: 1000,
  onLimit: 'park',
  parkMs: 5000,
  backoff: { minMs: 100, maxMs: 300, jitter: 0.5 },
};
const failed = { kind: 'failed', error: new Error('no') } as const;
const doneEnding = { kind: 'done' } as const;

// Arguments of decideRestart: policy, ending, times of counted restarts, current time, random number (0…1),
// times of uncounted restarts.
describe('a restart decision', () => {
  test('does not restart a temporary child, however the child ended', () => {
    const temporary: RestartPolicy = { ...policy, restart: 'temporary' };
    expect(decideRestart(temporary, failed, [], 0, 0)).toEqual({ do: 'forget' });
    expect(decideRestart(temporary, doneEnding, [], 0, 0)).toEqual({ do: 'forget' });
  });

  test('restarts a transient child only if the child failed, not if it finished', () => {
    expect(decideRestart(policy, doneEnding, [], 0, 0)).toEqual({ do: 'forget' });
    expect(decideRestart(policy, failed, [], 0, 0)).toEqual({ do: 'restart', inMs: 100 });
  });

  test('restarts a finished permanent child', () => {
    expect(decideRestart({ ...policy, restart: 'permanent' }, doneEnding, [], 0, 0)).toEqual({
      do: 'restart',
      inMs: 100,
    });
  });

  test('doubles the pause with each counted restart, up to the maximum', () => {
    expect(decideRestart(policy, failed, [0], 10, 0)).toEqual({ do: 'restart', inMs: 200 });
    expect(decideRestart(policy, failed, [0, 5], 10, 0)).toEqual({ do: 'restart', inMs: 300 });
  });

  test('subtracts jitter, but never goes below the minimum pause', () => {
    expect(decideRestart(policy, failed, [0, 5], 10, 1)).toEqual({ do: 'restart', inMs: 150 });
    expect(decideRestart(policy, failed, [], 10, 1)).toEqual({ do: 'restart', inMs: 100 });
  });

  test('parks the child or escalates the failure, as configured, after the last allowed restart', () => {
    expect(decideRestart(policy, failed, [0, 1, 2], 999, 0)).toEqual({ do: 'park', forMs: 5000 });
    expect(decideRestart({ ...policy, onLimit: 'escalate' }, failed, [0, 1, 2], 999, 0)).toEqual({
      do: 'escalate',
    });
  });

  test('does not count restarts older than the period', () => {
    expect(decideRestart(policy, failed, [0, 1, 2], 1000, 0)).toEqual({ do: 'restart', inMs: 300 });
  });

  test('restarts without a limit after failures outside the child, with a longer pause after each', () => {
    const external = { kind: 'failed', error: new Error('start', { cause: { isExternal: true } }) } as const;
    const spent = [0, 1, 2];
    expect(decideRestart({ ...policy, intensity: 0 }, external, [], 0, 0)).toEqual({
      do: 'restart',
      inMs: 100,
    });
    expect(decideRestart(policy, external, spent, 9, 0)).toEqual({ do: 'restart', inMs: 300 });
    expect(decideRestart({ ...policy, onLimit: 'escalate' }, external, spent, 9, 0).do).toBe('restart');
    expect(decideRestart(policy, external, [], 9, 0, [0])).toEqual({ do: 'restart', inMs: 200 });
    expect(decideRestart(policy, failed, [], 9, 0, spent)).toEqual({ do: 'restart', inMs: 300 });
    expect(decideRestart(policy, failed, spent, 9, 0, spent)).toEqual({ do: 'park', forMs: 5000 });
  });

  test('parks the first failure if no restart is allowed', () => {
    expect(decideRestart({ ...policy, intensity: 0 }, failed, [], 0, 0)).toEqual({ do: 'park', forMs: 5000 });
  });
});

describe('an unreachable server', () => {
  const away = { kind: 'failed', error: new Error('no', { cause: { isUnreachable: true } }) } as const;

  test('is parked at its restart limit for a second at most, or as long as the server requests', () => {
    expect(decideRestart(policy, away, [0, 1, 2], 999, 0)).toEqual({ do: 'park', forMs: 1000 });
    expect(decideRestart({ ...policy, parkMs: 100 }, away, [0, 1, 2], 999, 0)).toEqual({
      do: 'park',
      forMs: 100,
    });
    const error = { isUnreachable: true, requestedPauseMs: 7000 };
    expect(decideRestart(policy, { kind: 'failed', error }, [0, 1, 2], 999, 0)).toEqual({
      do: 'park',
      forMs: 7000,
    });
  });

  test('is restarted with the same pauses as other failed servers', () => {
    expect(decideRestart(policy, away, [0, 5], 10, 0)).toEqual({ do: 'restart', inMs: 300 });
  });
});

describe('the restart policy of a catalog entry', () => {
  const settings = {
    intensity: 5,
    period_seconds: 60,
    min_backoff_ms: 250,
    max_backoff_seconds: 30,
    park_seconds: 60,
  };

  test('restarts only failed servers, parks them at the limit, and has its times in milliseconds', () => {
    expect(restartPolicy(settings)).toEqual({
      restart: 'transient',
      intensity: 5,
      periodMs: 60_000,
      onLimit: 'park',
      parkMs: 60_000,
      backoff: { minMs: 250, maxMs: 30_000, jitter: 0.2 },
    });
  });

  test('refuses a pause of 0, which would restart in a loop', () => {
    expect(() => restartPolicy({ ...settings, min_backoff_ms: 0 })).toThrow(RangeError);
    expect(() => restartPolicy({ ...settings, min_backoff_ms: Number.NaN })).toThrow(RangeError);
  });

  test('limits pauses to the maximum of a Node timer', () => {
    const { backoff } = restartPolicy({ ...settings, max_backoff_seconds: 1e12 });
    expect(backoff.maxMs).toBe(2 ** 31 - 1);
  });

  test('raises the maximum pause to the minimum if it is lower', () => {
    expect(restartPolicy({ ...settings, max_backoff_seconds: 0.1 }).backoff).toMatchObject({ maxMs: 250 });
  });
});
