// Activities on their way in: what is answered to the platform, what becomes an event, and how that reads.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { proactiveMessage } from '../../../../../actors/automation/operator/proactive-message.ts';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import { teamChatAdapter } from '../../../../../actors/platforms/teamchat/adapter.ts';
import type { StoredApproval } from '../../../../../actors/store/approval.ts';
import type { TeamChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { teamChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import {
  type Members,
  newActivityId,
  personalChat,
  personOf,
  TENANT,
  thread,
} from '../../../../fixtures/team-platform/activities.ts';
import { ActivitySender } from '../../../../fixtures/team-platform/activity-sender.ts';
import { APP_ID, TeamPlatform } from '../../../../fixtures/team-platform/team-platform.ts';

const ada = personOf('Ada');
const chat = personalChat('ada');
const channel = thread('ops');

let platform: TeamPlatform;
let host: TestSourceHost;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  platform = await new TeamPlatform().start();
});
afterAll(() => platform.stop());
beforeEach(async () => {
  host = await new TestSourceHost().start();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await host.stop();
});

interface Open {
  readonly adapter: ReturnType<typeof teamChatAdapter>;
  readonly trigger: TeamChatTrigger;
  send(activity: Members, claims?: Members): ReturnType<ActivitySender['send']>;
  readonly sender: ActivitySender;
  /** The last event, as it reads from the store. */
  last(): InboundEvent;
}

async function open(...configs: readonly Partial<TeamChatTrigger['config']>[]): Promise<Open> {
  const adapter = teamChatAdapter(adapterServices(host));
  const triggers = (configs.length === 0 ? [{}] : configs).map((config, i) =>
    teamChatTrigger(`desk-${i}`, { ...platform.config, ...config }),
  );
  for (const trigger of triggers) opened.push(await adapter.open(trigger, host));
  const sender = new ActivitySender(`${host.url}/webhook/teamchat`, platform.identity);
  return {
    adapter,
    trigger: triggers[0] as TeamChatTrigger,
    sender,
    send: (activity, claims) => sender.send(activity, claims),
    last: () => {
      const { parsed: _, ...stored } = host.event();
      const read = adapter.read(stored);
      expect(adapter.read(host.event())).toEqual(read);
      return read;
    },
  };
}

describe('a message', () => {
  test('becomes an event that says who wrote what, and where; it is answered 202', async () => {
    const { send, last } = await open();
    const said = platform.activities.mention(channel, ada, 'deploy x');
    expect(await send(said)).toMatchObject({ status: 202, body: { status: 'accepted' } });
    const conversation = channel.id;
    expect(host.event()).toMatchObject({
      id: `teamchat:${APP_ID}/${conversation}/${said.id}`,
      key: `conversation/teamchat/${APP_ID}/${conversation}`,
    });
    expect(last()).toEqual({
      platform: 'teamchat',
      account: APP_ID,
      triggers: ['desk-0'],
      names: [],
      text: 'deploy x',
      parameters: {},
      channel: conversation.replace(/;.*/, ''),
      channelAliases: [conversation],
      user: ada.id,
      userAliases: [ada.aadObjectId],
      context: {
        'chat.event': 'message',
        'chat.id': conversation.replace(/;.*/, ''),
        'chat.thread': conversation.replace(/.*=/, ''),
        'chat.type': 'channel',
        'chat.message': said.id,
        'chat.sender.id': ada.id,
        'chat.sender.name': 'Ada',
        'chat.sender.directory_id': ada.aadObjectId,
        'chat.team': channel.team,
        'chat.tenant': TENANT,
        'chat.locale': 'en-US',
      },
      payload: said,
    });
  });

  test('of the same id is one event in a conversation, and another in another; slashes in ids tell nothing apart (TCE1)', async () => {
    const { send } = await open();
    const id = newActivityId();
    const ids = ['a:1/b', 'a:1%2Fb', 'a:1'];
    for (const each of ids) {
      const said = platform.activities.message({ ...chat, id: each }, ada, 'hi', { id });
      expect(await send(said)).toMatchObject({ status: 202 });
      expect(await send(said)).toMatchObject({ status: 200, body: { status: 'duplicate' } });
    }
    expect(new Set(host.store.events.map((event) => event.key)).size).toBe(ids.length);
    expect(host.store.events).toHaveLength(ids.length);
  });

  test.each([
    [
      'a pressed button of ours',
      { actionId: 'deploy staging' },
      'deploy staging',
      { actionId: 'deploy staging' },
    ],
    [
      'a button of others, with what was filled in',
      { choice: 7, note: 'why' },
      '7 why',
      { choice: '7', note: 'why' },
    ],
    [
      'a verb',
      { verb: 'go', deep: { x: 1, y: [true] } },
      'go',
      { verb: 'go', 'deep.x': '1', 'deep.y.0': 'true' },
    ],
    ['a value that is a text', 'yes', 'yes', { value: 'yes' }],
  ])('with %s and no text is a choice', async (_, value, text, parameters) => {
    const { send, last } = await open();
    expect(await send(platform.activities.submit(channel, ada, value))).toMatchObject({ status: 202 });
    const [name = '', ...rest] = text.split(' ');
    expect(last()).toMatchObject({
      names: [name],
      commandRest: rest.join(' '),
      text,
      parameters,
      isChoice: true,
    });
  });

  test.each<readonly [string, Members, RegExp]>([
    ['neither text nor value', { text: '' }, /without words/],
    ['our own bot for a sender', { from: { id: `28:${APP_ID}` } }, /written by our own bot/],
    ['the recipient for a sender', { from: { id: 'b' }, recipient: { id: 'b' } }, /written by our own bot/],
  ])('with %s is kept and not answered', async (_, more, note) => {
    const { send, last } = await open();
    expect(await send(platform.activities.message(chat, ada, 'hi', more))).toMatchObject({ status: 202 });
    expect(last().unsupported).toMatch(note);
  });
});

