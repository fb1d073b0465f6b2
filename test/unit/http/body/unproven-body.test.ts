// A body that is here before its sender is known: counted as long as that lasts, and handed on once.

import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BodyBudget } from '../../../../src/http/body/body-budget.ts';
import { whenKnown } from '../../../../src/http/body/unproven-body.ts';
import type { BodyHandler, HttpReply, HttpRequest } from '../../../../src/http/listener/seam.ts';

const KB = 1024;
const request = { remoteAddress: '198.51.100.1' } as HttpRequest;

function bench() {
  const faults: unknown[] = [];
  const reply = {
    guard: (code) => {
      try {
        code();
      } catch (error) {
        faults.push(error);
      }
    },
  } as HttpReply;
  let resolve: (next: BodyHandler | undefined) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<BodyHandler | undefined>((...both) => {
    [resolve, reject] = both;
  });
  const known = { promise, resolve, reject };
  const taken: (Buffer | string)[] = [];
  return { faults, reply, known, taken, next: ((_, body) => void taken.push(body)) as BodyHandler };
}

test('a whole body holds room until its sender is known, and then goes on', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const { known, reply, taken, next } = bench();
  const onBody = whenKnown(request, budget, known.promise);
  expect(budget.heldBytes).toBe(0);
  onBody(request, Buffer.alloc(100 * KB), reply);
  expect(budget.heldBytes).toBe(104 * KB);
  known.resolve(next);
  await turn();
  expect([taken.length, budget.heldBytes]).toEqual([1, 0]);
});

test('where there is no room the body is not kept, and the request hears so when its sender is known', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const all = Array.from({ length: 20 }, () => {
    const one = bench();
    whenKnown(request, budget, one.known.promise)(request, Buffer.alloc(90 * KB), one.reply);
    return one;
  });
  expect(budget.heldBytes).toBeLessThan(600 * KB);
  for (const { known, next } of all) known.resolve(next);
  await turn();
  const refused = all.filter(({ taken }) => taken[0] === 'no_room');
  expect(refused.length).toBeGreaterThan(10);
  expect(all.every(({ taken }) => taken.length === 1)).toBe(true);
  expect(budget.heldBytes).toBe(0);
});

test('requests without a body take room as well, so that their number is bounded', () => {
  const budget = new BodyBudget(100 * KB);
  for (let n = 0; n < 1_000; n += 1) {
    const { known, reply } = bench();
    whenKnown(request, budget, known.promise)(request, Buffer.alloc(0), reply);
  }
  expect(budget.heldBytes).toBeLessThanOrEqual(60 * KB);
});

test('who is refused has been answered, and gives its room back', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const { known, reply, taken, faults } = bench();
  whenKnown(request, budget, known.promise)(request, Buffer.alloc(KB), reply);
  known.resolve(undefined);
  await turn();
  expect([taken, faults, budget.heldBytes]).toEqual([[], [], 0]);
});

test('what goes wrong meanwhile ends the request as a fault, also where its body never came', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const { known, reply, faults } = bench();
  const onBody = whenKnown(request, budget, known.promise);
  known.reject(new Error('a fault'));
  await turn();
  onBody(request, Buffer.alloc(KB), reply);
  await turn();
  expect([faults.length, budget.heldBytes]).toEqual([1, 0]);
});
