// The rate limiter of one credential, with a platform that refuses some requests and announces a pause, in
// simulated time. No request exceeds the rate or is sent during a pause, and each caller gets a slot (a time
// to send).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RateLimiter } from '../../../../libs/rest/rate-limiter.ts';

const HOUR_MS = 3_600_000;
/** Time between two slots. */
const EVERY_MS = 3_000;

/** Returns the pause announced by a refusal, in milliseconds; undefined for other errors. */
const pauseOf = (error: unknown) => (error as { readonly pauseMs?: number }).pauseMs;

function newLimiter() {
  const clock = { now: 1_000 };
  return { clock, limiter: new RateLimiter(EVERY_MS, () => clock.now) };
}

const sendRefused = (limiter: RateLimiter, pauseMs: number) =>
  limiter.run(() => Promise.reject({ pauseMs }), pauseOf).catch(() => undefined);
const sendAccepted = (limiter: RateLimiter) => limiter.run(async () => 'done', pauseOf);

describe('the rate limiter of a credential', () => {
  test('holds requests for the announced time, but at most an hour; a later refusal can only extend the time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 3 * HOUR_MS }), { minLength: 1 }),
        async (pauses) => {
          const { clock, limiter } = newLimiter();
          for (const ms of pauses) await sendRefused(limiter, ms);
          const longest = Math.min(HOUR_MS, Math.max(...pauses));
          clock.now += longest - 1;
          expect(limiter.isHeld).toBe(true);
          clock.now += 1;
          expect(limiter.isHeld).toBe(false);
        },
      ),
    );
  });

  test('allows one request at a time after a pause, until a request succeeds', async () => {
    const { clock, limiter } = newLimiter();
    await sendRefused(limiter, 1_000);
    clock.now += 1_000;
    expect(limiter.reserveSlot()).toBeUndefined();
    // The single request after a pause is a probe. A probe that fails without a refusal permits the next
    // probe.
    let end = (): void => {};
    const failing = limiter.run(
      () => new Promise((_, reject) => (end = () => reject(new Error('cut')))),
      pauseOf,
    );
    expect([limiter.isHeld, limiter.reserveSlot()]).toEqual([true, EVERY_MS]);
    end();
    await failing.catch(() => undefined);
    expect(limiter.isHeld).toBe(false);
    const probe = sendAccepted(limiter);
    expect(limiter.isHeld).toBe(true);
    await probe;
    const both = [sendAccepted(limiter), sendAccepted(limiter)];
    expect(limiter.isHeld).toBe(false);
    await Promise.all(both);
  });

  test('reserves the first slot after a pause for the refused request, and gives later slots to new callers', async () => {
    const { clock, limiter } = newLimiter();
    await sendRefused(limiter, 5_000);
    const first = limiter.reserveSlot();
    const second = limiter.reserveSlot();
    expect([first, second]).toEqual([5_000 + EVERY_MS, 5_000 + 2 * EVERY_MS]);
    clock.now += 5_000;
    expect(limiter.reserveSlot()).toBeUndefined();
    await sendAccepted(limiter);
    expect(limiter.reserveSlot()).toBe(3 * EVERY_MS);
    clock.now += EVERY_MS;
    expect(limiter.reserveSlot()).toBeUndefined();
    // The other callers do not return for their slots. These slots are dropped, and a new caller proceeds.
    clock.now += 60_000;
    expect(limiter.reserveSlot()).toBeUndefined();
  });

  test('allows a burst, and otherwise keeps its rate, for any arrivals', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 2 * EVERY_MS }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 20 }), (arrivalGaps, burst) => {
        const clock = { now: 1_000 };
        const limiter = new RateLimiter(EVERY_MS, () => clock.now, burst);
        const startedAt = clock.now;
        for (let count = 1; count <= burst; count += 1) expect(limiter.reserveSlot()).toBeUndefined();
        // After the burst, an interval permits one further request.
        let permitted = 0;
        for (const ms of arrivalGaps) {
          clock.now += ms;
          if (limiter.reserveSlot() === undefined) permitted += 1;
          expect(permitted).toBeLessThanOrEqual((clock.now - startedAt) / EVERY_MS);
        }
      }),
    );
  });

  test('lets each caller proceed at its announced time, after few attempts, and none during a pause', async () => {
    /** Number of callers, and the pauses of the refused requests. */
    const scenario = fc.record({
      callerCount: fc.integer({ min: 1, max: 40 }),
      pauses: fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ callerCount, pauses }) => {
        const { clock, limiter } = newLimiter();
        const remainingPauses = [...pauses];
        let heldUntil = 0;
        let requestCount = 0;
        let lastAt = Number.NEGATIVE_INFINITY;
        /** Callers with a request, and when the next attempt is due. */
        const callers = Array.from({ length: callerCount }, () => ({ at: clock.now, attempts: 0 }));
        while (callers.length > 0) {
          callers.sort((a, b) => a.at - b.at);
          const caller = callers[0] as (typeof callers)[number];
          clock.now = Math.max(clock.now, caller.at);
          caller.attempts += 1;
          const waitMs = limiter.reserveSlot();
          if (waitMs !== undefined) {
            caller.at = clock.now + waitMs;
            continue;
          }
          expect(clock.now).toBeGreaterThanOrEqual(heldUntil);
          // The first request after a refusal comes at the announced time, all others a slot later.
          if (clock.now !== heldUntil) expect(clock.now - lastAt).toBeGreaterThanOrEqual(EVERY_MS);
          lastAt = clock.now;
          requestCount += 1;
          const ms = remainingPauses.shift();
          if (ms === undefined) {
            await sendAccepted(limiter);
            callers.shift();
          } else {
            await sendRefused(limiter, ms);
            heldUntil = clock.now + ms;
            caller.at = heldUntil;
          }
          expect(caller.attempts).toBeLessThan(100);
        }
        expect(requestCount).toBe(callerCount + pauses.length);
      }),
    );
  });
});