test('names of parameters are bounded, those within others too; what is longer is in the payload', async () => {
  const { send, last } = await open();
  const long = 'x'.repeat(200);
  const value = { actionId: 'go', [long]: 1, [`${long}y`]: 2, deep: { [long]: 3, short: 4 } };
  await send(platform.activities.submit(channel, ada, value));
  expect(last().parameters).toEqual({ actionId: 'go', [long]: '1', 'deep.short': '4' });
  expect(last().payload).toMatchObject({ value });
});

describe('an invoke', () => {
  const execute = { type: 'Action.Execute', id: 'a-1', verb: 'approve', data: { request: 'r-77' } };
  const submit = { type: 'Action.Submit', id: 'approve-1', data: { action: 'approve', request: 'r-77' } };

  test.each([
    ['Action.Execute', execute, { verb: 'approve', request: 'r-77' }],
    ['Action.Submit', submit, { action: 'approve', request: 'r-77' }],
  ])('of %s is answered at once, always alike, and is a choice (TCP3)', async (_, action, parameters) => {
    const { send, last } = await open();
    const said = platform.activities.invoke(chat, ada, action);
    const body = {
      statusCode: 200,
      type: 'application/vnd.microsoft.activity.message',
      value: expect.any(String),
    };
    for (let time = 0; time < 2; time += 1) expect(await send(said)).toMatchObject({ status: 200, body });
    expect(host.store.events).toHaveLength(1);
    expect(last()).toMatchObject({
      names: ['approve'],
      text: 'approve',
      isChoice: true,
      isAwaited: true,
      parameters,
    });
    expect(last().context).toMatchObject({ 'action.type': action.type, 'action.id': action.id });
  });

  test('that nobody here knows, or without an action, is refused and not kept', async () => {
    const { send } = await open();
    const unknown = platform.activities.invoke(chat, ada, execute, 'task/fetch');
    expect(await send(unknown)).toMatchObject({ status: 501 });
    expect(await send(platform.activities.invoke(chat, ada, 'x'))).toMatchObject({ status: 400 });
    expect(host.store.events).toEqual([]);
  });
});

