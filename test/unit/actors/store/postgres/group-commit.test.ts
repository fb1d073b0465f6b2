// Group commit by itself, over a run that the test ends when it likes.

import { expect, test } from 'vitest';
import { OverloadedError, StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { GroupCommit } from '../../../../../actors/store/postgres/group-commit.ts';

interface Run {
  readonly calls: readonly string[];
  readonly end: (error?: Error) => void;
}

/** Fails where a call says so. */
function grouped(limits: { maxCalls?: number; maxBytes?: number; isAlone?: boolean } = {}) {
  const runs: Run[] = [];
  const group = new GroupCommit<string, string>({
    name: 'write',
    keys: (call) => [call.split(/\d/)[0] ?? ''],
    isAlone: limits.isAlone ?? true,
    maxCalls: limits.maxCalls ?? 100,
    maxBytes: limits.maxBytes ?? 1_000,
    run: (calls) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) =>
          error === undefined ? resolve(calls.map((call) => `${call}!`)) : reject(error);
        runs.push({ calls, end });
      }),
  });
  const settled = async () => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { group, runs, settled };
}

test('what comes while a group is under way is the next one together, and each is answered after its own commit (PGG1)', async () => {
  const { group, runs, settled } = grouped();
  const answers: string[] = [];
  for (const call of ['a1', 'b1']) void group.call(call, 1).then((answer) => answers.push(answer));
  await settled();
  for (const call of ['c1', 'd1', 'e1']) void group.call(call, 1).then((answer) => answers.push(answer));
  expect(runs.map(({ calls }) => calls)).toEqual([['a1', 'b1']]);
  expect(answers).toEqual([]);
  runs[0]?.end();
  await settled();
  expect(answers).toEqual(['a1!', 'b1!']);
  expect(runs[1]?.calls).toEqual(['c1', 'd1', 'e1']);
  runs[1]?.end();
  await settled();
  expect(answers).toHaveLength(5);
});

test('two calls about one key follow each other, in their order (PGG3)', async () => {
  const { group, runs, settled } = grouped();
  for (const call of ['a1', 'a2', 'b1', 'a3']) void group.call(call, 1);
  for (let run = 0; run < 3; run += 1) {
    await settled();
    runs[run]?.end();
  }
  await group.close();
  expect(runs.map(({ calls }) => calls)).toEqual([['a1', 'b1'], ['a2'], ['a3']]);
});

test('where many wait another transaction begins beside those under way, and none has a key of theirs (PGG3)', async () => {
  const { group, runs, settled } = grouped({ isAlone: false });
  const names = Array.from({ length: 80 }, (_, n) =>
    String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26)),
  );
  void group.call('aa0', 1);
  await settled();
  // The first of these is about what is under way, and so is what comes behind it about the same.
  for (const name of names) void group.call(`${name}1`, 1);
  for (const name of names.slice(0, 70)) void group.call(`${name}2`, 1);
  await settled();
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
    await settled();
  }
  await closed;
  const order = runs.flatMap(({ calls }) => calls);
  expect(order).toHaveLength(151);
  for (const name of names)
    expect(order.indexOf(`${name}2`) === -1 || order.indexOf(`${name}2`) > order.indexOf(`${name}1`)).toBe(
      true,
    );
});

test('calls that all wait for one that is under way are not looked through again for each that comes', async () => {
  let looks = 0;
  /** What a call is about is gone through once in each look at the call. */
  const counted = (keys: string[]): string[] =>
    Object.assign(keys, {
      every: (isSo: (key: string) => boolean) => {
        looks += 1;
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
  // At 64, 128, … of them, and not at each.
  expect(looks).toBeLessThan(10 * 640);
  end();
  expect(await Promise.all(answers)).toEqual(answers.map((_, n) => n));
  await group.close();
});

test('a group has bounds, and so has what waits: beyond that a call is refused at once (PGG2)', async () => {
  const { group, runs, settled } = grouped({ maxCalls: 2 });
  const waiting = Array.from({ length: 10_000 }, (_, n) =>
    group.call(`${String.fromCharCode(97 + (n % 2))}${n}`, 1),
  );
  await expect(group.call('z', 1)).rejects.toThrow(OverloadedError);
  await settled();
  expect(runs[0]?.calls).toEqual(['a0', 'b1']);
  for (const each of waiting) each.catch(() => undefined);
  await expect(group.call('y', 200 * 1024 * 1024)).rejects.toThrow(OverloadedError);
});

test('one that cannot succeed does not fail the others; of a store that is away all hear at once', async () => {
  const { group, runs, settled } = grouped();
  const calls = ['a1', 'b1'].map((call) => group.call(call, 1));
  const told = Promise.allSettled(calls);
  await settled();
  runs[0]?.end(Object.assign(new Error('secret text'), { code: '22000' }));
  await settled();
  runs[1]?.end(Object.assign(new Error('secret text'), { code: '22000' }));
  await settled();
  runs[2]?.end();
  const [first, second] = await told;
  expect(first).toMatchObject({
    status: 'rejected',
    reason: { message: 'the store could not carry out write: 22000' },
  });
  expect(second).toEqual({ status: 'fulfilled', value: 'b1!' });
  const away = Promise.allSettled(['c1', 'd1'].map((call) => group.call(call, 1)));
  await settled();
  runs[3]?.end(new StoreUnavailableError('the database cannot be reached'));
  expect((await away).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs).toHaveLength(4);
});
