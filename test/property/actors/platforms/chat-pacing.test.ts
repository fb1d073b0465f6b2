// Send rates of the bots of two chat platforms, in simulated time. Messages to many destinations stay within
// the platform's limits per bot and per destination.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../actors/events/outbox/delivery-error.ts';
import type { Pacing } from '../../../../actors/events/outbox/pacing.ts';
import { communityPacing } from '../../../../actors/platforms/communitychat/pacing.ts';
import { teamPacing } from '../../../../actors/platforms/teamchat/pacing.ts';
import { runs } from '../../../fixtures/property-runs.ts';

const SECOND_MS = 1_000;
/** Bot messages per second, to all destinations. */
const MAX_PER_SECOND = 50;

/**
 * Sends `counts` messages, one number per destination. Retries a refused message after the requested pause
 * plus the next entry of `lateMs`. Returns the time and the destination of each message.
 */
async function sendAll(
  pacingOf: (now: () => number) => Pacing,
  counts: readonly number[],
  lateMs: readonly number[],
) {
  let now = 0;
  let retries = 0;
  const pacing = pacingOf(() => now);
  const queues = counts.map((count, destination) => ({ destination, count, dueAt: 0 }));
  const sent: { readonly destination: number; readonly at: number }[] = [];
  for (;;) {
    const toSend = queues.filter(({ count }) => count > 0);
    if (toSend.length === 0) return sent;
    const next = toSend.reduce((first, each) => (each.dueAt < first.dueAt ? each : first));
    now = Math.max(now, next.dueAt);
    const { destination } = next;
    try {
      await pacing.run({ account: 'bot', destination: `${destination}` }, async () =>
        sent.push({ destination, at: now }),
      );
      next.count -= 1;
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error;
      const pauseMs = error.retryAfterMs ?? 0;
      expect(pauseMs).toBeGreaterThan(0);
      next.dueAt = now + pauseMs + (lateMs[retries++ % lateMs.length] ?? 0);
    }
  }
}

/** Returns the maximum number of messages within any interval of this length. */
const maxInWindow = (ms: number, times: readonly number[]) =>
  Math.max(0, ...times.map((at, i) => times.slice(i).filter((each) => each - at < ms).length));

test.each([
  ['community chat', communityPacing, { most: 5, ms: 5 * SECOND_MS }],
  ['team chat', teamPacing, { most: 1, ms: SECOND_MS }],
] as const)(
  'a bot of a %s sends all messages within the limits of the bot and of the destination',
  async (_, pacingOf, destinationLimit) => {
    const counts = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 80, maxLength: 120 });
    const late = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(counts, late, async (wanted, lateMs) => {
        const sent = await sendAll(pacingOf, wanted, lateMs);
        expect(sent.length).toBe(wanted.reduce((sum, count) => sum + count, 0));
        const allTimes = sent.map(({ at }) => at);
        expect(maxInWindow(SECOND_MS, allTimes)).toBeLessThanOrEqual(MAX_PER_SECOND);
        for (const destination of wanted.keys()) {
          const times = sent.filter((each) => each.destination === destination).map(({ at }) => at);
          expect(maxInWindow(destinationLimit.ms, times)).toBeLessThanOrEqual(destinationLimit.most);
        }
      }),
      { numRuns: runs(20) },
    );
  },
);