describe('what a program says', () => {
  const programs: readonly Members[] = [
    { id: '28:another' },
    { id: 'x', role: 'bot' },
    { id: 'y', role: 'skill' },
  ];

  test.each(programs)('as %j is taken by a trigger with bots: allow, and by no other', async (from) => {
    const { send, last, adapter, trigger } = await open();
    const allowing = teamChatTrigger('desk-0', { ...platform.config, bots: 'allow' });
    const takenBy = (event: InboundEvent) => [trigger, allowing].map((each) => adapter.takes?.(each, event));
    await send(platform.activities.message(chat, ada, 'hi', { from }));
    expect(last()).toMatchObject({ text: 'hi', context: { 'chat.sender.is_bot': true } });
    expect(takenBy(last())).toEqual([false, true]);
    await send(platform.activities.message(chat, ada, 'hi'));
    expect(last().context).not.toHaveProperty(['chat.sender.is_bot']);
    expect(takenBy(last())).toEqual([true, true]);
    // Nobody says it: whoever brings the bot in is greeted.
    await send({ ...platform.activities.botAdded(chat, ada), from });
    expect(takenBy(last())).toEqual([true, true]);
  });

  test('is awaited by nobody, also where it was pressed', async () => {
    const { send, last } = await open();
    const said = platform.activities.invoke(chat, ada, { type: 'Action.Execute', verb: 'go' });
    expect(await send({ ...said, from: { id: '28:another' } })).toMatchObject({ status: 200 });
    expect(last()).toMatchObject({ text: 'go', isChoice: true });
    expect(last().isAwaited).toBe(undefined);
  });

  test('ten times in a row is taken, then no more until a person writes there; other conversations and redeliveries count for themselves', async () => {
    const { send } = await open({ bots: 'allow' });
    const from = { id: '28:another' };
    const say = async (place = chat) =>
      (await send(platform.activities.message(place, ada, 'and you?', { from }))).body;
    const press = platform.activities.invoke(chat, ada, { type: 'Action.Execute', verb: 'go' });
    for (let n = 0; n < 9; n += 1) expect(await say()).toMatchObject({ status: 'accepted' });
    const tenth = platform.activities.message(chat, ada, 'ten', { from });
    expect(await send(tenth)).toMatchObject({ body: { status: 'accepted' } });
    expect(await send(tenth)).toMatchObject({ body: { status: 'duplicate' } });
    expect(await say()).toEqual({ status: 'ignored' });
    // Its sender waits for a body all the same.
    expect(await send({ ...press, from })).toMatchObject({ status: 200, body: { statusCode: 200 } });
    expect(await say(personalChat('eve'))).toMatchObject({ status: 'accepted' });
    const came = await send(platform.activities.botAdded(chat, ada));
    expect(came).toMatchObject({ body: { status: 'accepted' } });
    expect(await say()).toEqual({ status: 'ignored' });
    expect(host.store.events).toHaveLength(12);
    expect(host.lines.filter(({ message }) => message.startsWith('bots answer each other'))).toMatchObject([
      { level: 'warn', fields: { app: APP_ID, conversation: chat.id } },
    ]);
    await send(platform.activities.message(chat, ada, 'stop it'));
    expect(await say()).toMatchObject({ status: 'accepted' });
  });
});

