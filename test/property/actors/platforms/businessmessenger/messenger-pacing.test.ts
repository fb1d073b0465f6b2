// Send rate of business numbers, compared with the rate limits of the fake platform: messages per second of
// the number, and a burst per person. Time is simulated, traffic and network delays are random.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { messengerPacing } from '../../../../../actors/platforms/businessmessenger/pacing.ts';
import { RateMeter, vendorLimits } from '../../../../fixtures/business-platform/rate-meter.ts';
import { OwnTime, type RequestDelays, requestDelays } from '../../../../fixtures/own-time.ts';

/** Platform code for messages that exceed the limit per person. */
const PERSON_LIMIT = 131056;
/** Maximum burst of messages to a person. After a burst, the platform accepts one message per 6 s. */
const BURST = 45;

/**
 * Sends a number of messages to every person, in order per person. Returns the refusals and the total
 * duration. `sentBefore` is the number of messages that the first person got before a restart of the gateway.
 */
async function sendAll(messageCounts: readonly number[], delays: readonly RequestDelays[], sentBefore = 0) {
  const time = new OwnTime();
  let requestCount = 0;
  const meter = new RateMeter(() => time.now);
  meter.limits = vendorLimits;
  for (let i = 0; i < sentBefore; i += 1) meter.count('100', '0');
  time.now = 1_000;
  const pacing = messengerPacing(() => time.now);
  const finished = messageCounts.map(async (count, person) => {
    let pauseMs = 2_000;
    for (let sent = 0; sent < count; ) {
      const { requestMs, responseMs, lateMs } = delays[requestCount % delays.length] as RequestDelays;
      requestCount += 1;
      const isOfDestination = ({ platformCode }: DeliveryError) => platformCode === PERSON_LIMIT;
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

const anyCounts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 });

test('messages of a business number never exceed its rate limit or the rate limit per recipient', async () => {
  await fc.assert(
    fc.asyncProperty(anyCounts, requestDelays, async (counts, delays) => {
      const { refused, tookMs } = await sendAll(counts, delays);
      expect(refused).toEqual([]);
      // The limits are also used: sending is not much slower than allowed.
      const longest = Math.max(...counts);
      const all = counts.reduce((sum, count) => sum + count, 0);
      const neededSeconds = Math.max(all / 50, longest > BURST ? 6 * (longest - BURST) : 0);
      expect(tookMs).toBeLessThan(1000 * (2 * neededSeconds + 0.4 * longest + 8));
    }),
    { numRuns: 30 },
  );
});

test('if the limit of a recipient was used up before a restart, the platform refuses at most two messages, and all are sent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), requestDelays, async (count, delays) => {
      const { refused, tookMs } = await sendAll([count, 3], delays, BURST);
      expect(new Set(refused)).toEqual(new Set([PERSON_LIMIT]));
      expect(refused.length).toBeLessThanOrEqual(2);
      expect(tookMs).toBeLessThan(7_000 * count + 10_000);
    }),
    { numRuns: 30 },
  );
});
