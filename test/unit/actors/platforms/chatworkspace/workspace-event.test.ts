// What payloads of a workspace become: events of a conversation, the same whether they come as a mention, as a message or as both,
// and read the same after a restart (CE1–CE3).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { readWorkspaceEvent, workspaceEvent } from '../../../../../actors/platforms/chatworkspace/event.ts';
import { type PayloadKind, saidIn } from '../../../../../actors/platforms/chatworkspace/payload.ts';
import { writtenText } from '../../../../../actors/platforms/chatworkspace/text.ts';
import type { NewEvent, StoredEvent } from '../../../../../actors/store/event.ts';

const principal = { kind: 'key', name: 'app_token' } as const;

function eventOf(kind: PayloadKind, payload: unknown): NewEvent | undefined {
  const said = saidIn(kind, payload);
  if (said === undefined) return undefined;
  return workspaceEvent({ account: 'A1', triggers: ['ops'], principal, kind, payload, said, bots: ['UBOT'] });
}

/** As it is read from the store after a restart. */
function readBack(event: NewEvent | undefined) {
  if (event === undefined) throw new Error('there is no event');
  const { parsed: _, ...stored } = event;
  const read = readWorkspaceEvent({ ...stored, seq: 1, at: 0, attempt: 1, crashes: 0 } as StoredEvent);
  expect(readWorkspaceEvent({ ...event, seq: 1, at: 0, attempt: 1, crashes: 0 } as StoredEvent)).toEqual(
    read,
  );
  return read;
}

const said = { type: 'message', channel: 'C1', user: 'UANN', ts: '1771287144.743569', text: '<@UBOT> Hey' };
const callback = (event: object) => ({
  token: 'the verification token',
  team_id: 'T1',
  api_app_id: 'A1',
  type: 'event_callback',
  event_id: 'Ev1',
  event: { ...said, ...event },
});
const message = (event: object = {}) => eventOf('events_api', callback(event));

describe('an utterance', () => {
  test('keeps no token of an assistant, and the rest of what stands beside it', () => {
    const event = message({ assistant_thread: { action_token: '1.2.secret', title: 'a thread' } });
    expect(Buffer.from(event?.body ?? []).toString()).not.toContain('1.2.secret');
    expect(readBack(event).payload).toMatchObject({
      event: { ...said, assistant_thread: { title: 'a thread' } },
    });
  });

  test('is an event of its app, channel and time, in the conversation that it begins', () => {
    const event = message({ type: 'app_mention' });
    expect(event).toMatchObject({
      id: 'chatworkspace:A1/C1/1771287144.743569',
      key: 'conversation/chatworkspace/A1/C1/1771287144.743569',
    });
    expect(readBack(event)).toMatchObject({
      platform: 'chatworkspace',
      account: 'A1',
      triggers: ['ops'],
      names: [],
      text: 'Hey',
      channel: 'C1',
      user: 'UANN',
      context: {
        'chat.event': 'mention',
        'chat.team': 'T1',
        'chat.id': 'C1',
        'chat.thread': '1771287144.743569',
        'chat.message': '1771287144.743569',
        'chat.sender.id': 'UANN',
      },
    });
  });

  test('that mentions the bot is a mention, as whatever it comes', () => {
    const [asMention, asMessage] = [message({ type: 'app_mention' }), message({ channel_type: 'channel' })];
    expect(asMessage?.id).toBe(asMention?.id);
    expect(asMessage?.key).toBe(asMention?.key);
    expect(readBack(asMessage).context).toEqual(readBack(asMention).context);
    expect(readBack(message({ text: 'Hey' })).context).toMatchObject({ 'chat.event': 'message' });
  });

  test('belongs to its thread, and in a conversation of two to that, unless it is in a thread', () => {
    const inThread = message({ thread_ts: '1771287000.000100' });
    expect(inThread?.key).toBe('conversation/chatworkspace/A1/C1/1771287000.000100');
    const direct = { channel: 'D1', channel_type: 'im' };
    expect(message(direct)?.key).toBe('conversation/chatworkspace/A1/D1');
    expect(message({ channel: 'D1' })?.key).toBe('conversation/chatworkspace/A1/D1');
    expect(message({ ...direct, thread_ts: '1.2' })?.key).toBe('conversation/chatworkspace/A1/D1/1.2');
  });

  test.each([
    ['an edit', { subtype: 'message_changed' }],
    ['a deletion', { subtype: 'message_deleted' }],
    ['a join', { subtype: 'channel_join' }],
    ['a hidden one', { hidden: true }],
    ['one without a text', { text: '' }],
    ['one without a channel', { channel: undefined }],
    ['one in a channel whose id is a path', { channel: '../x' }],
    ['a mark on nothing', { type: 'reaction_added' }],
  ])('is none: %s', (_, event) => {
    expect(message(event)).toBeUndefined();
  });

  test.each(['file_share', 'thread_broadcast', 'me_message'])('may be of the subtype %s', (subtype) => {
    expect(readBack(message({ subtype }))).toMatchObject({ text: 'Hey', unsupported: undefined });
  });

  test('of nothing but files is told to be that', () => {
    const event = message({ subtype: 'file_share', text: '', files: [{ id: 'F1' }] });
    expect(readBack(event).unsupported).toBe('it has files and no text');
  });

  test('of a program says so', () => {
    const context = readBack(message({ bot_id: 'B7', user: undefined, subtype: 'bot_message' })).context;
    expect(context).toMatchObject({ 'chat.sender.id': 'B7', 'chat.sender.is_bot': true });
  });

  test('is kept without the token of its payload', () => {
    expect(Buffer.from(message()?.body ?? []).toString()).not.toContain('verification');
  });
});

