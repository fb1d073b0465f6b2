// How fast a number of a business sends, held against the limits of its platform as the fake of it counts them, in a time of
// the test's own: however many messages for however many people, and however long their way takes.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { messengerPacing } from '../../../../../actors/platforms/businessmessenger/pacing.ts';
import { RateMeter, vendorLimits } from '../../../../fixtures/business-platform/rate-meter.ts';
import { OwnTime, type Way, ways } from '../../../../fixtures/own-time.ts';

/** Of the start of a process that sent as much before as the platform takes: so many to the first person. */
interface Before {
  readonly toFirst: number;
}

/** Sends so much to each person, each in order; gives what the platform refused, and when all was there. */
async function sendAll(
  people: readonly number[],
  ways: readonly Way[],
  { toFirst }: Before = { toFirst: 0 },
) {
  const time = new OwnTime();
  let steps = 0;
  const meter = new RateMeter(() => time.now);
  meter.limits = vendorLimits;
  for (let i = 0; i < toFirst; i += 1) meter.count('100', '0');
  time.now = 1_000;
  const pacing = messengerPacing(() => time.now);
  const ends = people.map(async (count, person) => {
    let pauseMs = 2_000;
    for (let sent = 0; sent < count; ) {
      const { thereMs, backMs, lateMs } = ways[steps++ % ways.length] as Way;
      const isOfPlace = ({ platformCode }: DeliveryError) => platformCode === 131056;
      try {
        await pacing.run({ account: '100', place: `${person}`, isOfPlace }, async () => {
          await time.at(time.now + thereMs);
          const refusal = meter.count('100', `${person}`);
          await time.at(time.now + backMs);
          if (refusal === undefined) return;
          pauseMs = Math.min(60_000, 2 * pauseMs);
          throw new DeliveryError('', { platformCode: refusal.code, isTooSoon: true, retryAfterMs: pauseMs });
        });
        sent += 1;
        pauseMs = 2_000;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        await time.at(time.now + (error.retryAfterMs ?? 0) + lateMs);
      }
    }
  });
  await time.passUntil(ends);
  return { refused: meter.refused, tookMs: time.now - 1_000 };
}

const people = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 });

test('it never sends more than the platform takes of a number, or to one person', async () => {
  await fc.assert(
    fc.asyncProperty(people, ways, async (counts, onTheWay) => {
      const { refused, tookMs } = await sendAll(counts, onTheWay);
      expect(refused).toEqual([]);
      // And not much less.
      const longest = Math.max(...counts);
      const all = counts.reduce((sum, count) => sum + count, 0);
      const atLeast = Math.max(all / 50, longest > 45 ? 6 * (longest - 45) : 0);
      expect(tookMs).toBeLessThan(1000 * (2 * atLeast + 0.4 * longest + 8));
    }),
    { numRuns: 30 },
  );
});

test('of a person to whom as much was sent before a start as may be, it is refused once and then keeps to what the platform lends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), ways, async (count, onTheWay) => {
      const { refused, tookMs } = await sendAll([count, 3], onTheWay, { toFirst: 45 });
      expect(new Set(refused)).toEqual(new Set([131056]));
      expect(refused.length).toBeLessThanOrEqual(2);
      expect(tookMs).toBeLessThan(7_000 * count + 10_000);
    }),
    { numRuns: 30 },
  );
});
