// Who sees "thinking …" is told when there will be no answer, whatever the reason: over the real dispatcher and store, with a
// chat that has nothing but that.

import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type Handler, HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { quickRetry, until } from '../../../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { WaitingChat, type WaitingChatOptions } from '../../../../fixtures/automation/waiting-chat.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const chats: WaitingChat[] = [];
afterEach(async () => {
  for (const chat of chats.splice(0)) await chat.end();
});

function begin(options: WaitingChatOptions = {}): WaitingChat {
  const chat = new WaitingChat(options);
  chats.push(chat);
  return chat;
}

const once = { ...quickRetry, attempts: 1 };
/** Whoever may be told that something failed is not. */
const silent: ManualTrigger = { ...manualTrigger('chat'), retry: once, on_failure: 'silent' };

const NOBODY = 'Sorry, there is nobody here who answers that.';
const REFUSED = 'Sorry, that is not allowed here, or not for you.';
const STOPPED = 'This was stopped. There will be no answer.';
const FAILED = 'Sorry, that did not work, and it will not be tried again.';

const failing = (isFinal: boolean): Handler => ({
  run: async () => {
    throw new HandlerError('broken', { isFinal });
  },
});
const hangs: Handler = {
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

describe('nobody takes it', () => {
  test.each([
    ['no trigger has a command for it', { ...silent, default_target: undefined }, {}, {}, NOBODY],
    ['the adapter knows that nothing can answer it', silent, { unsupported: 'a form of 2031' }, {}, NOBODY],
    ['a filter of chats does not let it pass', silent, { channel: 'elsewhere' }, {}, REFUSED],
    ['a filter of the adapter does not', silent, {}, { takes: () => false }, REFUSED],
  ] as [string, ManualTrigger, Partial<InboundEvent>, WaitingChatOptions['adapter'], string][])(
    'since %s',
    async (_, trigger, what, more, told) => {
      const filters = () => chatFilters({ channels: ['room'] });
      const chat = begin({ triggers: [trigger], adapter: { filters, ...more } });
      await chat.say('e1', what);
      await chat.say('e2', { ...what, isAwaited: false });
      await chat.reached('e1', 'ignored');
      await chat.reached('e2', 'ignored');
      expect([await chat.saidTo('e1'), await chat.saidTo('e2')]).toEqual([[told], []]);
    },
  );

  test('since its triggers are gone: another of its account says so', async () => {
    const triggers = [manualTrigger('other'), manualTrigger('own')];
    const account = ({ name }: { name: string }) => (name === 'own' ? 'app' : 'another app');
    const chat = begin({ triggers, adapter: { account } });
    await chat.say('e1', { triggers: ['gone'] });
    expect(await chat.reached('e1', 'ignored')).toMatchObject({
      note: 'the triggers it came for are gone or switched off',
    });
    expect(await chat.saidTo('e1')).toEqual([NOBODY]);
    const [row] = await chat.store.deliveries({ keyPrefix: 'outbox/', limit: 9 });
    expect(row).toMatchObject({ trigger: 'own', key: 'outbox/manual/app/room' });
    // Nobody is left to speak.
    chat.triggers.delete('own');
    await chat.say('e2', { triggers: ['gone'] });
    await chat.reached('e2', 'ignored');
    expect(await chat.saidTo('e2')).toEqual([]);
    expect(chat.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('its trigger is gone when the answer is to leave', () => {
  /** An agent that has been asked, and answers when it is told to. */
  const askedOnce = async () => {
    const asked: string[] = [];
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const run: Handler['run'] = async ({ event }) => {
      asked.push(event.id);
      await answered;
      return { text: `answer to ${event.id}` };
    };
    const chat = begin({ handler: { run } });
    await chat.say('e1');
    await until('the agent is asked', () => asked.length === 1);
    return { chat, answer: () => answer() };
  };

  test('another of its account sends it, and what comes after it in its order', async () => {
    const { chat, answer } = await askedOnce();
    await chat.say('e2', { triggers: ['chat', 'renamed'] });
    chat.triggers.delete('chat');
    chat.triggers.set('renamed', manualTrigger('renamed'));
    answer();
    await chat.reached('e2', 'done');
    expect([await chat.saidTo('e1'), await chat.saidTo('e2')]).toEqual([['answer to e1'], ['answer to e2']]);
    expect(chat.said.map(({ to }) => to)).toEqual(['e1', 'e2']);
    expect(await chat.reached('outbox:e1/1', 'done')).toMatchObject({
      key: 'outbox/manual/app/room',
      trigger: 'renamed',
    });
  });

  test('so that it did not work is said by another one as well', async () => {
    const chat = begin({ triggers: [silent], handler: failing(true) });
    chat.isAway = true;
    await chat.say('e1');
    await chat.reached('outbox:e1/failed/1', 'dead');
    chat.triggers.delete('chat');
    chat.triggers.set('renamed', manualTrigger('renamed'));
    chat.isAway = false;
    await chat.deliveries.requeue('outbox:e1/failed/1');
    expect(await chat.saidTo('e1')).toEqual([FAILED]);
  });

  test('nobody sends it where none of its account is left, and its record says so', async () => {
    const { chat, answer } = await askedOnce();
    chat.triggers.delete('chat');
    answer();
    expect(await chat.reached('outbox:e1/1', 'ignored')).toMatchObject({
      trigger: 'chat',
      note: 'there is no trigger chat any more that could send it',
    });
    expect(chat.said).toEqual([]);
  });
});

describe('there is no answer to show', () => {
  test('since it has no words', async () => {
    const chat = begin({ handler: { run: async () => ({ text: ' ' }) } });
    await chat.say('e1');
    await chat.say('e2', { isAwaited: false });
    expect(await chat.reached('e1', 'done')).toMatchObject({ answer: ' ' });
    await chat.reached('e2', 'done');
    expect([await chat.saidTo('e1'), await chat.saidTo('e2')]).toEqual([['Done.'], []]);
  });

  test.each([true, false])(
    'since it is dead, also where on_failure is silent (final: %s)',
    async (isFinal) => {
      const chat = begin({ triggers: [silent], handler: failing(isFinal) });
      await chat.say('e1');
      await chat.say('e2', { isAwaited: false });
      await chat.reached('e1', 'dead');
      await chat.reached('e2', 'dead');
      expect([await chat.saidTo('e1'), await chat.saidTo('e2')]).toEqual([[FAILED], []]);
    },
  );

  test('where a trigger took it by the name of its channel, also when that name is known no more', async () => {
    let isKnown = true;
    const trigger: ManualTrigger = { ...manualTrigger('chat'), retry: once, on_failure: 'reply' };
    const chat = begin({
      triggers: [trigger],
      handler: failing(true),
      adapter: {
        filters: () => chatFilters({ channels: ['#ops'] }),
        complete: async (event) => {
          if (!isKnown) throw new DeliveryError('the platform is away', { isTooSoon: true });
          return { ...event, channelAliases: ['ops'] };
        },
      },
    });
    await chat.say('e1', { isAwaited: false });
    await chat.reached('e1', 'dead');
    expect(await chat.saidTo('e1')).toEqual([FAILED]);
    await chat.pauses.pause(chat.store, 'chat');
    await chat.say('e2');
    await chat.reached('e2', 'held');
    await chat.deliveries.discard('e2', 'by hand');
    expect(await chat.saidTo('e2')).toEqual([STOPPED]);
    // Nobody knows whether it is for a trigger at all.
    isKnown = false;
    await chat.say('e3', { isAwaited: false });
    await until('it was put off', async () => (await chat.store.delivery('e3'))?.deferrals === 1);
    expect(await chat.store.delivery('e3')).toMatchObject({ trigger: undefined });
    expect(await chat.saidTo('e3')).toEqual([]);
  });

  test('since its agent is gone, and with it its trigger', async () => {
    const retry = { ...quickRetry, attempts: 2, min_backoff_seconds: 0.3, max_backoff_seconds: 0.3 };
    const chat = begin({
      triggers: [{ ...manualTrigger('chat'), retry }, manualTrigger('left')],
      handler: () => undefined,
    });
    await chat.say('e1');
    await chat.reached('e1', 'retrying');
    chat.triggers.delete('chat');
    await chat.reached('e1', 'ignored');
    expect(await chat.saidTo('e1')).toEqual([NOBODY]);
  });

  test('since a parameter is missing: the help says so, and nothing else', async () => {
    const env = { name: 'env', description: undefined, required: true, default: undefined };
    const deploy = {
      command: 'deploy',
      target: { kind: 'agent', name: 'a' },
      description: undefined,
    } as const;
    const chat = begin({ triggers: [{ ...silent, commands: [{ ...deploy, parameters: [env] }] }] });
    await chat.say('e1', { names: ['deploy'], commandRest: '' });
    await chat.reached('e1', 'ignored');
    expect(await chat.saidTo('e1')).toEqual([expect.stringMatching(/^A parameter is missing:\n- env/)]);
  });
});

describe('it is stopped', () => {
  test('while its agent works', async () => {
    const chat = begin({ handler: hangs, triggers: [silent] });
    await chat.say('e1');
    await chat.reached('e1', 'running');
    await until('it is cancelled', () => chat.deliveries.cancel('e1', 'not wanted'));
    expect(await chat.reached('e1', 'ignored')).toMatchObject({ note: 'not wanted' });
    expect(await chat.saidTo('e1')).toEqual([STOPPED]);
  });

  test('before its agent has begun, between two attempts, and while it is parked: with the commit of that', async () => {
    let run: Handler = hangs;
    const chat = begin({
      triggers: [{ ...silent, retry: { ...quickRetry, min_backoff_seconds: 60, max_backoff_seconds: 60 } }],
      handler: { run: (job, context) => run.run(job, context) },
    });
    await chat.say('first');
    await chat.reached('first', 'running');
    await chat.say('waits');
    expect(await chat.deliveries.discard('waits', 'discarded by an operator')).toBe(true);
    run = failing(false);
    await chat.say('fails', {}, 'hall');
    await chat.reached('fails', 'retrying');
    expect(await chat.deliveries.discard('fails', 'discarded by an operator')).toBe(true);
    run = { run: async () => ({ parkedOn: 'yes' }) };
    await chat.say('parks', {}, 'garden');
    await chat.reached('parks', 'waiting');
    expect(await chat.deliveries.cancel('parks', 'not wanted')).toBe(true);
    for (const id of ['waits', 'fails', 'parks']) {
      expect(await chat.store.delivery(`outbox:${id}/failed/1`)).toBeDefined();
      expect(await chat.saidTo(id)).toEqual([STOPPED]);
    }
    expect(await chat.saidTo('first')).toEqual([]);
  });

  test('while its trigger is paused: that it waits is not said any more', async () => {
    let aheadMs = 0;
    const store = new MemoryStore({ now: () => Date.now() + aheadMs });
    const chat = begin({ store, triggers: [{ ...silent, on_failure: 'reply' }] });
    await chat.pauses.pause(chat.store, 'chat');
    await chat.say('e1');
    await chat.say('e2', {}, 'hall');
    await chat.reached('e1', 'held');
    await chat.reached('e2', 'held');
    expect(await chat.deliveries.discard('e1', 'not wanted')).toBe(true);
    aheadMs = 10_000;
    store.noticeTime();
    await until('the other has heard', async () => (await chat.saidTo('e2')).length > 0);
    expect(await chat.saidTo('e1')).toEqual([STOPPED]);
  });

  test('after it had failed: it has been told of its end', async () => {
    const chat = begin({ triggers: [silent], handler: failing(true) });
    await chat.say('e1');
    await chat.reached('e1', 'dead');
    expect(await chat.deliveries.discard('e1', 'discarded by an operator')).toBe(true);
    expect(await chat.saidTo('e1')).toEqual([FAILED]);
  });
});

describe('it is told once', () => {
  test.each([
    ['in memory', () => new MemoryStore()],
    ['on disk', () => openEngineStore({ file: join(storeFolder(), 'store.sqlite'), now: Date.now() }).store],
  ])('however often it is run again, and however it ends then (%s)', async (_, open) => {
    let handler: Handler = failing(true);
    const chat = begin({
      store: open(),
      triggers: [silent],
      handler: { run: (job, context) => handler.run(job, context) },
    });
    await chat.say('e1');
    await chat.reached('e1', 'dead');
    handler = hangs;
    await chat.deliveries.requeue('e1');
    await chat.reached('e1', 'running');
    await until('it is cancelled', () => chat.deliveries.cancel('e1', 'not wanted'));
    await chat.reached('e1', 'ignored');
    chat.triggers.set('chat', { ...silent, default_target: undefined });
    await chat.deliveries.requeue('e1');
    await chat.reached('e1', 'ignored');
    expect(await chat.saidTo('e1')).toEqual([FAILED]);
    // An answer is another thing.
    handler = { run: async () => ({ text: 'yes' }) };
    chat.triggers.set('chat', silent);
    await chat.deliveries.requeue('e1');
    await chat.reached('e1', 'done');
    expect(await chat.saidTo('e1')).toEqual([FAILED, 'yes']);
  });

  test('what an adapter cannot put into words ends nothing but that', async () => {
    const chat = begin({ triggers: [{ ...silent, default_target: undefined }] });
    Object.assign(chat.adapter.outbound ?? {}, {
      render: () => {
        throw new Error('a fault of the adapter');
      },
    });
    await chat.say('e1');
    await chat.reached('e1', 'ignored');
    await chat.say('e2');
    await chat.reached('e2', 'ignored');
    expect(chat.log.lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });
});
