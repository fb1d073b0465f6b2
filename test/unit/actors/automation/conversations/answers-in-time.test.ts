// A platform that takes no answer after a while: the run is cut before that and told, and nothing waits for what would be too
// late. Time is that of the test; store, dispatcher and works are the real ones.

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
const LATE = 'Sorry, this took too long. It cannot be answered any more.';
const FAILED = 'Sorry, that did not work, and it will not be tried again.';

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
    signal.addEventListener('abort', () => reject(new HandlerError('was given up before its answer')));
  });

test('a run is cut half a minute before, for good, and whoever waits hears of it in time (CW4)', async () => {
  const left: number[] = [];
  const { store, said } = await begin((job, context) => {
    left.push(context.leftMs);
    return untilAborted(job, context);
  });
  await chat?.say('e1', { answerBy: ANSWER_BY });
  await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS - 1_000);
  expect(await store.delivery('e1')).toMatchObject({ state: 'running' });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await store.delivery('e1')).toMatchObject({
    state: 'dead',
    attempts: 1,
    note: 'no answer within the 15 minutes that the platform takes one',
  });
  expect(said).toMatchObject([{ to: 'e1', text: LATE }]);
  expect(left).toEqual([14.5 * MINUTE_MS]);
  const row = await store.delivery('outbox:e1/failed/1');
  expect(JSON.parse(row?.meta ?? '')).toMatchObject({ expiresAt: ANSWER_BY });
});

test('one that goes on although it was cut is told of all the same, and its answer counts if it comes in time', async () => {
  let answer: (said: { text: string }) => void = () => {};
  const { store, said } = await begin(() => new Promise((resolve) => (answer = resolve)));
  await chat?.say('e1', { answerBy: ANSWER_BY });
  await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS + 6_000);
  expect(said).toMatchObject([{ to: 'e1', text: LATE }]);
  answer({ text: 'yes' });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await store.delivery('e1')).toMatchObject({ state: 'done', answer: 'yes' });
  expect(said).toMatchObject([{ text: LATE }, { text: 'yes' }]);
});

test('what is said after that leaves no more', async () => {
  const { store, said } = await begin(async () => ({ text: 'yes' }), 20);
  if (chat !== undefined) chat.isAway = true;
  await chat?.say('e1', { answerBy: ANSWER_BY });
  await vi.advanceTimersByTimeAsync(16 * MINUTE_MS);
  if (chat !== undefined) chat.isAway = false;
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect(await store.delivery('e1')).toMatchObject({ state: 'done' });
  const row = await store.delivery('outbox:e1/1');
  expect(row).toMatchObject({
    state: 'ignored',
    note: expect.stringContaining('it had expired before it could be sent'),
  });
  expect(said).toEqual([]);
});

describe('nothing is put off beyond it (TR4)', () => {
  test.each([
    ['a failed attempt', {}, 1_800, 'broken; a later attempt would be too late'],
    ['an agent that takes no more for now', { isTooSoon: true, retryAfterMs: 900_000 }, 10, /too late$/],
    ['an agent that names a pause', { retryAfterMs: 900_000 }, 10, /too late$/],
  ])('after %s it is given up', async (_, fault, retrySeconds, note) => {
    const { store, said } = await begin(async () => {
      throw new HandlerError('broken', fault);
    }, retrySeconds);
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await store.delivery('e1')).toMatchObject({ state: 'dead', note: expect.stringMatching(note) });
    expect(said).toMatchObject([{ to: 'e1', text: FAILED }]);
  });

  test('what its paused trigger holds is told in time, and asks nobody when it is let go after that', async () => {
    let runs = 0;
    const { store, said, pauses } = await begin(async () => {
      runs += 1;
      return { text: 'yes' };
    });
    await pauses.pause(store, 'chat');
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await chat?.say('e2', { answerBy: ANSWER_BY }, 'hall');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await chat?.deliveries.discard('e2', 'not wanted')).toBe(true);
    await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS);
    expect(said.filter(({ to }) => to === 'e1').map(({ text }) => text)).toEqual([LATE]);
    expect(await store.delivery('e1')).toMatchObject({ state: 'ignored' });
    await pauses.resume(store, 'chat');
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect([runs, said.length]).toEqual([0, 2]);
  });

  test('and so is what waits behind it in its conversation, each in its time', async () => {
    const { store, said, pauses } = await begin(async () => ({ text: 'yes' }));
    await pauses.pause(store, 'chat');
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    await chat?.say('e2', { answerBy: ANSWER_BY + MINUTE_MS });
    await chat?.say('e3', { answerBy: ANSWER_BY + MINUTE_MS });
    await vi.advanceTimersByTimeAsync(14 * MINUTE_MS);
    expect(said.map(({ to, text }) => [to, text])).toEqual([['e1', LATE]]);
    await vi.advanceTimersByTimeAsync(0.75 * MINUTE_MS);
    expect(said.map(({ to, text }) => [to, text])).toEqual(['e1', 'e2', 'e3'].map((id) => [id, LATE]));
    for (const { to, at } of said) expect(at).toBeLessThan(ANSWER_BY + (to === 'e1' ? 0 : MINUTE_MS));
    await pauses.resume(store, 'chat');
    await chat?.say('e4');
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(said.at(-1)).toMatchObject({ to: 'e4', text: 'yes' });
  });

  test('what is parked is woken before it is too late, and told', async () => {
    let runs = 0;
    const { store, said } = await begin(async () => {
      runs += 1;
      return { parkedOn: 'a decision' };
    });
    await chat?.say('e1', { answerBy: ANSWER_BY });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await store.delivery('e1')).toMatchObject({ state: 'waiting' });
    await vi.advanceTimersByTimeAsync(14.5 * MINUTE_MS);
    expect(await store.delivery('e1')).toMatchObject({ state: 'dead' });
    expect([runs, said.map(({ text }) => text)]).toEqual([1, [LATE]]);
  });
});

test('an event that is claimed after that asks nobody and says nothing: after kill -9, and from the queue behind it', async () => {
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
  const asked: string[] = [];
  const { said, store } = await begin(
    async ({ event: { id } }) => {
      asked.push(id);
      return { text: 'yes' };
    },
    10,
    after.store,
  );
  after.advance(5 * MINUTE_MS);
  await vi.advanceTimersByTimeAsync(10_000);
  const note =
    'nobody was asked: the 15 minutes within which the platform takes an answer are over, or nearly so';
  for (const id of ['e1', 'e2']) expect(await store.delivery(id)).toMatchObject({ state: 'dead', note });
  expect([asked, said.map(({ to }) => to)]).toEqual([['e3'], ['e3']]);
});

describe('how much time is left', () => {
  const event = { at: START } as StoredEvent;
  const of = (answerBy: number, now: number) => answerTime(event, { answerBy } as InboundEvent, now);

  test('is no more than there was at first, wherever the clock was set to', () => {
    expect(of(ANSWER_BY, START - 3600_000)?.leftMs).toBe(14.5 * MINUTE_MS);
    expect(of(ANSWER_BY, ANSWER_BY + 3600_000)?.leftMs).toBe(0);
  });

  test('is kept in a part of a short time; one that was over at first has none', () => {
    expect(of(START + 60_000, START)).toEqual({
      endsAt: START + 45_000,
      leftMs: 45_000,
      inWords: '60 seconds',
    });
    expect(of(START - 1, START)?.leftMs).toBe(0);
    expect(answerTime(event, {} as InboundEvent, START)).toBeUndefined();
  });
});
