// Send rate of bots, compared with the rate limits of the fake platform: per chat, per group and for all
// chats. Time is simulated, traffic and network delays are random.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../actors/events/outbox/delivery-error.ts';
import { botPacing, limitOf } from '../../../../actors/platforms/botmessenger/outbound.ts';
import { BotError } from '../../../fixtures/bot-platform/bot-error.ts';
import { type FloodLimits, FloodMeter } from '../../../fixtures/bot-platform/flood-limits.ts';
import { OwnTime, type RequestDelays, requestDelays } from '../../../fixtures/own-time.ts';

/** Messages to one chat. The first is sent at `startAt`, in milliseconds. */
interface Traffic {
  readonly isGroup: boolean;
  readonly count: number;
  readonly startAt: number;
}

/**
 * Sends all messages, in order per chat. Returns the number of refusals, and the simulated end time.
 */
async function sendAll(chats: readonly Traffic[], delays: readonly RequestDelays[], limits: FloodLimits) {
  const time = new OwnTime();
  let requestCount = 0;
  const meter = new FloodMeter(() => time.now);
  meter.limits = limits;
  const pacing = botPacing(() => time.now);
  const finished = chats.map(async ({ isGroup, count, startAt }, chat) => {
    // Groups have negative ids.
    const id = isGroup ? -1 - chat : 1 + chat;
    await time.at(startAt);
    let acceptedCount = 0;
    while (acceptedCount < count) {
      const { requestMs, responseMs, lateMs } = delays[requestCount % delays.length] as RequestDelays;
      requestCount += 1;
      try {
        const turn = {
          account: 'a',
          destination: `${id}`,
          limit: limitOf(`${id}`),
          isOfDestination: () => true,
        };
        await pacing.run(turn, async () => {
          await time.at(time.now + requestMs);
          let refusal: unknown;
          try {
            meter.count(7, { id, isGroup });
            acceptedCount += 1;
          } catch (error) {
            refusal = error;
          }
          await time.at(time.now + responseMs);
          if (!(refusal instanceof BotError)) return;
          const seconds = refusal.parameters?.retry_after ?? 0;
          throw new DeliveryError('429', { isRateLimited: true, retryAfterMs: seconds * 1000 });
        });
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        await time.at(time.now + (error.retryAfterMs ?? 0) + lateMs);
      }
    }
  });
  await time.passUntil(finished);
  return { refused: meter.refused, endedAt: time.now };
}

const anyTraffic = fc.record({
  isGroup: fc.boolean(),
  count: fc.integer({ min: 1, max: 45 }),
  startAt: fc.integer({ min: 0, max: 3_000 }),
});

test('a bot never exceeds the limits for all chats and for a group', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyTraffic, { minLength: 1, maxLength: 40 }),
      requestDelays,
      async (chats, delays) => {
        const { refused } = await sendAll(chats, delays, { allPerSecond: 30, groupPerMinute: 20 });
        expect(refused).toBe(0);
      },
    ),
    { numRuns: 40 },
  );
});

test('a long answer in a chat limited to one message per second causes at most one 429, and is sent without extra delay', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 19 }),
      fc.boolean(),
      requestDelays,
      async (count, isGroup, delays) => {
        const limits = { chatEveryMs: 1_000, groupPerMinute: 20, allPerSecond: 30 };
        const { refused, endedAt } = await sendAll([{ isGroup, count, startAt: 0 }], delays, limits);
        expect(refused).toBeLessThanOrEqual(1);
        expect(endedAt).toBeLessThan(count * 1_500 + 1_000);
      },
    ),
    { numRuns: 60 },
  );
});
