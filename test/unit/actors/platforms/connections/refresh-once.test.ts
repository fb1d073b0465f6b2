// A credential that expires, under random askings, refusals, answers and times.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type Refreshed, RefreshOnce } from '../../../../../actors/platforms/connections/refresh-once.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Refreshes that the test answers, and a clock that it moves. */
function bench(earlyMs = 300_000) {
  const asked: { answer(lifeMs: number): string; fail(): void }[] = [];
  let time = 0;
  let count = 0;
  let pending = 0;
  let most = 0;
  const token = new RefreshOnce<string>({
    name: 'token',
    earlyMs,
    now: () => time,
    refresh: () =>
      new Promise<Refreshed<string>>((resolve, reject) => {
        pending += 1;
        most = Math.max(most, pending);
        asked.push({
          answer: (lifeMs) => {
            pending -= 1;
            const value = `token ${++count}`;
            resolve({ value, expiresInMs: lifeMs });
            return value;
          },
          fail: () => {
            pending -= 1;
            reject(new Error('503'));
          },
        });
      }),
  });
  return { token, asked, most: () => most, pass: (ms: number) => (time += ms), time: () => time };
}

test('many who ask at once get one token by one request, and it is renewed before its end (RO1, RO2)', async () => {
  const { token, asked, pass } = bench();
  const all = Promise.all([token.get(), token.get(), token.get()]);
  asked[0]?.answer(3_600_000);
  expect(await all).toEqual(['token 1', 'token 1', 'token 1']);
  pass(3_299_999);
  expect(await token.get()).toBe('token 1');
  pass(1);
  await token.get();
  asked[1]?.answer(60_000);
  await settle();
  expect(await token.get()).toBe('token 2');
  // A short life is used, but for its last fifth.
  pass(47_999);
  expect(await token.get()).toBe('token 2');
  pass(1);
  void token.get().catch(() => {});
  expect(asked).toHaveLength(3);
});

test.each([
  [302, 2],
  [600, 300],
  [300, 240],
  [60, 48],
])('a token of %i s is renewed after %i s (RO2)', async (lifeSeconds, afterSeconds) => {
  const { token, asked, pass } = bench();
  const first = token.get();
  asked[0]?.answer(1000 * lifeSeconds);
  await first;
  pass(1000 * afterSeconds - 1);
  await token.get();
  expect(asked).toHaveLength(1);
  pass(1);
  await token.get();
  expect(asked).toHaveLength(2);
});

test('while a token holds nobody waits for the next one, and one request is made for that (RO1, RO4)', async () => {
  const { token, asked, pass } = bench();
  const first = token.get();
  asked[0]?.answer(3_600_000);
  await first;
  pass(3_400_000);
  for (let n = 0; n < 5; n += 1) expect(await token.get()).toBe('token 1');
  expect(asked).toHaveLength(2);
  pass(200_000);
  const waits = token.get();
  asked[1]?.answer(3_600_000);
  expect(await waits).toBe('token 2');
  expect(asked).toHaveLength(2);
});

test('a token that is refused is renewed once, however many had used it (RO3)', async () => {
  const { token, asked } = bench();
  const first = token.get();
  asked[0]?.answer(3_600_000);
  const stale = await first;
  const all = Promise.all([token.renew(stale), token.renew(stale)]);
  asked[1]?.answer(3_600_000);
  expect(await all).toEqual(['token 2', 'token 2']);
  expect(await token.renew(stale)).toBe('token 2');
  expect(asked).toHaveLength(2);
});

test('a refresh that fails is no failure while the token holds, and is not repeated with each message (RO4)', async () => {
  const { token, asked, pass } = bench();
  const first = token.get();
  asked[0]?.answer(3_600_000);
  await first;
  pass(3_400_000);
  const again = token.get();
  asked[1]?.fail();
  expect(await again).toBe('token 1');
  await settle();
  expect(await token.get()).toBe('token 1');
  expect(asked).toHaveLength(2);
  pass(200_000);
  const late = token.get();
  asked[2]?.fail();
  await expect(late).rejects.toThrow('503');
});

test('a refresh without an answer is given up, and the next one may succeed (RO4)', async () => {
  vi.useFakeTimers();
  try {
    const signals: AbortSignal[] = [];
    const token = new RefreshOnce<string>({
      name: 'access token of teamchat/42',
      refresh: (signal) => {
        signals.push(signal);
        return signals.length === 1
          ? new Promise(() => {})
          : Promise.resolve({ value: 'token', expiresInMs: 60_000 });
      },
    });
    const first = token.get();
    const refused = expect(first).rejects.toThrow(
      'the access token of teamchat/42 was not renewed within 15 s',
    );
    await vi.advanceTimersByTimeAsync(15_000);
    await refused;
    expect(signals[0]?.aborted).toBe(true);
    expect(await token.get()).toBe('token');
  } finally {
    vi.useRealTimers();
  }
});

test('whatever comes when: one refresh at a time, nothing is kept beyond its time, and nobody waits for ever (RO1, RO2)', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constantFrom('get', 'refuse', 'fail'), ms: fc.constant(0) }),
    fc.record({ do: fc.constantFrom('answer', 'pass'), ms: fc.integer({ min: 0, max: 700_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { token, asked, most, pass, time } = bench();
      const endsAt = new Map<string, number>();
      const askedAt: number[] = [];
      let answered = 0;
      let last = '';
      let waiting = 0;
      let held = '';
      const ask = async (asking: Promise<string>) => {
        waiting += 1;
        try {
          last = await asking;
        } catch {
          // The refresh has failed, and there was nothing that held.
        } finally {
          waiting -= 1;
        }
      };
      const answer = (ms: number) => {
        if (answered === asked.length) return;
        const value = asked[answered]?.answer(ms) ?? '';
        endsAt.set(value, (askedAt[answered] ?? 0) + ms);
        answered += 1;
        held = value;
      };
      for (const { do: what, ms } of steps) {
        if (what === 'get') void ask(token.get());
        else if (what === 'refuse') {
          if (held === last) held = '';
          void ask(token.renew(last));
        } else if (what === 'pass') pass(ms);
        else if (what === 'answer') answer(ms);
        else if (answered < asked.length) asked[answered++]?.fail();
        if (asked.length > askedAt.length) askedAt.push(time());
        const isHeld = (endsAt.get(held) ?? 0) > time();
        const before = waiting;
        await settle();
        expect(most()).toBeLessThanOrEqual(1);
        if (answered === asked.length) expect(waiting).toBe(0);
        if (what !== 'get') continue;
        if (isHeld) expect([last, waiting]).toEqual([held, before - 1]);
        else expect(waiting).toBe(before);
      }
      answer(1_000_000);
      await settle();
      expect(waiting).toBe(0);
    }),
    { numRuns: 300 },
  );
});
