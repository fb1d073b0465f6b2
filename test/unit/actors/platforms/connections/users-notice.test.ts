// What an open connection hears of its triggers, with time that the test lets pass.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { ConnectionError, UsersRefusedError } from '../../../../../actors/platforms/connections/connector.ts';
import { UsersNotice } from '../../../../../actors/platforms/connections/users-notice.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const triggerNamed = (name: string) => ({ name }) as Trigger;

function bench(answer: (names: readonly string[], signal: AbortSignal) => Promise<void>) {
  const names: string[] = [];
  const calls: string[] = [];
  const warnings: object[] = [];
  const refusals: string[] = [];
  const notice = new UsersNotice({
    open: {
      closed: new Promise(() => {}),
      close: async () => {},
      onUsers: async (triggers, signal) => {
        const said = triggers.map(({ name }) => name);
        calls.push(said.join());
        await answer(said, signal);
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
  test('hears once of triggers that join together, and once more of those that join meanwhile (UN1)', async () => {
    let end = (): void => {};
    const { names, calls, notice } = bench(() => new Promise((resolve) => (end = resolve)));
    names.push('a');
    notice.changed();
    names.push('b');
    notice.changed();
    await pass(1_000);
    expect(calls).toEqual(['a,b']);
    names.push('c');
    notice.changed();
    notice.changed();
    await pass(1_000);
    expect(calls).toEqual(['a,b']);
    end();
    await pass(1_000);
    expect(calls).toEqual(['a,b', 'a,b,c']);
  });

  test('is told again after a failure that passes, as late as the platform asks, and not after a refusal (UN2)', async () => {
    const answers = [
      new ConnectionError('flood', { kind: 'transient', retryAfterMs: 5_000 }),
      new Error('reset'),
      new ConnectionError('BOT_COMMANDS_TOO_MUCH', { kind: 'refused' }),
    ];
    const { calls, warnings, notice } = bench(async () => {
      const error = answers.shift();
      if (error !== undefined) throw error;
    });
    await pass(5_000);
    expect(calls).toHaveLength(1);
    await pass(100_000);
    expect(calls).toHaveLength(3);
    expect(warnings.at(-1)).toMatchObject({ reason: 'BOT_COMMANDS_TOO_MUCH', in_ms: undefined });
    notice.changed();
    await pass(100_000);
    expect(calls).toHaveLength(4);
    expect(warnings).toHaveLength(3);
  });

  test('says which triggers are refused alone, tries them again, and says when they are taken (UN2, UN4)', async () => {
    const answers = [
      new UsersRefusedError(new Map([[triggerNamed('a'), 'invalid_auth']])),
      new Error('reset'),
      undefined,
    ];
    const { calls, warnings, refusals, notice } = bench(async () => {
      const error = answers.shift();
      if (error !== undefined) throw error;
    });
    await pass(1_000);
    expect([calls.length, refusals]).toEqual([1, ['a invalid_auth']]);
    expect(warnings).toEqual([
      expect.objectContaining({ reason: 'a: invalid_auth', in_ms: expect.any(Number) }),
    ]);
    await pass(200_000);
    expect([calls.length, refusals]).toEqual([3, ['a invalid_auth', '']]);
    await pass(200_000);
    expect(calls).toHaveLength(3);
    notice.close();
  });

  test.each([
    ['ends when it is told to', true],
    ['does not even end then', false],
  ])('that takes far too long over it is told to end, and told again: one that %s (UN5)', async (_, ends) => {
    const signals: AbortSignal[] = [];
    const { names, calls, warnings, notice } = bench(async (_names, given) => {
      signals.push(given);
      if (signals.length > 1) return;
      await new Promise((_resolve, reject) => {
        if (ends) given.addEventListener('abort', () => reject(given.reason));
      });
    });
    await pass(80_000);
    names.push('late');
    notice.changed();
    expect([calls.length, signals[0]?.aborted]).toEqual([1, false]);
    await pass(20_000);
    expect([calls, signals[0]?.aborted]).toEqual([['', 'late'], true]);
    expect(warnings).toEqual([expect.objectContaining({ reason: 'it took longer than 90 s' })]);
    await pass(200_000);
    expect([calls.length, signals[1]?.aborted]).toEqual([2, false]);
    notice.close();
  });

  test('hears nothing any more once it closes, and is told to end what it does (UN3)', async () => {
    let signal: AbortSignal | undefined;
    const { calls, warnings, notice } = bench(async (_, given) => {
      signal = given;
      await new Promise((_resolve, reject) => given.addEventListener('abort', () => reject(given.reason)));
    });
    await pass(100);
    notice.changed();
    notice.close();
    notice.changed();
    await pass(100_000);
    expect([calls.length, signal?.aborted, warnings]).toEqual([1, true, []]);
  });
});
