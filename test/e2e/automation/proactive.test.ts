// Proactive messages over the API and in the terminal: each arrives once in the conversation, even if the
// gateway is killed.

import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, expectBotTexts, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import { BotError } from '../../fixtures/bot-platform/bot-error.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { Chat } from '../../fixtures/bot-platform/chat.ts';
import { buttonsOf } from '../../fixtures/bot-platform/methods-message.ts';
import type { BusinessPlatform } from '../../fixtures/business-platform/business-platform.ts';
import { business, credentials, startPlatform } from '../../fixtures/business-platform/messenger.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

let platform: BotPlatform;
let messenger: BusinessPlatform;
let bot: Bot;
let group: Chat;
let forum: Chat;
let program: AgentProgram;
let gateway: GatewayProcess;
let account: string;

beforeAll(async () => {
  platform = await newPlatform();
  messenger = await startPlatform();
  bot = platform.addBot('ops_bot');
  group = platform.group('Team', bot);
  forum = platform.forum('Forum', bot);
  program = await startAgent(({ body }) => ({ text: body.conversation }));
  account = `${bot.id}@${new URL(platform.url).host}`;
  gateway = await startAutomation({
    resources: [
      botTrigger('team', platform, bot, {
        commands: { deploy: { agent: 'echo', description: 'Ship it' }, status: { agent: 'echo' } },
      }),
      trigger('silent', {
        type: 'BotMessenger',
        config: { bot_token: bot.token, api_root: platform.url },
        default_agent: 'echo',
        mentions: 'none',
      }),
      trigger('desk', {
        type: 'BusinessMessenger',
        config: { ...credentials, graph_url: messenger.url },
        default_agent: 'echo',
      }),
      trigger('off', {
        type: 'BotMessenger',
        config: { bot_token: platform.addBot('off_bot').token, api_root: platform.url },
        default_agent: 'echo',
        enabled: false,
      }),
      trigger('hand', { type: 'Manual', config: {}, default_agent: 'echo' }),
      httpAgent('echo', program.url),
    ],
  });
});

const inGroup = () => `botmessenger/${account}/${group.id}`;

