// The fake bot platform with a real third-party client (grammY), by polling and by webhook. Gateway tests
// rely on this fake.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Bot as Client, type Context, GrammyError, HttpError, webhookCallback } from 'grammy';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../fixtures/automation/automation.ts';
import type { Bot } from '../fixtures/bot-platform/bot.ts';
import { BotError, tooManyRequests } from '../fixtures/bot-platform/bot-error.ts';
import { BotPlatform } from '../fixtures/bot-platform/bot-platform.ts';
import { buttonsOf } from '../fixtures/bot-platform/methods-message.ts';

let platform: BotPlatform;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  platform = await new BotPlatform().start();
});

afterEach(async () => {
  for (const end of cleanups.splice(0)) await end();
  await platform.stop();
});

const clientOf = (bot: Bot) => new Client(bot.token, { client: { apiRoot: platform.url } });

/** Resolves when the client polls. */
async function polling(bot: Bot, client: Client): Promise<void> {
  const run = client.start();
  cleanups.push(async () => {
    await client.stop();
    await run;
  });
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GrammyError);
  const { error_code, description } = error as GrammyError;
  return `${error_code} ${description}`;
}

test('the test bot platform gives a polling client messages, commands and presses, and shows its answers', async () => {
  const bot = platform.addBot('echo_bot');
  const ann = platform.person('Ann', 'ann');
  const chat = platform.privateChat(ann, bot);
  const client = clientOf(bot);
  client.command('start', (context: Context) =>
    context.reply('choose', { reply_markup: { inline_keyboard: [[{ text: 'Go', callback_data: 'go' }]] } }),
  );
  client.on('callback_query:data', async (context) => {
    await context.answerCallbackQuery({ text: 'on it' });
    await context.editMessageText(`chosen: ${context.callbackQuery.data}`);
  });
  client.on('edited_message:text', (context) => context.reply(`edited: ${context.editedMessage.text}`));
  client.on('message:text', (context) => context.reply(`heard: ${context.message.text}`));
  await polling(bot, client);

  platform.say(chat, ann, '/start');
  await eventually(() => expect(platform.messagesBy(bot, chat)).toHaveLength(1));
  const [menu] = platform.messagesBy(bot, chat);
  expect(buttonsOf(menu!)).toEqual([{ text: 'Go', callback_data: 'go' }]);
  const query = platform.press(bot, ann, menu!, 'go');
  await eventually(() => expect(platform.messagesBy(bot, chat)[0]?.text).toBe('chosen: go'));
  expect(bot.queries.get(query)?.answer).toBe('on it');
  platform.edit(chat, platform.say(chat, ann, 'hello'), 'hello again');
  await eventually(() =>
    expect(platform.messagesBy(bot, chat).map(({ text }) => text)).toEqual([
      'chosen: go',
      'heard: hello',
      'edited: hello again',
    ]),
  );
  await eventually(() => expect(bot.updates.pending).toHaveLength(0));
});