describe('the text', () => {
  test.each([
    ['<@UBOT> Hey', 'Hey'],
    ['<@UBOT|ops>: deploy prod', 'deploy prod'],
    ['  <@UBOT>,  <@UBOT> x', 'x'],
    ['<@UBOT>', '<@UBOT>'],
    ['ask <@UBOT> later', 'ask <@UBOT> later'],
    ['<@UANN> and <@UBOT>', '<@UANN> and <@UBOT>'],
    ['<@UBOT> tell <@UANN|ann>', 'tell <@UANN|ann>'],
    ['a &lt;b&gt; &amp;&amp; c &amp;lt;', 'a <b> && c &lt;'],
    ['<https://example.com>', 'https://example.com'],
    ['<http://example.com|example.com>', 'example.com'],
    ['<mailto:a@b.example|a@b.example>', 'a@b.example'],
    ['<https://example.com/?a=1&amp;b=2|the page>', 'the page (https://example.com/?a=1&b=2)'],
    ['<!here> <!subteam^S1|@team>', '@here <!subteam^S1|@team>'],
    ['<!date^1^{date}|Monday>', 'Monday'],
    ['in <#C2|general>', 'in <#C2|general>'],
    ['a < b', 'a < b'],
  ])('%j was written as %j', (text, written) => {
    expect(writtenText(text, ['UBOT'], false)).toBe(written);
  });

  test('of a mention of whom nobody knows here is without the first one', () => {
    expect(writtenText('<@UXYZ> <@UANN> hey', [], true)).toBe('<@UANN> hey');
    expect(writtenText('<@UXYZ> hey', [], false)).toBe('<@UXYZ> hey');
  });

  test('that the platform has encoded is what was written, whatever it is', () => {
    const encoded = (text: string) =>
      text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '&', '<', '>', ';', 'lt', 'amp', ' ', '@') }),
        (text) => {
          expect(writtenText(encoded(text), ['UBOT'], false)).toBe(text);
        },
      ),
    );
  });
});

