// Any holders, however greedy, share a budget: it is never exceeded, and there is always something for who is new.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget, Share } from '../../../../../actors/base/bounds/budget.ts';

const HOLDERS = 6;
const steps = fc.array(
  fc.record({
    holder: fc.nat(HOLDERS - 1),
    other: fc.option(fc.nat(HOLDERS - 1), { nil: undefined }),
    amount: fc.integer({ min: 1, max: 40 }),
    isGiving: fc.boolean(),
  }),
  { maxLength: 200 },
);

describe('a budget', () => {
  test('is never exceeded, and gives nobody more than was free (BU1, BU2, BU3)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), steps, (total, sequence) => {
        const budget = new Budget(total);
        // Two kinds of holders, as servers and sessions are.
        const shares = Array.from({ length: HOLDERS }, () => new Share());
        const others = Array.from({ length: HOLDERS }, () => new Share());
        const taken: { amount: number; share: Share; other: Share | undefined }[] = [];
        for (const step of sequence) {
          const last = step.isGiving ? taken.pop() : undefined;
          if (last !== undefined) {
            budget.give(last.amount, last.share, last.other);
          } else {
            const share = shares[step.holder] as Share;
            const other = step.other === undefined ? undefined : others[step.other];
            const { free } = budget;
            const wanted = Math.max(share.held, other?.held ?? 0) + step.amount;
            expect(budget.take(step.amount, share, other)).toBe(wanted <= free);
            if (wanted <= free) taken.push({ amount: step.amount, share, other });
          }
          const sum = taken.reduce((total, { amount }) => total + amount, 0);
          expect(budget.taken).toBe(sum);
          expect(budget.taken).toBeLessThanOrEqual(total);
          expect(shares.reduce((total, { held }) => total + held, 0)).toBe(sum);
        }
      }),
    );
  });

  test('with a common part gives that to whoever asks, and nobody the last of what is left', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 500 }), fc.nat(499), (total, part) => {
        const common = part % total;
        const budget = new Budget(total, common);
        const greedy = new Share();
        while (budget.take(1, greedy));
        expect(greedy.held).toBe(Math.max(common, Math.ceil(total / 2)));
        expect(budget.take(1, new Share())).toBe(true);
      }),
    );
  });

  test('leaves something to whoever is new, whatever holders take and never give back', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 512, max: 4096 }),
        fc.array(fc.nat(7), { maxLength: 500 }),
        (holders, total, turns) => {
          const budget = new Budget(total);
          const shares = Array.from({ length: holders }, () => new Share());
          for (const turn of turns) budget.take(1, shares[turn % holders] as Share);
          for (const share of shares) while (budget.take(1, share));
          expect(budget.free).toBeGreaterThanOrEqual(Math.floor(total / 2 ** holders));
          expect(budget.take(1, new Share())).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('comes to be shared alike by greedy holders that give back', () => {
    const budget = new Budget(1000);
    const shares = Array.from({ length: 4 }, () => new Share());
    const [first] = shares as [Share];
    while (budget.take(1, first));
    expect(first.held).toBe(500);
    for (let round = 0; round < 200; round += 1) {
      // As calls end: of much, much comes back.
      for (const share of shares) budget.give(Math.ceil(share.held / 10), share);
      while (shares.filter((share) => budget.take(1, share)).length > 0);
    }
    for (const { held } of shares) expect(Math.abs(held - 200)).toBeLessThan(20);
    expect(budget.free).toBeGreaterThan(150);
  });
});
