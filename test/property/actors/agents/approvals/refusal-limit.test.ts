// Limit of the explanations for refused button presses on approval requests, with random presses. A first
// explanation per person and request is always sent. A repeated explanation is sent at most once a minute,
// and all persons together get at most 30 repeated explanations per minute.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RefusalLimit } from '../../../../../actors/agents/approvals/refusal-limit.ts';

/** A refused press on an approval request, and the delay after the previous press. */
const press = fc.record({
  person: fc.constantFrom('ann', 'ben', 'cho', 'dee'),
  approval: fc.constantFrom('one', 'two', 'three'),
  afterMs: fc.oneof(fc.constant(0), fc.nat(5_000), fc.nat(90_000)),
});

test('a refused person gets one explanation per approval request and minute; all persons get at most 30 repeats a minute', () => {
  fc.assert(
    fc.property(fc.array(press, { maxLength: 300 }), (presses) => {
      let now = 1;
      const limit = new RefusalLimit(() => now);
      const lastExplainedAt = new Map<string, number>();
      const repeatTimes: number[] = [];
      for (const [n, { person, approval, afterMs }] of presses.entries()) {
        now += afterMs;
        const key = `${person} ${approval}`;
        const isExplained = limit.mayExplain(person, approval, `event ${n}`);
        const previousAt = lastExplainedAt.get(key);
        if (previousAt === undefined) expect(isExplained).toBe(true);
        else if (isExplained) {
          expect(now - previousAt).toBeGreaterThanOrEqual(60_000);
          repeatTimes.push(now);
        }
        if (isExplained) lastExplainedAt.set(key, now);
        expect(repeatTimes.filter((at) => at > now - 60_000).length).toBeLessThanOrEqual(30);
      }
    }),
  );
});

test('at most 30 repeated explanations of refusals per minute are sent, and first explanations are not limited', () => {
  let now = 1;
  const limit = new RefusalLimit(() => now);
  const people = Array.from({ length: 100 }, (_, n) => `person ${n}`);
  // All rounds use new events, since a repeated call for the same event returns the same result.
  const explainedIn = (round: number) =>
    people.filter((person) => limit.mayExplain(person, 'one', `${person} ${round}`));
  expect(explainedIn(1)).toHaveLength(100);
  now += 60_000;
  expect(explainedIn(2)).toHaveLength(30);
  expect(limit.mayExplain('somebody else', 'one', 'x')).toBe(true);
});

test('a refused button press is explained again if its event is retried; a second press within a minute is not explained', () => {
  const limit = new RefusalLimit(() => 1);
  const isExplained = (event: string) => limit.mayExplain('ann', 'one', event);
  expect([isExplained('a'), isExplained('a')]).toEqual([true, true]);
  expect(isExplained('b')).toBe(false);
});