function send(name: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  return ask(`${gateway.url}/triggers/${name}/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const delivery = async (id: string) =>
  (await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json as Record<string, unknown>;

const run = (...args: readonly string[]) => runMain([...args, '--url', gateway.url]);

describe('a proactive message', () => {
  test('arrives with its card in the conversation that an agent request named, and has a delivery record', async () => {
    const ann = platform.person('Ann');
    platform.say(group, ann, 'where is this?');
    await expectBotTexts(platform, bot, group, inGroup());
    const [request] = program.requests;
    const receipt = await send('team', {
      conversation: request?.body.conversation,
      title: 'Release',
      text: 'It is out.',
      fields: [{ name: 'Version', value: 12 }],
      actions: [{ id: 'undo', title: 'Undo' }],
    });
    expect([receipt.status, receipt.json.deliveries]).toEqual([
      202,
      [expect.stringMatching(/^outbox:send:team\//)],
    ]);
    await expectBotTexts(platform, bot, group, inGroup(), 'Release\n\nIt is out.\n\nVersion: 12');
    const message = platform.messagesBy(bot, group)[1]!;
    expect(buttonsOf(message)).toEqual([{ text: 'Undo', callback_data: 'undo' }]);
    const [id] = receipt.json.deliveries as string[];
    await eventually(async () =>
      expect(await delivery(id!)).toMatchObject({
        state: 'done',
        trigger: 'team',
        principal: 'operator:token',
        conversation: `outbox/${inGroup()}`,
        receipt: String(message.message_id),
      }),
    );
  });

  test('can go to a topic and to a person of the business messenger', async () => {
    const topic = forum.addTopic();
    await send('team', { conversation: `botmessenger/${account}/${forum.id}/${topic}`, text: 'on topic' });
    await expectBotTexts(platform, bot, forum, 'on topic');
    expect(platform.messagesBy(bot, forum)[0]).toMatchObject({ message_thread_id: topic });
    const conversation = `conversation/businessmessenger/${business.phone_number_id}/15550002222`;
    expect((await send('desk', { conversation, text: 'Your order is ready.' })).status).toBe(202);
    await eventually(() => expect(messenger.textsTo('15550002222')).toEqual(['✅ Your order is ready.']));
  });

  test('notifies no user unless the trigger allows it', async () => {
    const chat = platform.privateChat(platform.person('Mia'), bot);
    const conversation = `botmessenger/${account}/${chat.id}`;
    await send('team', { conversation, text: 'for @miamia' });
    await send('silent', { conversation, text: 'for @miamia' });
    await eventually(() => expect(texts(platform, bot, chat)).toHaveLength(2));
    const [allowed, none] = texts(platform, bot, chat);
    expect(allowed).toBe('for @miamia');
    expect(none).not.toContain('@miamia');
  });

  test('is sent once per key, for any number of requests and clients', async () => {
    const chat = platform.privateChat(platform.person('Ken'), bot);
    const body = { conversation: `botmessenger/${account}/${chat.id}`, text: 'x '.repeat(4_000) };
    const key = { 'idempotency-key': 'nightly 1/2' };
    const answers = await Promise.all([1, 2, 3].map(() => send('team', body, key)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    await eventually(() => expect(texts(platform, bot, chat)).toHaveLength(2));
    const secondResponse = await send('team', body, key);
    expect([...answers, secondResponse].map(({ json }) => json.deliveries)).toEqual(
      Array.from({ length: 4 }, () => ['outbox:send:team/nightly 1/2/1', 'outbox:send:team/nightly 1/2/2']),
    );
    const other = await send('team', { ...body, text: 'short' }, key);
    expect([other.status, other.json.message]).toEqual([409, expect.stringContaining('Idempotency-Key')]);
    expect((await send('team', body, { 'idempotency-key': 'x'.repeat(300) })).status).toBe(400);
    await send('team', { ...body, text: 'after' });
    await eventually(() => expect(texts(platform, bot, chat).at(-1)).toBe('after'));
    expect(texts(platform, bot, chat)).toHaveLength(3);
  });

  test('is rejected for platforms without support, foreign conversations and invalid messages', async () => {
    const conversation = inGroup();
    const expectRefusal = async (name: string, body: object) => {
      const { status, json } = await send(name, body);
      return [status, json.message];
    };
    const message = { conversation, text: 'hello' };
    expect(await expectRefusal('nobody', message)).toEqual([
      404,
      expect.stringContaining('no trigger "nobody"'),
    ]);
    expect(await expectRefusal('off', message)).toEqual([
      409,
      expect.stringContaining('is disabled (spec.enabled)'),
    ]);
    expect(await expectRefusal('hand', message)).toEqual([409, expect.stringContaining('type Manual')]);
    for (const address of [
      `botmessenger/${account}1/${group.id}`,
      `botmessenger/${account}`,
      `botmessenger/${account}/`,
      `botmessenger/${account}/team`,
      `botmessenger/${account}/${group.id}/1/2`,
      `businessmessenger/${business.phone_number_id}/15550002222`,
    ])
      expect(await expectRefusal('team', { conversation: address, text: 'hello' })).toEqual([
        404,
        expect.stringContaining('cannot reach'),
      ]);
    expect(await expectRefusal('desk', message)).toEqual([404, expect.anything()]);
    expect(await expectRefusal('team', { conversation })).toEqual([400, expect.stringContaining('text')]);
  });

  test('is sent after a restart if the gateway was killed while sending', async () => {
    const chat = platform.privateChat(platform.person('Zoe'), bot);
    platform.faults.plan('sendMessage', { kind: 'hang' });
    const sends = platform.callsOf('sendMessage').length;
    const body = { conversation: `botmessenger/${account}/${chat.id}`, text: 'whatever happens' };
    expect((await send('team', body, { 'idempotency-key': 'killed' })).status).toBe(202);
    await eventually(() => expect(platform.callsOf('sendMessage').length).toBeGreaterThan(sends));
    await gateway.stop('SIGKILL');
    gateway = await startAutomation({ folder: gateway.folder });
    expect((await send('team', body, { 'idempotency-key': 'killed' })).status).toBe(202);
    await expectBotTexts(platform, bot, chat, 'whatever happens');
  });
});

describe('the command `triggers show`', () => {
  test('prints state, last rejection, menu and limits of a trigger', async () => {
    const chat = platform.privateChat(platform.person('Bea'), bot);
    const conversation = `botmessenger/${account}/${chat.id}`;
    const kicked = new BotError(403, 'Forbidden: bot was blocked by the user');
    platform.faults.plan('sendMessage', { kind: 'error', error: kicked });
    const id = (await send('team', { conversation, text: 'lost' })).json.deliveries[0];
    await eventually(async () => expect(await delivery(id)).toMatchObject({ state: 'dead' }));
    const flood = new BotError(429, 'Too Many Requests: retry after 40', { retry_after: 40 });
    platform.faults.plan('sendMessage', { kind: 'error', error: flood });
    const later = (await send('silent', { conversation, text: 'too soon' })).json.deliveries[0];
    await eventually(async () => expect(await delivery(later)).toMatchObject({ deferrals: 1 }));
    // The previous gateway was killed. The platform accepts a new poll only after the poll of that process
    // has expired.
    const connected = { connection: { state: 'connected' } };
    await eventually(async () =>
      expect((await ask(`${gateway.url}/triggers/team`)).json).toMatchObject(connected),
    );
    const { json } = await ask(`${gateway.url}/triggers/team`);
    expect(json).toMatchObject({
      name: 'team',
      maturity: null,
      state: 'open',
      connection: { platform: 'botmessenger', account, state: 'connected' },
      way_in: 'polls for messages',
      menu: [
        { command: 'deploy', description: 'Ship it' },
        { command: 'status', description: 'status' },
      ],
      last_refusal: { id, state: 'dead', note: expect.stringMatching(/^403 .*blocked by the user/) },
      limits: {
        text: { most: 4096, unit: 'utf16' },
        buttons: 100,
        rates: [
          { of: 'account', most: 25, per_seconds: 1, at_once: 3 },
          { of: 'person', most: 1, per_seconds: 1, at_once: 5 },
          { of: 'group', most: 1, per_seconds: 1, at_once: 5 },
          { of: 'group', most: 20, per_seconds: 60, at_once: 20 },
        ],
        held: expect.arrayContaining([{ of: String(chat.id), until: expect.any(String) }]),
      },
    });
    const { json: list } = await ask(`${gateway.url}/triggers`);
    expect(list.triggers[0]).not.toHaveProperty('limits');
    const [shown, hand, slip] = await Promise.all([
      run('triggers', 'show', 'team'),
      run('triggers', 'show', 'hand'),
      run('triggers', 'show', 'hnad'),
    ]);
    expect(shown.stdout).toMatch(/^connection +connected to botmessenger\/.* since /m);
    expect(shown.stdout).toMatch(/^last refusal +20.* dead +403 .*blocked by the user/m);
    expect(shown.stdout).toMatch(/^menu +deploy {2}Ship it\n +status$/m);
    expect(shown.stdout).toMatch(
      /^limits +4096 characters in a message, 100 buttons\n +account: 25 a second/m,
    );
    expect(shown.stdout).toMatch(new RegExp(`^held back +.*${chat.id} until 20`, 'ms'));
    expect(hand.stdout).toMatch(/^last refusal +-$/m);
    expect(slip.stderr).toBe('there is no trigger "hnad"; did you mean hand?\n');
    expect(shown.stdout + JSON.stringify(json)).not.toContain(bot.token.split(':')[1]);
    await ask(`${gateway.url}/deliveries/${encodeURIComponent(later)}/discard`, { method: 'POST' });
  });

  test('names the last accepted event of a trigger', async () => {
    const ann = platform.person('Ann');
    platform.say(group, ann, '/deploy');
    await eventually(async () => {
      const { json } = await ask(`${gateway.url}/triggers/team`);
      const owned = json.last_event ?? (await ask(`${gateway.url}/triggers/silent`)).json.last_event;
      expect(owned).toMatchObject({ id: expect.stringMatching(/^botmessenger:/), state: 'done' });
    });
  });
});

describe('the command `send`', () => {
  test('sends a proactive message, and with --wait reports the outcome', async () => {
    const chat = platform.privateChat(platform.person('Eve'), bot);
    const to = ['--conversation', `botmessenger/${account}/${chat.id}`];
    const accepted = await run('triggers', 'send', 'team', ...to, '--text', 'one');
    expect([accepted.code, accepted.stdout]).toEqual([
      ...[0, expect.stringMatching(/^outbox:send:team\/.* is accepted; "deliveries show /)],
    ]);
    const [sent, json] = await Promise.all([
      run('triggers', 'send', 'team', ...to, '--title', 'Two', '--text', 'two', '--wait'),
      run(
        'triggers',
        'send',
        'team',
        ...to,
        '--text',
        'three',
        '--wait',
        '--json',
        '--idempotency-key',
        'three',
      ),
    ]);
    expect([sent.code, sent.stdout]).toEqual([0, expect.stringMatching(/^outbox:send:team\/.* is sent\n$/)]);
    expect(JSON.parse(json.stdout)).toEqual({
      deliveries: ['outbox:send:team/three/1'],
      states: [{ id: 'outbox:send:team/three/1', state: 'done', note: null }],
    });
    expect(texts(platform, bot, chat).sort()).toEqual(['Two\n\ntwo', 'one', 'three']);
    platform.faults.plan('sendMessage', {
      kind: 'error',
      error: new BotError(403, 'Forbidden: bot was kicked'),
    });
    const dead = await run('triggers', 'send', 'team', ...to, '--text', 'four', '--wait');
    expect([dead.code, dead.stdout]).toEqual([1, expect.stringMatching(/ is dead: 403 .*bot was kicked/)]);
  });

  test('reports invalid input with a suggestion', async () => {
    const [slip, lost, bad, nowhere] = await Promise.all([
      run('triggers', 'send', 'taem', '--conversation', inGroup(), '--text', 'x'),
      run('triggers', 'send', 'team', '--conversation', 'botmessenger/1/2', '--text', 'x'),
      run('triggers', 'send', 'team', '--conversation', inGroup(), '--text', ' '),
      run('triggers', 'send', 'team', '--text', 'x'),
    ]);
    expect([slip.code, slip.stderr]).toEqual([1, 'there is no trigger "taem"; did you mean team?\n']);
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('team cannot reach')]);
    expect([bad.code, bad.stderr]).toEqual([2, 'error: text is missing: the message would be empty\n']);
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('--conversation NAME')]);
  });
});
