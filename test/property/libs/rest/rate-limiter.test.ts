// One credential and a platform with occasional refusals, in simulated time.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RateLimiter } from '../../../../libs/rest/rate-limiter.ts';

const HOUR_MS = 3_600_000;
const EVERY_MS = 3_000;
const refused = { ms: 0 };

/** Duration of the refusal by the platform. */
const refuse = (ms: number) => () => Promise.reject({ ...refused, ms });
const msOf = (error: unknown) => (error as typeof refused).ms || undefined;

function timed() {
  const clock = { now: 1_000 };
  return { clock, pace: new RateLimiter(EVERY_MS, () => clock.now) };
}

const fails = (pace: RateLimiter, ms: number) => pace.run(refuse(ms), msOf).catch(() => undefined);
const works = (pace: RateLimiter) => pace.run(async () => 'done', msOf);

describe('the rate limiter of a credential', () => {
  test('holds requests for the announced time, but at most an hour; a later refusal can only extend the time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 3 * HOUR_MS }), { minLength: 1 }),
        async (pauses) => {
          const { clock, pace } = timed();
          for (const ms of pauses) await fails(pace, ms);
          const longest = Math.min(HOUR_MS, Math.max(...pauses));
          clock.now += longest - 1;
          expect(pace.isHeld).toBe(true);
          clock.now += 1;
          expect(pace.isHeld).toBe(false);
        },
      ),
    );
  });

  test('allows one request at a time after a pause, until a request succeeds', async () => {
    const { clock, pace } = timed();
    await fails(pace, 1_000);
    clock.now += 1_000;
    expect(pace.reserveSlot()).toBeUndefined();
    let end = (): void => {};
    const failing = pace.run(() => new Promise((_, reject) => (end = () => reject(new Error('cut')))), msOf);
    expect([pace.isHeld, pace.reserveSlot()]).toEqual([true, EVERY_MS]);
    end();
    await failing.catch(() => undefined);
    expect(pace.isHeld).toBe(false);
    const probe = works(pace);
    expect(pace.isHeld).toBe(true);
    await probe;
    const both = [works(pace), works(pace)];
    expect(pace.isHeld).toBe(false);
    await Promise.all(both);
  });

  test('reserves the first slot after a pause for the refused request, and gives later slots to new callers', async () => {
    const { clock, pace } = timed();
    await fails(pace, 5_000);
    const first = pace.reserveSlot();
    const second = pace.reserveSlot();
    expect([first, second]).toEqual([5_000 + EVERY_MS, 5_000 + 2 * EVERY_MS]);
    clock.now += 5_000;
    expect(pace.reserveSlot()).toBeUndefined();
    await works(pace);
    expect(pace.reserveSlot()).toBe(3 * EVERY_MS);
    clock.now += EVERY_MS;
    expect(pace.reserveSlot()).toBeUndefined();
    // The second caller does not return.
    clock.now += 60_000;
    expect(pace.reserveSlot()).toBeUndefined();
  });

  test('allows a burst, and otherwise keeps its rate, for any arrivals', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 2 * EVERY_MS }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 20 }), (pauses, burst) => {
        const clock = { now: 1_000 };
        const pace = new RateLimiter(EVERY_MS, () => clock.now, burst);
        const startedAt = clock.now;
        for (let count = 1; count <= burst; count += 1) expect(pace.reserveSlot()).toBeUndefined();
        const times = [startedAt];
        for (const ms of pauses) {
          clock.now += ms;
          if (pace.reserveSlot() === undefined) times.push(clock.now);
          expect(times.length - 1).toBeLessThanOrEqual((clock.now - startedAt) / EVERY_MS);
        }
      }),
    );
  });

  test('lets each caller proceed at its announced time, after few attempts, and none during a pause', async () => {
    const step = fc.record({
      waiting: fc.integer({ min: 1, max: 40 }),
      pauses: fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(step, async ({ waiting, pauses }) => {
        const { clock, pace } = timed();
        const remainingPauses = [...pauses];
        let heldUntil = 0;
        let requests = 0;
        let lastAt = Number.NEGATIVE_INFINITY;
        const due = Array.from({ length: waiting }, (_, name) => ({ name, at: clock.now, tries: 0 }));
        while (due.length > 0) {
          due.sort((a, b) => a.at - b.at);
          const each = due[0] as (typeof due)[number];
          clock.now = Math.max(clock.now, each.at);
          each.tries += 1;
          const pause = pace.reserveSlot();
          if (pause !== undefined) {
            each.at = clock.now + pause;
            continue;
          }
          expect(clock.now).toBeGreaterThanOrEqual(heldUntil);
          // Callers are on time here. A refused caller returns at the time that the platform announced.
          if (clock.now !== heldUntil) expect(clock.now - lastAt).toBeGreaterThanOrEqual(EVERY_MS);
          lastAt = clock.now;
          requests += 1;
          const ms = remainingPauses.shift();
          if (ms === undefined) {
            await works(pace);
            due.shift();
          } else {
            await fails(pace, ms);
            heldUntil = clock.now + ms;
            each.at = heldUntil;
          }
          expect(each.tries).toBeLessThan(100);
        }
        expect(requests).toBe(waiting + pauses.length);
      }),
    );
  });
});
