// Works (conversations with agents, and the outbox): their slots, dead events, and notices to senders. A slot
// is the permit to handle one event; a hanging agent or platform uses only a part of the slots.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type Handler, HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { Routing } from '../../../../../actors/automation/conversations/routing.ts';
import { type OutboxRouting, OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { type WorkKind, workKinds } from '../../../../../actors/automation/works/work-kinds.ts';
import { Works } from '../../../../../actors/automation/works/works.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { Dispatcher } from '../../../../../actors/events/inbox/dispatcher.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError, UnrenderableError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound, SendContext, SendReceipt } from '../../../../../actors/events/outbox/outbound.ts';
import { Life } from '../../../../../actors/gateway/life.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { CRASH_LIMIT, pauseAfterCrashMs } from '../../../../../machines/crashes.ts';
import { noServices } from '../../../../fixtures/automation/contexts.ts';
import { done, FakeWork, LogNotes, newEvent, until } from '../../../../fixtures/automation/inbox.ts';
import { httpTrigger, manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) await cleanUp();
});

const hangingPromise = new Promise<never>(() => {});
/** Slots that one destination (host of a platform) can use at most. */
const DESTINATION_SLOTS = 32;
/** Slots that one agent can use at most, of 8. */
const AGENT_SLOTS = 4;

/** Starts a dispatcher for conversations and outbox rows. The test overrides parts of the routing. */
function start(
  routing: Partial<Routing & OutboxRouting>,
  concurrency = 8,
  additionalKinds: readonly WorkKind[] = [],
  store: Store = new MemoryStore(),
) {
  const kinds = workKinds({
    store,
    platforms: ['test', 'other', 'manual'],
    circuits: new Circuits({ log: silentLog }),
    concurrency,
    routing: {
      adapterOf: () => manualAdapter as Adapter,
      trigger: (name) => manualTrigger(name),
      triggers: () => [],
      isPaused: () => false,
      onHeld: () => {},
      handlerOf: () => undefined,
      loaded: () => ({ agents: [], fleets: [], flows: [] }),
      attemptSecondsOf: () => undefined,
      stop: async () => false,
      discard: async () => false,
      services: noServices,
      count: () => {},
      longestTimeoutMs: 600_000,
      ...routing,
    },
  });
  const works = new Works({ store, kinds: [...kinds, ...additionalKinds], maxBodyBytes: 1_000 });
  const dispatcher = new Dispatcher({
    life: new Life(0),
    store,
    log: new LogNotes(),
    queues: works.queues,
    patienceMs: 20,
    tickMs: 10,
    pollMs: 50,
  });
  cleanups.push(async () => {
    works.close();
    await dispatcher.drain(100);
  });
  return { store, dispatcher };
}

const rowOf = (trigger: string, n: number): NewEvent => ({
  id: `${trigger}/${n}`,
  key: `outbox/test/${trigger}/${n}`,
  meta: JSON.stringify({ trigger }),
  body: Buffer.from(JSON.stringify({ row: `${trigger}/${n}` })),
  trace: '',
});

/** Adapter for manual triggers with outbound messages; `send` receives the rendered row. */
const adapterOf = (
  send: (row: string, context: SendContext) => Promise<SendReceipt>,
  addressOf: (trigger: Trigger) => string = () => 'https://test.example',
): Adapter => {
  const outbound: Outbound<Trigger, { readonly row: string }> = {
    target: () => ({ place: 'x' }),
    render: () => [],
    addressOf,
    send: (_, { row }, context) => send(row, context),
  };
  return { ...(manualAdapter as Adapter), account: () => 'a', outbound };
};

