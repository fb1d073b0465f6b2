// Outbound messages of a bot, with the fake platform over real HTTP: receipts, edits, refusals, migrated
// groups, and pressed buttons.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../../../../actors/events/outbox/outbound.ts';
import { outboxRows, renderedOf } from '../../../../../actors/events/outbox/rows.ts';
import { botMessengerAdapter } from '../../../../../actors/platforms/botmessenger/adapter.ts';
import { BotApi } from '../../../../../actors/platforms/botmessenger/api.ts';
import { QueryAnswers } from '../../../../../actors/platforms/botmessenger/query-answers.ts';
import type { BotCall } from '../../../../../actors/platforms/botmessenger/render-message.ts';
import type { BotMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';
import type { Bot } from '../../../../fixtures/bot-platform/bot.ts';
import { BotError, tooManyRequests } from '../../../../fixtures/bot-platform/bot-error.ts';
import { BotPlatform } from '../../../../fixtures/bot-platform/bot-platform.ts';
import type { Chat } from '../../../../fixtures/bot-platform/chat.ts';
import type { Fault } from '../../../../fixtures/bot-platform/fault.ts';
import { buttonsOf } from '../../../../fixtures/bot-platform/methods-message.ts';

let platform: BotPlatform;
let bot: Bot;
let chat: Chat;
let trigger: BotMessengerTrigger;
let outbound: Outbound<BotMessengerTrigger>;
const receipts = new Map<string, SendReceipt>();

beforeEach(async () => {
  platform = await new BotPlatform().start();
  bot = platform.addBot('a_bot');
  chat = platform.privateChat(platform.person('Ann'), bot);
  const config = { bot_token: bot.token, api_root: platform.url, chat_ids: [] };
  trigger = { name: 't', type: 'BotMessenger', config } as unknown as BotMessengerTrigger;
  const adapter = botMessengerAdapter(adapterServices());
  if (adapter.outbound === undefined) throw new Error('the adapter has no outbound part');
  outbound = adapter.outbound;
});

afterEach(() => platform.stop());

const context = (): SendContext => ({
  signal: AbortSignal.timeout(10_000),
  rowId: 'row',
  createdAt: Date.now(),
  wasTried: false,
  receiptOf: async (id) => receipts.get(id),
});

async function send(text: string, more: Partial<OutboundMessage> = {}): Promise<SendReceipt | undefined> {
  const message: OutboundMessage = {
    target: { place: String(chat.id) },
    action: { do: 'post' },
    text,
    ...more,
  };
  let receipt: SendReceipt | undefined;
  for (const rendered of outbound.render(trigger, message)) receipt = await sendPaced(rendered);
  return receipt;
}

/** Longer than the send interval of a bot, shorter than any pause that the platform requests. */
const MOMENT_MS = 100;

/** Sends a message; retries while the gateway's rate limit applies. */
async function sendPaced(rendered: object): Promise<SendReceipt> {
  for (;;)
    try {
      return await outbound.send(trigger, rendered, context());
    } catch (error) {
      if (!(error instanceof DeliveryError && error.isUncontacted)) throw error;
      const { retryAfterMs = Number.POSITIVE_INFINITY } = error;
      if (retryAfterMs > MOMENT_MS) throw error;
      await new Promise((done) => setTimeout(done, retryAfterMs));
    }
}

const refusalOf = (sending: Promise<unknown>): Promise<DeliveryError> =>
  sending.then(
    () => Promise.reject(new Error('the request succeeded')),
    (error: DeliveryError) => error,
  );

test('a sent message has the platform’s id for later edits, and a repeated edit succeeds', async () => {
  const receipt = await send('first');
  expect(platform.messagesBy(bot, chat)[0]).toMatchObject({ message_id: Number(receipt?.id), text: 'first' });
  receipts.set('outbox:e/1', receipt!);
  const action = { do: 'edit', of: 'outbox:e/1' } as const;
  expect(await send('second', { action })).toEqual(receipt);
  expect(await send('second', { action })).toEqual(receipt);
  expect(platform.messagesBy(bot, chat).map(({ text }) => text)).toEqual(['second']);
  await send('third', { action: { do: 'edit', of: 'outbox:none/1' } });
  expect(platform.messagesBy(bot, chat).map(({ text }) => text)).toEqual(['second', 'third']);
});

test('an edit of a chat message without buttons removes its buttons', async () => {
  const card = { actions: [{ id: 'a', title: 'A' }] };
  receipts.set('outbox:e/1', (await send('asked', { card }))!);
  expect(buttonsOf(platform.messagesBy(bot, chat)[0]!).length).toBe(1);
  await send('decided', { action: { do: 'edit', of: 'outbox:e/1' } });
  expect(buttonsOf(platform.messagesBy(bot, chat)[0]!)).toEqual([]);
});

test.each(['message to edit not found', "message can't be edited", 'MESSAGE_ID_INVALID'])(
  'an edit that the platform refuses with `%s` reports that the message is missing',
  async (words) => {
    receipts.set('outbox:e/1', { id: '77' });
    platform.faults.plan('editMessageText', {
      kind: 'error',
      error: new BotError(400, `Bad Request: ${words}`),
    });
    const error = await refusalOf(send('x', { action: { do: 'edit', of: 'outbox:e/1' } }));
    expect(error).toMatchObject({
      isFinal: true,
      isTargetMissing: true,
      message: expect.stringContaining(words),
    });
    const other = new BotError(400, 'Bad Request: message is too long');
    platform.faults.plan('editMessageText', { kind: 'error', error: other });
    const final = await refusalOf(send('x', { action: { do: 'edit', of: 'outbox:e/1' } }));
    expect(final).toMatchObject({ isFinal: true, isTargetMissing: false });
  },
);

test('an edit after a group became a supergroup fails as message missing, and the next attempt posts anew', async () => {
  chat = platform.group('Team', bot);
  receipts.set('outbox:e/1', (await send('first'))!);
  const large = platform.migrate(chat, 'Large');
  const edit = { action: { do: 'edit', of: 'outbox:e/1' } } as const;
  expect(await refusalOf(send('second', edit))).toMatchObject({ isTargetMissing: true });
  receipts.delete('outbox:e/1');
  await send('second', edit);
  expect(platform.messagesBy(bot, large).map(({ text }) => text)).toEqual(['second']);
});

test('mentions in an answer are kept, unless the trigger suppresses them', () => {
  const account = { platform: 'botmessenger', account: '1' };
  const target = { place: String(chat.id) };
  const text = (mentions: 'none' | 'allow') => {
    const message = {
      target,
      action: { do: 'post' },
      text: 'ask `@ann_b` @**ann** &#64;cy **x**, not a@example.org',
      mentions,
    } as const;
    const [row] = outboxRows(outbound, account, trigger, message, { eventId: 'e', trace: '' });
    const { text: written, entities } = (renderedOf(row!) as BotCall).parameters;
    const styled = (entities as { offset: number; length: number }[]).map(({ offset, length }) =>
      String(written).slice(offset, offset + length),
    );
    return [written, ...styled];
  };
  expect(text('allow')).toEqual(['ask @ann_b @ann @cy x, not a@example.org', '@ann_b', 'ann', 'x']);
  expect(text('none')).toEqual([
    'ask @\u2060ann_b @\u2060ann @\u2060cy x, not a@example.org',
    ...['@\u2060ann_b', 'ann', 'x'],
  ]);
});

test('a reaction is set on a chat message and returns no message id', async () => {
  const message = platform.say(chat, platform.person('Bob'), 'hi');
  const to = String(message.message_id);
  expect(await send('', { action: { do: 'react', to, emoji: '👀' } })).toEqual({ id: '' });
  expect(chat.messages.get(message.message_id)?.reactions).toEqual([{ type: 'emoji', emoji: '👀' }]);
});

describe('a refused message', () => {
  test.each<[string, BotError, object]>([
    [
      'permanent error',
      new BotError(400, 'Bad Request: chat not found'),
      {
        platformCode: 400,
        isFinal: true,
        message: '400 invalid request: Bad Request: chat not found',
      },
    ],
    [
      'blocked bot',
      new BotError(403, 'Forbidden: bot was blocked by the user'),
      { platformCode: 403, isFinal: true, message: expect.stringContaining('blocked by the user') },
    ],
    ['invalid token', new BotError(401, 'Unauthorized'), { platformCode: 401, isFinal: true }],
    ['rate limit', tooManyRequests(7), { isRateLimited: true, isFinal: false, retryAfterMs: 7_000 }],
    ['server error', new BotError(500, 'Internal Server Error'), { isFinal: false, isRateLimited: false }],
  ])('reports the cause: %s', async (_what, error, expected) => {
    platform.faults.plan('sendMessage', { kind: 'error', error });
    expect(await refusalOf(send('hello'))).toMatchObject(expected);
  });

  test.each<[string, Fault]>([
    ['an error page of a proxy', { kind: 'page', status: 502 }],
    ['a page with status 200', { kind: 'page', status: 200 }],
    ['a lost response', { kind: 'cut after' }],
  ])('reports that it may have been sent, without the bot token: %s', async (_what, fault) => {
    platform.faults.plan('sendMessage', fault);
    const error = await refusalOf(send('hello'));
    expect(error).toMatchObject({ isFinal: false, isRateLimited: false, isOutcomeUnknown: true });
    expect(error.message).not.toContain(bot.token.split(':')[1]);
  });

  test('due to the rate limit of one chat does not delay other chats', async () => {
    const other = platform.group('Team', bot);
    platform.faults.plan('sendMessage', { kind: 'error', error: tooManyRequests(30) });
    await refusalOf(send('one'));
    expect(await refusalOf(send('two'))).toMatchObject({ isRateLimited: true });
    await send('three', { target: { place: String(other.id) } });
    expect(platform.callsOf('sendMessage')).toHaveLength(2);
  });
});

test('all messages to a migrated group are sent to the supergroup, also the first message', async () => {
  const group = platform.group('Team', bot);
  const supergroup = platform.migrate(group, 'Large team');
  const target = { place: String(group.id) };
  await send('one', { target });
  await send('two', { target });
  expect(platform.messagesBy(bot, supergroup).map(({ text }) => text)).toEqual(['one', 'two']);
  expect(platform.callsOf('sendMessage')).toHaveLength(3);
});

test('the typing indicator is shown in the forum topic of the message', async () => {
  const forum = platform.forum('Forum', bot);
  const topic = forum.addTopic();
  await outbound.showTyping?.(
    trigger,
    { place: String(forum.id), thread: String(topic) },
    AbortSignal.timeout(5_000),
  );
  expect(platform.callsOf('sendChatAction')[0]?.values).toEqual({
    chat_id: forum.id,
    message_thread_id: topic,
    action: 'typing',
  });
});

describe('a pressed button', () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} };

  test('is acknowledged, with a retry after a server error, without one if the platform refuses the id', async () => {
    const answers = new QueryAnswers(new BotApi(trigger.config), log);
    const message = platform.say(chat, platform.person('Ann'), 'x');
    platform.faults.plan('answerCallbackQuery', { kind: 'page', status: 502 });
    const id = platform.press(bot, platform.person('Ann'), message, 'go');
    answers.answer(id);
    await eventually(() => expect(bot.queries.get(id)?.answeredAt).toBeDefined());
    answers.answer('4711');
    await eventually(() => expect(platform.callsOf('answerCallbackQuery')).toHaveLength(3));
  });

  const denial = 'Sorry, only those who are named as approvers may decide.';
  const pressButton = () => {
    const person = platform.person('Ann');
    return platform.press(bot, person, platform.say(chat, person, 'x'), 'go');
  };

  test('shows the result to the person who pressed; a second result becomes a message', async () => {
    const press = pressButton();
    const tell = { do: 'tell', press, orElse: 'post' } as const;
    await send(denial, { action: tell, status: 'warning' });
    expect(bot.queries.get(press)).toMatchObject({ answer: denial, isAlert: true });
    expect(platform.messagesBy(bot, chat)).toEqual([]);
    await send(denial, { action: tell, status: 'warning' });
    expect(platform.messagesBy(bot, chat).map(({ text }) => text)).toEqual([denial]);
    await send(denial, { action: { ...tell, orElse: 'nothing' } });
    expect(platform.messagesBy(bot, chat)).toHaveLength(1);
  });

  test('shows the beginning of a long result', async () => {
    const press = pressButton();
    await send('x'.repeat(500), { action: { do: 'tell', press, orElse: 'post' }, status: 'success' });
    expect(bot.queries.get(press)).toMatchObject({ answer: `${'x'.repeat(199)}…`, isAlert: false });
  });

  test('is answered with its result, or with an empty answer after a timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const answers = new QueryAnswers(new BotApi(trigger.config), log);
      const [answered, late] = [pressButton(), pressButton()];
      answers.answerUnless(answered, (id) => id === answered);
      answers.answerUnless(late, () => false);
      await vi.advanceTimersByTimeAsync(3_000);
      expect(platform.callsOf('answerCallbackQuery')).toEqual([]);
      await vi.advanceTimersByTimeAsync(2_000);
    } finally {
      vi.useRealTimers();
    }
    await eventually(() =>
      expect(
        platform.callsOf('answerCallbackQuery').map(({ values }) => values.callback_query_id),
      ).toHaveLength(1),
    );
  });

  test('is acknowledged with at most eight concurrent API calls', async () => {
    const answers = new QueryAnswers(new BotApi(trigger.config), log);
    platform.faults.plan('answerCallbackQuery', { kind: 'hang' }, { times: 100 });
    for (let id = 0; id < 30; id += 1) answers.answer(`${id}`);
    await eventually(() => expect(platform.callsOf('answerCallbackQuery')).toHaveLength(8));
    platform.faults.clear();
    platform.cutHung();
    await eventually(() => expect(platform.callsOf('answerCallbackQuery').length).toBeGreaterThanOrEqual(30));
  });
});
