// What is sent is held against the limits of the platform as the fake of it counts them, in a time of the test's own: the headers of
// the answers are all that is known of them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { RateBuckets, type Route } from '../../../../../actors/platforms/communitychat/rate-buckets.ts';
import { ApiAnswer } from '../../../../../libs/rest/http-api.ts';
import { BucketLimits } from '../../../../fixtures/community-platform/bucket-limits.ts';
import { OwnTime, type Way, ways } from '../../../../fixtures/own-time.ts';

/** `counts` are requests to each of the places, one after the other there. Gives how many were refused, and how long all of it took. */
async function sendAll(
  counts: readonly number[],
  ways: readonly Way[],
  limit: { most: number; ms: number },
  isShared: boolean,
) {
  const time = new OwnTime();
  let steps = 0;
  const limits = new BucketLimits(() => time.now);
  const buckets = new RateBuckets(() => time.now);
  for (const kind of ['A', 'B']) {
    limits.limits.set(kind, limit);
    if (isShared) limits.names.set(kind, 'shared');
  }
  let refused = 0;
  const request = async ({ kind, major }: Route, { thereMs, backMs }: Way) => {
    await time.at(time.now + thereMs);
    const { headers, retryAfter } = limits.count(kind, major);
    const json = retryAfter === undefined ? {} : { retry_after: retryAfter, global: false };
    if (retryAfter !== undefined) refused += 1;
    await time.at(time.now + backMs);
    const status = retryAfter === undefined ? 200 : 429;
    return new ApiAnswer(status, new Headers(headers), Buffer.from(JSON.stringify(json)));
  };
  const ends = counts.map(async (count, place) => {
    for (let sent = 0; sent < count; ) {
      const kind = isShared && steps % 2 === 1 ? 'B' : 'A';
      const route = { kind, major: `${place}`, isOfBot: true };
      const way = ways[steps++ % ways.length] as Way;
      try {
        const { status } = await buckets.run(route, () => request(route, way));
        if (status === 200) sent += 1;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        expect(error).toMatchObject({ isTooSoon: true, isUnasked: true });
        await time.at(time.now + (error.retryAfterMs ?? 0));
      }
    }
  });
  await time.passUntil(ends);
  return { refused, tookMs: time.now };
}

const counts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });
const limit = fc.record({ most: fc.integer({ min: 1, max: 6 }), ms: fc.integer({ min: 100, max: 5_000 }) });

test('nothing is refused, and no more time is lost than the limit asks for (CCB1, CCB2)', async () => {
  await fc.assert(
    fc.asyncProperty(counts, ways, limit, async (each, onTheWay, allowed) => {
      const { refused, tookMs } = await sendAll(each, onTheWay, allowed, false);
      expect(refused).toBe(0);
      const most = Math.max(...each);
      expect(tookMs).toBeLessThan((most / allowed.most + 1) * (allowed.ms + 800) + most * 400);
    }),
    { numRuns: 60 },
  );
});

test('of kinds that share a bucket each is refused once at most in a place, before that is known', async () => {
  await fc.assert(
    fc.asyncProperty(counts, ways, limit, async (each, onTheWay, allowed) => {
      const { refused } = await sendAll(each, onTheWay, allowed, true);
      expect(refused).toBeLessThanOrEqual(each.length);
    }),
    { numRuns: 60 },
  );
});

test('what is refused to the bot altogether holds all that it sends, and no answers to interactions', async () => {
  let now = 0;
  const buckets = new RateBuckets(() => now);
  const answer =
    (status: number, json: object, headers = {}) =>
    async () =>
      new ApiAnswer(status, new Headers(headers), Buffer.from(JSON.stringify(json)));
  const routeOf = (major: string, isOfBot: boolean): Route => ({ kind: 'x', major, isOfBot });
  await buckets.run(
    routeOf('1', true),
    answer(429, { retry_after: 2, global: true }, { 'retry-after': '2' }),
  );
  await expect(buckets.run(routeOf('2', true), answer(200, {}))).rejects.toMatchObject({ isTooSoon: true });
  expect((await buckets.run(routeOf('3', false), answer(200, {}))).status).toBe(200);
  now = 2_100;
  expect((await buckets.run(routeOf('2', true), answer(200, {}))).status).toBe(200);
  // One that is about the channel holds that alone.
  await buckets.run(routeOf('4', true), answer(429, { retry_after: 0.5 }, { 'x-ratelimit-scope': 'shared' }));
  await expect(buckets.run(routeOf('4', true), answer(200, {}))).rejects.toMatchObject({ retryAfterMs: 520 });
  expect((await buckets.run(routeOf('5', true), answer(200, {}))).status).toBe(200);
});

test.each([
  ['an answer to an interaction, for everything', false, { global: true }, {}],
  ['an answer, by a page of the edge', false, {}, { 'content-type': 'text/html' }],
  ['the bot, by a page of the edge', true, {}, { 'content-type': 'text/html; charset=UTF-8' }],
])(
  'what is refused to %s holds all, for the longest of the pauses named, and for an hour at most',
  async (_, isOfBot, json, headers) => {
    let now = 0;
    const buckets = new RateBuckets(() => now);
    const answer =
      (status: number, more = {}) =>
      async () =>
        new ApiAnswer(status, new Headers(more), Buffer.from(JSON.stringify(status === 429 ? json : {})));
    const routeOf = (major: string, isBot: boolean): Route => ({ kind: 'x', major, isOfBot: isBot });
    const refuse = (major: string, after: string) =>
      buckets.run(
        routeOf(major, isOfBot),
        answer(429, { ...headers, 'retry-after': '2', 'x-ratelimit-reset-after': after }),
      );
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

test('what is held is shown to an operator by channel, and of answers to interactions without their credentials', async () => {
  let now = 0;
  const buckets = new RateBuckets(() => now);
  const usedUp = (seconds: number) => async () =>
    new ApiAnswer(
      200,
      new Headers({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': String(seconds) }),
      Buffer.from('{}'),
    );
  await buckets.run({ kind: 'x', major: 'the token', isOfBot: false }, usedUp(1));
  await buckets.run({ kind: 'x', major: 'another token', isOfBot: false }, usedUp(2));
  await buckets.run({ kind: 'x', major: '77', isOfBot: true }, usedUp(3));
  expect(buckets.held()).toEqual([
    { of: '77', forMs: 3_020 },
    { of: 'answers to interactions', forMs: 2_020 },
  ]);
  now = 3_020;
  expect(buckets.held()).toEqual([]);
});