test('a hanging destination leaves slots for another destination, however many triggers send to it', async () => {
  let hanging = 0;
  const sentTexts: string[] = [];
  const adapter = adapterOf(
    async (row) => {
      if (!row.startsWith('other/')) {
        hanging += 1;
        return hangingPromise;
      }
      sentTexts.push(row);
      return { id: '' };
    },
    ({ name }) => (name === 'other' ? 'https://other.example' : 'https://hangs.example'),
  );
  const { store } = start({ adapterOf: () => adapter });
  const triggers = Array.from({ length: 12 }, (_, n) => `t${n}`);
  await store.append(triggers.flatMap((name) => Array.from({ length: 40 }, (_, n) => rowOf(name, n))));
  await until('the destination hangs', () => hanging > 0);
  await store.append([rowOf('other', 1), rowOf('other', 2)]);
  const isDone = async (n: number) => (await store.delivery(`other/${n}`))?.state === 'done';
  await until(
    'the rows of the other destination are sent',
    async () => (await isDone(1)) && (await isDone(2)),
  );
  expect([hanging, sentTexts]).toEqual([DESTINATION_SLOTS, ['other/1', 'other/2']]);
  expect(await store.delivery('other/1')).toMatchObject({ attempts: 1 });
  expect(await store.counts()).toMatchObject({
    running: DESTINATION_SLOTS,
    queued: 12 * 40 - DESTINATION_SLOTS,
    held: 0,
  });
});

test('an agent run that ignores its abort still occupies a slot of its agent', async () => {
  let hanging = 0;
  const answeredIds: string[] = [];
  const { store, dispatcher } = start({
    trigger: (name) => ({
      ...manualTrigger(name, { timeout: 0.01 }),
      default_target: agentTarget(name),
      retry: { attempts: 1, min_backoff_seconds: 0.01, max_backoff_seconds: 0.01, factor: 1 },
    }),
    longestTimeoutMs: 20,
    handlerOf: ({ name }) => ({
      run: async ({ event }) => {
        if (name === 'hangs') {
          hanging += 1;
          return hangingPromise;
        }
        answeredIds.push(event.id);
        return { text: '' };
      },
    }),
  });
  const eventOf = (trigger: string, n: number): NewEvent => ({
    id: `manual:${trigger}-${n}`,
    key: `conversation/manual/${trigger}/${n}`,
    meta: JSON.stringify({ trigger }),
    body: Buffer.from(JSON.stringify({ command: '', parameters: {}, text: 'go' })),
    trace: '',
  });
  await store.append(Array.from({ length: 60 }, (_, n) => eventOf('hangs', n)));
  await until(
    'the runs are zombies',
    () => (dispatcher.stats().conversations?.overruns ?? 0) === AGENT_SLOTS,
  );
  for (let n = 0; n < 10; n += 1) {
    await store.append([eventOf('answers', n)]);
    await until('the other agent replies', () => answeredIds.length === n + 1);
  }
  expect(hanging).toBe(AGENT_SLOTS);
});

test('an answer whose sending has crashed the process as often as allowed is marked dead and not sent again', async () => {
  const sentTexts: string[] = [];
  const adapter = adapterOf(async (row) => {
    sentTexts.push(row);
    return { id: '' };
  });
  const slots = new WorkSlots({ slots: 4, bytes: 1_000, release: async () => 0 });
  const routing = {
    adapterOf: () => adapter,
    trigger: (name: string) => manualTrigger(name),
    triggers: () => [],
  };
  const circuits = new Circuits({ log: silentLog });
  const work = new OutboxWork({
    platform: 'test',
    routing,
    slots,
    store: new MemoryStore(),
    circuits,
  });
  const { signal } = new AbortController();
  const perform = (crashes: number) => {
    const event = { ...rowOf('t', crashes), seq: 1, at: Date.now(), attempt: crashes + 1, crashes };
    return work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
  };
  const note = `the gateway ended ${CRASH_LIMIT} times while it was handled`;
  expect(await perform(CRASH_LIMIT)).toMatchObject({ kind: 'failed', isFinal: true, note });
  expect(sentTexts).toEqual([]);
  expect(await perform(CRASH_LIMIT - 1)).toMatchObject({ kind: 'done' });
  slots.close();
});