describe('a slash command', () => {
  const payload = {
    token: 'the verification token',
    team_id: 'T1',
    channel_id: 'C1',
    channel_name: 'ops',
    user_id: 'UANN',
    user_name: 'ann',
    command: '/deploy',
    text: 'prod now',
    response_url: 'https://hooks.example/commands/secret',
    trigger_id: '1.2.abc',
  };

  test('is the command with its parameters, in the channel as a whole', () => {
    const event = eventOf('slash_commands', payload);
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1');
    expect(readBack(event)).toMatchObject({
      names: ['/deploy'],
      text: 'prod now',
      commandRest: 'prod now',
      isAwaited: true,
      isChoice: true,
      channel: 'C1',
      channelAliases: ['ops'],
      user: 'UANN',
      context: { 'chat.event': 'command', 'chat.name': 'ops', 'chat.sender.name': 'ann' },
    });
  });

  test('has its text as it was written', () => {
    const event = eventOf('slash_commands', { ...payload, text: 'a &amp; b &lt;c&gt; <@UBOB|bob>' });
    expect(readBack(event)).toMatchObject({
      text: 'a & b <c> <@UBOB|bob>',
      commandRest: 'a & b <c> <@UBOB|bob>',
    });
  });

  test('is another one each time it is given', () => {
    const again = eventOf('slash_commands', { ...payload, trigger_id: '1.3.abc' });
    expect(again?.id).not.toBe(eventOf('slash_commands', payload)?.id);
  });

  test('with other words is another one, also where the platform gives both one trigger_id', () => {
    const ids = [payload, { ...payload, text: '' }, { ...payload, command: '/greet' }].map(
      (each) => eventOf('slash_commands', each)?.id,
    );
    expect(new Set(ids).size).toBe(3);
    const again = { ...payload, response_url: 'https://hooks.example/another', token: 'rotated' };
    expect(eventOf('slash_commands', again)?.id).toBe(ids[0]);
  });

  test('keeps neither the address for answers nor the token', () => {
    const body = Buffer.from(eventOf('slash_commands', payload)?.body ?? []).toString();
    expect(body).not.toContain('hooks.example');
    expect(body).not.toContain('verification');
  });

  test.each(['directmessage', 'privategroup'])('takes %s for no name of a channel', (channel_name) => {
    expect(readBack(eventOf('slash_commands', { ...payload, channel_name })).channelAliases).toBeUndefined();
  });
});

describe('a press', () => {
  const press = (actions: object, more: object = {}) =>
    eventOf('interactive', {
      type: 'block_actions',
      team: { id: 'T1' },
      user: { id: 'UANN', name: 'ann' },
      channel: { id: 'C1', name: 'ops' },
      container: { type: 'message', message_ts: '5.5', channel_id: 'C1', thread_ts: '4.4' },
      message: { ts: '5.5', thread_ts: '4.4' },
      trigger_id: '1.2.abc',
      actions: [actions],
      ...more,
    });

  test('is a choice in the conversation of its message', () => {
    const event = press({ type: 'button', action_id: 'approve', block_id: 'b' });
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1/4.4');
    expect(readBack(event)).toMatchObject({
      names: ['approve'],
      text: 'approve',
      commandRest: '',
      isChoice: true,
      context: { 'chat.event': 'choice', 'chat.action.id': 'approve', 'chat.message': '5.5' },
    });
  });

  test('keeps nothing that lets somebody write in our name', () => {
    const secrets = { token: 's1', response_url: 's2', response_urls: ['s3'], bot_access_token: 's4' };
    const body = Buffer.from(press({ action_id: 'approve' }, secrets)?.body ?? []).toString();
    expect(body).not.toMatch(/s[1-4]/);
  });

  test('has what was chosen behind it', () => {
    const select = press({ type: 'static_select', action_id: 'quick', selected_option: { value: 'greet' } });
    expect(readBack(select)).toMatchObject({ names: ['quick'], text: 'quick greet', commandRest: 'greet' });
    const entities = press({ type: 'button', action_id: 'approve', value: 'a &amp; b' });
    expect(readBack(entities)).toMatchObject({
      commandRest: 'a & b',
      context: { 'chat.action.value': 'a & b' },
    });
    const button = press({ type: 'button', action_id: 'approve', value: '42' });
    expect(readBack(button)).toMatchObject({ names: ['approve'], text: 'approve 42', commandRest: '42' });
    const many = press({ action_id: 'pick', selected_options: [{ value: 'a' }, { value: 'b' }] });
    expect(readBack(many).commandRest).toBe('a b');
  });

  test('of a list of ours is the action that was chosen', () => {
    const event = press({ action_id: 'actor-gateway.list.1', selected_option: { value: 'deploy prod' } });
    expect(readBack(event)).toMatchObject({
      names: ['deploy prod', 'deploy'],
      text: 'deploy prod',
      commandRest: 'prod',
    });
  });

  test('of another button, or at another time, is another one, also with the same trigger_id', () => {
    const button = { type: 'button', action_id: 'approve', value: '1', action_ts: '6.1' };
    const select = { type: 'static_select', action_id: 'approve', action_ts: '6.1' };
    const all = [
      button,
      { ...button, action_id: 'reject' },
      { ...button, value: '2' },
      { ...button, action_ts: '6.2' },
      { ...select, selected_option: { value: 'a' } },
      { ...select, selected_option: { value: 'b' } },
    ].map((action) => press(action)?.id);
    expect(new Set(all).size).toBe(all.length);
    expect(press({ ...button, text: { type: 'plain_text', text: 'Yes' } })?.id).toBe(all[0]);
  });

  test('of a link is nothing', () => {
    expect(press({ type: 'button', action_id: 'actor-gateway.link.1' })).toBeUndefined();
  });

  test('of a message of ours in the channel as a whole goes on there, and is answered below it', () => {
    const event = press(
      { action_id: 'approve', block_id: 'actor-gateway.channel.1' },
      { container: { message_ts: '5.5', channel_id: 'C1' }, message: { ts: '5.5' } },
    );
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1');
  });

  test.each(['shortcut', 'message_action', 'view_submission'])('as a %s is told to be nothing', (type) => {
    const event = eventOf('interactive', { type, user: { id: 'UANN' }, trigger_id: '1' });
    expect(readBack(event).unsupported).toContain('is nothing that an agent is asked for');
  });
});