describe('what people decide', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const actionId = decisionActionId(approval, 'approve');
  const decision = { verdict: 'approve', about: { approval } };

  test('by one of our buttons stands beside the conversation of its card, and says nothing else (TCE3, CHD1)', async () => {
    const { send, last, adapter, trigger } = await open({ allowed_channels: ['elsewhere'] });
    expect(await send(platform.activities.submit(channel, ada, { actionId }))).toMatchObject({ status: 202 });
    expect(host.event().key).toBe(`conversation/teamchat/${APP_ID}/${channel.id}/commands`);
    expect(last()).toMatchObject({
      decision,
      names: [],
      text: undefined,
      user: ada.id,
      userAliases: [ada.aadObjectId],
      channelAliases: [channel.id],
      account: APP_ID,
      triggers: ['desk-0'],
    });
    expect(adapter.outbound?.target(trigger, last())).toMatchObject({ place: channel.id });
    const invoke = platform.activities.invoke(channel, ada, { type: 'Action.Execute', data: { actionId } });
    expect(await send(invoke)).toMatchObject({ status: 200, body: { value: 'Received.' } });
    expect(last()).toMatchObject({ decision });
    expect(last().isAwaited).toBeUndefined();
  });

  test('is nothing by what looks like such a press: a text, other data, a program, a product without a directory (CHD1, CHD4)', async () => {
    const { send, last } = await open();
    const { submit, message, of } = platform.activities;
    const activities = platform.activities;
    for (const said of [
      message.call(activities, chat, ada, actionId),
      message.call(activities, chat, ada, 'hi', { value: { actionId } }),
      submit.call(activities, chat, ada, { id: actionId, action: actionId, verb: actionId }),
      submit.call(activities, chat, ada, { nested: { actionId } }),
      of.call(activities, 'message', chat, ada, { value: { actionId }, channelId: 'webchat' }),
      of.call(activities, 'message', chat, ada, { value: { actionId }, from: { ...ada, role: 'bot' } }),
    ]) {
      await send(said);
      expect(last().decision).toBeUndefined();
      expect(host.event().key).toBe(`conversation/teamchat/${APP_ID}/${chat.id.replace(/\//g, '%2F')}`);
    }
    expect(host.store.events).toHaveLength(6);
  });

  test('by a mark on our message names it as its receipt does, only while something waits to be approved (CHD3)', async () => {
    const { send, last } = await open();
    const id = newActivityId();
    let second = 10;
    const mark = (type: string, list = 'reactionsAdded') => {
      second += 1;
      const about = { id, replyToId: id, timestamp: `2026-01-02T03:55:${second}.9534472Z` };
      return platform.activities.of('messageReaction', channel, ada, { ...about, [list]: [{ type }] });
    };
    await send(mark('like'));
    expect(last().decision).toBeUndefined();
    host.store.approvals = async () => [{} as StoredApproval];
    await send(mark('1f44e_thumbsdown'));
    expect(host.event().key).toMatch(/\/commands$/);
    expect(last()).toMatchObject({ decision: { verdict: 'deny', about: { message: id } }, text: undefined });
    for (const none of [mark('heart'), mark('like', 'reactionsRemoved')]) {
      await send(none);
      expect(last().decision).toBeUndefined();
    }
    expect(host.store.events).toHaveLength(4);
  });

  test('by a mark is told to an agent that hears of marks as well', async () => {
    const { send } = await open({ reactions: 'allow' });
    host.store.approvals = async () => [{} as StoredApproval];
    const about = { id: newActivityId(), reactionsAdded: [{ type: 'like' }] };
    const mark = platform.activities.of('messageReaction', channel, ada, about);
    expect(await send(mark)).toMatchObject({ status: 202 });
    expect(await send(mark)).toMatchObject({ status: 200 });
    expect(host.store.events.map(({ key }) => key.endsWith('/commands'))).toEqual([true, false]);
  });
});

