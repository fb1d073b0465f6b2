// The register command on configuration files alone, with no running gateway.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { httpAgent, trigger, writeResources } from '../../fixtures/automation/automation.ts';
import { newPlatform } from '../../fixtures/automation/bots.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import { BotError } from '../../fixtures/bot-platform/bot-error.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import { CommunityPlatform } from '../../fixtures/community-platform/community-platform.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

let platform: BotPlatform;
let firstBot: Bot;
let two: Bot;
let folder: string;
let config: string;
const accountOf = (bot: Bot) => `${bot.id}@${new URL(platform.url).host}`;

beforeAll(async () => {
  platform = await newPlatform();
  firstBot = platform.addBot('one_bot');
  two = platform.addBot('two_bot');
  folder = temporaryFolder();
  const bot = (name: string, bot_token: string, commands: object, more = {}) =>
    trigger(name, {
      type: 'BotMessenger',
      config: { bot_token, api_root: platform.url },
      commands,
      default_agent: 'echo',
      ...more,
    });
  writeResources(folder, [
    bot('ship', firstBot.token, { deploy: { agent: 'echo', description: 'Ship it' } }),
    bot('status', firstBot.token, { status: { agent: 'echo' } }),
    bot('other', `\${OTHER_TOKEN}`, { ping: { agent: 'echo' } }),
    bot('off', two.token, { never: { agent: 'echo' } }, { enabled: false }),
    trigger('hand', { type: 'Manual', config: {}, default_agent: 'echo' }),
    httpAgent('echo', 'http://127.0.0.1:9/'),
  ]);
  const spec = { triggers: { directory: './triggers' }, agents: { directory: './agents' } };
  config = writeConfiguration(folder, { settings: { spec } });
});

const register = (token: string, ...args: readonly string[]) =>
  runMain(['triggers', 'register', '--config', config, ...args], {
    env: { OTHER_TOKEN: token },
    cwd: folder,
  });

test('`register` puts the commands of all triggers of an account into the menu, and opens no listener', async () => {
  const { code, stdout, stderr } = await register(two.token);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      `botmessenger/${accountOf(firstBot)}: /deploy, /status (ship, status)`,
      `botmessenger/${accountOf(two)}: /ping (other)`,
      'no menu: hand',
    ]),
  );
  expect(firstBot.menu).toEqual([
    { command: 'deploy', description: 'Ship it' },
    { command: 'status', description: 'status' },
  ]);
  expect(two.menu).toEqual([{ command: 'ping', description: 'ping' }]);
  expect(platform.callsOf('getMe')).toEqual([]);
  expect(existsSync(join(folder, '.gateway'))).toBe(false);
});

test('`register` reports refusals of a platform, continues with the other platforms, and shows no token', async () => {
  const before = platform.callsOf('setMyCommands').length;
  const stranger = '4711:AAnobodyknowsthistoken';
  const refusal = await register(stranger);
  expect(refusal.code).toBe(1);
  expect(refusal.stderr).toMatch(/^botmessenger\/4711@.*: 401 the token is not accepted: Unauthorized$/m);
  expect(refusal.stdout).toContain('/deploy, /status');
  const bad = new BotError(400, 'Bad Request: BOT_COMMAND_INVALID');
  platform.faults.plan('setMyCommands', { kind: 'error', error: bad }, { botId: firstBot.id });
  const json = await register(stranger, '--json', 'status');
  expect([json.code, JSON.parse(json.stdout)]).toEqual([
    1,
    {
      accounts: [
        {
          platform: 'botmessenger',
          account: accountOf(firstBot),
          triggers: ['ship', 'status'],
          done: 'refused',
          error: '400 invalid request: Bad Request: BOT_COMMAND_INVALID',
        },
      ],
      without: [],
      keptOut: [],
    },
  ]);
  expect(refusal.stdout + refusal.stderr + json.stdout + json.stderr).not.toContain('nobodyknows');
  expect(platform.callsOf('setMyCommands').length).toBeGreaterThan(before);
});

test('`register` retries a rate limited platform once, after a short pause', async () => {
  const flood = (seconds: number) => new BotError(429, 'Too Many Requests', { retry_after: seconds });
  platform.faults.plan('setMyCommands', { kind: 'error', error: flood(1) }, { botId: firstBot.id });
  const later = await register(two.token, 'ship');
  expect([later.code, later.stdout]).toEqual([0, expect.stringContaining('/deploy, /status')]);
  expect(later.stderr).toMatch(/is rate limited; retrying in 1 s/);
  platform.faults.plan('setMyCommands', { kind: 'error', error: flood(3_600) }, { botId: firstBot.id });
  const output = await register(two.token, 'ship');
  expect([output.code, output.stderr]).toEqual([
    1,
    expect.stringMatching(/429 too many .*; try again in 3600 s/),
  ]);
});

test('`register` reports errors of configuration and command line', async () => {
  const [unset, slip, off, guild, nothing] = await Promise.all([
    register(''),
    register(two.token, 'shp'),
    register(two.token, 'off'),
    register(two.token, '--guild', '1'),
    runMain(['triggers', 'register']),
  ]);
  expect([unset.code, unset.stderr]).toEqual([
    2,
    expect.stringMatching(/other\.yaml:.*spec\.config\.bot_token: /),
  ]);
  expect([slip.code, slip.stderr]).toEqual([2, 'error: there is no trigger "shp"; did you mean ship?\n']);
  expect([off.code, off.stderr]).toEqual([2, 'error: off is disabled (spec.enabled)\n']);
  expect([guild.code, guild.stderr]).toEqual([
    2,
    'error: --guild: no trigger belongs to a platform with guilds\n',
  ]);
  expect([nothing.code, nothing.stderr]).toEqual([
    2,
    expect.stringContaining("'-c, --config <file>' not specified"),
  ]);
});

test('`register` creates an additional menu per guild of a community chat, and reports refusals without the token', async () => {
  const chat = await new CommunityPlatform().start();
  const { publicKey: public_key, apiRoot: api_root, world } = chat;
  const { applicationId: application_id, botToken, guild } = world;
  const place = temporaryFolder();
  writeResources(place, [
    trigger('chat', {
      type: 'CommunityChat',
      config: { public_key, api_root, application_id, bot_token: `\${CHAT_TOKEN}` },
      commands: { '/ship': { agent: 'echo' } },
    }),
    trigger('quiet', {
      type: 'CommunityChat',
      config: { public_key, api_root, application_id, bot_token: `\${CHAT_TOKEN}`, register: 'never' },
      commands: { '/hush': { agent: 'echo' } },
    }),
    httpAgent('echo', 'http://127.0.0.1:9/'),
  ]);
  const spec = { triggers: { directory: './triggers' }, agents: { directory: './agents' } };
  const file = writeConfiguration(place, { settings: { spec } });
  const ask = (...args: readonly string[]) =>
    runMain(['triggers', 'register', '--config', file, ...args], {
      env: { CHAT_TOKEN: botToken },
      cwd: place,
    });
  const [all, one, none] = await Promise.all([ask(), ask('--guild', guild), ask('--guild', '1')]);
  expect([all.code, one.code, none.code]).toEqual([0, 0, 1]);
  const names = ['ship', 'agent', 'task', 'fleet', 'flow'];
  for (const scope of ['', guild]) expect(world.commands.get(scope)?.map(({ name }) => name)).toEqual(names);
  expect(none.stdout + none.stderr).toContain('50001');
  expect(all.stdout).toContain('unchanged (register: never): quiet');
  expect(JSON.stringify([all, one, none])).not.toContain(botToken);
  await chat.stop();
});
