// Bodies received before the sender is identified: counted until identification, and passed on once.

import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BodyBudget } from '../../../../src/http/body/body-budget.ts';
import { deferUntilVerified } from '../../../../src/http/body/unverified-body.ts';
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
  const deferred = { promise, resolve, reject };
  const received: (Buffer | string)[] = [];
  return {
    faults,
    reply,
    deferred,
    received,
    next: ((_, body) => void received.push(body)) as BodyHandler,
  };
}

test('a request body counts against a memory budget until its sender is authenticated, and is then passed on', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const { deferred, reply, received, next } = bench();
  const onBody = deferUntilVerified(request, budget, deferred.promise);
  expect(budget.heldBytes).toBe(0);
  onBody(request, Buffer.alloc(100 * KB), reply);
  expect(budget.heldBytes).toBe(104 * KB);
  deferred.resolve(next);
  await turn();
  expect([received.length, budget.heldBytes]).toEqual([1, 0]);
});

test('with no memory budget left a body is dropped, and its request is refused once the sender is authenticated', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const all = Array.from({ length: 20 }, () => {
    const reader = bench();
    deferUntilVerified(request, budget, reader.deferred.promise)(
      request,
      Buffer.alloc(90 * KB),
      reader.reply,
    );
    return reader;
  });
  expect(budget.heldBytes).toBeLessThan(600 * KB);
  for (const { deferred, next } of all) deferred.resolve(next);
  await turn();
  const refused = all.filter(({ received }) => received[0] === 'over_budget');
  expect(refused.length).toBeGreaterThan(10);
  expect(all.every(({ received }) => received.length === 1)).toBe(true);
  expect(budget.heldBytes).toBe(0);
});

test('requests without a body count against the budget for unauthenticated bodies too, which limits their number', () => {
  const budget = new BodyBudget(100 * KB);
  for (let n = 0; n < 1_000; n += 1) {
    const { deferred, reply } = bench();
    deferUntilVerified(request, budget, deferred.promise)(request, Buffer.alloc(0), reply);
  }
  expect(budget.heldBytes).toBeLessThanOrEqual(60 * KB);
});

test('if authentication has refused a request, its body is dropped and its memory budget released', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const { deferred, reply, received, faults } = bench();
  deferUntilVerified(request, budget, deferred.promise)(request, Buffer.alloc(KB), reply);
  deferred.resolve(undefined);
  await turn();
  expect([received, faults, budget.heldBytes]).toEqual([[], [], 0]);
});

test('an exception during authentication ends the request, even if its body never arrives', async () => {
  const budget = new BodyBudget(1_000 * KB);
  const { deferred, reply, faults } = bench();
  const onBody = deferUntilVerified(request, budget, deferred.promise);
  deferred.reject(new Error('a fault'));
  await turn();
  onBody(request, Buffer.alloc(KB), reply);
  await turn();
  expect([faults.length, budget.heldBytes]).toEqual([1, 0]);
});
