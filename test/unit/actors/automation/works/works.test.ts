// The works with their places: what hangs, among agents or among platforms, leaves places for others.

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
import { WorkPlaces } from '../../../../../actors/events/inbox/work-places.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError, UnrenderableError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../../../../actors/events/outbox/outbound.ts';
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

const ending: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

const never = new Promise<never>(() => {});

/** A dispatcher with both works; what a test says of the routing, and of where triggers send to. */
function start(
  routing: Partial<Routing & OutboxRouting>,
  concurrency = 8,
  more: readonly WorkKind[] = [],
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
  const works = new Works({ store, kinds: [...kinds, ...more], maxBodyBytes: 1_000 });
  const dispatcher = new Dispatcher({
    life: new Life(0),
    store,
    log: new LogNotes(),
    queues: works.queues,
    patienceMs: 20,
    tickMs: 10,
    pollMs: 50,
  });
  ending.push(async () => {
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

/** Manual triggers whose answers go somewhere; `send` gets what was rendered of a row. */
const adapterOf = (
  send: (row: string, context: SendContext) => Promise<Receipt>,
  sendsTo: (trigger: Trigger) => string = () => 'https://test.example',
): Adapter => {
  const outbound: Outbound<Trigger, { readonly row: string }> = {
    target: () => ({ place: 'x' }),
    render: () => [],
    sendsTo,
    send: (_, { row }, context) => send(row, context),
  };
  return { ...(manualAdapter as Adapter), account: () => 'a', outbound };
};

test('a platform that hangs leaves places for the answers to another, whatever many triggers send to it', async () => {
  let hanging = 0;
  const sent: string[] = [];
  const adapter = adapterOf(
    async (row) => {
      if (!row.startsWith('other/')) {
        hanging += 1;
        return never;
      }
      sent.push(row);
      return { id: '' };
    },
    ({ name }) => (name === 'other' ? 'https://other.example' : 'https://hangs.example'),
  );
  const { store } = start({ adapterOf: () => adapter });
  const triggers = Array.from({ length: 12 }, (_, n) => `t${n}`);
  await store.append(triggers.flatMap((name) => Array.from({ length: 40 }, (_, n) => rowOf(name, n))));
  await until('the platform hangs', () => hanging > 0);
  await store.append([rowOf('other', 1), rowOf('other', 2)]);
  const isDone = async (n: number) => (await store.delivery(`other/${n}`))?.state === 'done';
  await until('the other answers are sent', async () => (await isDone(1)) && (await isDone(2)));
  expect([hanging, sent]).toEqual([32, ['other/1', 'other/2']]);
  expect(await store.delivery('other/1')).toMatchObject({ attempts: 1 });
  expect(await store.counts()).toMatchObject({ running: 32, queued: 12 * 40 - 32, held: 0 });
});

test('a handler that goes on although it was told to end keeps its place, and its agent gets no others for it', async () => {
  let hanging = 0;
  const answered: string[] = [];
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
          return never;
        }
        answered.push(event.id);
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
  await until('they are overruns', () => (dispatcher.stats().conversations?.overruns ?? 0) === 4);
  for (let n = 0; n < 10; n += 1) {
    await store.append([eventOf('answers', n)]);
    await until('another is answered', () => answered.length === n + 1);
  }
  expect(hanging).toBe(4);
});

test('an answer that ended the process too often is dead, and is not sent once more', async () => {
  const sent: string[] = [];
  const adapter = adapterOf(async (row) => {
    sent.push(row);
    return { id: '' };
  });
  const places = new WorkPlaces({ places: 4, bytes: 1_000, release: async () => 0 });
  const routing = {
    adapterOf: () => adapter,
    trigger: (name: string) => manualTrigger(name),
    triggers: () => [],
  };
  const circuits = new Circuits({ log: silentLog });
  const work = new OutboxWork({ platform: 'test', routing, places, store: new MemoryStore(), circuits });
  const { signal } = new AbortController();
  const perform = (crashes: number) => {
    const event = { ...rowOf('t', crashes), seq: 1, at: Date.now(), attempt: crashes + 1, crashes };
    return work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
  };
  const note = `the gateway ended ${CRASH_LIMIT} times while it was handled`;
  expect(await perform(CRASH_LIMIT)).toMatchObject({ kind: 'failed', isFinal: true, note });
  expect(sent).toEqual([]);
  expect(await perform(CRASH_LIMIT - 1)).toMatchObject({ kind: 'done' });
  places.close();
});

test('an answer that was made for another account, or by a trigger that is of another type by now, is sent by none (SND3)', async () => {
  const sent: string[] = [];
  const adapter = adapterOf(async (row) => {
    sent.push(row);
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
  await until('they have ended', async () => {
    const { queued, running } = await store.counts();
    return queued + running === 0;
  });
  expect(sent).toEqual(['t/3']);
  expect(await store.delivery('t/1')).toMatchObject({
    state: 'ignored',
    note: 'it was made for another account than that of the trigger t now',
  });
  expect((await store.delivery('http/4'))?.state).toBe('ignored');
});

test('an answer that a platform does not take now waits, and that is no attempt', async () => {
  let refused = 0;
  const adapter = adapterOf(async () => {
    if (refused === 3) return { id: '' };
    refused += 1;
    throw new DeliveryError('not now', { isTooSoon: true, retryAfterMs: 5 });
  });
  const retry = { attempts: 1, min_backoff_seconds: 1, max_backoff_seconds: 1, factor: 1 };
  const { store } = start({
    adapterOf: () => adapter,
    trigger: (name) => ({ ...manualTrigger(name), retry }),
  });
  await store.append([rowOf('t', 1)]);
  await until('it is sent', async () => (await store.delivery('t/1'))?.state === 'done');
  expect(refused).toBe(3);
  expect(await store.delivery('t/1')).toMatchObject({ attempts: 1, deferrals: 3, failures: [] });
});

test('a platform that hangs takes no place from another, whatever triggers and destinations it has', async () => {
  let hanging = 0;
  const hangs = adapterOf(async () => {
    hanging += 1;
    return never;
  });
  const sends = adapterOf(async () => ({ id: 'm1' }));
  const { store, dispatcher } = start({ adapterOf: (platform) => (platform === 'test' ? hangs : sends) });
  const triggers = Array.from({ length: 20 }, (_, n) => `t${n}`);
  await store.append(triggers.flatMap((name) => Array.from({ length: 20 }, (_, n) => rowOf(name, n))));
  await until('the platform hangs', () => hanging > 30);
  const others = Array.from({ length: 100 }, (_, n) => ({
    ...rowOf('t0', 1000 + n),
    key: `outbox/other/${n}`,
  }));
  await store.append(others);
  await until('the other has them all', () => dispatcher.stats()['outbox/other']?.done === 100);
  expect(await store.delivery('t0/1000')).toMatchObject({ attempts: 1, receipt: 'm1' });
});

test('a row knows what a platform called an earlier one, whether it was tried, and does not leave when it has expired (SND1, SND2)', async () => {
  const seen: unknown[] = [];
  const adapter = adapterOf(async (row, { wasTried, rowId, receiptOf }) => {
    seen.push([row, wasTried, await receiptOf('t/1'), await receiptOf('nothing')]);
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
  await until('they have ended', async () => (await store.delivery('t/3'))?.state === 'ignored');
  const first = { id: 'id of t/1' };
  expect(seen).toEqual([
    ['t/1', false, undefined, undefined],
    ['t/2', false, first, undefined],
    ['t/2', true, first, undefined],
  ]);
  const second = await store.delivery('t/2');
  expect(second?.failures.map(({ note }) => note)).toEqual(['503; it may have arrived']);
  expect((await store.delivery('t/3'))?.note).toBe('it had expired before it could be sent');
});

test('a further kind of work is one entry: it gets the events of its keys with their kinds, and places of its own', async () => {
  const seen: (string | undefined)[] = [];
  const runs = {
    name: 'runs',
    places: 1,
    make: () =>
      new FakeWork(async ({ event }) => {
        seen.push(event.kind);
        return event.kind === undefined ? { kind: 'parked', parkedOn: 'yes' } : done;
      }, 'run/'),
  };
  const { store, dispatcher } = start({ handlerOf: () => ({ run: () => never }) }, 1, [runs]);
  await store.append([{ ...newEvent('conversation/manual/t', 'c:1', '{}') }]);
  await dispatcher.accept(newEvent('run/1', 'r:1'));
  await until('it is parked', async () => (await store.delivery('r:1'))?.state === 'waiting');
  await dispatcher.accept({ ...newEvent('run/1', 'd:1'), kind: 'decision', wakes: 'no' });
  await until('that is over', async () => (await store.delivery('d:1'))?.state === 'done');
  expect(seen).toEqual([undefined, 'decision']);
  expect(dispatcher.stats().runs).toMatchObject({ done: 1, places: 1 });
  // And whoever waits for what wakes another one is told at once that it is over.
  const told = dispatcher.settled('t', 'd:2', 10_000);
  await dispatcher.accept({ ...newEvent('run/1', 'd:2'), kind: 'decision', wakes: 'yes' });
  expect(await told).toMatchObject({ state: 'done' });
});

type Texts = Outbound<Trigger, { readonly text: string }>;

const asked = (n: number): NewEvent => ({
  id: `manual:chat-${n}`,
  key: `conversation/manual/chat/${n}`,
  meta: JSON.stringify({ trigger: 'chat' }),
  body: Buffer.from(JSON.stringify({ command: '', parameters: {}, text: 'go' })),
  trace: '',
});

/** A trigger that answers people: `send` gets their texts. */
function startChat(handler: Handler, marks: Partial<Texts> = {}, given?: Store) {
  const sent: string[] = [];
  const outbound: Texts = {
    target: () => ({ place: 'x' }),
    render: (_, { text, status }) => [{ text: `${status}: ${text}` }],
    sendsTo: () => 'https://test.example',
    send: async (_, { text }) => {
      sent.push(text);
      return { id: '' };
    },
    ...marks,
  };
  let isPaused = false;
  const adapter: Adapter = { ...(manualAdapter as Adapter), account: () => 'a', outbound };
  const retry = { attempts: 2, min_backoff_seconds: 0.001, max_backoff_seconds: 0.001, factor: 1 };
  const held: string[] = [];
  const routing: Partial<Routing & OutboxRouting> = {
    adapterOf: () => adapter,
    handlerOf: () => handler,
    isPaused: () => isPaused,
    onHeld: (name) => held.push(name),
    trigger: (name) => ({ ...manualTrigger(name), retry, default_agent: 'echo', on_failure: 'reply' }),
  };
  const { store } = start(routing, 8, [], given);
  const ask = (n: number) => store.append([asked(n)]);
  const pause = (paused: boolean) => {
    isPaused = paused;
  };
  return { store, sent, ask, pause, held };
}

test('whoever sent an event that is given up hears of it once, also when it runs again and fails again (NOT1)', async () => {
  const { store, sent, ask } = startChat({
    run: async () => {
      throw new HandlerError('the agent says: secret', { isFinal: true });
    },
  });
  await ask(1);
  const isDead = async () => (await store.delivery('manual:chat-1'))?.state === 'dead';
  await until('it is dead, and that is told', async () => (await isDead()) && sent.length === 1);
  expect(sent[0]).toMatch(/^warning: Sorry, that did not work/);
  await store.requeue('manual:chat-1');
  await until(
    'it is dead again',
    async () => (await store.delivery('manual:chat-1'))?.attempts === 1 && isDead(),
  );
  await sleep(50);
  expect(sent).toHaveLength(1);
});

test.each([
  ['as often as it may', CRASH_LIMIT],
  ['once more, while it was given up', CRASH_LIMIT + 1],
])(
  'whoever sent an event with which the process has ended %s hears that it is given up (CS1)',
  async (_, ends) => {
    const file = join(storeFolder(), `ends-${ends}.db`);
    let opened = openEngineStore({ file });
    await opened.store.append([asked(1)]);
    for (let crashes = 0; crashes < ends; crashes += 1) {
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
    const { store, sent } = startChat({ run }, {}, opened.store);
    await until('that is told', () => sent.length === 1);
    expect(sent[0]).toMatch(/^warning: Sorry, that did not work/);
    const note = `the gateway ended ${ends} times while it was handled`;
    expect(await store.delivery('manual:chat-1')).toMatchObject({ state: 'dead', crashes: ends, note });
    expect(runs).toBe(0);
  },
);

test('an answer that has no form on its platform is given up at once, and that is told', async () => {
  const render: Texts['render'] = (_, { text, status }) => {
    if (status !== 'warning') throw new UnrenderableError('a card of this kind cannot be shown');
    return [{ text }];
  };
  const { store, sent, ask } = startChat({ run: async () => ({ text: 'yes' }) }, { render });
  await ask(1);
  await until('that is told', () => sent.length === 1);
  expect(await store.delivery('manual:chat-1')).toMatchObject({
    state: 'dead',
    attempts: 1,
    note: 'a card of this kind cannot be shown',
  });
});

test('who waits for a paused trigger is told so after a moment, once, and then gets the answer', async () => {
  const { store, sent, ask, pause, held } = startChat({ run: async () => ({ text: 'yes' }) });
  pause(true);
  await ask(1);
  await ask(2);
  await until('both are held', () => held.length === 2);
  pause(false);
  await store.release('chat', 1);
  await until('the first is answered', () => sent.includes('success: yes'));
  await until('the second is told', () => sent.some((text) => text.startsWith('warning: This takes longer')));
  await store.release('chat');
  await until('it is answered, too', () => sent.length === 3);
  expect(sent.filter((text) => text.startsWith('warning'))).toHaveLength(1);
});

test('that an answer is made is shown while it is, and a message that is taken is marked as seen, once', async () => {
  let end = () => {};
  const isOver = new Promise<void>((resolve) => {
    end = resolve;
  });
  let typing = 0;
  const seen: string[] = [];
  const { sent, ask } = startChat(
    {
      run: async () => {
        await isOver;
        return { text: 'yes' };
      },
    },
    {
      typingLastsMs: 100,
      typing: async () => {
        typing += 1;
        throw new Error('of no consequence');
      },
      seen: async (trigger) => void seen.push(trigger.name),
    },
  );
  await ask(1);
  await until('it is shown again and again', () => typing >= 3);
  end();
  await until('it is answered', () => sent.length === 1);
  const shown = typing;
  await sleep(300);
  expect([typing, seen]).toEqual([shown, ['chat']]);
});
