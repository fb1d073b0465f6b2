// One credential under a platform that refuses it now and then, in a time of its own.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Pace } from '../../../../libs/rest/pace.ts';

const HOUR_MS = 3_600_000;
const EVERY_MS = 3_000;
const refused = { ms: 0 };

/** The platform refuses for so long. */
const refuse = (ms: number) => () => Promise.reject({ ...refused, ms });
const msOf = (error: unknown) => (error as typeof refused).ms || undefined;

function timed() {
  const clock = { now: 1_000 };
  return { clock, pace: new Pace(EVERY_MS, () => clock.now) };
}

const fails = (pace: Pace, ms: number) => pace.run(refuse(ms), msOf).catch(() => undefined);
const works = (pace: Pace) => pace.run(async () => 'done', msOf);

describe('a credential', () => {
  test('is held for as long as the platform said, an hour at most, and by a later refusal only longer (PE4)', async () => {
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

  test('has one request at a time after that, until one is carried out (PE1)', async () => {
    const { clock, pace } = timed();
    await fails(pace, 1_000);
    clock.now += 1_000;
    expect(pace.takeTurn()).toBeUndefined();
    let end = (): void => {};
    const lost = pace.run(() => new Promise((_, reject) => (end = () => reject(new Error('cut')))), msOf);
    expect([pace.isHeld, pace.takeTurn()]).toEqual([true, EVERY_MS]);
    end();
    await lost.catch(() => undefined);
    expect(pace.isHeld).toBe(false);
    const probe = works(pace);
    expect(pace.isHeld).toBe(true);
    await probe;
    const both = [works(pace), works(pace)];
    expect(pace.isHeld).toBe(false);
    await Promise.all(both);
  });

  test('gives the first turn to what was refused, and none to who comes before those it has told a time (PE2)', async () => {
    const { clock, pace } = timed();
    await fails(pace, 5_000);
    const first = pace.takeTurn();
    const second = pace.takeTurn();
    expect([first, second]).toEqual([5_000 + EVERY_MS, 5_000 + 2 * EVERY_MS]);
    clock.now += 5_000;
    expect(pace.takeTurn()).toBeUndefined();
    await works(pace);
    expect(pace.takeTurn()).toBe(3 * EVERY_MS);
    clock.now += EVERY_MS;
    expect(pace.takeTurn()).toBeUndefined();
    // The second does not come.
    clock.now += 60_000;
    expect(pace.takeTurn()).toBeUndefined();
  });

  test('has a burst, and beyond it no more than its rate, whenever they come', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 2 * EVERY_MS }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 20 }), (pauses, burst) => {
        const clock = { now: 1_000 };
        const pace = new Pace(EVERY_MS, () => clock.now, burst);
        const begun = clock.now;
        for (let count = 1; count <= burst; count += 1) expect(pace.takeTurn()).toBeUndefined();
        const taken = [begun];
        for (const ms of pauses) {
          clock.now += ms;
          if (pace.takeTurn() === undefined) taken.push(clock.now);
          expect(taken.length - 1).toBeLessThanOrEqual((clock.now - begun) / EVERY_MS);
        }
      }),
    );
  });

  test('lets everybody go in the end who comes when it was told to, in few tries, and nobody during a pause (PE3)', async () => {
    const step = fc.record({
      waiting: fc.integer({ min: 1, max: 40 }),
      pauses: fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(step, async ({ waiting, pauses }) => {
        const { clock, pace } = timed();
        const left = [...pauses];
        let heldUntil = 0;
        let requests = 0;
        let lastAt = Number.NEGATIVE_INFINITY;
        const due = Array.from({ length: waiting }, (_, name) => ({ name, at: clock.now, tries: 0 }));
        while (due.length > 0) {
          due.sort((a, b) => a.at - b.at);
          const each = due[0] as (typeof due)[number];
          clock.now = Math.max(clock.now, each.at);
          each.tries += 1;
          const pause = pace.takeTurn();
          if (pause !== undefined) {
            each.at = clock.now + pause;
            continue;
          }
          expect(clock.now).toBeGreaterThanOrEqual(heldUntil);
          // Everybody comes in time here. Who was refused comes again when the platform said so.
          if (clock.now !== heldUntil) expect(clock.now - lastAt).toBeGreaterThanOrEqual(EVERY_MS);
          lastAt = clock.now;
          requests += 1;
          const ms = left.shift();
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
