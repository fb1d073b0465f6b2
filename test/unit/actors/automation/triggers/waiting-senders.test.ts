// A platform shows "thinking …" to the sender of a command. If no answer follows, for any reason, the sender
// is notified. Dispatcher and store are real.

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
/** Trigger without failure notices. */
const silent: ManualTrigger = { ...manualTrigger('chat'), retry: once, on_failure: 'silent' };

const UNANSWERED = 'Sorry, nothing here can answer that.';
const REFUSED = 'Sorry, that is not allowed here, or not for you.';
const STOPPED = 'This was stopped. There will be no answer.';
const FAILED = 'Sorry, that failed and will not be retried.';

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

describe('the sender is notified that no trigger accepts the event', () => {
  test.each([
    ['no trigger has its command', { ...silent, default_target: undefined }, {}, {}, UNANSWERED],
    ['the adapter does not support it', silent, { unsupported: 'a form of 2031' }, {}, UNANSWERED],
    ['a chat filter refuses it', silent, { channel: 'elsewhere' }, {}, REFUSED],
    ['an adapter filter refuses it', silent, {}, { accepts: () => false }, REFUSED],
  ] as [string, ManualTrigger, Partial<InboundEvent>, WaitingChatOptions['adapter'], string][])(
    'because %s',
    async (_, trigger, what, more, expectedText) => {
      const filters = () => chatFilters({ channels: ['room'] });
      const chat = begin({ triggers: [trigger], adapter: { filters, ...more } });
      await chat.say('e1', what);
      await chat.say('e2', { ...what, isAwaited: false });
      await chat.waitForState('e1', 'ignored');
      await chat.waitForState('e2', 'ignored');
      expect([await chat.waitForTexts('e1'), await chat.waitForTexts('e2')]).toEqual([[expectedText], []]);
    },
  );

  test('by another trigger of the account, if the triggers of the event were removed', async () => {
    const triggers = [manualTrigger('other'), manualTrigger('own')];
    const account = ({ name }: { name: string }) => (name === 'own' ? 'app' : 'another app');
    const chat = begin({ triggers, adapter: { account } });
    await chat.say('e1', { triggers: ['gone'] });
    expect(await chat.waitForState('e1', 'ignored')).toMatchObject({
      note: 'its triggers were removed or disabled',
    });
    expect(await chat.waitForTexts('e1')).toEqual([UNANSWERED]);
    const [row] = await chat.store.deliveries({ keyPrefix: 'outbox/', limit: 9 });
    expect(row).toMatchObject({ trigger: 'own', key: 'outbox/manual/app/room' });
    // The account has no more triggers.
    chat.triggers.delete('own');
    await chat.say('e2', { triggers: ['gone'] });
    await chat.waitForState('e2', 'ignored');
    expect(await chat.waitForTexts('e2')).toEqual([]);
    expect(chat.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('if a trigger is removed before its answer is sent', () => {
  /** Sends an event to the agent. `answer` completes the agent's reply. */
  const sendRequest = async () => {
    const requests: string[] = [];
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const run: Handler['run'] = async ({ event }) => {
      requests.push(event.id);
      await answered;
      return { text: `answer to ${event.id}` };
    };
    const chat = begin({ handler: { run } });
    await chat.say('e1');
    await until('the agent runs', () => requests.length === 1);
    return { chat, answer: () => answer() };
  };

  test('another trigger of the account sends the answer, and the following messages in order', async () => {
    const { chat, answer } = await sendRequest();
    await chat.say('e2', { triggers: ['chat', 'renamed'] });
    chat.triggers.delete('chat');
    chat.triggers.set('renamed', manualTrigger('renamed'));
    answer();
    await chat.waitForState('e2', 'done');
    expect([await chat.waitForTexts('e1'), await chat.waitForTexts('e2')]).toEqual([
      ['answer to e1'],
      ['answer to e2'],
    ]);
    expect(chat.sentMessages.map(({ to }) => to)).toEqual(['e1', 'e2']);
    expect(await chat.waitForState('outbox:e1/1', 'done')).toMatchObject({
      key: 'outbox/manual/app/room',
      trigger: 'renamed',
    });
  });

  test('another trigger sends the failure notice', async () => {
    const chat = begin({ triggers: [silent], handler: failing(true) });
    chat.refusesMessages = true;
    await chat.say('e1');
    await chat.waitForState('outbox:e1/failed/1', 'dead');
    chat.triggers.delete('chat');
    chat.triggers.set('renamed', manualTrigger('renamed'));
    chat.refusesMessages = false;
    await chat.deliveries.requeue('outbox:e1/failed/1');
    expect(await chat.waitForTexts('e1')).toEqual([FAILED]);
  });

  test('the answer is dropped with a note if no trigger of the account is left', async () => {
    const { chat, answer } = await sendRequest();
    chat.triggers.delete('chat');
    answer();
    expect(await chat.waitForState('outbox:e1/1', 'ignored')).toMatchObject({
      trigger: 'chat',
      note: 'trigger chat no longer exists, and no other can send it',
    });
    expect(chat.sentMessages).toEqual([]);
  });
});

describe('the sender is notified that there is no answer', () => {
  test('because the answer is blank', async () => {
    const chat = begin({ handler: { run: async () => ({ text: ' ' }) } });
    await chat.say('e1');
    await chat.say('e2', { isAwaited: false });
    expect(await chat.waitForState('e1', 'done')).toMatchObject({ answer: ' ' });
    await chat.waitForState('e2', 'done');
    expect([await chat.waitForTexts('e1'), await chat.waitForTexts('e2')]).toEqual([['Done.'], []]);
  });

  test.each([true, false])(
    'because the event is dead, even with on_failure: silent (final: %s)',
    async (isFinal) => {
      const chat = begin({ triggers: [silent], handler: failing(isFinal) });
      await chat.say('e1');
      await chat.say('e2', { isAwaited: false });
      await chat.waitForState('e1', 'dead');
      await chat.waitForState('e2', 'dead');
      expect([await chat.waitForTexts('e1'), await chat.waitForTexts('e2')]).toEqual([[FAILED], []]);
    },
  );

  test('by a trigger that matched by channel name, even if the name can no longer be looked up', async () => {
    let isKnown = true;
    const trigger: ManualTrigger = { ...manualTrigger('chat'), retry: once, on_failure: 'reply' };
    const chat = begin({
      triggers: [trigger],
      handler: failing(true),
      adapter: {
        filters: () => chatFilters({ channels: ['#ops'] }),
        addLookups: async (event) => {
          if (!isKnown) throw new DeliveryError('the platform is away', { isRateLimited: true });
          return { ...event, channelAliases: ['ops'] };
        },
      },
    });
    await chat.say('e1', { isAwaited: false });
    await chat.waitForState('e1', 'dead');
    expect(await chat.waitForTexts('e1')).toEqual([FAILED]);
    await chat.pauses.pause(chat.store, 'chat');
    await chat.say('e2');
    await chat.waitForState('e2', 'held');
    await chat.deliveries.discard('e2', 'by hand');
    expect(await chat.waitForTexts('e2')).toEqual([STOPPED]);
    // The gateway cannot tell yet whether a trigger accepts the event.
    isKnown = false;
    await chat.say('e3', { isAwaited: false });
    await until('the event was deferred', async () => (await chat.store.delivery('e3'))?.deferrals === 1);
    expect(await chat.store.delivery('e3')).toMatchObject({ trigger: undefined });
    expect(await chat.waitForTexts('e3')).toEqual([]);
  });

  test('because the agent and the trigger of the event were removed', async () => {
    const retry = { ...quickRetry, attempts: 2, min_backoff_seconds: 0.3, max_backoff_seconds: 0.3 };
    const chat = begin({
      triggers: [{ ...manualTrigger('chat'), retry }, manualTrigger('left')],
      handler: () => undefined,
    });
    await chat.say('e1');
    await chat.waitForState('e1', 'retrying');
    chat.triggers.delete('chat');
    await chat.waitForState('e1', 'ignored');
    expect(await chat.waitForTexts('e1')).toEqual([UNANSWERED]);
  });

  test('because a parameter is missing, with the help text only', async () => {
    const env = { name: 'env', description: undefined, required: true, default: undefined };
    const deploy = {
      command: 'deploy',
      target: { kind: 'agent', name: 'a' },
      description: undefined,
    } as const;
    const chat = begin({ triggers: [{ ...silent, commands: [{ ...deploy, parameters: [env] }] }] });
    await chat.say('e1', { names: ['deploy'], commandRest: '' });
    await chat.waitForState('e1', 'ignored');
    expect(await chat.waitForTexts('e1')).toEqual([expect.stringMatching(/^A parameter is missing:\n- env/)]);
  });
});

describe('the sender is notified that the event was stopped', () => {
  test('while its agent runs', async () => {
    const chat = begin({ handler: hangs, triggers: [silent] });
    await chat.say('e1');
    await chat.waitForState('e1', 'running');
    await until('the event is cancelled', () => chat.deliveries.cancel('e1', 'not wanted'));
    expect(await chat.waitForState('e1', 'ignored')).toMatchObject({ note: 'not wanted' });
    expect(await chat.waitForTexts('e1')).toEqual([STOPPED]);
  });

  test('in the same commit, if the event is stopped before it starts, between attempts or while parked', async () => {
    let run: Handler = hangs;
    const chat = begin({
      triggers: [{ ...silent, retry: { ...quickRetry, min_backoff_seconds: 60, max_backoff_seconds: 60 } }],
      handler: { run: (job, context) => run.run(job, context) },
    });
    await chat.say('first');
    await chat.waitForState('first', 'running');
    await chat.say('waits');
    expect(await chat.deliveries.discard('waits', 'discarded by an operator')).toBe(true);
    run = failing(false);
    await chat.say('fails', {}, 'hall');
    await chat.waitForState('fails', 'retrying');
    expect(await chat.deliveries.discard('fails', 'discarded by an operator')).toBe(true);
    run = { run: async () => ({ parkedOn: 'yes' }) };
    await chat.say('parks', {}, 'garden');
    await chat.waitForState('parks', 'waiting');
    expect(await chat.deliveries.cancel('parks', 'not wanted')).toBe(true);
    for (const id of ['waits', 'fails', 'parks']) {
      expect(await chat.store.delivery(`outbox:${id}/failed/1`)).toBeDefined();
      expect(await chat.waitForTexts(id)).toEqual([STOPPED]);
    }
    expect(await chat.waitForTexts('first')).toEqual([]);
  });

  test('while its trigger is paused, instead of the notice that the event waits', async () => {
    let aheadMs = 0;
    const store = new MemoryStore({ now: () => Date.now() + aheadMs });
    const chat = begin({ store, triggers: [{ ...silent, on_failure: 'reply' }] });
    await chat.pauses.pause(chat.store, 'chat');
    await chat.say('e1');
    await chat.say('e2', {}, 'hall');
    await chat.waitForState('e1', 'held');
    await chat.waitForState('e2', 'held');
    expect(await chat.deliveries.discard('e1', 'not wanted')).toBe(true);
    aheadMs = 10_000;
    store.noticeTime();
    await until('the other sender is notified', async () => (await chat.waitForTexts('e2')).length > 0);
    expect(await chat.waitForTexts('e1')).toEqual([STOPPED]);
  });

  test('unless the event had failed before, which has its own notice', async () => {
    const chat = begin({ triggers: [silent], handler: failing(true) });
    await chat.say('e1');
    await chat.waitForState('e1', 'dead');
    expect(await chat.deliveries.discard('e1', 'discarded by an operator')).toBe(true);
    expect(await chat.waitForTexts('e1')).toEqual([FAILED]);
  });
});

describe('the sender is notified once', () => {
  test.each([
    ['in memory', () => new MemoryStore()],
    ['on disk', () => openEngineStore({ file: join(storeFolder(), 'store.sqlite'), now: Date.now() }).store],
  ])('for any number of attempts and any outcome (%s)', async (_, open) => {
    let handler: Handler = failing(true);
    const chat = begin({
      store: open(),
      triggers: [silent],
      handler: { run: (job, context) => handler.run(job, context) },
    });
    await chat.say('e1');
    await chat.waitForState('e1', 'dead');
    handler = hangs;
    await chat.deliveries.requeue('e1');
    await chat.waitForState('e1', 'running');
    await until('the event is cancelled', () => chat.deliveries.cancel('e1', 'not wanted'));
    await chat.waitForState('e1', 'ignored');
    chat.triggers.set('chat', { ...silent, default_target: undefined });
    await chat.deliveries.requeue('e1');
    await chat.waitForState('e1', 'ignored');
    expect(await chat.waitForTexts('e1')).toEqual([FAILED]);
    // The answer is a separate message.
    handler = { run: async () => ({ text: 'yes' }) };
    chat.triggers.set('chat', silent);
    await chat.deliveries.requeue('e1');
    await chat.waitForState('e1', 'done');
    expect(await chat.waitForTexts('e1')).toEqual([FAILED, 'yes']);
  });

  test('or not at all if the adapter cannot render the notice, and the event ends nevertheless', async () => {
    const chat = begin({ triggers: [{ ...silent, default_target: undefined }] });
    Object.assign(chat.adapter.outbound ?? {}, {
      render: () => {
        throw new Error('a fault of the adapter');
      },
    });
    await chat.say('e1');
    await chat.waitForState('e1', 'ignored');
    await chat.say('e2');
    await chat.waitForState('e2', 'ignored');
    expect(chat.log.lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });
});