test('an answer is not sent if its trigger was replaced by one of the same name with another account or type', async () => {
  const sentTexts: string[] = [];
  const adapter = adapterOf(async (row) => {
    sentTexts.push(row);
    return { id: '' };
  });
  const { store } = start({
    adapterOf: () => adapter,
    trigger: (name) => (name === 'http' ? httpTrigger(name) : manualTrigger(name)),
  });
  const row = (trigger: string, n: number, account: string): NewEvent => ({
    ...rowOf(trigger, n),
    key: `outbox/test/${account}/x/${n}`,
    meta: JSON.stringify({ trigger, action: 'post' }),
  });
  await store.append([row('t', 1, 'b'), row('t', 2, 'ab'), row('t', 3, 'a'), row('http', 4, 'a')]);
  await until('no row is queued or running', async () => {
    const { queued, running } = await store.counts();
    return queued + running === 0;
  });
  expect(sentTexts).toEqual(['t/3']);
  expect(await store.delivery('t/1')).toMatchObject({
    state: 'ignored',
    note: 'trigger t now uses another account',
  });
  expect((await store.delivery('http/4'))?.state).toBe('ignored');
});

test('a rate-limited answer is sent later, and the refusals do not count as attempts', async () => {
  let refusals = 0;
  const adapter = adapterOf(async () => {
    if (refusals === 3) return { id: '' };
    refusals += 1;
    throw new DeliveryError('not now', { isRateLimited: true, retryAfterMs: 5 });
  });
  const retry = { attempts: 1, min_backoff_seconds: 1, max_backoff_seconds: 1, factor: 1 };
  const { store } = start({
    adapterOf: () => adapter,
    trigger: (name) => ({ ...manualTrigger(name), retry }),
  });
  await store.append([rowOf('t', 1)]);
  await until('the row is sent', async () => (await store.delivery('t/1'))?.state === 'done');
  expect(refusals).toBe(3);
  expect(await store.delivery('t/1')).toMatchObject({ attempts: 1, deferrals: 3, failures: [] });
});

test('a hanging platform uses no slots of another platform, for any number of triggers', async () => {
  let hanging = 0;
  const hangingAdapter = adapterOf(async () => {
    hanging += 1;
    return hangingPromise;
  });
  const sendingAdapter = adapterOf(async () => ({ id: 'm1' }));
  const { store, dispatcher } = start({
    adapterOf: (platform) => (platform === 'test' ? hangingAdapter : sendingAdapter),
  });
  const triggers = Array.from({ length: 20 }, (_, n) => `t${n}`);
  await store.append(triggers.flatMap((name) => Array.from({ length: 20 }, (_, n) => rowOf(name, n))));
  await until('the platform hangs', () => hanging > 30);
  const rowsOfOtherPlatform = Array.from({ length: 100 }, (_, n) => ({
    ...rowOf('t0', 1000 + n),
    key: `outbox/other/${n}`,
  }));
  await store.append(rowsOfOtherPlatform);
  await until('the other platform has received all', () => dispatcher.stats()['outbox/other']?.done === 100);
  expect(await store.delivery('t0/1000')).toMatchObject({ attempts: 1, receipt: 'm1' });
});

test('a platform adapter is told of earlier sends and attempts of a message; an expired message is not sent', async () => {
  const sends: unknown[] = [];
  const adapter = adapterOf(async (row, { wasTried, rowId, receiptOf }) => {
    sends.push([row, wasTried, await receiptOf('t/1'), await receiptOf('nothing')]);
    if (row === 't/2' && !wasTried)
      throw new DeliveryError('503', { platformCode: 503, isOutcomeUnknown: true });
    return { id: `id of ${rowId}` };
  });
  const retry = { attempts: 3, min_backoff_seconds: 0.001, max_backoff_seconds: 0.001, factor: 1 };
  const { store } = start({
    adapterOf: () => adapter,
    trigger: (name) => ({ ...manualTrigger(name), retry }),
  });
  const meta = JSON.stringify({ trigger: 't', expiresAt: Date.now() - 1 });
  const key = 'outbox/test/a/x';
  await store.append([
    { ...rowOf('t', 1), key },
    { ...rowOf('t', 2), key },
    { ...rowOf('t', 3), key, meta },
  ]);
  await until('the last row is ignored', async () => (await store.delivery('t/3'))?.state === 'ignored');
  const first = { id: 'id of t/1' };
  expect(sends).toEqual([
    ['t/1', false, undefined, undefined],
    ['t/2', false, first, undefined],
    ['t/2', true, first, undefined],
  ]);
  const second = await store.delivery('t/2');
  expect(second?.failures.map(({ note }) => note)).toEqual(['503; it may have arrived']);
  expect((await store.delivery('t/3'))?.note).toBe('expired before it was sent');
});

