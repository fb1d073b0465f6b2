// Requests with rate limits that the client learns only from response headers (rate-buckets.ts), in simulated
// time. The fake platform refuses requests above its limits. Refusals occur only for limits that the client
// cannot know yet.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { RateBuckets, type RateRoute } from '../../../../../actors/platforms/communitychat/rate-buckets.ts';
import { ApiResponse } from '../../../../../libs/rest/http-api.ts';
import { BucketLimits } from '../../../../fixtures/community-platform/bucket-limits.ts';
import { OwnTime, type RequestDelays, requestDelays } from '../../../../fixtures/own-time.ts';

/**
 * Sends `counts` requests, one number per destination, in order per destination. If `isShared`, two kinds of
 * requests share a bucket. Returns the number of refusals and the total duration.
 */
async function sendAll(
  counts: readonly number[],
  requestDelayList: readonly RequestDelays[],
  allowance: { maxRequests: number; ms: number },
  isShared: boolean,
) {
  const time = new OwnTime();
  let steps = 0;
  const limits = new BucketLimits(() => time.now);
  const buckets = new RateBuckets(() => time.now);
  for (const kind of ['A', 'B']) {
    limits.limits.set(kind, allowance);
    if (isShared) limits.names.set(kind, 'shared');
  }
  let refused = 0;
  const request = async ({ kind, major }: RateRoute, { requestMs, responseMs }: RequestDelays) => {
    await time.at(time.now + requestMs);
    const { headers, retryAfter } = limits.count(kind, major);
    const json = retryAfter === undefined ? {} : { retry_after: retryAfter, global: false };
    if (retryAfter !== undefined) refused += 1;
    await time.at(time.now + responseMs);
    const status = retryAfter === undefined ? 200 : 429;
    return new ApiResponse(status, new Headers(headers), Buffer.from(JSON.stringify(json)));
  };
  const finished = counts.map(async (count, destination) => {
    for (let sent = 0; sent < count; ) {
      const kind = isShared && steps % 2 === 1 ? 'B' : 'A';
      const route = { kind, major: `${destination}`, isOfBot: true };
      const delays = requestDelayList[steps++ % requestDelayList.length] as RequestDelays;
      try {
        const { status } = await buckets.run(route, () => request(route, delays));
        if (status === 200) sent += 1;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        expect(error).toMatchObject({ isRateLimited: true, isUncontacted: true });
        await time.at(time.now + (error.retryAfterMs ?? 0));
      }
    }
  });
  await time.passUntil(finished);
  return { refused, tookMs: time.now };
}

const arbCounts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });
const arbAllowance = fc.record({
  maxRequests: fc.integer({ min: 1, max: 6 }),
  ms: fc.integer({ min: 100, max: 5_000 }),
});

test('no request exceeds a known rate limit, and no request waits longer than the limit requires', async () => {
  await fc.assert(
    fc.asyncProperty(arbCounts, requestDelays, arbAllowance, async (counts, delays, allowed) => {
      const { refused, tookMs } = await sendAll(counts, delays, allowed, false);
      expect(refused).toBe(0);
      const maxCount = Math.max(...counts);
      // One period of the limit per `maxRequests` requests, plus the delays of requests and responses. A
      // request and its response together are delayed by at most 340 ms, the values here are larger.
      expect(tookMs).toBeLessThan((maxCount / allowed.maxRequests + 1) * (allowed.ms + 800) + maxCount * 400);
    }),
    { numRuns: 60 },
  );
});

test('if request types unexpectedly share a rate limit, each destination gets at most one 429 response', async () => {
  await fc.assert(
    fc.asyncProperty(arbCounts, requestDelays, arbAllowance, async (counts, delays, allowed) => {
      const { refused } = await sendAll(counts, delays, allowed, true);
      expect(refused).toBeLessThanOrEqual(counts.length);
    }),
    { numRuns: 60 },
  );
});