test('the test bot platform posts updates once, in order, and again after a response other than 2xx', async () => {
  const bot = platform.addBot('hook_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const client = clientOf(bot);
  const messages: string[] = [];
  client.on('message:text', (context) => void messages.push(context.message.text));
  await client.init();
  const handle = webhookCallback(client, 'http', { secretToken: 'the_secret-1' });
  let failures = 1;
  const server = createServer((request, response) => {
    if (failures-- > 0) response.writeHead(503).end();
    else void handle(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  cleanups.push(async () => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;

  await client.api.setWebhook(url, { secret_token: 'another' });
  platform.say(chat, ann, 'one');
  await eventually(async () =>
    expect((await client.api.getWebhookInfo()).last_error_message).toContain('401'),
  );
  expect(messages).toEqual([]);
  expect(await refusalOf(client.api.getUpdates())).toContain("409 Conflict: can't use getUpdates");
  await client.api.setWebhook(url, { secret_token: 'the_secret-1' });
  platform.say(chat, ann, 'two');
  await eventually(() => expect(messages).toEqual(['one', 'two']));
  await client.api.deleteWebhook();
  expect((await client.api.getWebhookInfo()).url).toBe('');
});

test('topics, replies, limits and refusals of the test bot platform behave like those of the real platform', async () => {
  const bot = platform.addBot('strict_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const group = platform.supergroup('The team', bot);
  const forum = platform.forum('The forum', bot);
  const topic = forum.addTopic();
  const { api } = clientOf(bot);
  const send = (text: string, more = {}) => api.sendMessage(group.id, text, more);

  expect((await api.getMe()).username).toBe('strict_bot');
  expect(await api.sendMessage(forum.id, 'here', { message_thread_id: topic })).toMatchObject({
    is_topic_message: true,
    message_thread_id: topic,
  });
  expect(await refusalOf(send('x', { message_thread_id: 4 }))).toBe(
    '400 Bad Request: message thread not found',
  );
  expect(await refusalOf(send(''))).toBe('400 Bad Request: message text is empty');
  expect(await refusalOf(send('x'.repeat(4097)))).toBe('400 Bad Request: message is too long');
  const button = { text: 'b', callback_data: 'é'.repeat(33) };
  expect(await refusalOf(send('x', { reply_markup: { inline_keyboard: [[button]] } }))).toContain(
    'DATA_INVALID',
  );
  expect(await refusalOf(send('x', { reply_parameters: { message_id: 99 } }))).toContain('replied not found');
  await send('x', { reply_parameters: { message_id: 99, allow_sending_without_reply: true } });
  const message = await send('first');
  expect(await refusalOf(api.editMessageText(group.id, message.message_id, 'first'))).toContain(
    'not modified',
  );
  await api.editMessageText(group.id, message.message_id, 'second');
  expect(await refusalOf(api.editMessageText(group.id, 77, 'second'))).toContain('message to edit not found');
  await api.sendChatAction(chat.id, 'typing');
  await api.setMessageReaction(group.id, message.message_id, [{ type: 'emoji', emoji: '👀' }]);
  expect(await refusalOf(api.answerCallbackQuery('42'))).toContain('query ID is invalid');
  expect(await refusalOf(api.sendMessage(4711, 'x'))).toBe('400 Bad Request: chat not found');
  await api.setMyCommands([{ command: 'start', description: 'Begin' }]);
  expect(await api.getMyCommands()).toEqual([{ command: 'start', description: 'Begin' }]);
  expect(await refusalOf(api.setMyCommands([{ command: 'Start', description: 'x' }]))).toContain(
    'COMMAND_INVALID',
  );
  const many = Array.from({ length: 101 }, (_, index) => ({ command: `c${index}`, description: 'x' }));
  expect(await refusalOf(api.setMyCommands(many))).toContain('BOT_COMMANDS_TOO_MUCH');
  expect(bot.menu).toHaveLength(1);

  const small = platform.group('Small', bot);
  const large = platform.migrate(small, 'Large');
  const moved = await api.sendMessage(small.id, 'x').catch((error: GrammyError) => error);
  expect((moved as GrammyError).parameters).toEqual({ migrate_to_chat_id: large.id });
  chat.blocked.add(bot.id);
  expect(await refusalOf(api.sendMessage(chat.id, 'x'))).toBe('403 Forbidden: bot was blocked by the user');
  bot.isRevoked = true;
  expect(await refusalOf(api.getMe())).toBe('401 Unauthorized');
});

test('a second getUpdates poll at the test bot platform aborts the first, and its offset confirms older updates', async () => {
  const bot = platform.addBot('poll_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const { api } = clientOf(bot);
  const first = refusalOf(api.getUpdates({ timeout: 30 }));
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
  const second = api.getUpdates({ timeout: 30 });
  expect(await first).toContain('409 Conflict: terminated by other getUpdates request');
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
  platform.say(chat, ann, 'one');
  platform.say(chat, ann, 'two');
  const [update] = await second;
  const ids = (await api.getUpdates()).map(({ update_id }) => update_id);
  expect(ids).toEqual([update!.update_id, update!.update_id + 1]);
  expect(await api.getUpdates({ offset: update!.update_id + 1 })).toHaveLength(1);
  expect(await api.getUpdates({ offset: update!.update_id + 2 })).toHaveLength(0);
  // The ids restart, possibly at a lower number, when a week has passed without updates. The old offset must
  // not hide them.
  bot.updates.renumber(12);
  platform.say(chat, ann, 'three');
  expect((await api.getUpdates({ offset: update!.update_id + 2 }))[0]?.update_id).toBe(12);
  expect(await api.getUpdates({ offset: 13 })).toHaveLength(0);
});

test('the test bot platform produces the rate limits and faults that a test has planned', async () => {
  const bot = platform.addBot('fault_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const { api } = clientOf(bot);
  platform.meter.limits = { chatEveryMs: 400 };
  await api.sendMessage(chat.id, 'one');
  const error = await api.sendMessage(chat.id, 'two').catch((reason: GrammyError) => reason);
  expect((error as GrammyError).parameters).toEqual({ retry_after: 1 });
  platform.meter.limits = {};
  platform.faults.plan('sendMessage', { kind: 'error', error: tooManyRequests(7) });
  expect(await refusalOf(api.sendMessage(chat.id, 'x'))).toBe('429 Too Many Requests: retry after 7');
  platform.faults.plan('sendMessage', { kind: 'cut after' });
  await expect(api.sendMessage(chat.id, 'cut')).rejects.toBeInstanceOf(HttpError);
  expect(platform.messagesBy(bot, chat).map(({ text }) => text)).toEqual(['one', 'cut']);
  platform.faults.plan('sendMessage', { kind: 'cut' });
  await expect(api.sendMessage(chat.id, 'x')).rejects.toBeInstanceOf(HttpError);
  platform.faults.plan('sendMessage', { kind: 'page', status: 502 });
  await expect(api.sendMessage(chat.id, 'x')).rejects.toBeInstanceOf(HttpError);
  platform.faults.plan('sendMessage', { kind: 'error', error: new BotError(500, 'Internal Server Error') });
  expect(await refusalOf(api.sendMessage(chat.id, 'x'))).toContain('500');
  platform.faults.plan('sendMessage', { kind: 'hang' });
  const hung = AbortSignal.timeout(300) as never;
  await expect(api.sendMessage(chat.id, 'x', {}, hung)).rejects.toThrow();
  expect(platform.messagesBy(bot, chat)).toHaveLength(2);
});
