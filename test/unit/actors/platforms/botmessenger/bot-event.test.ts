// Events from bot updates: conversation, command names, and ignored updates.

import { describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { botEvent, commandFormOf, readBotEvent } from '../../../../../actors/platforms/botmessenger/event.ts';
import { RecentAlbums } from '../../../../../actors/platforms/botmessenger/recent-albums.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';

const bot = { account: '77', id: '77', username: 'Ops_bot' };
const principal = { kind: 'key', name: 'bot_token' } as const;
const ann = { id: 5, is_bot: false, first_name: 'Ann', last_name: 'Lee', username: 'AnnLee' };
const team = { id: -1001, type: 'supergroup', title: 'Team' };

const eventOf = (update: object, previousIds: readonly string[] = []) =>
  botEvent({
    bot,
    triggers: ['ops'],
    principal,
    update: { update_id: 9, ...update },
    previousIdsOf: () => previousIds,
  });

const textUpdate = (text: string | undefined, more: object = {}) =>
  eventOf({ message: { message_id: 3, date: 1, chat: team, from: ann, text, ...more } });

/** Reads the event from the stored bytes, like after a restart. */
function readBack(event: ReturnType<typeof eventOf>) {
  if (event === undefined) throw new Error('the update is not an event');
  const { parsed: _, ...stored } = event;
  return readBotEvent({ ...stored, seq: 1, at: 0, attempt: 1, crashes: 0 } as StoredEvent);
}

describe('commandFormOf', () => {
  test.each([
    ['/deploy', 'deploy', ''],
    ['/deploy prod  now', 'deploy', 'prod  now'],
    ['  /deploy@ops_BOT prod', 'deploy', 'prod'],
    ['/deploy\nprod', 'deploy', 'prod'],
    ['@ops_bot /deploy prod', 'deploy', 'prod'],
    ['\u200e/deploy prod', 'deploy', 'prod'],
    ['\u200b@ops_bot \u2060/deploy prod', 'deploy', 'prod'],
  ])('%j returns the command %s', (text, name, rest) => {
    expect(commandFormOf(text, bot.username)).toEqual({ kind: 'command', name, rest });
  });

  test.each([
    ['deploy prod', 'deploy prod'],
    ['@ops_bot, deploy prod', 'deploy prod'],
    ['@ops_bot', '@ops_bot'],
    ['@ops_bots deploy', '@ops_bots deploy'],
    ['/etc/passwd is gone', '/etc/passwd is gone'],
    ['see /deploy', 'see /deploy'],
    ['@another_bot deploy', '@another_bot deploy'],
  ])('%j returns plain text', (text, rest) => {
    expect(commandFormOf(text, bot.username)).toEqual({ kind: 'words', text: rest });
  });

  test.each(['/deploy@another_bot', '/deploy@another_bot prod', '/deploy@ops_bo'])(
    '%j returns a command for another bot',
    (text) => {
      expect(commandFormOf(text, bot.username)).toEqual({ kind: 'for another bot' });
    },
  );
});

describe('botEvent', () => {
  test('assigns an update to its bot and chat, and the stored event is read back with all its data', () => {
    const event = textUpdate('/deploy@ops_bot prod');
    expect(event).toMatchObject({ id: 'botmessenger:77/9', key: 'conversation/botmessenger/77/-1001' });
    expect(readBack(event)).toMatchObject({
      platform: 'botmessenger',
      triggers: ['ops'],
      names: ['deploy'],
      commandRest: 'prod',
      text: '/deploy@ops_bot prod',
      channel: '-1001',
      user: '5',
      userAliases: ['annlee'],
      context: {
        'chat.event': 'message',
        'chat.sender.id': '5',
        'chat.sender.name': 'Ann Lee',
        'chat.message': '3',
      },
      payload: { update_id: 9, message: { text: '/deploy@ops_bot prod' } },
    });
  });

  test('assigns a forum topic its own conversation, but a plain thread that of its chat', () => {
    const topic = textUpdate('hi', { message_thread_id: 42, is_topic_message: true });
    expect(topic?.key).toBe('conversation/botmessenger/77/-1001/42');
    expect(textUpdate('hi', { message_thread_id: 42 })?.key).toBe('conversation/botmessenger/77/-1001');
  });

  test('assigns a supergroup the conversation of the group from which it was migrated', () => {
    const event = eventOf({ message: { message_id: 3, chat: team, from: ann, text: 'hi' } }, ['-20', '-10']);
    expect(event?.key).toBe('conversation/botmessenger/77/-10');
    expect(readBack(event)).toMatchObject({ channel: '-1001', channelAliases: ['-20', '-10'] });
  });

  test('reads the data of a pressed button as text, which may be a command', () => {
    const event = eventOf({
      callback_query: {
        id: '1',
        from: ann,
        chat_instance: '2',
        data: 'deploy prod',
        message: { message_id: 8, date: 0, chat: team, message_thread_id: 42, is_topic_message: true },
      },
    });
    expect(event?.key).toBe('conversation/botmessenger/77/-1001/42');
    expect(readBack(event)).toMatchObject({
      names: ['deploy'],
      commandRest: 'prod',
      text: 'deploy prod',
      isChoice: true,
      user: '5',
      context: { 'chat.event': 'callback_query', 'chat.message': '8' },
    });
  });

  test('reads the caption of a picture as text, and the chat as sender of anonymous messages', () => {
    expect(readBack(textUpdate(undefined, { caption: 'look', photo: [] })).text).toBe('look');
    const forChat = textUpdate('hi', {
      from: { id: 1087968824, is_bot: true, first_name: 'Group' },
      sender_chat: team,
    });
    expect(readBack(forChat)).toMatchObject({ user: '-1001', isUserShared: true });
    expect(readBack(textUpdate('hi')).isUserShared).toBeUndefined();
    expect(readBack(forChat).context['chat.sender.is_bot']).toBeUndefined();
  });

  test.each([
    [
      'a poll',
      { poll: { question: 'Lunch?', options: [{ text: 'Yes' }, { text: 'No' }] } },
      'Lunch?\n- Yes\n- No',
    ],
    ['a checklist', { checklist: { title: 'Trip', tasks: [{ id: 1, text: 'Pack' }] } }, 'Trip\n- Pack'],
    ['web app data', { web_app_data: { data: '{"size":"L"}', button_text: 'Order' } }, '{"size":"L"}'],
  ])('reads the text of %s', (_, more, text) => {
    expect(readBack(textUpdate(undefined, more))).toMatchObject({ text, unsupported: undefined });
  });

  test.each([
    [{ voice: { file_id: 'v' } }, 'voice'],
    [{ photo: [{ file_id: 'p' }] }, 'photo'],
    [{ photo: [{ file_id: 'p' }], caption: ' ' }, 'photo'],
    [{ location: { latitude: 1, longitude: 2 } }, 'location'],
    [{ contact: { phone_number: '1', first_name: 'Ben' } }, 'contact'],
  ])('keeps textless media, and answers media for the bot: %j', (media, kind) => {
    const unsupported = `textless message: ${kind}`;
    const read = (more: object) => readBack(textUpdate(undefined, { ...media, ...more }));
    expect(read({ chat: { id: 5, type: 'private' } })).toMatchObject({
      text: undefined,
      unsupported,
      isWordless: true,
    });
    expect(read({})).toMatchObject({ unsupported, isWordless: false });
    expect(read({ reply_to_message: { from: { id: 77, is_bot: true } } }).isWordless).toBe(true);
    const byBot = { chat: { id: 5, type: 'private' }, from: { ...ann, is_bot: true } };
    expect(read(byBot).isWordless).toBe(false);
  });

  test('answers only the first picture of an album', () => {
    const albums = new RecentAlbums();
    const part = (messageId: string, album?: string, chat = '5') => albums.isRest({ chat, album, messageId });
    const parts = [part('1', 'a'), part('2', 'a'), part('1', 'a'), part('3', 'a', '6'), part('4'), part('5')];
    expect(parts).toEqual([false, true, false, false, false, false]);
    const event = botEvent({
      ...{ bot, triggers: ['ops'], principal, previousIdsOf: () => [], isAlbumRest: true },
      update: {
        update_id: 9,
        message: { message_id: 2, chat: { id: 5, type: 'private' }, from: ann, photo: [] },
      },
    });
    expect(readBack(event)).toMatchObject({ unsupported: expect.any(String), isWordless: false });
  });

  test('names the sender and the group', () => {
    expect(readBack(textUpdate('hi'))).toMatchObject({
      senderName: 'Ann Lee',
      channelName: 'Team',
      isByBot: false,
    });
    const direct = readBack(textUpdate('hi', { chat: { id: 5, type: 'private', first_name: 'Ann' } }));
    expect(direct.channelName).toBeUndefined();
  });

  const bob = { id: 9, is_bot: false, first_name: 'Bob' };
  const news = { id: -7, type: 'channel', title: 'News' };
  test.each<readonly [string, object, readonly object[]]>([
    [
      'an answered message and a quoted part of it',
      { reply_to_message: { from: bob, text: 'ERR 4711 on db-2' }, quote: { text: 'ERR 4711' } },
      [
        { relation: 'answered', sender: { id: '9', name: 'Bob' }, text: 'ERR 4711 on db-2' },
        { relation: 'quoted', sender: { id: '9', name: 'Bob' }, text: 'ERR 4711' },
      ],
    ],
    [
      'an answered picture',
      { reply_to_message: { from: bob, photo: [], caption: 'look' } },
      [{ text: 'look' }],
    ],
    ['the message that created the topic', { reply_to_message: { from: bob, forum_topic_created: {} } }, []],
    [
      'a quote from another chat',
      { external_reply: { origin: { type: 'channel', chat: news } }, quote: { text: 'breaking' } },
      [{ relation: 'quoted', sender: { id: '-7', name: 'News' }, text: 'breaking' }],
    ],
    [
      'a forward',
      { forward_origin: { type: 'user', sender_user: bob } },
      [{ relation: 'forwarded', sender: { name: 'Bob' } }],
    ],
    [
      'a forward from a hidden person',
      { forward_origin: { type: 'hidden_user', sender_user_name: 'Eve' } },
      [{ relation: 'forwarded', sender: { name: 'Eve' } }],
    ],
    [
      'a forward by an older server',
      { forward_from: { ...bob, last_name: 'Ray' }, forward_date: 1 },
      [{ relation: 'forwarded', sender: { id: '9', name: 'Bob Ray' } }],
    ],
  ])('reads %s', (_, more, quoted) => {
    expect(readBack(textUpdate('what is this?', more))).toMatchObject({ text: 'what is this?', quoted });
  });

  test('marks the command of the start button', () => {
    const isStart = (text: string) => readBack(textUpdate(text)).isStart;
    expect(['/start', '/start ref_7', '/start@ops_bot', '/Start'].map(isStart)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['start', 'see /start', '/starting'].map(isStart)).toEqual([false, false, false]);
  });

  test('marks messages of other bots', () => {
    const event = textUpdate('hi', { from: { id: 8, is_bot: true, first_name: 'Other' } });
    expect(readBack(event).context['chat.sender.is_bot']).toBe(true);
  });

  test.each([
    ['left', 'member', true],
    ['kicked', 'administrator', true],
    ['member', 'administrator', false],
    ['member', 'left', false],
    ['left', 'restricted', false],
  ])(
    'reads a change of the bot membership from %s to %s as arrival of the bot in a chat: %s',
    (before, after, isArrival) => {
      const user = { id: 77, is_bot: true, first_name: 'Ops' };
      const statuses = {
        old_chat_member: { user, status: before },
        new_chat_member: { user, status: after },
      };
      const event = eventOf({ my_chat_member: { chat: team, from: ann, date: 1, ...statuses } });
      if (!isArrival) return expect(event).toBeUndefined();
      expect(event?.key).toBe('conversation/botmessenger/77/-1001');
      expect(readBack(event)).toMatchObject({
        isArrival: true,
        names: [],
        text: undefined,
        channel: '-1001',
        user: '5',
        context: { 'chat.event': 'my_chat_member' },
      });
    },
  );

  test.each<[string, object]>([
    [
      'a command for another bot',
      { message: { message_id: 1, chat: team, from: ann, text: '/deploy@another_bot' } },
    ],
    [
      'a message of the bot itself',
      { message: { message_id: 1, chat: team, from: { ...ann, id: 77 }, text: 'hi' } },
    ],
    [
      'a message without text and media',
      { message: { message_id: 1, chat: team, from: ann, pinned_message: {} } },
    ],
    ['an edit', { edited_message: { message_id: 1, chat: team, from: ann, text: 'hi' } }],
    ['a channel post', { channel_post: { message_id: 1, chat: team, text: 'hi' } }],
    [
      'a button without a message',
      { callback_query: { id: '1', from: ann, data: 'x', inline_message_id: '2' } },
    ],
    ['a member update without statuses', { my_chat_member: { chat: team, from: ann } }],
    ['an unknown kind', { something: [1, 2] }],
    ['a message with an unexpected shape', { message: { chat: 'none', from: 7, text: ['hi'] } }],
  ])('ignores %s', (_case, update) => {
    expect(eventOf(update)).toBeUndefined();
  });

  test('ignores an update without id', () => {
    expect(
      eventOf({ update_id: 'x', message: { message_id: 1, chat: team, from: ann, text: 'hi' } }),
    ).toBeUndefined();
  });
});

describe('botEvent for approval decisions', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const message = { message_id: 8, date: 0, chat: team, message_thread_id: 42, is_topic_message: true };
  const press = (data: string, from: object = ann) =>
    eventOf({ callback_query: { id: '1', from, chat_instance: '2', data, message } });
  const react = (before: readonly string[], now: readonly string[], more: object = { user: ann }) => {
    const listOf = (all: readonly string[]) => all.map((emoji) => ({ type: 'emoji', emoji }));
    const lists = { old_reaction: listOf(before), new_reaction: listOf(now) };
    return eventOf({ message_reaction: { chat: team, message_id: 8, date: 1, ...lists, ...more } });
  };

  test('reads a pressed approval button as a decision, in the control mailbox of the chat', () => {
    const event = press(decisionActionId(approval, 'deny'));
    expect(event?.key).toBe('conversation/botmessenger/77/-1001/42/commands');
    expect(readBack(event)).toMatchObject({
      decision: { verdict: 'deny', about: { approval } },
      names: [],
      text: undefined,
      user: '5',
      userAliases: ['annlee'],
      channel: '-1001',
      triggers: ['ops'],
      account: '77',
    });
  });

  test('reads a typed text that looks like the data of an approval button as text', () => {
    const id = decisionActionId(approval, 'approve');
    const event = textUpdate(id);
    expect(event?.key).toBe('conversation/botmessenger/77/-1001');
    expect(readBack(event)).toMatchObject({ text: id, isChoice: false });
    expect(readBack(event).decision).toBeUndefined();
  });

  test('reads a reaction as a decision about its message, in the control mailbox of the chat', () => {
    const event = react(['❤'], ['❤', '👍']);
    expect(event?.key).toBe('conversation/botmessenger/77/-1001/commands');
    expect(readBack(event)).toMatchObject({
      decision: { verdict: 'approve', about: { message: '8' } },
      names: [],
      text: undefined,
      user: '5',
      channel: '-1001',
      context: { 'chat.event': 'message_reaction', 'chat.message': '8' },
    });
    expect(readBack(react([], ['👎'])).decision).toMatchObject({ verdict: 'deny' });
  });

  test.each<[string, readonly string[], readonly string[], object | undefined]>([
    ['that existed before', ['👍'], ['👍', '❤'], undefined],
    ['that was removed', ['👍'], [], undefined],
    ['without a meaning', [], ['❤'], undefined],
    ['together with its opposite', [], ['👍', '👎'], undefined],
    ['in the name of a chat', [], ['👍'], { actor_chat: team }],
    ['of this bot', [], ['👍'], { user: { id: 77, is_bot: true, first_name: 'Ops' } }],
    ['of another bot', [], ['👍'], { user: { id: 78, is_bot: true, first_name: 'Other' } }],
  ])('ignores a reaction %s', (_case, before, now, more) => {
    expect(react(before, now, more)).toBeUndefined();
  });

  test('ignores reactions with an unexpected shape', () => {
    for (const list of [undefined, 'x', [7, null, { emoji: 5 }, { type: 'paid' }]])
      expect(
        eventOf({ message_reaction: { chat: team, message_id: 8, user: ann, new_reaction: list } }),
      ).toBeUndefined();
  });
});
