// Rate limits of outbound messages (pacing.ts): one for each account (one credential at the platform), and
// one for each destination. Random messages are sent as early as the limits permit. Rate-limit responses of
// the platform pause a destination or the whole account.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { Pacing } from '../../../../../actors/events/outbox/pacing.ts';

const ACCOUNT_INTERVAL_MS = 10;
const DESTINATION_LIMIT = { everyMs: 1_000, burst: 3 };

/**
 * Sends all messages when they are due, and returns the send times. `counts` are the messages per
 * destination; the clock advances by `stepMs`.
 */
async function sendAll(counts: readonly number[], stepMs: number) {
  let now = 0;
  const pacing = new Pacing({
    accountEveryMs: ACCOUNT_INTERVAL_MS,
    destination: DESTINATION_LIMIT,
    now: () => now,
  });
  const waiting = counts.map((count, n) => ({ destination: `p${n}`, count, dueAt: 0 }));
  const sent: { destination: string; at: number }[] = [];
  for (let ticks = 0; waiting.some(({ count }) => count > 0); ticks += 1) {
    if (ticks > 100_000) throw new Error('some messages are never sent');
    for (const each of waiting) {
      const { destination } = each;
      if (each.count === 0 || each.dueAt > now) continue;
      try {
        await pacing.run({ account: 'a', destination }, async () => sent.push({ destination, at: now }));
        each.count -= 1;
      } catch (error) {
        each.dueAt = now + ((error as DeliveryError).retryAfterMs ?? 0);
      }
    }
    now += stepMs;
  }
  return sent;
}

describe('sending chat messages', () => {
  test('never exceeds the rate limits of the account and of each destination, and sends all messages', async () => {
    const counts = fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(counts, fc.integer({ min: 1, max: 40 }), async (wanted, stepMs) => {
        const sent = await sendAll(wanted, stepMs);
        expect(sent.length).toBe(wanted.reduce((sum, count) => sum + count, 0));
        for (const destination of new Set(sent.map((each) => each.destination))) {
          const times = sent.filter((each) => each.destination === destination).map(({ at }) => at);
          // Any `burst + 1` consecutive messages of a destination span at least its interval.
          for (const [i, at] of times.entries()) {
            const before = times[i - DESTINATION_LIMIT.burst];
            if (before !== undefined) expect(at - before).toBeGreaterThanOrEqual(DESTINATION_LIMIT.everyMs);
          }
        }
        // The limit of the account counts a message at its due time, but the message is sent at the next step
        // of the clock. The times may therefore be too close by one step.
        const span = (sent.at(-1)?.at ?? 0) - (sent[0]?.at ?? 0);
        expect(span + stepMs + ACCOUNT_INTERVAL_MS).toBeGreaterThanOrEqual(
          (sent.length - 1) * ACCOUNT_INTERVAL_MS,
        );
      }),
      { numRuns: 60 },
    );
  });
});

describe('a rate limit response', () => {
  const setUp = () => {
    const clock = { now: 0 };
    const pacing = new Pacing({
      accountEveryMs: 1,
      destination: DESTINATION_LIMIT,
      now: () => clock.now,
      maxDestinations: 100,
    });
    const refuse = (destination: string, retryAfterMs: number, isOfDestination: boolean) =>
      pacing.run({ account: 'a', destination, isOfDestination: () => isOfDestination }, () =>
        Promise.reject(new DeliveryError('429', { isRateLimited: true, retryAfterMs })),
      );
    const send = (destination: string) => pacing.run({ account: 'a', destination }, async () => 'sent');
    return { clock, pacing, refuse, send };
  };

  test('for a destination delays only this destination, for the requested time', async () => {
    const { clock, refuse, send } = setUp();
    await expect(refuse('p', 5_000, true)).rejects.toMatchObject({ isRateLimited: true });
    clock.now = 100;
    await expect(send('q')).resolves.toBe('sent');
    await expect(send('p')).rejects.toMatchObject({ isRateLimited: true, retryAfterMs: 4_900 });
    clock.now = 5_000;
    await expect(send('p')).resolves.toBe('sent');
  });

  test('for an account delays all messages of this account, and no other messages', async () => {
    const { clock, pacing, refuse, send } = setUp();
    await expect(refuse('p', 5_000, false)).rejects.toMatchObject({ isRateLimited: true });
    clock.now = 4_999;
    await expect(send('q')).rejects.toMatchObject({ isRateLimited: true });
    await expect(pacing.run({ account: 'b', destination: 'q' }, async () => 'sent')).resolves.toBe('sent');
    clock.now = 5_000;
    await expect(send('p')).resolves.toBe('sent');
  });

  test('delays messages no longer than it requests, even if it arrives repeatedly', async () => {
    const { clock, refuse, send } = setUp();
    for (let at = 0; at < 500; at += 100) {
      clock.now = at;
      // The third refusal is for the account, all other refusals are for the destination.
      await expect(refuse('p', 100, at !== 200)).rejects.toThrow('429');
    }
    clock.now = 500;
    await expect(send('p')).resolves.toBe('sent');
    // After refusals a destination has no burst.
    await expect(send('p')).rejects.toMatchObject({ retryAfterMs: 1_000 });
  });

  test('does not occur if a response header announced the limit: the next messages are delayed', async () => {
    const { clock, pacing, send } = setUp();
    pacing.hold('a', 'p', 2_000);
    await expect(send('p')).rejects.toMatchObject({ retryAfterMs: 2_000 });
    clock.now = 2_000;
    await expect(send('p')).resolves.toBe('sent');
  });

  test('is stored for a limited number of destinations', async () => {
    const { clock, pacing, send } = setUp();
    for (let i = 0; i < 1_000; i += 1) pacing.hold('a', `p${i}`, 60_000);
    await expect(send('p999')).rejects.toMatchObject({ isRateLimited: true });
    // Only the latest 100 destinations (`maxDestinations`) are stored, so the pause of `p0` is forgotten.
    clock.now = 1;
    await expect(send('p0')).resolves.toBe('sent');
  });
});