test('a new kind of work receives the events with its key prefix, and has its own slots', async () => {
  const receivedKinds: (string | undefined)[] = [];
  const runsWork = {
    name: 'runs',
    slots: 1,
    make: () =>
      new FakeWork(async ({ event }) => {
        receivedKinds.push(event.kind);
        return event.kind === undefined ? { kind: 'parked', parkedOn: 'yes' } : done;
      }, 'run/'),
  };
  const { store, dispatcher } = start({ handlerOf: () => ({ run: () => hangingPromise }) }, 1, [runsWork]);
  // The only slot of conversations is occupied.
  await store.append([newEvent('conversation/manual/t', 'c:1', '{}')]);
  await dispatcher.accept(newEvent('run/1', 'r:1'));
  await until('the event is parked', async () => (await store.delivery('r:1'))?.state === 'waiting');
  await dispatcher.accept({ ...newEvent('run/1', 'd:1'), kind: 'decision', wakes: 'no' });
  await until('the decision is done', async () => (await store.delivery('d:1'))?.state === 'done');
  expect(receivedKinds).toEqual([undefined, 'decision']);
  expect(dispatcher.stats().runs).toMatchObject({ done: 1, places: 1 });
  // A caller that waits for a waking event (which resumes a parked event) is notified immediately.
  const settled = dispatcher.waitUntilSettled('t', 'd:2', 10_000);
  await dispatcher.accept({ ...newEvent('run/1', 'd:2'), kind: 'decision', wakes: 'yes' });
  expect(await settled).toMatchObject({ state: 'done' });
});

type TextOutbound = Outbound<Trigger, { readonly text: string }>;

const requestEvent = (n: number): NewEvent => ({
  id: `manual:chat-${n}`,
  key: `conversation/manual/chat/${n}`,
  meta: JSON.stringify({ trigger: 'chat' }),
  body: Buffer.from(JSON.stringify({ command: '', parameters: {}, text: 'go' })),
  trace: '',
});

/** Starts the trigger `chat`, which replies to senders. The test overrides parts on the outbound side. */
function startChat(handler: Handler, overrides: Partial<TextOutbound> = {}, existingStore?: Store) {
  const sentTexts: string[] = [];
  const outbound: TextOutbound = {
    target: () => ({ place: 'x' }),
    render: (_, { text, status }) => [{ text: `${status}: ${text}` }],
    addressOf: () => 'https://test.example',
    send: async (_, { text }) => {
      sentTexts.push(text);
      return { id: '' };
    },
    ...overrides,
  };
  let isPaused = false;
  const adapter: Adapter = { ...(manualAdapter as Adapter), account: () => 'a', outbound };
  const retry = { attempts: 2, min_backoff_seconds: 0.001, max_backoff_seconds: 0.001, factor: 1 };
  const heldTriggers: string[] = [];
  const routing: Partial<Routing & OutboxRouting> = {
    adapterOf: () => adapter,
    handlerOf: () => handler,
    isPaused: () => isPaused,
    onHeld: (name) => heldTriggers.push(name),
    trigger: (name) => ({ ...manualTrigger(name), retry, default_agent: 'echo', on_failure: 'reply' }),
  };
  const { store } = start(routing, 8, [], existingStore);
  const ask = (n: number) => store.append([requestEvent(n)]);
  const setPaused = (value: boolean) => {
    isPaused = value;
  };
  return { store, sentTexts, ask, setPaused, heldTriggers };
}

