// Connection of a bot, with the fake platform over real HTTP: updates, command menu, and failing polls.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BotAccount } from '../../../../../actors/platforms/botmessenger/account.ts';
import { botMessengerAdapter } from '../../../../../actors/platforms/botmessenger/adapter.ts';
import { BotApi } from '../../../../../actors/platforms/botmessenger/api.ts';
import { botConnector, pollTimes } from '../../../../../actors/platforms/botmessenger/connector.ts';
import { ConnectionError } from '../../../../../actors/platforms/connections/connector.ts';
import type { StoredApproval } from '../../../../../actors/store/approval.ts';
import type { BotMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import type { Bot } from '../../../../fixtures/bot-platform/bot.ts';
import { BotError, badRequest, tooManyRequests } from '../../../../fixtures/bot-platform/bot-error.ts';
import { BotPlatform } from '../../../../fixtures/bot-platform/bot-platform.ts';
import type { Fault } from '../../../../fixtures/bot-platform/fault.ts';

let platform: BotPlatform;
let host: TestSourceHost;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  platform = await new BotPlatform().start();
  host = new TestSourceHost();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await platform.stop();
});

const triggerOf = (bot: Bot, commands: readonly object[] = []) =>
  ({
    name: 'ops',
    type: 'BotMessenger',
    commands,
    config: { bot_token: bot.token, api_root: platform.url, mode: 'polling', chat_ids: [] },
  }) as unknown as BotMessengerTrigger;

async function open(bot: Bot, commands: readonly object[] = [], at = host) {
  const { close } = await botMessengerAdapter(adapterServices(at)).open(triggerOf(bot, commands), at);
  closing.push(close);
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
  return close;
}

const ids = () => host.store.events.map(({ id }) => id.replace(/^botmessenger:(\d+)@[^/]*/, '$1'));

