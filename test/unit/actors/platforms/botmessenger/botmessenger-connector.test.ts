// A bot's connection against the fake of its platform over real HTTP: what becomes of all that may come, what the platform is
// told, and what a poll that goes wrong leads to.

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

describe('what comes', () => {
  test('as a mark on a message is kept only while something waits to be approved (CHD3)', async () => {
    const bot = platform.addBot('a_bot', 9_000);
    const ann = platform.person('Ann');
    const chat = platform.privateChat(ann, bot);
    const said = platform.say(chat, ann, 'one');
    await open(bot);
    platform.react(chat, ann, said, '👍');
    platform.react(chat, ann, said, '❤');
    platform.say(chat, ann, 'two');
    await eventually(() => expect(host.store.events.length).toBe(2));
    host.store.approvals = async () => [{} as StoredApproval];
    platform.react(chat, ann, said, '👎');
    platform.react(chat, ann, said, '❤');
    platform.say(chat, ann, 'three');
    await eventually(() => expect(host.store.events.length).toBe(4));
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
    'that the bot has come to a chat is an event where a trigger says something to that: %j',
    async (welcome, events) => {
      const bot = platform.addBot('a_bot', 9_000);
      const ann = platform.person('Ann');
      const chat = platform.group('Team', bot);
      const opened = { ...triggerOf(bot), welcome } as BotMessengerTrigger;
      const { close } = await botMessengerAdapter(adapterServices(host)).open(opened, host);
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

  test('again is one event, also by another process, and a number never seen is a new one whatever its size', async () => {
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
    // What follows is asked for from there on.
    await eventually(() => expect(platform.called('getUpdates').at(-1)?.values.offset).toBe(9_000));
  });

  test('to two bots in one group is an event of each, in conversations of their own', async () => {
    const bots = [platform.addBot('a_bot', 7), platform.addBot('b_bot', 7)] as const;
    const group = platform.group('Team', ...bots);
    for (const bot of bots) await open(bot);
    platform.say(group, platform.person('Ann'), 'hello');
    await eventually(() => expect(ids().sort()).toEqual(bots.map(({ id }) => `${id}/7`).sort()));
    expect(new Set(host.store.events.map(({ key }) => key)).size).toBe(2);
  });

  test('of kinds and shapes that nobody knows is confirmed, leads to nothing, and breaks nothing', async () => {
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
    await eventually(() => expect(platform.called('getUpdates').at(-1)?.values.offset).toBe(45));
    expect(ids()).toEqual([]);
    const ann = platform.person('Ann');
    platform.say(platform.privateChat(ann, bot), ann, 'still there?');
    await eventually(() => expect(ids()).toEqual([`${bot.id}/50`]));
  });

  test('from other bots is taken ten times in a row and no more, until a person writes there', async () => {
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

  test('as a pressed button is answered, whether or not there is anything in it for an agent', async () => {
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

describe('the menu', () => {
  const deploy = [{ command: 'deploy', description: 'Ship it' }];

  test('that the platform refuses is told in the log and stops nothing; one it has no time for is shown later', async () => {
    const [bot, busy] = [platform.addBot('a_bot'), platform.addBot('b_bot')];
    const refused = { kind: 'error', error: badRequest('BOT_COMMAND_INVALID') } as const;
    platform.faults.plan('setMyCommands', refused, { botId: bot.id });
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
    const [first, second] = platform.called('setMyCommands', busy).map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
    const ann = platform.person('Ann');
    platform.say(platform.privateChat(ann, bot), ann, 'hello');
    await eventually(() => expect(ids()).toHaveLength(1));
    expect(host.refusals).not.toContainEqual(expect.any(String));
  });

  test('is shown by each process once, and taken away by one whose triggers have no commands; that of others is left alone', async () => {
    const [bot, foreign] = [platform.addBot('a_bot'), platform.addBot('b_bot')];
    const key = '[{"type":"default"},""]';
    foreign.menus.set(key, deploy);
    await open(foreign);
    const close = await open(bot, deploy);
    await eventually(() => expect(bot.menu).toEqual(deploy));
    await close();
    bot.menus.clear();
    const again = await open(bot, deploy);
    await eventually(() => expect(bot.menu).toEqual(deploy));
    await again();
    await open(bot);
    await eventually(() => expect(bot.menu).toEqual([]));
    expect(platform.called('setMyCommands', bot)).toHaveLength(3);
    expect(platform.called('setMyCommands', foreign)).toEqual([]);
    expect(foreign.menu).toEqual(deploy);
  });

  test('is taken away, too, where the process that had it shown ended before it was told so', async () => {
    const bot = platform.addBot('a_bot');
    platform.faults.plan('setMyCommands', { kind: 'hang after' });
    const close = await open(bot, deploy);
    await eventually(() => expect(bot.menu).toEqual(deploy));
    await close();
    platform.faults.plan('setMyCommands', { kind: 'hang after' });
    const again = await open(bot);
    await eventually(() => expect(bot.menu).toEqual([]));
    await again();
    await open(bot);
    await eventually(() => expect(platform.called('setMyCommands', bot)).toHaveLength(3));
  });
});

test('a webhook that is set is taken away without what waits for it', async () => {
  const bot = platform.addBot('a_bot');
  const ann = platform.person('Ann');
  bot.setWebhook({ url: 'http://127.0.0.1:1/', secretToken: undefined, maxConnections: 1 });
  platform.say(platform.privateChat(ann, bot), ann, 'kept');
  await open(bot);
  await eventually(() => expect(ids()).toHaveLength(1));
  expect(platform.called('deleteWebhook').map(({ values }) => values)).toEqual([{}]);
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

  test('asks for nothing when it is told to end while the store says where it was (CT2)', async () => {
    const bot = platform.addBot('a_bot');
    const ending = new AbortController();
    const { store } = host;
    const get = store.get.bind(store);
    store.get = async (space, key) => {
      if (space === 'botmessenger-offsets') ending.abort();
      return get(space, key);
    };
    await expect(connect(bot, pollTimes, ending.signal)).rejects.toThrow('aborted');
    expect(platform.called('getUpdates')).toEqual([]);
  });

  test('asks the platform to wait, and is given up when no answer comes', async () => {
    const bot = platform.addBot('a_bot');
    platform.faults.plan('getUpdates', { kind: 'hang' });
    const { closed } = await connect(bot, { seconds: 1, answerMs: 200 });
    await expect(closed).rejects.toMatchObject({ message: expect.stringContaining('within') });
    await expect(closed).rejects.not.toBeInstanceOf(ConnectionError);
    expect(platform.called('getUpdates')[0]?.values).toMatchObject({ timeout: 1, limit: 100 });
    expect(pollTimes.seconds).toBeGreaterThanOrEqual(5);
    expect(pollTimes.seconds * 1000 + pollTimes.answerMs).toBeLessThan(120_000);
  });

  const error = (code: number, description: string): Fault => ({
    kind: 'error',
    error: new BotError(code, description),
  });

  test.each<[string, Fault, object]>([
    ['a revoked token', error(401, 'Unauthorized'), { kind: 'refused' }],
    ['a token of nobody', error(404, 'Not Found'), { kind: 'refused' }],
    ['another poll', error(409, 'Conflict: terminated by other getUpdates request'), { kind: 'conflict' }],
    [
      'too many calls',
      { kind: 'error', error: tooManyRequests(7) },
      { kind: 'transient', retryAfterMs: 7_000 },
    ],
    ['a fault of the platform', error(500, 'Internal Server Error'), { kind: 'transient' }],
    ['a page of a proxy', { kind: 'page', status: 502 }, { kind: 'transient' }],
    ['a page in the platform’s place', { kind: 'page', status: 200 }, { kind: 'transient' }],
  ])('that meets %s says so', async (_what, fault, expected) => {
    const bot = platform.addBot('a_bot');
    platform.faults.plan('getUpdates', fault);
    const failing = connect(bot).then(({ closed }) => closed);
    await expect(failing).rejects.toMatchObject(expected);
    await expect(failing).rejects.not.toMatchObject({
      message: expect.stringContaining(bot.token.split(':')[1] ?? ''),
    });
  });
});
