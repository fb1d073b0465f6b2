// Usage of shared limits: budgets with named holders, and the largest of them.

import { expect, test } from 'vitest';
import { HolderBudget } from '../../../../../actors/base/bounds/holder-budget.ts';
import { largestHolders } from '../../../../../actors/base/bounds/limit-usage.ts';

test('the usage contains the five largest holders in descending order, with bounded names', () => {
  const usages = Array.from({ length: 1_000 }, (_, n) => [`${n} ${'x'.repeat(500)}`, n] as const);
  const holders = largestHolders([...usages, ['idle', 0]]);
  expect(holders.map(({ used }) => used)).toEqual([999, 998, 997, 996, 995]);
  expect(holders.every(({ name }) => name.length === 100)).toBe(true);
  expect(
    largestHolders([
      ['a', 1],
      ['b', 2],
    ]),
  ).toEqual([
    { name: 'b', used: 2 },
    { name: 'a', used: 1 },
  ]);
});

test('an amount counts for each of its holders, and a refused or released amount leaves no trace', () => {
  const budget = new HolderBudget(8);
  expect(budget.acquire(2, ['trigger a', 'agent x', 'provider p'])).toBe(true);
  expect(budget.acquire(2, ['trigger b', 'agent y', 'provider p'])).toBe(true);
  expect(budget.acquire(1, ['trigger c', 'agent z', 'provider p'])).toBe(false);
  expect(budget.usedBy('trigger c')).toBe(0);
  expect(budget.usage).toMatchObject({
    used: 4,
    max: 8,
    holders: [{ name: 'provider p', used: 4 }, {}, {}, {}, {}],
  });
  budget.release(2, ['trigger a', 'agent x', 'provider p']);
  budget.release(2, ['trigger b', 'agent y', 'provider p']);
  expect(budget.usage).toEqual({ used: 0, max: 8, holders: [] });
});
