// Rate limit of the explanations for refused button presses, with presses at random times.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RefusalLimit } from '../../../../../actors/agents/approvals/refusal-limit.ts';

const press = fc.record({
  person: fc.constantFrom('ann', 'ben', 'cho', 'dee'),
  question: fc.constantFrom('one', 'two', 'three'),
  afterMs: fc.oneof(fc.constant(0), fc.nat(5_000), fc.nat(90_000)),
});

test('a refused person receives an explanation once per request and minute, with at most 30 repetitions per minute', () => {
  fc.assert(
    fc.property(fc.array(press, { maxLength: 300 }), (presses) => {
      let now = 1;
      const limit = new RefusalLimit(() => now);
      const lastExplainedAt = new Map<string, number>();
      const again: number[] = [];
      for (const [n, { person, question, afterMs }] of presses.entries()) {
        now += afterMs;
        const name = `${person} ${question}`;
        const isExplained = limit.mayExplain(person, question, `event ${n}`);
        const before = lastExplainedAt.get(name);
        if (before === undefined) expect(isExplained).toBe(true);
        else if (isExplained) {
          expect(now - before).toBeGreaterThanOrEqual(60_000);
          again.push(now);
        }
        if (isExplained) lastExplainedAt.set(name, now);
        expect(again.filter((at) => at > now - 60_000).length).toBeLessThanOrEqual(30);
      }
    }),
  );
});

test('30 repeated explanations of a refusal per minute are sent, and first explanations are not limited', () => {
  let now = 1;
  const limit = new RefusalLimit(() => now);
  const people = Array.from({ length: 100 }, (_, n) => `person ${n}`);
  const resultsIn = (round: number) =>
    people.filter((each) => limit.mayExplain(each, 'one', `${each} ${round}`));
  expect(resultsIn(1)).toHaveLength(100);
  now += 60_000;
  expect(resultsIn(2)).toHaveLength(30);
  expect(limit.mayExplain('somebody else', 'one', 'x')).toBe(true);
});

test('an explained refusal of a press is explained again if the same press is handled again', () => {
  const limit = new RefusalLimit(() => 1);
  expect([limit.mayExplain('ann', 'one', 'a'), limit.mayExplain('ann', 'one', 'a')]).toEqual([true, true]);
  expect(limit.mayExplain('ann', 'one', 'b')).toBe(false);
});
