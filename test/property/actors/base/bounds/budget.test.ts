// A shared budget of slots or bytes (budget.ts) with random and greedy holders. The total is never exceeded.
// A holder may use at most as much as is still free, so that each new holder gets a part.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget, Share } from '../../../../../actors/base/bounds/budget.ts';

const HOLDERS = 6;
/** Steps: releases the latest amount, or acquires an amount for one holder, or for two of different kinds. */
const steps = fc.array(
  fc.record({
    holder: fc.nat(HOLDERS - 1),
    other: fc.option(fc.nat(HOLDERS - 1), { nil: undefined }),
    amount: fc.integer({ min: 1, max: 40 }),
    isRelease: fc.boolean(),
  }),
  { maxLength: 200 },
);

describe('a budget', () => {
  test('is never exceeded, and no holder gets more than is still free', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), steps, (total, sequence) => {
        const budget = new Budget(total);
        // Two kinds of holders. For example, a call counts for its server and its session.
        const shares = Array.from({ length: HOLDERS }, () => new Share());
        const others = Array.from({ length: HOLDERS }, () => new Share());
        const acquired: { amount: number; share: Share; other: Share | undefined }[] = [];
        for (const step of sequence) {
          const last = step.isRelease ? acquired.pop() : undefined;
          if (last !== undefined) {
            budget.release(last.amount, last.share, last.other);
          } else {
            const share = shares[step.holder] as Share;
            const other = step.other === undefined ? undefined : others[step.other];
            const { free } = budget;
            const wanted = Math.max(share.used, other?.used ?? 0) + step.amount;
            // The budget grants the amount if neither holder then uses more than is free now.
            expect(budget.acquire(step.amount, share, other)).toBe(wanted <= free);
            if (wanted <= free) acquired.push({ amount: step.amount, share, other });
          }
          const sum = acquired.reduce((before, { amount }) => before + amount, 0);
          expect(budget.used).toBe(sum);
          expect(budget.used).toBeLessThanOrEqual(total);
          expect(shares.reduce((before, { used }) => before + used, 0)).toBe(sum);
        }
      }),
    );
  });

  test('with a common part, open to all holders, lets one holder use that part or half of the total', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 500 }), fc.nat(499), (total, part) => {
        const common = part % total;
        const budget = new Budget(total, common);
        const greedy = new Share();
        while (budget.acquire(1, greedy));
        // A single holder gets half of the total, or the common part if that is larger.
        expect(greedy.used).toBe(Math.max(common, Math.ceil(total / 2)));
        expect(budget.acquire(1, new Share())).toBe(true);
      }),
    );
  });

  test('has a part left for a new holder even if other holders never release anything', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 512, max: 4096 }),
        fc.array(fc.nat(7), { maxLength: 500 }),
        (holders, total, turns) => {
          const budget = new Budget(total);
          const shares = Array.from({ length: holders }, () => new Share());
          for (const turn of turns) budget.acquire(1, shares[turn % holders] as Share);
          for (const share of shares) while (budget.acquire(1, share));
          // A holder takes at most half of the free part.
          expect(budget.free).toBeGreaterThanOrEqual(Math.floor(total / 2 ** holders));
          expect(budget.acquire(1, new Share())).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('converges to equal shares if each holder acquires as much as possible and releases regularly', () => {
    const budget = new Budget(1000);
    const shares = Array.from({ length: 4 }, () => new Share());
    const [first] = shares as [Share];
    while (budget.acquire(1, first));
    expect(first.used).toBe(500);
    for (let round = 0; round < 200; round += 1) {
      // Like calls that complete: large shares release more.
      for (const share of shares) budget.release(Math.ceil(share.used / 10), share);
      // All holders acquire in turns until the budget refuses all of them.
      while (shares.filter((share) => budget.acquire(1, share)).length > 0);
    }
    // Four holders and the free part each have approximately a fifth of the total.
    for (const { used } of shares) expect(Math.abs(used - 200)).toBeLessThan(20);
    expect(budget.free).toBeGreaterThan(150);
  });
});