describe('an update', () => {
  test('with a reaction is stored only while an approval is pending', async () => {
    const bot = platform.addBot('a_bot', 9_000);
    const ann = platform.person('Ann');
    const chat = platform.privateChat(ann, bot);
    const message = platform.say(chat, ann, 'one');
    await open(bot);
    platform.react(chat, ann, message, '👍');
    platform.react(chat, ann, message, '❤');
    platform.say(chat, ann, 'two');
    await eventually(() => expect(host.store.events.length).toBe(2));
    host.store.approvals = async () => [{} as StoredApproval];
    platform.react(chat, ann, message, '👎');
    platform.react(chat, ann, message, '❤');
    platform.say(chat, ann, 'three');
    await eventually(() => expect(host.store.events.length).toBe(4));
    // A reaction has the control key of the chat, which ends with /commands.
    expect(host.store.events.map(({ key }) => key.endsWith('/commands'))).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  test.each([
    [undefined, 0],
    ['', 0],
    ['Hello', 1],
  ])(
    'about the arrival of the bot is stored only if a trigger has a welcome text: %j',
    async (welcome, events) => {
      const bot = platform.addBot('a_bot', 9_000);
      const ann = platform.person('Ann');
      const chat = platform.group('Team', bot);
      const openTrigger = { ...triggerOf(bot), welcome } as BotMessengerTrigger;
      const { close } = await botMessengerAdapter(adapterServices(host)).open(openTrigger, host);
      closing.push(close);
      await eventually(() => expect(bot.updates.isPolled).toBe(true));
      expect(bot.updates.allowed).toContain('my_chat_member');
      const of = (status: string) => ({ user: { id: bot.id, is_bot: true, first_name: 'a' }, status });
      const change = { chat: { id: chat.id, type: 'group' }, from: ann, date: 1 };
      const statuses = { old_chat_member: of('left'), new_chat_member: of('member') };
      bot.updates.add('my_chat_member', { ...change, ...statuses });
      platform.say(chat, ann, 'one');
      await eventually(() => expect(ids()).toContain(`${bot.id}/9001`));
      expect(ids()).toHaveLength(1 + events);
    },
  );

  test('is one event after redelivery, also for another process; an unknown update number is a new event', async () => {
    const bot = platform.addBot('a_bot', 9_000);
    const ann = platform.person('Ann');
    const chat = platform.privateChat(ann, bot);
    const close = await open(bot);
    const message = platform.say(chat, ann, 'one');
    const first = { update_id: 9_000, message };
    await eventually(() => expect(ids()).toEqual([`${bot.id}/9000`]));
    bot.updates.repeat(first, first);
    await eventually(() => expect(bot.updates.isPolled).toBe(true));
    await close();
    await eventually(() => expect(bot.updates.isPolled).toBe(false));
    await open(bot);
    bot.updates.repeat(first, { update_id: 12, message }, { update_id: 8_999, message });
    await eventually(() => expect(ids()).toEqual(['9000', '12', '8999'].map((id) => `${bot.id}/${id}`)));
    // The next poll continues from the highest number.
    await eventually(() => expect(platform.callsOf('getUpdates').at(-1)?.values.offset).toBe(9_000));
  });

  test('in a group with two bots is one event per bot, in separate conversations', async () => {
    const bots = [platform.addBot('a_bot', 7), platform.addBot('b_bot', 7)] as const;
    const group = platform.group('Team', ...bots);
    for (const bot of bots) await open(bot);
    platform.say(group, platform.person('Ann'), 'hello');
    await eventually(() => expect(ids().sort()).toEqual(bots.map(({ id }) => `${id}/7`).sort()));
    expect(new Set(host.store.events.map(({ key }) => key)).size).toBe(2);
  });

  test('of an unknown kind or shape is confirmed and ignored', async () => {
    const bot = platform.addBot('a_bot', 50);
    await open(bot);
    bot.updates.repeat(
      { update_id: 40, poll: { id: '1' } },
      { update_id: 41 },
      null,
      'text',
      { update_id: '42', message: {} },
      { update_id: 43, message: { chat: 5, from: [], text: { a: 1 } } },
      { update_id: 44, callback_query: 'x' },
    );
    await eventually(() => expect(platform.callsOf('getUpdates').at(-1)?.values.offset).toBe(45));
    expect(ids()).toEqual([]);
    const ann = platform.person('Ann');
    platform.say(platform.privateChat(ann, bot), ann, 'still there?');
    await eventually(() => expect(ids()).toEqual([`${bot.id}/50`]));
  });

  test('from another bot is accepted ten times in a row; a message of a person restarts the count', async () => {
    const bot = platform.addBot('a_bot');
    const group = platform.group('Team', bot);
    await open(bot);
    const other = { ...platform.person('Other'), is_bot: true };
    for (let i = 0; i < 12; i += 1) platform.say(group, other, `${i}`);
    await eventually(() => expect(bot.updates.pending).toEqual([]));
    expect(ids()).toHaveLength(10);
    expect(host.lines.filter(({ message }) => message.includes('bots answer each other'))).toHaveLength(1);
    platform.say(group, platform.person('Ann'), 'go on');
    platform.say(group, other, 'again');
    await eventually(() => expect(ids()).toHaveLength(12));
  });

  test('of a pressed button is answered, with or without data for an agent', async () => {
    const bot = platform.addBot('a_bot');
    const ann = platform.person('Ann');
    const chat = platform.privateChat(ann, bot);
    await open(bot);
    const message = platform.say(chat, ann, 'x');
    const queries = [
      platform.press(bot, ann, message, 'deploy'),
      platform.press(bot, ann, message, ''),
      platform.pressInline(bot, ann, 'deploy'),
    ];
    for (const id of queries) {
      await eventually(() => expect(bot.queries.get(id)?.answeredAt).toBeDefined(), 9_000);
      const { askedAt = 0, answeredAt = 0 } = bot.queries.get(id) ?? {};
      expect(answeredAt - askedAt).toBeLessThan(9_000);
    }
    await eventually(() => expect(ids()).toHaveLength(2));
  });
});

describe('the command menu', () => {
  const deploy = [{ command: 'deploy', description: 'Ship it' }];

  test('is logged if the platform refuses it, and is retried after a rate limit', async () => {
    const [bot, busy] = [platform.addBot('a_bot'), platform.addBot('b_bot')];
    const refusal = { kind: 'error', error: badRequest('BOT_COMMAND_INVALID') } as const;
    platform.faults.plan('setMyCommands', refusal, { botId: bot.id });
    platform.faults.plan('setMyCommands', { kind: 'error', error: tooManyRequests(1) }, { botId: busy.id });
    await open(bot, deploy);
    await open(busy, deploy);
    await eventually(() =>
      expect(host.lines).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          fields: expect.objectContaining({ reason: expect.stringContaining('BOT_COMMAND_INVALID') }),
        }),
      ),
    );
    await eventually(() => expect(busy.menu).toEqual(deploy));
    const [first, second] = platform.callsOf('setMyCommands', busy).map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
    const ann = platform.person('Ann');
    platform.say(platform.privateChat(ann, bot), ann, 'hello');
    await eventually(() => expect(ids()).toHaveLength(1));
    expect(host.refusals).not.toContainEqual(expect.any(String));
  });

  test('is set once per process and removed if the triggers have no commands; foreign menus are not changed', async () => {
    const [bot, foreign] = [platform.addBot('a_bot'), platform.addBot('b_bot')];
    // The menu for all chats and languages.
    const key = '[{"type":"default"},""]';
    foreign.menus.set(key, deploy);
    await open(foreign);
    const close = await open(bot, deploy);
    await eventually(() => expect(bot.menu).toEqual(deploy));
    await close();
    bot.menus.clear();
    const reopened = await open(bot, deploy);
    await eventually(() => expect(bot.menu).toEqual(deploy));
    await reopened();
    await open(bot);
    await eventually(() => expect(bot.menu).toEqual([]));
    expect(platform.callsOf('setMyCommands', bot)).toHaveLength(3);
    expect(platform.callsOf('setMyCommands', foreign)).toEqual([]);
    expect(foreign.menu).toEqual(deploy);
  });

  test('is also removed if the process that set the menu ended before the response', async () => {
    const bot = platform.addBot('a_bot');
    platform.faults.plan('setMyCommands', { kind: 'hang after' });
    const close = await open(bot, deploy);
    await eventually(() => expect(bot.menu).toEqual(deploy));
    await close();
    platform.faults.plan('setMyCommands', { kind: 'hang after' });
    const reopened = await open(bot);
    await eventually(() => expect(bot.menu).toEqual([]));
    await reopened();
    await open(bot);
    await eventually(() => expect(platform.callsOf('setMyCommands', bot)).toHaveLength(3));
  });
});

