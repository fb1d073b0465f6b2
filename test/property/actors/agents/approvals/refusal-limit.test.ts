// How often people are told that their press decides nothing, whatever they press and when.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RefusalLimit } from '../../../../../actors/agents/approvals/refusal-limit.ts';

const press = fc.record({
  person: fc.constantFrom('ann', 'ben', 'cho', 'dee'),
  question: fc.constantFrom('one', 'two', 'three'),
  afterMs: fc.oneof(fc.constant(0), fc.nat(5_000), fc.nat(90_000)),
});

test('each person is told the first time about each question, again after a minute, and no more than thirty of those in one (RFL1, RFL2)', () => {
  fc.assert(
    fc.property(fc.array(press, { maxLength: 300 }), (presses) => {
      let now = 1;
      const limit = new RefusalLimit(() => now);
      const lastTold = new Map<string, number>();
      const again: number[] = [];
      for (const [n, { person, question, afterMs }] of presses.entries()) {
        now += afterMs;
        const name = `${person} ${question}`;
        const isTold = limit.mayTell(person, question, `event ${n}`);
        const before = lastTold.get(name);
        if (before === undefined) expect(isTold).toBe(true);
        else if (isTold) {
          expect(now - before).toBeGreaterThanOrEqual(60_000);
          again.push(now);
        }
        if (isTold) lastTold.set(name, now);
        expect(again.filter((at) => at > now - 60_000).length).toBeLessThanOrEqual(30);
      }
    }),
  );
});

test('of many who come again thirty are told in a minute, and whoever comes for the first time is told all the same', () => {
  let now = 1;
  const limit = new RefusalLimit(() => now);
  const people = Array.from({ length: 100 }, (_, n) => `person ${n}`);
  const toldIn = (round: number) => people.filter((each) => limit.mayTell(each, 'one', `${each} ${round}`));
  expect(toldIn(1)).toHaveLength(100);
  now += 60_000;
  expect(toldIn(2)).toHaveLength(30);
  expect(limit.mayTell('somebody else', 'one', 'x')).toBe(true);
});

test('an event that is handled again is told of as before (RFL3)', () => {
  const limit = new RefusalLimit(() => 1);
  expect([limit.mayTell('ann', 'one', 'a'), limit.mayTell('ann', 'one', 'a')]).toEqual([true, true]);
  expect(limit.mayTell('ann', 'one', 'b')).toBe(false);
});
