// Reply deadlines of platforms: before the deadline the run is aborted and the sender is notified. Time is
// simulated; store, dispatcher and works are real.

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Handler, HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { answerTime } from '../../../../../actors/automation/conversations/run-deadline.ts';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { WaitingChat } from '../../../../fixtures/automation/waiting-chat.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

const START = Date.UTC(2026, 10, 23);
const MINUTE_MS = 60_000;
const ANSWER_BY = START + 15 * MINUTE_MS;
const LATE = 'Sorry, this took too long and can no longer be answered.';
const FAILED = 'Sorry, that failed and will not be retried.';

let chat: WaitingChat | undefined;
beforeEach(() => {
  vi.useFakeTimers({ now: START });
});
afterEach(async () => {
  const ended = chat?.end(0);
  await vi.advanceTimersByTimeAsync(1_000);
  await ended;
  vi.useRealTimers();
});

async function begin(run: Handler['run'], retrySeconds = 10, store?: Store): Promise<WaitingChat> {
  const retry = { attempts: 100, min_backoff_seconds: retrySeconds, max_backoff_seconds: 3600, factor: 1 };
  const trigger = { ...manualTrigger('chat'), retry, timeout_seconds: 3600 };
  chat = new WaitingChat({
    ...(store === undefined ? {} : { store }),
    triggers: [trigger],
    handler: { run },
    longestTimeoutMs: 3600_000,
    dispatcher: { tickMs: 500, pollMs: 5_000, patienceMs: 1_000 },
  });
  return chat;
}

const untilAborted: Handler['run'] = (_, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new HandlerError('was aborted before its answer')));
  });

test('a run is aborted without a retry half a minute before the reply deadline, and the sender is notified in time', async () => {
  const remainingTimes: number[] = [];
  const { store, sentMessages: reply } = await begin((job, context) => {
    remainingTimes.push(context.remainingMs);
    return untilAborted(job, context);
  });
  await chat?.say('e1', { answerBy: ANSWER_BY });
  await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS - 1_000);
  expect(await store.delivery('e1')).toMatchObject({ state: 'running' });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await store.delivery('e1')).toMatchObject({
    state: 'dead',
    attempts: 1,
    note: 'no answer within the reply time of the platform (15 minutes)',
  });
  expect(reply).toMatchObject([{ to: 'e1', text: LATE }]);
  expect(remainingTimes).toEqual([14.5 * MINUTE_MS]);
  const row = await store.delivery('outbox:e1/failed/1');
  expect(JSON.parse(row?.meta ?? '')).toMatchObject({ expiresAt: ANSWER_BY });
});

test('the sender is notified if a run ignores its abort, and its answer is still sent before the reply deadline', async () => {
  let answer: (reply: { text: string }) => void = () => {};
  const { store, sentMessages: reply } = await begin(() => new Promise((resolve) => (answer = resolve)));
  await chat?.say('e1', { answerBy: ANSWER_BY });
  await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS + 6_000);
  expect(reply).toMatchObject([{ to: 'e1', text: LATE }]);
  answer({ text: 'yes' });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await store.delivery('e1')).toMatchObject({ state: 'done', answer: 'yes' });
  expect(reply).toMatchObject([{ text: LATE }, { text: 'yes' }]);
});

test('an answer is not sent after the reply deadline', async () => {
  const { store, sentMessages: reply } = await begin(async () => ({ text: 'yes' }), 20);
  if (chat !== undefined) chat.refusesMessages = true;
  await chat?.say('e1', { answerBy: ANSWER_BY });
  await vi.advanceTimersByTimeAsync(16 * MINUTE_MS);
  if (chat !== undefined) chat.refusesMessages = false;
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect(await store.delivery('e1')).toMatchObject({ state: 'done' });
  const row = await store.delivery('outbox:e1/1');
  expect(row).toMatchObject({
    state: 'ignored',
    note: expect.stringContaining('expired before it was sent'),
  });
  expect(reply).toEqual([]);
});

