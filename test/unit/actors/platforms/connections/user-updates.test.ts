// Notifications to an open connection about changed triggers, with fake time.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import {
  ConnectionError,
  TriggersRefusedError,
} from '../../../../../actors/platforms/connections/connector.ts';
import { UserUpdates } from '../../../../../actors/platforms/connections/user-updates.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const triggerNamed = (name: string) => ({ name }) as Trigger;

function createBench(answer: (names: readonly string[], signal: AbortSignal) => Promise<void>) {
  const names: string[] = [];
  const calls: string[] = [];
  const warnings: object[] = [];
  const refusals: string[] = [];
  const notice = new UserUpdates({
    open: {
      closed: new Promise(() => {}),
      close: async () => {},
      onUsers: async (triggers, signal) => {
        const triggerNames = triggers.map(({ name }) => name);
        calls.push(triggerNames.join());
        await answer(triggerNames, signal);
      },
    },
    users: () => names.map(triggerNamed),
    onRefused: (all) => void refusals.push([...all].map(([{ name }, why]) => `${name} ${why}`).join()),
    key: 'botmessenger/42',
    log: { ...silentLog, warn: (fields) => void warnings.push(fields) },
  });
  return { names, calls, warnings, refusals, notice };
}

describe('an open connection', () => {
  test('is notified of triggers that join together in one call, and of later triggers in a second call', async () => {
    let end = (): void => {};
    const { names, calls, notice } = createBench(() => new Promise((resolve) => (end = resolve)));
    names.push('a');
    notice.notifyChange();
    names.push('b');
    notice.notifyChange();
    await advance(1_000);
    expect(calls).toEqual(['a,b']);
    names.push('c');
    notice.notifyChange();
    notice.notifyChange();
    await advance(1_000);
    expect(calls).toEqual(['a,b']);
    end();
    await advance(1_000);
    expect(calls).toEqual(['a,b', 'a,b,c']);
  });

  test('is notified again after a transient failure, after the requested pause, and not after a refusal', async () => {
    const answers = [
      new ConnectionError('flood', { kind: 'transient', retryAfterMs: 5_000 }),
      new Error('reset'),
      new ConnectionError('BOT_COMMANDS_TOO_MUCH', { kind: 'refused' }),
    ];
    const { calls, warnings, notice } = createBench(async () => {
      const error = answers.shift();
      if (error !== undefined) throw error;
    });
    await advance(5_000);
    expect(calls).toHaveLength(1);
    await advance(100_000);
    expect(calls).toHaveLength(3);
    expect(warnings.at(-1)).toMatchObject({ reason: 'BOT_COMMANDS_TOO_MUCH', in_ms: undefined });
    notice.notifyChange();
    await advance(100_000);
    expect(calls).toHaveLength(4);
    expect(warnings).toHaveLength(3);
  });

  test('reports single refused triggers, retries them, and reports their acceptance', async () => {
    const answers = [
      new TriggersRefusedError(new Map([[triggerNamed('a'), 'invalid_auth']])),
      new Error('reset'),
      undefined,
    ];
    const { calls, warnings, refusals, notice } = createBench(async () => {
      const error = answers.shift();
      if (error !== undefined) throw error;
    });
    await advance(1_000);
    expect([calls.length, refusals]).toEqual([1, ['a invalid_auth']]);
    expect(warnings).toEqual([
      expect.objectContaining({ reason: 'a: invalid_auth', in_ms: expect.any(Number) }),
    ]);
    await advance(200_000);
    expect([calls.length, refusals]).toEqual([3, ['a invalid_auth', '']]);
    await advance(200_000);
    expect(calls).toHaveLength(3);
    notice.close();
  });

  test.each([
    ['that ends on abort', true],
    ['that ignores the abort', false],
  ])('repeats a call that exceeds the deadline: one %s', async (_, endsOnAbort) => {
    const signals: AbortSignal[] = [];
    const { names, calls, warnings, notice } = createBench(async (_names, callSignal) => {
      signals.push(callSignal);
      if (signals.length > 1) return;
      await new Promise((_resolve, reject) => {
        if (endsOnAbort) callSignal.addEventListener('abort', () => reject(callSignal.reason));
      });
    });
    await advance(80_000);
    names.push('late');
    notice.notifyChange();
    expect([calls.length, signals[0]?.aborted]).toEqual([1, false]);
    await advance(20_000);
    expect([calls, signals[0]?.aborted]).toEqual([['', 'late'], true]);
    expect(warnings).toEqual([expect.objectContaining({ reason: 'no result within 90 s' })]);
    await advance(200_000);
    expect([calls.length, signals[1]?.aborted]).toEqual([2, false]);
    notice.close();
  });

  test('is not notified after it closes, and the running call is aborted', async () => {
    let signal: AbortSignal | undefined;
    const { calls, warnings, notice } = createBench(async (_, callSignal) => {
      signal = callSignal;
      await new Promise((_resolve, reject) =>
        callSignal.addEventListener('abort', () => reject(callSignal.reason)),
      );
    });
    await advance(100);
    notice.notifyChange();
    notice.close();
    notice.notifyChange();
    await advance(100_000);
    expect([calls.length, signal?.aborted, warnings]).toEqual([1, true, []]);
  });
});
