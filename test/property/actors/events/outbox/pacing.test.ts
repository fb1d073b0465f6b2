import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { Pacing } from '../../../../../actors/events/outbox/pacing.ts';

const EVERY = 10;
const PLACE = { everyMs: 1_000, burst: 3 };

/** Sends when it is told to, until everything has gone; gives when each left. */
async function sendAll(counts: readonly number[], stepMs: number) {
  let now = 0;
  const pacing = new Pacing({ accountEveryMs: EVERY, place: PLACE, now: () => now });
  const waiting = counts.map((count, place) => ({ place: `p${place}`, count, at: 0 }));
  const left: { place: string; at: number }[] = [];
  for (let guard = 0; waiting.some(({ count }) => count > 0); guard += 1) {
    if (guard > 100_000) throw new Error('it does not end');
    for (const each of waiting) {
      if (each.count === 0 || each.at > now) continue;
      try {
        await pacing.run({ account: 'a', place: each.place }, async () =>
          left.push({ place: each.place, at: now }),
        );
        each.count -= 1;
      } catch (error) {
        each.at = now + ((error as DeliveryError).retryAfterMs ?? 0);
      }
    }
    now += stepMs;
  }
  return left;
}

describe('what leaves', () => {
  test('keeps to the pace of the credential and of each destination, and all of it leaves (PG1, PG2)', async () => {
    const counts = fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(counts, fc.integer({ min: 1, max: 40 }), async (wanted, stepMs) => {
        const left = await sendAll(wanted, stepMs);
        expect(left.length).toBe(wanted.reduce((sum, count) => sum + count, 0));
        for (const place of new Set(left.map((each) => each.place))) {
          const times = left.filter((each) => each.place === place).map(({ at }) => at);
          for (const [i, at] of times.entries()) {
            const before = times[i - PLACE.burst];
            if (before !== undefined) expect(at - before).toBeGreaterThanOrEqual(PLACE.everyMs);
          }
        }
        // Of the credential those that come late count at the time they were told: so within a step more may leave.
        const span = (left.at(-1)?.at ?? 0) - (left[0]?.at ?? 0);
        expect(span + stepMs + EVERY).toBeGreaterThanOrEqual((left.length - 1) * EVERY);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a refusal for now', () => {
  const setUp = () => {
    const clock = { now: 0 };
    const pacing = new Pacing({ accountEveryMs: 1, place: PLACE, now: () => clock.now, maxPlaces: 100 });
    const refuse = (place: string, retryAfterMs: number, isOfPlace: boolean) =>
      pacing.run({ account: 'a', place, isOfPlace: () => isOfPlace }, () =>
        Promise.reject(new DeliveryError('429', { isTooSoon: true, retryAfterMs })),
      );
    const send = (place: string) => pacing.run({ account: 'a', place }, async () => 'sent');
    return { clock, pacing, refuse, send };
  };

  test('of a destination holds up that one alone, for as long as was asked', async () => {
    const { clock, refuse, send } = setUp();
    await expect(refuse('p', 5_000, true)).rejects.toMatchObject({ isTooSoon: true });
    clock.now = 100;
    await expect(send('q')).resolves.toBe('sent');
    await expect(send('p')).rejects.toMatchObject({ isTooSoon: true, retryAfterMs: 4_900 });
    clock.now = 5_000;
    await expect(send('p')).resolves.toBe('sent');
  });

  test('of the credential holds up all that goes out under it, and nothing of another', async () => {
    const { clock, pacing, refuse, send } = setUp();
    await expect(refuse('p', 5_000, false)).rejects.toMatchObject({ isTooSoon: true });
    clock.now = 4_999;
    await expect(send('q')).rejects.toMatchObject({ isTooSoon: true });
    await expect(pacing.run({ account: 'b', place: 'q' }, async () => 'sent')).resolves.toBe('sent');
    clock.now = 5_000;
    await expect(send('p')).resolves.toBe('sent');
  });

  test('takes no turn away: what was refused comes again after the pause that was asked for, and not later', async () => {
    const { clock, refuse, send } = setUp();
    for (let at = 0; at < 500; at += 100) {
      clock.now = at;
      await expect(refuse('p', 100, at !== 200)).rejects.toThrow('429');
    }
    clock.now = 500;
    await expect(send('p')).resolves.toBe('sent');
    await expect(send('p')).rejects.toMatchObject({ retryAfterMs: 1_000 });
  });

  test('that a header announces is kept like one that was met', async () => {
    const { clock, pacing, send } = setUp();
    pacing.hold('a', 'p', 2_000);
    await expect(send('p')).rejects.toMatchObject({ retryAfterMs: 2_000 });
    clock.now = 2_000;
    await expect(send('p')).resolves.toBe('sent');
  });

  test('is remembered of so many destinations and no more (PG3)', async () => {
    const { clock, pacing, send } = setUp();
    for (let i = 0; i < 1_000; i += 1) pacing.hold('a', `p${i}`, 60_000);
    await expect(send('p999')).rejects.toMatchObject({ isTooSoon: true });
    clock.now = 1;
    await expect(send('p0')).resolves.toBe('sent');
  });
});