describe('what else may come', () => {
  test('the bot is brought into a conversation: an arrival, once for each id', async () => {
    const { send, last } = await open();
    const said = platform.activities.botAdded(channel, ada);
    expect(await send(said)).toMatchObject({ status: 202 });
    expect(await send(said)).toMatchObject({ status: 200 });
    expect(host.store.events).toHaveLength(1);
    expect(last()).toMatchObject({ isArrival: true, text: undefined });
    expect(last().unsupported).toBe(undefined);
  });

  test.each<readonly [string, Members]>([
    ['conversationUpdate', { membersAdded: [{ id: ada.id }] }],
    ['conversationUpdate', { membersRemoved: [{ id: `28:${APP_ID}` }] }],
    ['conversationUpdate', { channelData: { eventType: 'teamRenamed' } }],
    ['messageReaction', {}],
    ['messageReaction', { reactionsAdded: [{ type: 7 }, 'like', null, { type: 'a\nb' }] }],
    ['installationUpdate', { action: 'add' }],
    ['endOfConversation', {}],
    ['event', { name: 'x', value: 1 }],
    ['somethingNew', {}],
  ])('%s is taken and ignored, and a note says why (TCE2)', async (type, more) => {
    const { send, last } = await open();
    expect(await send(platform.activities.of(type, channel, ada, more))).toMatchObject({ status: 202 });
    expect(last()).toMatchObject({ text: undefined, unsupported: expect.stringContaining(type) });
    expect(last().isArrival).toBe(undefined);
  });

  test('somebody writes, or an activity has no id: nothing is kept', async () => {
    const { send } = await open();
    expect(await send(platform.activities.of('typing', chat, ada))).toMatchObject({ status: 202 });
    const unnamed = platform.activities.of('event', chat, ada, { id: undefined });
    expect(await send(unnamed)).toMatchObject({ status: 202 });
    expect(host.store.events).toEqual([]);
  });

  test('a reaction says what was added and taken away from which message, and is taken under reactions: allow alone', async () => {
    const { send, last, adapter, trigger } = await open();
    const allowing = teamChatTrigger('desk-0', { ...platform.config, reactions: 'allow' });
    const id = newActivityId();
    const said = platform.activities.of('messageReaction', channel, ada, {
      id,
      replyToId: id,
      reactionsAdded: [{ type: 'like' }, { type: 'heart' }],
      reactionsRemoved: [{ type: 'sad' }],
    });
    expect(await send(said)).toMatchObject({ status: 202 });
    expect(last()).toMatchObject({
      names: ['messageReaction'],
      text: 'added like, added heart, removed sad',
      isChoice: true,
      commandRest: '',
      parameters: {},
      user: ada.id,
      context: {
        'chat.event': 'messageReaction',
        'chat.replies_to': id,
        'reaction.added': 'like heart',
        'reaction.removed': 'sad',
      },
    });
    expect(last().unsupported).toBe(undefined);
    expect(last().isAwaited).toBe(undefined);
    expect([trigger, allowing].map((each) => adapter.takes?.(each, last()))).toEqual([false, true]);
    // The answer stands below the message that it was about.
    expect(adapter.outbound?.target(allowing, last())).toMatchObject({ place: channel.id, repliesTo: id });
    const many = Array.from({ length: 1_000 }, () => ({ type: 'like' }));
    await send(platform.activities.of('messageReaction', chat, ada, { reactionsAdded: many }));
    expect(last().text?.length).toBeLessThan(300);
    await send(platform.activities.message(channel, ada, 'hi', { reactionsAdded: [{ type: 'like' }] }));
    expect(last().context).not.toHaveProperty(['reaction.added']);
  });

  test('a reaction has the id of the message, and does not hide it', async () => {
    const { send } = await open();
    const reaction = platform.activities.of('messageReaction', chat, ada);
    await send(reaction);
    expect(await send(platform.activities.message(chat, ada, 'hi', { id: reaction.id }))).toMatchObject({
      body: { status: 'accepted' },
    });
  });

  test.each(['messageReaction', 'messageUpdate', 'messageDelete'])(
    '%s of two people, and twice of one, are events of their own; a redelivery is none (TCE1)',
    async (type) => {
      const { send } = await open();
      const eve = personOf('Eve');
      const about = { id: newActivityId(), reactionsAdded: [{ type: 'like' }] };
      const at = (second: number) => ({ ...about, timestamp: `2026-01-02T03:55:${second}.9534472Z` });
      const all = [
        platform.activities.of(type, chat, ada, at(10)),
        platform.activities.of(type, chat, eve, at(10)),
        platform.activities.of(type, chat, ada, at(11)),
        platform.activities.of(type, chat, ada, { ...about, timestamp: undefined }),
      ];
      for (const status of [202, 200])
        for (const each of all) expect(await send(each)).toMatchObject({ status });
      expect(host.store.events.map(({ id }) => id.split('/').slice(2))).toEqual(
        all.map(({ id, from, timestamp = '' }) => [id, type, (from as { id: string }).id, timestamp]),
      );
    },
  );
});