test('a registered webhook of the bot is deleted when polling starts, and its pending updates are received', async () => {
  const bot = platform.addBot('a_bot');
  const ann = platform.person('Ann');
  bot.setWebhook({ url: 'http://127.0.0.1:1/', secretToken: undefined, maxConnections: 1 });
  platform.say(platform.privateChat(ann, bot), ann, 'kept');
  await open(bot);
  await eventually(() => expect(ids()).toHaveLength(1));
  expect(platform.callsOf('deleteWebhook').map(({ values }) => values)).toEqual([{}]);
});

describe('a poll', () => {
  const signal = new AbortController().signal;
  const connect = (bot: Bot, times = pollTimes, ending = signal) => {
    const trigger = triggerOf(bot);
    const account = new BotAccount(String(bot.id), String(bot.id), host);
    const api = new BotApi(trigger.config);
    const connector = botConnector({ trigger, account, api, host, times });
    return connector.connect(ending, () => [trigger]);
  };

  test('is not sent if the connection is aborted while the store reads the offset', async () => {
    const bot = platform.addBot('a_bot');
    const stopController = new AbortController();
    const { store } = host;
    const get = store.get.bind(store);
    store.get = async (space, key) => {
      if (space === 'botmessenger-offsets') stopController.abort();
      return get(space, key);
    };
    await expect(connect(bot, pollTimes, stopController.signal)).rejects.toThrow('aborted');
    expect(platform.callsOf('getUpdates')).toEqual([]);
  });

  test('asks the platform to wait, and times out without a response', async () => {
    const bot = platform.addBot('a_bot');
    platform.faults.plan('getUpdates', { kind: 'hang' });
    const { closed } = await connect(bot, { seconds: 1, answerMs: 200 });
    await expect(closed).rejects.toMatchObject({ message: expect.stringContaining('within') });
    await expect(closed).rejects.not.toBeInstanceOf(ConnectionError);
    expect(platform.callsOf('getUpdates')[0]?.values).toMatchObject({ timeout: 1, limit: 100 });
    expect(pollTimes.seconds).toBeGreaterThanOrEqual(5);
    expect(pollTimes.seconds * 1000 + pollTimes.answerMs).toBeLessThan(120_000);
  });

  const error = (code: number, description: string): Fault => ({
    kind: 'error',
    error: new BotError(code, description),
  });

  test.each<[string, Fault, object]>([
    ['a revoked token', error(401, 'Unauthorized'), { kind: 'refused' }],
    ['an unknown token', error(404, 'Not Found'), { kind: 'refused' }],
    ['another poll', error(409, 'Conflict: terminated by other getUpdates request'), { kind: 'conflict' }],
    [
      'too many calls',
      { kind: 'error', error: tooManyRequests(7) },
      { kind: 'transient', retryAfterMs: 7_000 },
    ],
    ['a server error', error(500, 'Internal Server Error'), { kind: 'transient' }],
    ['an error page of a proxy', { kind: 'page', status: 502 }, { kind: 'transient' }],
    ['a page with status 200', { kind: 'page', status: 200 }, { kind: 'transient' }],
  ])('reports the cause of a failure: %s', async (_what, fault, expected) => {
    const bot = platform.addBot('a_bot');
    platform.faults.plan('getUpdates', fault);
    const failing = connect(bot).then(({ closed }) => closed);
    await expect(failing).rejects.toMatchObject(expected);
    await expect(failing).rejects.not.toMatchObject({
      message: expect.stringContaining(bot.token.split(':')[1] ?? ''),
    });
  });
});