test('the sender of a dead event gets one notice, even if a replay fails again', async () => {
  const { store, sentTexts, ask } = startChat({
    run: async () => {
      throw new HandlerError('the agent failed: secret', { isFinal: true });
    },
  });
  await ask(1);
  const isDead = async () => (await store.delivery('manual:chat-1'))?.state === 'dead';
  await until(
    'the event is dead and its sender notified',
    async () => (await isDead()) && sentTexts.length === 1,
  );
  expect(sentTexts[0]).toMatch(/^warning: Sorry, that failed/);
  await store.requeue('manual:chat-1');
  await until(
    'the event is dead again',
    async () => (await store.delivery('manual:chat-1'))?.attempts === 1 && isDead(),
  );
  await sleep(50);
  expect(sentTexts).toHaveLength(1);
});

test.each([
  ['up to the limit', CRASH_LIMIT],
  ['once more while it was marked dead', CRASH_LIMIT + 1],
])(
  'the sender of an event that crashed the process %s is notified that it is dead',
  async (_, crashCount) => {
    const file = join(storeFolder(), `crashes-${crashCount}.db`);
    let opened = openEngineStore({ file });
    await opened.store.append([requestEvent(1)]);
    for (let crashes = 0; crashes < crashCount; crashes += 1) {
      expect(await opened.store.claim(1, 60_000)).toHaveLength(1);
      await opened.store.close();
      opened = openEngineStore({ file, now: opened.now() });
      opened.advance(pauseAfterCrashMs(crashes + 1));
    }
    let runs = 0;
    const run = async () => {
      runs += 1;
      return { text: 'yes' };
    };
    const { store, sentTexts } = startChat({ run }, {}, opened.store);
    await until('the sender is notified', () => sentTexts.length === 1);
    expect(sentTexts[0]).toMatch(/^warning: Sorry, that failed/);
    const note = `the gateway ended ${crashCount} times while it was handled`;
    expect(await store.delivery('manual:chat-1')).toMatchObject({ state: 'dead', crashes: crashCount, note });
    expect(runs).toBe(0);
  },
);

test('an answer that cannot be rendered is dead immediately, and its sender is notified', async () => {
  const render: TextOutbound['render'] = (_, { text, status }) => {
    if (status !== 'warning') throw new UnrenderableError('a card of this kind cannot be shown');
    return [{ text }];
  };
  const { store, sentTexts, ask } = startChat({ run: async () => ({ text: 'yes' }) }, { render });
  await ask(1);
  await until('the sender is notified', () => sentTexts.length === 1);
  expect(await store.delivery('manual:chat-1')).toMatchObject({
    state: 'dead',
    attempts: 1,
    note: 'a card of this kind cannot be shown',
  });
});

test('the sender of an event for a paused trigger is notified once after a delay, and later receives the answer', async () => {
  const { store, sentTexts, ask, setPaused, heldTriggers } = startChat({
    run: async () => ({ text: 'yes' }),
  });
  setPaused(true);
  await ask(1);
  await ask(2);
  await until('both events are held', () => heldTriggers.length === 2);
  setPaused(false);
  await store.release('chat', 1);
  await until('the first event is answered', () => sentTexts.includes('success: yes'));
  await until('the second sender is notified', () =>
    sentTexts.some((text) => text.startsWith('warning: This takes longer')),
  );
  await store.release('chat');
  await until('the second event is answered', () => sentTexts.length === 3);
  expect(sentTexts.filter((text) => text.startsWith('warning'))).toHaveLength(1);
});

test('typing is shown while an answer is generated, and the message is marked as seen once', async () => {
  let finishAnswer = () => {};
  const answerFinished = new Promise<void>((resolve) => {
    finishAnswer = resolve;
  });
  let typingCount = 0;
  const seenMarks: string[] = [];
  const { sentTexts, ask } = startChat(
    {
      run: async () => {
        await answerFinished;
        return { text: 'yes' };
      },
    },
    {
      typingDurationMs: 100,
      showTyping: async () => {
        typingCount += 1;
        throw new Error('ignored by the gateway');
      },
      markSeen: async (trigger) => void seenMarks.push(trigger.name),
    },
  );
  await ask(1);
  await until('typing is shown repeatedly', () => typingCount >= 3);
  finishAnswer();
  await until('the event is answered', () => sentTexts.length === 1);
  const countAtAnswer = typingCount;
  await sleep(300);
  expect([typingCount, seenMarks]).toEqual([countAtAnswer, ['chat']]);
});
