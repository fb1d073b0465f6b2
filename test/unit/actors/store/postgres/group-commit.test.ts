// Group commit, with transactions that the test completes.

import { expect, test } from 'vitest';
import { OverloadedError, StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { GroupCommit } from '../../../../../actors/store/postgres/group-commit.ts';

interface Run {
  readonly calls: readonly string[];
  readonly end: (error?: Error) => void;
}

function grouped(limits: { maxCalls?: number; maxBytes?: number; hasDistinctKeys?: boolean } = {}) {
  const runs: Run[] = [];
  const group = new GroupCommit<string, string>({
    name: 'write',
    keys: (call) => [call.split(/\d/)[0] ?? ''],
    hasDistinctKeys: limits.hasDistinctKeys ?? true,
    maxCalls: limits.maxCalls ?? 100,
    maxBytes: limits.maxBytes ?? 1_000,
    run: (calls) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) =>
          error === undefined ? resolve(calls.map((call) => `${call}!`)) : reject(error);
        runs.push({ calls, end });
      }),
  });
  const runPendingTasks = async () => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { group, runs, settled: runPendingTasks };
}

test('store calls that arrive during a transaction form the next group, and each settles after its own commit', async () => {
  const { group, runs, settled: runPendingTasks } = grouped();
  const answers: string[] = [];
  for (const call of ['a1', 'b1']) void group.call(call, 1).then((answer) => answers.push(answer));
  await runPendingTasks();
  for (const call of ['c1', 'd1', 'e1']) void group.call(call, 1).then((answer) => answers.push(answer));
  expect(runs.map(({ calls }) => calls)).toEqual([['a1', 'b1']]);
  expect(answers).toEqual([]);
  runs[0]?.end();
  await runPendingTasks();
  expect(answers).toEqual(['a1!', 'b1!']);
  expect(runs[1]?.calls).toEqual(['c1', 'd1', 'e1']);
  runs[1]?.end();
  await runPendingTasks();
  expect(answers).toHaveLength(5);
});

test('two store calls with the same key run in order', async () => {
  const { group, runs, settled: runPendingTasks } = grouped();
  for (const call of ['a1', 'a2', 'b1', 'a3']) void group.call(call, 1);
  for (let run = 0; run < 3; run += 1) {
    await runPendingTasks();
    runs[run]?.end();
  }
  await group.close();
  expect(runs.map(({ calls }) => calls)).toEqual([['a1', 'b1'], ['a2'], ['a3']]);
});

test('many waiting store calls start a parallel transaction with calls that share no key with the running transaction', async () => {
  const { group, runs, settled: runPendingTasks } = grouped({ hasDistinctKeys: false });
  const names = Array.from({ length: 80 }, (_, n) =>
    String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26)),
  );
  void group.call('aa0', 1);
  await runPendingTasks();
  // The first call shares a key with the running transaction, so all later calls with that key must wait too.
  for (const name of names) void group.call(`${name}1`, 1);
  for (const name of names.slice(0, 70)) void group.call(`${name}2`, 1);
  await runPendingTasks();
  expect(runs).toHaveLength(3);
  const [first, ...beside] = runs.map(({ calls }) => calls);
  expect(first).toEqual(['aa0']);
  expect(beside.flat()).not.toContain('aa1');
  expect(beside.flat()).not.toContain('aa2');
  const keysOf = (calls: readonly string[]) => new Set(calls.map((call) => call.slice(0, 2)));
  const [one, other] = beside.map(keysOf);
  expect([...(one ?? [])].filter((key) => other?.has(key))).toEqual([]);
  const closed = group.close();
  for (let run = 0; run < runs.length || run < 5; run += 1) {
    runs[run]?.end();
    await runPendingTasks();
  }
  await closed;
  const order = runs.flatMap(({ calls }) => calls);
  expect(order).toHaveLength(151);
  for (const name of names)
    expect(order.indexOf(`${name}2`) === -1 || order.indexOf(`${name}2`) > order.indexOf(`${name}1`)).toBe(
      true,
    );
});

test('a new store call is queued without a check of all waiting calls', async () => {
  let checks = 0;
  /** Counts checks: a check iterates the keys of a call once. */
  const counted = (keys: string[]): string[] =>
    Object.assign(keys, {
      every: (isSo: (key: string) => boolean) => {
        checks += 1;
        return !keys.some((key) => !isSo(key));
      },
    });
  let end = () => {};
  const first = new Promise<void>((resolve) => {
    end = resolve;
  });
  const group = new GroupCommit<number, number>({
    name: 'write',
    keys: () => counted(['a']),
    run: (calls) => first.then(() => calls),
  });
  const answers: Promise<number>[] = [];
  for (let n = 0; n < 640; n += 1) {
    answers.push(group.call(n, 1));
    await new Promise(setImmediate);
  }
  // Checks happen only at 64, 128, … calls.
  expect(checks).toBeLessThan(10 * 640);
  end();
  expect(await Promise.all(answers)).toEqual(answers.map((_, n) => n));
  await group.close();
});

test('the size of groups and the number of waiting calls are limited; further calls are rejected immediately', async () => {
  const { group, runs, settled: runPendingTasks } = grouped({ maxCalls: 2 });
  const waiting = Array.from({ length: 10_000 }, (_, n) =>
    group.call(`${String.fromCharCode(97 + (n % 2))}${n}`, 1),
  );
  await expect(group.call('z', 1)).rejects.toThrow(OverloadedError);
  await runPendingTasks();
  expect(runs[0]?.calls).toEqual(['a0', 'b1']);
  for (const each of waiting) each.catch(() => undefined);
  await expect(group.call('y', 200 * 1024 * 1024)).rejects.toThrow(OverloadedError);
});

test('a failing store call does not fail the other calls, and an unavailable store fails all calls immediately', async () => {
  const { group, runs, settled: runPendingTasks } = grouped();
  const calls = ['a1', 'b1'].map((call) => group.call(call, 1));
  const outcomes = Promise.allSettled(calls);
  await runPendingTasks();
  runs[0]?.end(Object.assign(new Error('secret text'), { code: '22000' }));
  await runPendingTasks();
  runs[1]?.end(Object.assign(new Error('secret text'), { code: '22000' }));
  await runPendingTasks();
  runs[2]?.end();
  const [first, second] = await outcomes;
  expect(first).toMatchObject({
    status: 'rejected',
    reason: { message: 'store operation write failed: 22000' },
  });
  expect(second).toEqual({ status: 'fulfilled', value: 'b1!' });
  const away = Promise.allSettled(['c1', 'd1'].map((call) => group.call(call, 1)));
  await runPendingTasks();
  runs[3]?.end(new StoreUnavailableError('the database cannot be reached'));
  expect((await away).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs).toHaveLength(4);
});
