// Send rate of community chat and team chat bots, compared with the platform limits, in simulated time.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../actors/events/outbox/delivery-error.ts';
import type { Pacing } from '../../../../actors/events/outbox/pacing.ts';
import { communityPacing } from '../../../../actors/platforms/communitychat/pacing.ts';
import { teamPacing } from '../../../../actors/platforms/teamchat/pacing.ts';
import { runs } from '../../../fixtures/property-runs.ts';

const SECOND = 1_000;
/** Limit per second. */
const BOT_LIMIT = 50;

/**
 * Sends the messages of each conversation, and retries when requested. Returns the time and the conversation
 * of each message.
 */
async function sendAll(
  pacingOf: (now: () => number) => Pacing,
  counts: readonly number[],
  lateMs: readonly number[],
) {
  let now = 0;
  let retries = 0;
  const pacing = pacingOf(() => now);
  const queues = counts.map((count, place) => ({ place, count, at: 0 }));
  const sent: { readonly place: number; readonly at: number }[] = [];
  for (;;) {
    const toSend = queues.filter(({ count }) => count > 0);
    if (toSend.length === 0) return sent;
    const next = toSend.reduce((first, each) => (each.at < first.at ? each : first));
    now = Math.max(now, next.at);
    const { place } = next;
    try {
      await pacing.run({ account: 'bot', destination: `${place}` }, async () =>
        sent.push({ place, at: now }),
      );
      next.count -= 1;
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error;
      const pauseMs = error.retryAfterMs ?? 0;
      expect(pauseMs).toBeGreaterThan(0);
      next.at = now + pauseMs + (lateMs[retries++ % lateMs.length] ?? 0);
    }
  }
}

/** Returns the maximum number of messages within any interval of this length. */
const maxInWindow = (ms: number, times: readonly number[]) =>
  Math.max(0, ...times.map((at, i) => times.slice(i).filter((each) => each - at < ms).length));

test.each([
  ['community chat', communityPacing, { most: 5, ms: 5 * SECOND }],
  ['team chat', teamPacing, { most: 1, ms: SECOND }],
] as const)(
  'a bot of a %s sends all messages within the limits of the bot and of the destination',
  async (_, pacingOf, ofPlace) => {
    const counts = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 80, maxLength: 120 });
    const late = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(counts, late, async (wanted, lateMs) => {
        const sent = await sendAll(pacingOf, wanted, lateMs);
        expect(sent.length).toBe(wanted.reduce((sum, count) => sum + count, 0));
        expect(
          maxInWindow(
            SECOND,
            sent.map(({ at }) => at),
          ),
        ).toBeLessThanOrEqual(BOT_LIMIT);
        for (const place of wanted.keys()) {
          const times = sent.filter((each) => each.place === place).map(({ at }) => at);
          expect(maxInWindow(ofPlace.ms, times)).toBeLessThanOrEqual(ofPlace.most);
        }
      }),
      { numRuns: runs(20) },
    );
  },
);
