// Inbound activities: responses to the platform, stored events, and their content.

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
  /** Returns the last stored event. */
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
  test('becomes an event with author, text and conversation, and gets status 202', async () => {
    const { send, last } = await open();
    const activity = platform.activities.mention(channel, ada, 'deploy x');
    expect(await send(activity)).toMatchObject({ status: 202, body: { status: 'accepted' } });
    const conversation = channel.id;
    expect(host.event()).toMatchObject({
      id: `teamchat:${APP_ID}/${conversation}/${activity.id}`,
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
      senderName: 'Ada',
      isByBot: false,
      quoted: [],
      context: {
        'chat.event': 'message',
        'chat.id': conversation.replace(/;.*/, ''),
        'chat.thread': conversation.replace(/.*=/, ''),
        'chat.type': 'channel',
        'chat.message': activity.id,
        'chat.sender.id': ada.id,
        'chat.sender.name': 'Ada',
        'chat.sender.directory_id': ada.aadObjectId,
        'chat.team': channel.team,
        'chat.tenant': TENANT,
        'chat.locale': 'en-US',
      },
      payload: activity,
    });
  });

  test('with the same id in another conversation is a separate event, even if the ids contain slashes', async () => {
    const { send } = await open();
    const id = newActivityId();
    const ids = ['a:1/b', 'a:1%2Fb', 'a:1'];
    for (const each of ids) {
      const activity = platform.activities.message({ ...chat, id: each }, ada, 'hi', { id });
      expect(await send(activity)).toMatchObject({ status: 202 });
      expect(await send(activity)).toMatchObject({ status: 200, body: { status: 'duplicate' } });
    }
    expect(new Set(host.store.events.map((event) => event.key)).size).toBe(ids.length);
    expect(host.store.events).toHaveLength(ids.length);
  });

  test.each([
    ['a gateway button', { actionId: 'deploy staging' }, 'deploy staging', { actionId: 'deploy staging' }],
    ['another button with inputs', { choice: 7, note: 'why' }, '7 why', { choice: '7', note: 'why' }],
    [
      'a verb',
      { verb: 'go', deep: { x: 1, y: [true] } },
      'go',
      { verb: 'go', 'deep.x': '1', 'deep.y.0': 'true' },
    ],
    ['a string value', 'yes', 'yes', { value: 'yes' }],
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
    ['the bot as sender', { from: { id: `28:${APP_ID}` } }, /written by the bot itself/],
    ['the recipient as sender', { from: { id: 'b' }, recipient: { id: 'b' } }, /written by the bot itself/],
  ])('with %s is stored and not answered', async (_, more, note) => {
    const { send, last } = await open();
    expect(await send(platform.activities.message(chat, ada, 'hi', more))).toMatchObject({ status: 202 });
    expect(last().unsupported).toMatch(note);
  });
});

test.each<readonly [string, object, readonly object[]]>([
  [
    'an answered message',
    {
      contentType: 'messageReference',
      content: JSON.stringify({
        messageId: '1',
        messagePreview: 'ERR 4711',
        messageSender: { user: { id: 'u-1', displayName: 'Bob' } },
      }),
    },
    [{ relation: 'answered', sender: { id: 'u-1', name: 'Bob' }, text: 'ERR 4711' }],
  ],
  [
    'a forwarded message',
    {
      contentType: 'forwardedMessageReference',
      content: {
        originalMessageContent: '<p>it is slow</p>',
        originalMessageSender: { user: { displayName: 'Bob' } },
      },
    },
    [{ relation: 'forwarded', sender: { name: 'Bob' }, text: 'it is slow' }],
  ],
  [
    'quotes in HTML',
    {
      contentType: 'text/html',
      content:
        '<blockquote itemscope="" itemtype="http://schema.skype.com/Reply" itemid="1"><strong itemprop="mri" itemid="8:x">Bob &amp; Co</strong><span itemprop="time" itemid="1"></span><p itemprop="preview">ERR 4711</p></blockquote><p>what?</p><blockquote itemscope="" itemtype="http://schema.skype.com/Forward"><p>slow</p></blockquote>',
    },
    [
      { relation: 'answered', sender: { name: 'Bob & Co' }, text: 'ERR 4711' },
      { relation: 'forwarded', text: 'slow' },
    ],
  ],
  ['a broken quote', { contentType: 'text/html', content: '<blockquote x schema.skype.com/Reply><b>' }, []],
  ['a broken reference', { contentType: 'messageReference', content: '{' }, [{ relation: 'answered' }]],
])('a message contains %s', async (_, attachment, quoted) => {
  const { send, last } = await open();
  await send(platform.activities.message(chat, ada, 'what?', { attachments: [attachment] }));
  expect(last()).toMatchObject({ text: 'what?', quoted });
});

