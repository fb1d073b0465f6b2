// RefreshOnce: concurrent callers share an expiring credential and one request that renews it.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { RefreshOnce, type RefreshResult } from '../../../../../actors/platforms/connections/refresh-once.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Creates a token whose requests the test answers, and a fake clock. Default: renewed 5 min early. */
function createBench(earlyMs = 300_000) {
  const requests: { answer(lifeMs: number): string; fail(): void }[] = [];
  let time = 0;
  let count = 0;
  let pending = 0;
  let maxPending = 0;
  const token = new RefreshOnce<string>({
    name: 'token',
    earlyMs,
    now: () => time,
    refresh: () =>
      new Promise<RefreshResult<string>>((resolve, reject) => {
        pending += 1;
        maxPending = Math.max(maxPending, pending);
        requests.push({
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
  return {
    token,
    requests,
    maxPending: () => maxPending,
    advance: (ms: number) => (time += ms),
    time: () => time,
  };
}

test('concurrent callers share one token request, and the token is renewed before it expires', async () => {
  const { token, requests, advance } = createBench();
  const all = Promise.all([token.get(), token.get(), token.get()]);
  requests[0]?.answer(3_600_000);
  expect(await all).toEqual(['token 1', 'token 1', 'token 1']);
  // An hour minus 5 min.
  advance(3_299_999);
  expect(await token.get()).toBe('token 1');
  advance(1);
  await token.get();
  requests[1]?.answer(60_000);
  await settle();
  expect(await token.get()).toBe('token 2');
  // A token that lives 60 s is renewed after 80 % of that time (48 s).
  advance(47_999);
  expect(await token.get()).toBe('token 2');
  advance(1);
  void token.get().catch(() => {});
  expect(requests).toHaveLength(3);
});

test.each([
  [302, 2],
  [600, 300],
  [300, 240],
  [60, 48],
])('an access token that is valid for %i s is renewed after %i s', async (lifeSeconds, afterSeconds) => {
  const { token, requests, advance } = createBench();
  const first = token.get();
  requests[0]?.answer(1000 * lifeSeconds);
  await first;
  advance(1000 * afterSeconds - 1);
  await token.get();
  expect(requests).toHaveLength(1);
  advance(1);
  await token.get();
  expect(requests).toHaveLength(2);
});

test('while a token is valid no caller waits for its renewal, which takes one request', async () => {
  const { token, requests, advance } = createBench();
  const first = token.get();
  requests[0]?.answer(3_600_000);
  await first;
  advance(3_400_000);
  for (let n = 0; n < 5; n += 1) expect(await token.get()).toBe('token 1');
  expect(requests).toHaveLength(2);
  advance(200_000);
  const pendingToken = token.get();
  requests[1]?.answer(3_600_000);
  expect(await pendingToken).toBe('token 2');
  expect(requests).toHaveLength(2);
});

test('a refused token is renewed once, however many callers used it', async () => {
  const { token, requests } = createBench();
  const first = token.get();
  requests[0]?.answer(3_600_000);
  const stale = await first;
  const all = Promise.all([token.renew(stale), token.renew(stale)]);
  requests[1]?.answer(3_600_000);
  expect(await all).toEqual(['token 2', 'token 2']);
  expect(await token.renew(stale)).toBe('token 2');
  expect(requests).toHaveLength(2);
});

test('a failed token refresh is no error while the token is valid, and is not repeated for each caller', async () => {
  const { token, requests, advance } = createBench();
  const first = token.get();
  requests[0]?.answer(3_600_000);
  await first;
  advance(3_400_000);
  const whileValid = token.get();
  requests[1]?.fail();
  expect(await whileValid).toBe('token 1');
  await settle();
  expect(await token.get()).toBe('token 1');
  expect(requests).toHaveLength(2);
  advance(200_000);
  const afterExpiry = token.get();
  requests[2]?.fail();
  await expect(afterExpiry).rejects.toThrow('503');
});

test('a token refresh without a response is aborted, and the next refresh may succeed', async () => {
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
    const rejection = expect(first).rejects.toThrow(
      'the access token of teamchat/42 was not renewed within 15 s',
    );
    await vi.advanceTimersByTimeAsync(15_000);
    await rejection;
    expect(signals[0]?.aborted).toBe(true);
    expect(await token.get()).toBe('token');
  } finally {
    vi.useRealTimers();
  }
});

test('with any timing token refreshes never overlap, no expired token is returned, and every caller gets a result', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constantFrom('get', 'refuse', 'fail'), ms: fc.constant(0) }),
    fc.record({ do: fc.constantFrom('answer', 'advance'), ms: fc.integer({ min: 0, max: 700_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { token, requests, maxPending, advance, time } = createBench();
      const expiryByToken = new Map<string, number>();
      const requestedAt: number[] = [];
      let answered = 0;
      /** Last token received by a caller. */
      let lastReceived = '';
      let waitingCallers = 0;
      /** Newest token that was not refused. */
      let current = '';
      const waitFor = async (pendingToken: Promise<string>) => {
        waitingCallers += 1;
        try {
          lastReceived = await pendingToken;
        } catch {
          // The refresh failed, and there was no valid token.
        } finally {
          waitingCallers -= 1;
        }
      };
      const answer = (ms: number) => {
        if (answered === requests.length) return;
        const value = requests[answered]?.answer(ms) ?? '';
        expiryByToken.set(value, (requestedAt[answered] ?? 0) + ms);
        answered += 1;
        current = value;
      };
      for (const { do: action, ms } of steps) {
        if (action === 'get') void waitFor(token.get());
        else if (action === 'refuse') {
          if (current === lastReceived) current = '';
          void waitFor(token.renew(lastReceived));
        } else if (action === 'advance') advance(ms);
        else if (action === 'answer') answer(ms);
        else if (answered < requests.length) requests[answered++]?.fail();
        if (requests.length > requestedAt.length) requestedAt.push(time());
        const isValid = (expiryByToken.get(current) ?? 0) > time();
        const waitingBefore = waitingCallers;
        await settle();
        expect(maxPending()).toBeLessThanOrEqual(1);
        if (answered === requests.length) expect(waitingCallers).toBe(0);
        if (action !== 'get') continue;
        // A caller receives a valid token immediately.
        if (isValid) expect([lastReceived, waitingCallers]).toEqual([current, waitingBefore - 1]);
        else expect(waitingCallers).toBe(waitingBefore);
      }
      answer(1_000_000);
      await settle();
      expect(waitingCallers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