test('a global 429 response delays all requests of the bot, but not answers to interactions', async () => {
  let now = 0;
  const buckets = new RateBuckets(() => now);
  const answer =
    (status: number, json: object, headers = {}) =>
    async () =>
      new ApiResponse(status, new Headers(headers), Buffer.from(JSON.stringify(json)));
  const routeOf = (major: string, isOfBot: boolean): RateRoute => ({ kind: 'x', major, isOfBot });
  await buckets.run(
    routeOf('1', true),
    answer(429, { retry_after: 2, global: true }, { 'retry-after': '2' }),
  );
  await expect(buckets.run(routeOf('2', true), answer(200, {}))).rejects.toMatchObject({
    isRateLimited: true,
  });
  expect((await buckets.run(routeOf('3', false), answer(200, {}))).status).toBe(200);
  now = 2_100;
  expect((await buckets.run(routeOf('2', true), answer(200, {}))).status).toBe(200);
  // A refusal for a channel delays only that channel. The client adds 20 ms to each pause.
  await buckets.run(routeOf('4', true), answer(429, { retry_after: 0.5 }, { 'x-ratelimit-scope': 'shared' }));
  await expect(buckets.run(routeOf('4', true), answer(200, {}))).rejects.toMatchObject({ retryAfterMs: 520 });
  expect((await buckets.run(routeOf('5', true), answer(200, {}))).status).toBe(200);
});

// Name, use of the bot token, JSON of the refusal, and its headers. An edge page is an HTML page of the
// proxy.
test.each([
  ['an answer to an interaction, globally', false, { global: true }, {}],
  ['an answer, with an edge page', false, {}, { 'content-type': 'text/html' }],
  ['the bot, with an edge page', true, {}, { 'content-type': 'text/html; charset=UTF-8' }],
])(
  'a 429 response for %s delays all requests by the longest requested pause, at most an hour',
  async (_, isOfBot, json, headers) => {
    let now = 0;
    const buckets = new RateBuckets(() => now);
    const answer =
      (status: number, responseHeaders = {}) =>
      async () =>
        new ApiResponse(
          status,
          new Headers(responseHeaders),
          Buffer.from(JSON.stringify(status === 429 ? json : {})),
        );
    const routeOf = (major: string, isBot: boolean): RateRoute => ({ kind: 'x', major, isOfBot: isBot });
    const refuse = (major: string, resetAfterSeconds: string) =>
      buckets.run(
        routeOf(major, isOfBot),
        answer(429, { ...headers, 'retry-after': '2', 'x-ratelimit-reset-after': resetAfterSeconds }),
      );
    // The longest pause is 3.5 s, plus 20 ms.
    await refuse('1', '3.5');
    for (const isBot of [true, false])
      await expect(buckets.run(routeOf('2', isBot), answer(200))).rejects.toMatchObject({
        retryAfterMs: 3_520,
      });
    now = 3_520;
    expect((await buckets.run(routeOf('2', true), answer(200))).status).toBe(200);
    await refuse('3', '999999');
    now += 3_600_000;
    expect((await buckets.run(routeOf('4', false), answer(200))).status).toBe(200);
  },
);

test('exceeded rate limits are listed by channel; interactions are listed together, without their tokens', async () => {
  let now = 0;
  const buckets = new RateBuckets(() => now);
  const exhausted = (seconds: number) => async () =>
    new ApiResponse(
      200,
      new Headers({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': String(seconds) }),
      Buffer.from('{}'),
    );
  await buckets.run({ kind: 'x', major: 'the token', isOfBot: false }, exhausted(1));
  await buckets.run({ kind: 'x', major: 'another token', isOfBot: false }, exhausted(2));
  await buckets.run({ kind: 'x', major: '77', isOfBot: true }, exhausted(3));
  expect(buckets.exceededLimits()).toEqual([
    { of: '77', forMs: 3_020 },
    { of: 'answers to interactions', forMs: 2_020 },
  ]);
  now = 3_020;
  expect(buckets.exceededLimits()).toEqual([]);
});