describe('a message without text', () => {
  const card = (type: string, content: unknown) => ({
    contentType: `application/vnd.microsoft.${type}`,
    content,
  });

  test.each<readonly [string, object, string]>([
    [
      'an adaptive card',
      card('card.adaptive', {
        type: 'AdaptiveCard',
        body: [
          { type: 'TextBlock', text: 'DiskFull' },
          { type: 'ColumnSet', columns: [{ items: [{ type: 'TextBlock', text: 'db-2' }] }] },
          { type: 'FactSet', facts: [{ title: 'Severity', value: 'high' }] },
          { type: 'RichTextBlock', inlines: ['no ', { type: 'TextRun', text: 'room' }] },
        ],
      }),
      'DiskFull\ndb-2\nSeverity: high\nno room',
    ],
    ['a card as JSON text', card('card.hero', '{"title":"Build","text":"failed"}'), 'Build\nfailed'],
    [
      'a connector card',
      card('teams.card.o365connector', {
        summary: 'Deploy',
        sections: [{ activityTitle: 'web', facts: [{ name: 'Result', value: 'red' }] }],
      }),
      'web\nResult: red',
    ],
    [
      'HTML',
      { contentType: 'text/html', content: '<p>look&nbsp;here</p><p>1 &lt; 2<br/>done</p>' },
      'look here\n1 < 2\ndone',
    ],
  ])('has the text of %s', async (_, attachment, text) => {
    const { send, last } = await open({ bots: 'allow' });
    await send(platform.activities.message(chat, ada, '', { attachments: [attachment] }));
    expect(last()).toMatchObject({ text });
    expect(last().unsupported).toBeUndefined();
  });

  test('is answered if it is for the bot, and a person wrote it', async () => {
    const { send, last } = await open();
    const attachments = [{ contentType: 'image/png', contentUrl: 'https://x.example' }];
    const isWordless = async (...[place, more]: [typeof chat | typeof channel, object]) => {
      await send(platform.activities.message(place, ada, '', { attachments, ...more }));
      return last().isWordless;
    };
    expect(await isWordless(chat, {})).toBe(true);
    expect(await isWordless(channel, {})).toBe(false);
    const mentioned = { id: `28:${APP_ID}`, name: 'Desk' };
    const entities = [{ type: 'mention', text: '<at>Desk</at>', mentioned }];
    expect(await isWordless(channel, { text: '<at>Desk</at>', entities })).toBe(true);
    expect(await isWordless(chat, { from: { id: '28:other', role: 'bot' } })).toBe(false);
  });
});

test('event parameters with overlong names, including nested names, are omitted, and the payload keeps them', async () => {
  const { send, last } = await open();
  const long = 'x'.repeat(200);
  const value = { actionId: 'go', [long]: 1, [`${long}y`]: 2, deep: { [long]: 3, short: 4 } };
  await send(platform.activities.submit(channel, ada, value));
  expect(last().parameters).toEqual({
    actionId: 'go',
    [long]: '1',
    'deep.short': '4',
  });
  expect(last().payload).toMatchObject({ value });
});

