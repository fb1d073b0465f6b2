// Send rate of business numbers, compared with the rate limits of the fake platform. Time is simulated,
// traffic and network delays are random.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { messengerPacing } from '../../../../../actors/platforms/businessmessenger/pacing.ts';
import { RateMeter, vendorLimits } from '../../../../fixtures/business-platform/rate-meter.ts';
import { OwnTime, type RequestDelays, requestDelays } from '../../../../fixtures/own-time.ts';

/** Messages that were sent to the first person before a restart, up to the limit of the platform. */
interface Before {
  readonly toFirst: number;
}

/** Sends the messages, in order per person. Returns the refusals and the total duration. */
async function sendAll(
  people: readonly number[],
  ways: readonly RequestDelays[],
  { toFirst }: Before = { toFirst: 0 },
) {
  const time = new OwnTime();
  let steps = 0;
  const meter = new RateMeter(() => time.now);
  meter.limits = vendorLimits;
  for (let i = 0; i < toFirst; i += 1) meter.count('100', '0');
  time.now = 1_000;
  const pacing = messengerPacing(() => time.now);
  const finished = people.map(async (count, person) => {
    let pauseMs = 2_000;
    for (let sent = 0; sent < count; ) {
      const { requestMs, responseMs, lateMs } = ways[steps++ % ways.length] as RequestDelays;
      const isOfDestination = ({ platformCode }: DeliveryError) => platformCode === 131056;
      try {
        await pacing.run({ account: '100', destination: `${person}`, isOfDestination }, async () => {
          await time.at(time.now + requestMs);
          const refusal = meter.count('100', `${person}`);
          await time.at(time.now + responseMs);
          if (refusal === undefined) return;
          pauseMs = Math.min(60_000, 2 * pauseMs);
          throw new DeliveryError('', {
            platformCode: refusal.code,
            isRateLimited: true,
            retryAfterMs: pauseMs,
          });
        });
        sent += 1;
        pauseMs = 2_000;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        await time.at(time.now + (error.retryAfterMs ?? 0) + lateMs);
      }
    }
  });
  await time.passUntil(finished);
  return { refused: meter.refused, tookMs: time.now - 1_000 };
}

const people = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 });

test('a business number never exceeds its limit or the limit per person', async () => {
  await fc.assert(
    fc.asyncProperty(people, requestDelays, async (counts, onTheWay) => {
      const { refused, tookMs } = await sendAll(counts, onTheWay);
      expect(refused).toEqual([]);
      // The limits are also used: sending is not much slower than allowed.
      const longest = Math.max(...counts);
      const all = counts.reduce((sum, count) => sum + count, 0);
      const atLeast = Math.max(all / 50, longest > 45 ? 6 * (longest - 45) : 0);
      expect(tookMs).toBeLessThan(1000 * (2 * atLeast + 0.4 * longest + 8));
    }),
    { numRuns: 30 },
  );
});

test("if the limit of a person was used up before a restart, one message is refused and the rest follows the platform's rate", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), requestDelays, async (count, onTheWay) => {
      const { refused, tookMs } = await sendAll([count, 3], onTheWay, { toFirst: 45 });
      expect(new Set(refused)).toEqual(new Set([131056]));
      expect(refused.length).toBeLessThanOrEqual(2);
      expect(tookMs).toBeLessThan(7_000 * count + 10_000);
    }),
    { numRuns: 30 },
  );
});