describe('what is refused', () => {
  test('malformed bodies, once their token was right', async () => {
    const { sender } = await open();
    const token = await platform.identity.token(platform.serviceUrl);
    const { serviceUrl: _, ...without } = platform.activities.message(chat, ada, 'hi');
    const bodies = ['{', '[]', '7', without, { ...without, serviceUrl: 7 }];
    for (const body of bodies) expect(await sender.sendWith(body, token)).toMatchObject({ status: 400 });
    const wrong = [
      platform.activities.message(chat, ada, 'hi', { conversation: {} }),
      platform.activities.message(chat, ada, 'hi', { id: undefined }),
      platform.activities.message(chat, ada, 'hi', { id: 'a\nb' }),
      // Ways up in the path of an answer.
      ...['.', '..'].flatMap((id) => [
        platform.activities.message({ ...chat, id }, ada, 'hi'),
        platform.activities.message(chat, ada, 'hi', { id }),
      ]),
      platform.activities.message(chat, ada, 'hi', { from: undefined }),
      ...['', 'x'.repeat(101), 'a\nb', '\ud800'].map((type) => platform.activities.of(type, chat, ada)),
    ];
    for (const body of wrong) expect(await sender.sendWith(body, token)).toMatchObject({ status: 400 });
    expect(host.store.events).toEqual([]);
  });

  test('what is no POST, and says which method is taken', async () => {
    await open();
    for (const method of ['GET', 'PUT']) {
      const { status, headers } = await fetch(`${host.url}/webhook/teamchat`, { method });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  test('whoever has no token that fits', async () => {
    const { send, sender } = await open();
    const said = platform.activities.message(chat, ada, 'hi');
    expect(await sender.sendWith(said, undefined)).toMatchObject({ status: 401 });
    expect(await send(said, { aud: 'another' })).toMatchObject({
      status: 401,
      body: expect.stringContaining('is for another audience'),
    });
    expect(host.store.events).toEqual([]);
  });

  test('services that are in the clear, unknown, or only look like a known one (TCS1, TCP1)', async () => {
    const { send } = await open({ service_url_allow: ['chat.example.com', 'other.example:8443'] });
    const statusOf = async (serviceUrl: string) =>
      (await send(platform.activities.message(chat, ada, 'hi', { serviceUrl }))).status;
    const taken = [
      'https://smba.trafficmanager.net/amer/tenant/',
      'https://chat.example.com/',
      'https://chat.example.com:9000/x',
      'https://other.example:8443',
      'https://CHAT.example.com',
    ];
    const refused = [
      'http://smba.trafficmanager.net/amer/',
      'https://smba.trafficmanager.net.evil.example/',
      'https://evil.example/smba.trafficmanager.net',
      'https://me:secret@smba.trafficmanager.net/',
      'https://smba.trafficmanager.net@evil.example/',
      'https://evilchat.example.com/',
      'https://x.chat.example.com/',
      'https://chat.example.com.evil.example/',
      'https://other.example/',
      'https://chat.example.com/?',
      'https://chat.example.com/amer?x=1',
      'https://chat.example.com/#',
      'https://chat.example.com?',
      'https://smba.trafficmanager.net:8443/',
      // An emulator is named with its scheme and port (TCS2).
      'http://127.0.0.1:1/',
      platform.serviceUrl,
      'nonsense',
    ];
    for (const url of taken) expect([url, await statusOf(url)]).toEqual([url, 202]);
    for (const url of refused) expect([url, await statusOf(url)]).toEqual([url, 403]);
    expect(host.store.events).toHaveLength(taken.length);
  });

  test('tenants that are not on the list, and none where there is one (TCP1)', async () => {
    const { send, adapter, last } = await open({ allowed_tenants: [TENANT] });
    const of = (tenant: string | undefined) => platform.activities.message({ ...chat, tenant }, ada, 'hi');
    expect(await send(of(TENANT.toUpperCase()))).toMatchObject({ status: 202 });
    expect(await send(of('another'))).toMatchObject({ status: 403 });
    expect(await send(of(undefined))).toMatchObject({ status: 403 });
    expect(host.store.events).toHaveLength(1);
    // What the files say when it is handled counts as well.
    const later = teamChatTrigger('desk-0', { ...platform.config, allowed_tenants: ['another'] });
    expect(adapter.takes?.(later, last())).toBe(false);
  });

  test('one of two tenants that is not on the list, and tenants that another product hands on', async () => {
    const { send, last } = await open({ allowed_tenants: [TENANT] });
    const said = (more: Members) => platform.activities.message(chat, ada, 'hi', more);
    const tenant = { id: 'another' };
    expect(await send(said({ channelData: { tenant } }))).toMatchObject({ status: 403 });
    const conversation = { id: chat.id, tenantId: 'another' };
    expect(await send(said({ conversation }))).toMatchObject({ status: 403 });
    expect(await send(said({ channelId: 'webchat' }))).toMatchObject({ status: 403 });
    expect(host.store.events).toEqual([]);
    expect(await send(said({ conversation: { id: chat.id } }))).toMatchObject({ status: 202 });
    expect(last().context).toMatchObject({ 'chat.tenant': TENANT });
  });

  test('without a list nothing; what another product says of tenant and directory is passed over', async () => {
    const { send, last } = await open();
    await send(platform.activities.message(chat, ada, 'hi', { channelId: 'webchat' }));
    const { context, userAliases } = last();
    expect(userAliases).toBe(undefined);
    expect(context).not.toHaveProperty(['chat.tenant']);
    expect(context).not.toHaveProperty(['chat.sender.directory_id']);
  });

  test('a trigger whose tenants do not fit, and not the other of the same path', async () => {
    const { send, last } = await open({ allowed_tenants: ['another'] }, { allowed_tenants: [TENANT] });
    expect(await send(platform.activities.message(chat, ada, 'hi'))).toMatchObject({ status: 202 });
    expect(last().triggers).toEqual(['desk-1']);
  });
});

test('a channel on the list takes its threads, and a thread only itself', async () => {
  const { adapter } = await open();
  const bare = channel.id.replace(/;.*/, '');
  expect(adapter.filters?.(teamChatTrigger('t', { allowed_channels: [bare] })).channels).toEqual(
    new Set([bare]),
  );
});

describe('a conversation', () => {
  test('is found again by the name that agents hear, also by another process, with its service', async () => {
    const { send } = await open();
    await send(platform.activities.mention(channel, ada, 'hi'));
    await send(platform.activities.of('messageReaction', { ...chat, id: 'a:1/x%' }, ada));
    const { adapter, trigger } = await open({ path: '/webhook/another' });
    const find = async (name: string) => adapter.outbound?.destination?.(trigger, name);
    const [first, second] = host.store.events.map(({ key }) => key.replace('conversation/', ''));
    expect(await find(first ?? '')).toEqual({ place: channel.id, serviceUrl: platform.serviceUrl });
    expect(await find(second ?? '')).toEqual({ place: 'a:1/x%', serviceUrl: platform.serviceUrl });
    for (const unknown of [`teamchat/${APP_ID}/a:2`, `teamchat/another/${channel.id}`, channel.id, ''])
      expect(await find(unknown)).toBe(undefined);
  });

  test('that is a channel is known by any of its threads, and what no list of channels lets pass is not (KC1, KC2)', async () => {
    const [bare, other] = [channel, thread('other')].map(({ id }) => id.replace(/;.*/, ''));
    const { send, adapter, trigger } = await open(
      { allowed_channels: [bare ?? ''] },
      { allowed_channels: [personalChat('eve').id] },
    );
    for (const place of [channel, thread('other'), personalChat('eve'), personalChat('mallory')])
      expect(await send(platform.activities.message(place, ada, 'hi'))).toMatchObject({ status: 202 });
    const isKnown = async (id = '') =>
      (await adapter.outbound?.destination?.(trigger, `teamchat/${APP_ID}/${id}`)) !== undefined;
    const asked = [
      bare,
      channel.id,
      personalChat('eve').id,
      other,
      thread('other').id,
      personalChat('mallory').id,
    ];
    expect(await Promise.all(asked.map(isKnown))).toEqual([true, true, true, false, false, false]);
    expect(await adapter.outbound?.destination?.(trigger, `teamchat/${APP_ID}/${bare}`)).toEqual({
      place: bare,
      serviceUrl: platform.serviceUrl,
    });
  });

  test('is kept before its activity is acknowledged (TCP2)', async () => {
    const { send } = await open();
    host.store.fault = undefined;
    const put = host.store.put.bind(host.store);
    host.store.put = () => Promise.reject(new Error('the disk is full'));
    const said = platform.activities.message(personalChat('eve'), ada, 'hi');
    expect((await send(said)).status).toBe(500);
    expect(host.store.events).toEqual([]);
    host.store.put = put;
    expect(await send(said)).toMatchObject({ status: 202 });
  });

  test('of the longest id is one that agents can name', async () => {
    const { send, adapter, trigger } = await open();
    const id = '/'.repeat(1_000);
    await send(platform.activities.message({ ...chat, id }, ada, 'hi'));
    const name = host.event().key.replace('conversation/', '');
    const { conversation } = proactiveMessage({ conversation: name, text: 'later' });
    expect(await adapter.outbound?.destination?.(trigger, conversation)).toMatchObject({ place: id });
  });
});