test('nothing that comes is a fault', () => {
  const kinds = fc.constantFrom<PayloadKind>('events_api', 'slash_commands', 'interactive');
  fc.assert(
    fc.property(kinds, fc.jsonValue(), (kind, payload) => {
      const event = eventOf(kind, payload);
      if (event !== undefined) readBack(event);
    }),
  );
});

describe('what people decide', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const press = (action: object, container: object = {}) =>
    eventOf('interactive', {
      type: 'block_actions',
      user: { id: 'UANN', team_id: 'T1' },
      api_app_id: 'A1',
      container: { type: 'message', message_ts: '5.6', channel_id: 'C1', ...container },
      trigger_id: '1.2.3',
      team: { id: 'T1' },
      channel: { id: 'C1', name: 'ops' },
      actions: [{ type: 'button', block_id: 'b', action_ts: '7.8', ...action }],
    });
  const item = { type: 'message', channel: 'C1', ts: '5.6' };
  const mark = (reaction: string, more: object = {}) =>
    eventOf('events_api', {
      ...callback({}),
      event: {
        type: 'reaction_added',
        user: 'UANN',
        reaction,
        item,
        item_user: 'UBOT',
        event_ts: '9.1',
        ...more,
      },
    });

  test('by one of our buttons stands beside the conversation of its message, and says nothing else (CE4, CHD1)', () => {
    const event = press({ action_id: decisionActionId(approval, 'approve') }, { thread_ts: '3.4' });
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1/3.4/commands');
    expect(readBack(event)).toMatchObject({
      decision: { verdict: 'approve', about: { approval } },
      names: [],
      text: undefined,
      user: 'UANN',
      channel: 'C1',
      channelAliases: ['ops'],
      account: 'A1',
      triggers: ['ops'],
    });
  });

  test('is nothing by what looks like such a button: a text, a choice from a list, a value (CHD1)', () => {
    const id = decisionActionId(approval, 'approve');
    for (const event of [
      message({ text: id }),
      press({ type: 'static_select', action_id: 'actor-gateway.list.1', selected_option: { value: id } }),
      press({ type: 'static_select', action_id: id, selected_option: { value: 'x' } }),
      press({ action_id: 'deploy', value: id }),
    ]) {
      expect(event?.key).not.toMatch(/commands$/);
      expect(readBack(event).decision).toBeUndefined();
      expect(readBack(event).text).toContain(id);
    }
  });

  test('by a mark names the message as its receipt does, beside the conversation of its channel (CE4)', () => {
    const event = mark('+1::skin-tone-3');
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1/commands');
    expect(readBack(event)).toMatchObject({
      decision: { verdict: 'approve', about: { message: '5.6' } },
      names: [],
      text: undefined,
      user: 'UANN',
      channel: 'C1',
      context: { 'chat.event': 'reaction', 'chat.message': '5.6' },
    });
    expect(readBack(mark('no_entry')).decision).toMatchObject({ verdict: 'deny' });
    expect(mark('+1')?.id).toBe(mark('+1')?.id);
    expect(mark('+1')?.id).not.toBe(mark('+1', { event_ts: '9.2' })?.id);
  });

  test.each<[string, object]>([
    ['on a file', { item: { type: 'file', file: 'F1' } }],
    ['by nobody', { user: undefined }],
    ['that has no name', { reaction: '' }],
    ['whose name is a path', { reaction: '../x' }],
    ['that was taken away', { type: 'reaction_removed' }],
  ])('is nothing by a mark %s (CHD2)', (_, more) => {
    expect(mark('+1', more)).toBeUndefined();
  });
});