describe('an invoke activity', () => {
  const execute = { type: 'Action.Execute', id: 'a-1', verb: 'approve', data: { request: 'r-77' } };
  const submit = { type: 'Action.Submit', id: 'approve-1', data: { action: 'approve', request: 'r-77' } };

  test.each([
    ['Action.Execute', execute, { verb: 'approve', request: 'r-77' }],
    ['Action.Submit', submit, { action: 'approve', request: 'r-77' }],
  ])('of %s gets the same response immediately, and is a choice', async (_, action, parameters) => {
    const { send, last } = await open();
    const activity = platform.activities.invoke(chat, ada, action);
    const body = {
      statusCode: 200,
      type: 'application/vnd.microsoft.activity.message',
      value: expect.any(String),
    };
    for (let time = 0; time < 2; time += 1) expect(await send(activity)).toMatchObject({ status: 200, body });
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

  test('of an unknown kind or without an action is rejected and not stored', async () => {
    const { send } = await open();
    const unknown = platform.activities.invoke(chat, ada, execute, 'task/fetch');
    expect(await send(unknown)).toMatchObject({ status: 501 });
    expect(await send(platform.activities.invoke(chat, ada, 'x'))).toMatchObject({ status: 400 });
    expect(host.store.events).toEqual([]);
  });
});

describe('a message of a bot', () => {
  const programs: readonly Members[] = [
    { id: '28:another' },
    { id: 'x', role: 'bot' },
    { id: 'y', role: 'skill' },
  ];

  test.each(programs)('sent as %j is accepted only by a trigger with bots: allow', async (from) => {
    const { send, last, adapter, trigger } = await open();
    const allowing = teamChatTrigger('desk-0', { ...platform.config, bots: 'allow' });
    const acceptedBy = (event: InboundEvent) =>
      [trigger, allowing].map((each) => adapter.accepts?.(each, event));
    await send(platform.activities.message(chat, ada, 'hi', { from }));
    expect(last()).toMatchObject({ text: 'hi', context: { 'chat.sender.is_bot': true } });
    expect(acceptedBy(last())).toEqual([false, true]);
    await send(platform.activities.message(chat, ada, 'hi'));
    expect(last().context).not.toHaveProperty(['chat.sender.is_bot']);
    expect(acceptedBy(last())).toEqual([true, true]);
    // Events about joining members are accepted from any sender.
    await send({ ...platform.activities.botAdded(chat, ada), from });
    expect(acceptedBy(last())).toEqual([true, true]);
  });

  test('is not awaited by its sender, even if it is a button press', async () => {
    const { send, last } = await open();
    const activity = platform.activities.invoke(chat, ada, { type: 'Action.Execute', verb: 'go' });
    expect(await send({ ...activity, from: { id: '28:another' } })).toMatchObject({ status: 200 });
    expect(last()).toMatchObject({ text: 'go', isChoice: true });
    expect(last().isAwaited).toBe(undefined);
  });

  test('is ignored after ten bot messages in a row until a person writes; a redelivery does not count', async () => {
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
    // An invoke activity requires a response body.
    expect(await send({ ...press, from })).toMatchObject({ status: 200, body: { statusCode: 200 } });
    expect(await say(personalChat('eve'))).toMatchObject({ status: 'accepted' });
    const arrival = await send(platform.activities.botAdded(chat, ada));
    expect(arrival).toMatchObject({ body: { status: 'accepted' } });
    expect(await say()).toEqual({ status: 'ignored' });
    expect(host.store.events).toHaveLength(12);
    expect(host.lines.filter(({ message }) => message.startsWith('bots answer each other'))).toMatchObject([
      { level: 'warn', fields: { app: APP_ID, conversation: chat.id } },
    ]);
    await send(platform.activities.message(chat, ada, 'stop it'));
    expect(await say()).toMatchObject({ status: 'accepted' });
  });
});

describe('an approval decision', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const actionId = decisionActionId(approval, 'approve');
  const decision = { verdict: 'approve', about: { approval } };

  test('by an approval button is queued with the commands of its conversation, and has no text', async () => {
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

  test('is not read from a text, from other data, from a bot, or from a product without a user directory', async () => {
    const { send, last } = await open();
    const { submit, message, of } = platform.activities;
    const activities = platform.activities;
    for (const activity of [
      message.call(activities, chat, ada, actionId),
      message.call(activities, chat, ada, 'hi', { value: { actionId } }),
      submit.call(activities, chat, ada, { id: actionId, action: actionId, verb: actionId }),
      submit.call(activities, chat, ada, { nested: { actionId } }),
      of.call(activities, 'message', chat, ada, { value: { actionId }, channelId: 'webchat' }),
      of.call(activities, 'message', chat, ada, { value: { actionId }, from: { ...ada, role: 'bot' } }),
    ]) {
      await send(activity);
      expect(last().decision).toBeUndefined();
      expect(host.event().key).toBe(`conversation/teamchat/${APP_ID}/${chat.id.replace(/\//g, '%2F')}`);
    }
    expect(host.store.events).toHaveLength(6);
  });

  test('by a reaction names the id of the request message, and is read only while an approval is pending', async () => {
    const { send, last } = await open();
    const id = newActivityId();
    let second = 10;
    const reaction = (type: string, list = 'reactionsAdded') => {
      second += 1;
      const about = { id, replyToId: id, timestamp: `2026-01-02T03:55:${second}.9534472Z` };
      return platform.activities.of('messageReaction', channel, ada, { ...about, [list]: [{ type }] });
    };
    await send(reaction('like'));
    expect(last().decision).toBeUndefined();
    host.store.approvals = async () => [{} as StoredApproval];
    await send(reaction('1f44e_thumbsdown'));
    expect(host.event().key).toMatch(/\/commands$/);
    expect(last()).toMatchObject({ decision: { verdict: 'deny', about: { message: id } }, text: undefined });
    for (const none of [reaction('heart'), reaction('like', 'reactionsRemoved')]) {
      await send(none);
      expect(last().decision).toBeUndefined();
    }
    expect(host.store.events).toHaveLength(4);
  });

  test('by a reaction is also an event for a trigger with reactions: allow', async () => {
    const { send } = await open({ reactions: 'allow' });
    host.store.approvals = async () => [{} as StoredApproval];
    const about = { id: newActivityId(), reactionsAdded: [{ type: 'like' }] };
    const reaction = platform.activities.of('messageReaction', channel, ada, about);
    expect(await send(reaction)).toMatchObject({ status: 202 });
    expect(await send(reaction)).toMatchObject({ status: 200 });
    expect(host.store.events.map(({ key }) => key.endsWith('/commands'))).toEqual([true, false]);
  });
});

describe('other activities', () => {
  test('that add the bot to a conversation create one arrival event per activity id', async () => {
    const { send, last } = await open();
    const activity = platform.activities.botAdded(channel, ada);
    expect(await send(activity)).toMatchObject({ status: 202 });
    expect(await send(activity)).toMatchObject({ status: 200 });
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
  ])('of type %s are stored and ignored with a note', async (type, more) => {
    const { send, last } = await open();
    expect(await send(platform.activities.of(type, channel, ada, more))).toMatchObject({ status: 202 });
    expect(last()).toMatchObject({ text: undefined, unsupported: expect.stringContaining(type) });
    expect(last().isArrival).toBe(undefined);
  });

  test('of type typing or without an id are not stored', async () => {
    const { send } = await open();
    expect(await send(platform.activities.of('typing', chat, ada))).toMatchObject({ status: 202 });
    const unnamed = platform.activities.of('event', chat, ada, { id: undefined });
    expect(await send(unnamed)).toMatchObject({ status: 202 });
    expect(host.store.events).toEqual([]);
  });

  test('with reactions contain the changes and the message, and are accepted only with reactions: allow', async () => {
    const { send, last, adapter, trigger } = await open();
    const allowing = teamChatTrigger('desk-0', { ...platform.config, reactions: 'allow' });
    const id = newActivityId();
    const activity = platform.activities.of('messageReaction', channel, ada, {
      id,
      replyToId: id,
      reactionsAdded: [{ type: 'like' }, { type: 'heart' }],
      reactionsRemoved: [{ type: 'sad' }],
    });
    expect(await send(activity)).toMatchObject({ status: 202 });
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
    expect([trigger, allowing].map((each) => adapter.accepts?.(each, last()))).toEqual([false, true]);
    // The answer is a reply to that message.
    expect(adapter.outbound?.target(allowing, last())).toMatchObject({ place: channel.id, repliesTo: id });
    const many = Array.from({ length: 1_000 }, () => ({ type: 'like' }));
    await send(platform.activities.of('messageReaction', chat, ada, { reactionsAdded: many }));
    expect(last().text?.length).toBeLessThan(300);
    await send(platform.activities.message(channel, ada, 'hi', { reactionsAdded: [{ type: 'like' }] }));
    expect(last().context).not.toHaveProperty(['reaction.added']);
  });

  test('with reactions do not conflict with the message of the same id', async () => {
    const { send } = await open();
    const reaction = platform.activities.of('messageReaction', chat, ada);
    await send(reaction);
    expect(await send(platform.activities.message(chat, ada, 'hi', { id: reaction.id }))).toMatchObject({
      body: { status: 'accepted' },
    });
  });

  test.each(['messageReaction', 'messageUpdate', 'messageDelete'])(
    'of type %s by two people, and twice by one person, are separate events; a redelivery is a duplicate',
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

describe('the webhook', () => {
  test('rejects malformed bodies, after the token check', async () => {
    const { sender } = await open();
    const token = await platform.identity.token(platform.serviceUrl);
    const { serviceUrl: _, ...without } = platform.activities.message(chat, ada, 'hi');
    const bodies = ['{', '[]', '7', without, { ...without, serviceUrl: 7 }];
    for (const body of bodies) expect(await sender.sendWith(body, token)).toMatchObject({ status: 400 });
    const invalidValues = [
      platform.activities.message(chat, ada, 'hi', { conversation: {} }),
      platform.activities.message(chat, ada, 'hi', { id: undefined }),
      platform.activities.message(chat, ada, 'hi', { id: 'a\nb' }),
      // These ids would change the URL path of the answer.
      ...['.', '..'].flatMap((id) => [
        platform.activities.message({ ...chat, id }, ada, 'hi'),
        platform.activities.message(chat, ada, 'hi', { id }),
      ]),
      platform.activities.message(chat, ada, 'hi', { from: undefined }),
      ...['', 'x'.repeat(101), 'a\nb', '\ud800'].map((type) => platform.activities.of(type, chat, ada)),
    ];
    for (const body of invalidValues)
      expect(await sender.sendWith(body, token)).toMatchObject({ status: 400 });
    expect(host.store.events).toEqual([]);
  });

  test('rejects other methods than POST, and names the allowed method', async () => {
    await open();
    for (const method of ['GET', 'PUT']) {
      const { status, headers } = await fetch(`${host.url}/webhook/teamchat`, { method });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  test('rejects requests without a valid token', async () => {
    const { send, sender } = await open();
    const activity = platform.activities.message(chat, ada, 'hi');
    expect(await sender.sendWith(activity, undefined)).toMatchObject({ status: 401 });
    expect(await send(activity, { aud: 'another' })).toMatchObject({
      status: 401,
      body: expect.stringContaining('is for another audience'),
    });
    expect(host.store.events).toEqual([]);
  });

  test('rejects services without https, unknown hosts, and similar host names', async () => {
    const { send } = await open({ service_url_allow: ['chat.example.com', 'other.example:8443'] });
    const statusOf = async (serviceUrl: string) =>
      (await send(platform.activities.message(chat, ada, 'hi', { serviceUrl }))).status;
    const acceptedUrls = [
      'https://smba.trafficmanager.net/amer/tenant/',
      'https://chat.example.com/',
      'https://chat.example.com:9000/x',
      'https://other.example:8443',
      'https://CHAT.example.com',
    ];
    const rejectedUrls = [
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
      // An emulator must be configured with scheme and port.
      'http://127.0.0.1:1/',
      platform.serviceUrl,
      'nonsense',
    ];
    for (const url of acceptedUrls) expect([url, await statusOf(url)]).toEqual([url, 202]);
    for (const url of rejectedUrls) expect([url, await statusOf(url)]).toEqual([url, 403]);
    expect(host.store.events).toHaveLength(acceptedUrls.length);
  });

  test('rejects tenants outside the list, and activities without tenant', async () => {
    const { send, adapter, last } = await open({ allowed_tenants: [TENANT] });
    const of = (tenant: string | undefined) => platform.activities.message({ ...chat, tenant }, ada, 'hi');
    expect(await send(of(TENANT.toUpperCase()))).toMatchObject({ status: 202 });
    expect(await send(of('another'))).toMatchObject({ status: 403 });
    expect(await send(of(undefined))).toMatchObject({ status: 403 });
    expect(host.store.events).toHaveLength(1);
    // The tenant filter also applies with the configuration at handling time.
    const later = teamChatTrigger('desk-0', { ...platform.config, allowed_tenants: ['another'] });
    expect(adapter.accepts?.(later, last())).toBe(false);
  });

  test('rejects an activity if either of its tenants is not in the list, or another product reports the tenant', async () => {
    const { send, last } = await open({ allowed_tenants: [TENANT] });
    const activity = (more: Members) => platform.activities.message(chat, ada, 'hi', more);
    const tenant = { id: 'another' };
    expect(await send(activity({ channelData: { tenant } }))).toMatchObject({ status: 403 });
    const conversation = { id: chat.id, tenantId: 'another' };
    expect(await send(activity({ conversation }))).toMatchObject({ status: 403 });
    expect(await send(activity({ channelId: 'webchat' }))).toMatchObject({ status: 403 });
    expect(host.store.events).toEqual([]);
    expect(await send(activity({ conversation: { id: chat.id } }))).toMatchObject({ status: 202 });
    expect(last().context).toMatchObject({ 'chat.tenant': TENANT });
  });

  test('accepts any tenant if no list is configured, and ignores tenant and directory id of other products', async () => {
    const { send, last } = await open();
    await send(platform.activities.message(chat, ada, 'hi', { channelId: 'webchat' }));
    const { context, userAliases } = last();
    expect(userAliases).toBe(undefined);
    expect(context).not.toHaveProperty(['chat.tenant']);
    expect(context).not.toHaveProperty(['chat.sender.directory_id']);
  });

  test('rejects an activity for a trigger with other tenants, but not for the other trigger of the path', async () => {
    const { send, last } = await open({ allowed_tenants: ['another'] }, { allowed_tenants: [TENANT] });
    expect(await send(platform.activities.message(chat, ada, 'hi'))).toMatchObject({ status: 202 });
    expect(last().triggers).toEqual(['desk-1']);
  });
});

test('an allowed channel includes its threads, and an allowed thread only itself', async () => {
  const { adapter } = await open();
  const bare = channel.id.replace(/;.*/, '');
  expect(adapter.filters?.(teamChatTrigger('t', { allowed_channels: [bare] })).channels).toEqual(
    new Set([bare]),
  );
});

describe('a conversation', () => {
  test('is found with its service URL by the name that agents use, even in another process', async () => {
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

  test('of a channel is stored from any of its threads if an allowed list contains the channel', async () => {
    const [bare, other] = [channel, thread('other')].map(({ id }) => id.replace(/;.*/, ''));
    const { send, adapter, trigger } = await open(
      { allowed_channels: [bare ?? ''] },
      { allowed_channels: [personalChat('eve').id] },
    );
    for (const place of [channel, thread('other'), personalChat('eve'), personalChat('mallory')])
      expect(await send(platform.activities.message(place, ada, 'hi'))).toMatchObject({ status: 202 });
    const isKnown = async (id = '') =>
      (await adapter.outbound?.destination?.(trigger, `teamchat/${APP_ID}/${id}`)) !== undefined;
    const ids = [
      bare,
      channel.id,
      personalChat('eve').id,
      other,
      thread('other').id,
      personalChat('mallory').id,
    ];
    expect(await Promise.all(ids.map(isKnown))).toEqual([true, true, true, false, false, false]);
    expect(await adapter.outbound?.destination?.(trigger, `teamchat/${APP_ID}/${bare}`)).toEqual({
      place: bare,
      serviceUrl: platform.serviceUrl,
    });
  });

  test('is stored before its activity is acknowledged', async () => {
    const { send } = await open();
    host.store.fault = undefined;
    const storePut = host.store.put.bind(host.store);
    host.store.put = () => Promise.reject(new Error('the disk is full'));
    const activity = platform.activities.message(personalChat('eve'), ada, 'hi');
    expect((await send(activity)).status).toBe(500);
    expect(host.store.events).toEqual([]);
    host.store.put = storePut;
    expect(await send(activity)).toMatchObject({ status: 202 });
  });

  test('with an id of the maximum length can be addressed by agents', async () => {
    const { send, adapter, trigger } = await open();
    const id = '/'.repeat(1_000);
    await send(platform.activities.message({ ...chat, id }, ada, 'hi'));
    const name = host.event().key.replace('conversation/', '');
    const { conversation } = proactiveMessage({ conversation: name, text: 'later' });
    expect(await adapter.outbound?.destination?.(trigger, conversation)).toMatchObject({ place: id });
  });
});