describe('no retry starts after the reply deadline', () => {
  test.each([
    ['a failed attempt', {}, 1_800, 'broken; a later attempt would be too late'],
    ['a rate-limited agent', { isRateLimited: true, retryAfterMs: 900_000 }, 10, /too late$/],
    ['an agent that requests a pause', { retryAfterMs: 900_000 }, 10, /too late$/],
  ])('after %s the event is dead if a retry would be too late', async (_, fault, retrySeconds, note) => {
    const { store, sentMessages: reply } = await begin(async () => {
      throw new HandlerError('broken', fault);
    }, retrySeconds);
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await store.delivery('e1')).toMatchObject({ state: 'dead', note: expect.stringMatching(note) });
    expect(reply).toMatchObject([{ to: 'e1', text: FAILED }]);
  });

  test('an event held by a paused trigger expires with a notice, and runs no handler after the resume', async () => {
    let runs = 0;
    const {
      store,
      sentMessages: reply,
      pauses,
    } = await begin(async () => {
      runs += 1;
      return { text: 'yes' };
    });
    await pauses.pause(store, 'chat');
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await chat?.say('e2', { answerBy: ANSWER_BY }, 'hall');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await chat?.deliveries.discard('e2', 'not wanted')).toBe(true);
    await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS);
    expect(reply.filter(({ to }) => to === 'e1').map(({ text }) => text)).toEqual([LATE]);
    expect(await store.delivery('e1')).toMatchObject({ state: 'ignored' });
    await pauses.resume(store, 'chat');
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect([runs, reply.length]).toEqual([0, 2]);
  });

  test('the queued events of a conversation expire, each at its own reply deadline', async () => {
    const { store, sentMessages: reply, pauses } = await begin(async () => ({ text: 'yes' }));
    await pauses.pause(store, 'chat');
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    await chat?.say('e2', { answerBy: ANSWER_BY + MINUTE_MS });
    await chat?.say('e3', { answerBy: ANSWER_BY + MINUTE_MS });
    await vi.advanceTimersByTimeAsync(14 * MINUTE_MS);
    expect(reply.map(({ to, text }) => [to, text])).toEqual([['e1', LATE]]);
    await vi.advanceTimersByTimeAsync(0.75 * MINUTE_MS);
    expect(reply.map(({ to, text }) => [to, text])).toEqual(['e1', 'e2', 'e3'].map((id) => [id, LATE]));
    for (const { to, at } of reply) expect(at).toBeLessThan(ANSWER_BY + (to === 'e1' ? 0 : MINUTE_MS));
    await pauses.resume(store, 'chat');
    await chat?.say('e4');
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(reply.at(-1)).toMatchObject({ to: 'e4', text: 'yes' });
  });

  test('a waiting event expires with a notice before its reply deadline', async () => {
    let runs = 0;
    const { store, sentMessages: reply } = await begin(async () => {
      runs += 1;
      return { parkedOn: 'a decision' };
    });
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await store.delivery('e1')).toMatchObject({ state: 'waiting' });
    await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS);
    expect(await store.delivery('e1')).toMatchObject({ state: 'dead' });
    expect([runs, reply.map(({ text }) => text)]).toEqual([1, [LATE]]);
  });
});

test('an event that was running or queued at kill -9 runs no handler and gets no answer after its reply deadline', async () => {
  const file = join(storeFolder(), 'store.sqlite');
  const before = openEngineStore({ file, now: START });
  const { event } = await begin(untilAborted);
  const eventOf = chat?.event.bind(chat) ?? event;
  const events = ['e1', 'e2'].map((id) => eventOf(id, { answerBy: ANSWER_BY }));
  await before.store.append([...events, eventOf('e3', { answerBy: START + 90 * MINUTE_MS })]);
  expect(await before.store.claim(5, 30_000)).toHaveLength(1);
  await before.store.close();
  await chat?.end(0);

  vi.setSystemTime(START + 60 * MINUTE_MS);
  const after = openEngineStore({ file, now: Date.now() });
  const requests: string[] = [];
  const { sentMessages: reply, store } = await begin(
    async ({ event: { id } }) => {
      requests.push(id);
      return { text: 'yes' };
    },
    10,
    after.store,
  );
  after.advance(5 * MINUTE_MS);
  await vi.advanceTimersByTimeAsync(10_000);
  const note = 'not started: the reply time of the platform (15 minutes) is over or almost over';
  for (const id of ['e1', 'e2']) expect(await store.delivery(id)).toMatchObject({ state: 'dead', note });
  expect([requests, reply.map(({ to }) => to)]).toEqual([['e3'], ['e3']]);
});

describe('the remaining time until the reply deadline', () => {
  const event = { at: START } as StoredEvent;
  const of = (answerBy: number, now: number) => answerTime(event, { answerBy } as InboundEvent, now);

  test('is between zero and its original value, even if the clock is changed', () => {
    expect(of(ANSWER_BY, START - 3600_000)?.remainingMs).toBe(14.5 * MINUTE_MS);
    expect(of(ANSWER_BY, ANSWER_BY + 3600_000)?.remainingMs).toBe(0);
  });

  test('is reduced by a quarter if short, and is zero if the event arrives too late', () => {
    expect(of(START + 60_000, START)).toEqual({
      endsAt: START + 45_000,
      remainingMs: 45_000,
      limitText: '60 seconds',
    });
    expect(of(START - 1, START)?.remainingMs).toBe(0);
    expect(answerTime(event, {} as InboundEvent, START)).toBeUndefined();
  });
});
