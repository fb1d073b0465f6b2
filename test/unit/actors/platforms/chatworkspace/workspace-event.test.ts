// Events from workspace payloads: equal for a mention and a message, and equal after a restart.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { readWorkspaceEvent, workspaceEvent } from '../../../../../actors/platforms/chatworkspace/event.ts';
import {
  parsePayload,
  type WorkspacePayloadKind,
} from '../../../../../actors/platforms/chatworkspace/payload.ts';
import { plainText } from '../../../../../actors/platforms/chatworkspace/text.ts';
import type { NewEvent, StoredEvent } from '../../../../../actors/store/event.ts';

const principal = { kind: 'key', name: 'app_token' } as const;

function parseEvent(kind: WorkspacePayloadKind, payload: unknown): NewEvent | undefined {
  const content = parsePayload(kind, payload);
  if (content === undefined) return undefined;
  return workspaceEvent({
    account: 'A1',
    triggers: ['ops'],
    principal,
    kind,
    payload,
    content,
    bots: ['UBOT'],
  });
}

/** Reads the event from the stored bytes, like after a restart. */
function readStored(event: NewEvent | undefined) {
  if (event === undefined) throw new Error('the payload is not an event');
  const { parsed: _, ...stored } = event;
  const read = readWorkspaceEvent({ ...stored, seq: 1, at: 0, attempt: 1, crashes: 0 } as StoredEvent);
  expect(readWorkspaceEvent({ ...event, seq: 1, at: 0, attempt: 1, crashes: 0 } as StoredEvent)).toEqual(
    read,
  );
  return read;
}

const messageEvent = {
  type: 'message',
  channel: 'C1',
  user: 'UANN',
  ts: '1771287144.743569',
  text: '<@UBOT> Hey',
};
const callback = (event: object) => ({
  token: 'the verification token',
  team_id: 'T1',
  api_app_id: 'A1',
  type: 'event_callback',
  event_id: 'Ev1',
  event: { ...messageEvent, ...event },
});
const message = (event: object = {}) => parseEvent('events_api', callback(event));

describe('a message', () => {
  test('is stored without the action token of an assistant thread', () => {
    const event = message({ assistant_thread: { action_token: '1.2.secret', title: 'a thread' } });
    expect(Buffer.from(event?.body ?? []).toString()).not.toContain('1.2.secret');
    expect(readStored(event).payload).toMatchObject({
      event: { ...messageEvent, assistant_thread: { title: 'a thread' } },
    });
  });

  test('is an event with its app, channel and time in the id, in the conversation that it starts', () => {
    const event = message({ type: 'app_mention' });
    expect(event).toMatchObject({
      id: 'chatworkspace:A1/C1/1771287144.743569',
      key: 'conversation/chatworkspace/A1/C1/1771287144.743569',
    });
    expect(readStored(event)).toMatchObject({
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

  test('that mentions the bot is a mention, for both event types', () => {
    const [asMention, asMessage] = [message({ type: 'app_mention' }), message({ channel_type: 'channel' })];
    expect(asMessage?.id).toBe(asMention?.id);
    expect(asMessage?.key).toBe(asMention?.key);
    expect(readStored(asMessage).context).toEqual(readStored(asMention).context);
    expect(readStored(message({ text: 'Hey' })).context).toMatchObject({ 'chat.event': 'message' });
  });

  test('has no mention of the bot in its text, even after invisible characters', () => {
    expect(readStored(message({ text: '\u200b<@UBOT> deploy' })).text).toBe('deploy');
  });

  test('belongs to its thread, or outside a thread to its direct channel', () => {
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
    ['a hidden message', { hidden: true }],
    ['a message without text', { text: '' }],
    ['a message without channel', { channel: undefined }],
    ['a message in a channel whose id is a path', { channel: '../x' }],
    ['a reaction without a target', { type: 'reaction_added' }],
  ])('is no event: %s', (_, event) => {
    expect(message(event)).toBeUndefined();
  });

  test.each(['file_share', 'thread_broadcast', 'me_message'])('of the subtype %s is an event', (subtype) => {
    expect(readStored(message({ subtype }))).toMatchObject({ text: 'Hey', unsupported: undefined });
  });

  test('with only files is unsupported', () => {
    const event = message({ subtype: 'file_share', text: '', files: [{ id: 'F1' }] });
    expect(readStored(event).unsupported).toBe('a message with files and no text');
  });

  test('with only files is answered in a direct conversation, if a person wrote it', () => {
    const files = { subtype: 'file_share', text: '', files: [{ id: 'F1', mimetype: 'audio/mp4' }] };
    const isWordless = (more: object) => readStored(message({ ...files, ...more })).isWordless;
    expect(isWordless({ channel: 'D1', channel_type: 'im' })).toBe(true);
    expect(isWordless({})).toBe(false);
    expect(isWordless({ channel: 'D1', bot_id: 'B7' })).toBe(false);
  });

  const byMonitor = { subtype: 'bot_message', bot_id: 'B7', user: undefined, text: '' };
  test.each<readonly [string, object, string]>([
    [
      'attachments',
      {
        attachments: [
          {
            fallback: '[FIRING:1] DiskFull',
            title: '[FIRING:1] DiskFull',
            text: 'db-2 &amp; db-3 have no room left',
            fields: [{ title: 'Severity', value: 'high' }],
          },
          { fallback: 'only a fallback' },
        ],
      },
      '[FIRING:1] DiskFull\ndb-2 & db-3 have no room left\nSeverity: high\nonly a fallback',
    ],
    [
      'blocks',
      {
        blocks: [
          { type: 'header', text: { type: 'plain_text', text: 'Latency < 2 s' } },
          { type: 'divider' },
          {
            type: 'section',
            text: { type: 'mrkdwn', text: '*db-3* is slow' },
            fields: [{ type: 'mrkdwn', text: 'p99' }],
          },
          {
            type: 'context',
            elements: [
              { type: 'image', alt_text: 'x' },
              { type: 'plain_text', text: 'by Ops' },
            ],
          },
        ],
      },
      'Latency < 2 s\n*db-3* is slow\np99\nby Ops',
    ],
    [
      'rich text',
      {
        blocks: [
          {
            type: 'rich_text',
            elements: [
              {
                type: 'rich_text_section',
                elements: [
                  { type: 'text', text: 'a <b> & ' },
                  { type: 'user', user_id: 'UANN' },
                  { type: 'link', url: 'https://x.example/?a=1&b=2', text: 'page' },
                ],
              },
              {
                type: 'rich_text_list',
                elements: [{ type: 'rich_text_section', elements: [{ type: 'emoji', name: 'fire' }] }],
              },
            ],
          },
        ],
      },
      'a <b> & <@UANN>page (https://x.example/?a=1&b=2)\n:fire:',
    ],
  ])('of a program has the text of its %s', (_, content, text) => {
    expect(readStored(message({ ...byMonitor, ...content }))).toMatchObject({ text, unsupported: undefined });
  });

  test('of a program has its summary and its details, without repetition', () => {
    const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: 'db-3 is slow since noon' } }];
    const textOf = (text: string) => readStored(message({ ...byMonitor, text, blocks })).text;
    expect(textOf('Alert')).toBe('Alert\ndb-3 is slow since noon');
    expect(textOf('db-3 is slow')).toBe('db-3 is slow since noon');
  });

  test('that forwards another has the forwarded text, or with a comment the forwarded message', () => {
    const attachments = [
      {
        is_share: true,
        is_msg_unfurl: true,
        author_id: 'UBOB',
        author_name: 'Bob',
        text: 'a &lt; b',
        fallback: '[Bob] …',
      },
    ];
    const sender = { id: 'UBOB', name: 'Bob' };
    const direct = { channel: 'D1', channel_type: 'im', attachments };
    expect(readStored(message({ ...direct, text: '' }))).toMatchObject({
      text: 'a < b',
      quoted: [{ relation: 'forwarded', sender }],
    });
    expect(readStored(message({ ...direct, text: 'please look' }))).toMatchObject({
      text: 'please look',
      quoted: [{ relation: 'forwarded', sender, text: 'a < b' }],
    });
  });

  test('names its sender, and a press the message with the button', () => {
    expect(readStored(message({ user_profile: { real_name: 'Ann' } }))).toMatchObject({
      senderName: 'Ann',
      isByBot: false,
      quoted: [],
    });
    const event = parseEvent('interactive', {
      type: 'block_actions',
      user: { id: 'UANN', name: 'ann' },
      channel: { id: 'C1', name: 'ops' },
      message: { ts: '5.5', text: 'Ship it?' },
      actions: [{ type: 'button', action_id: 'ship' }],
      trigger_id: '1',
    });
    expect(readStored(event)).toMatchObject({
      senderName: 'ann',
      channelName: 'ops',
      quoted: [{ relation: 'answered', text: 'Ship it?' }],
    });
  });

  test('has no text from a link preview', () => {
    const attachments = [{ from_url: 'https://x.example', title: 'A page', text: 'of somebody' }];
    expect(readStored(message({ text: 'see https://x.example', attachments })).text).toBe(
      'see https://x.example',
    );
  });

  test('of a bot is marked as such', () => {
    const context = readStored(message({ bot_id: 'B7', user: undefined, subtype: 'bot_message' })).context;
    expect(context).toMatchObject({ 'chat.sender.id': 'B7', 'chat.sender.is_bot': true });
  });

  test('is stored without the verification token', () => {
    expect(Buffer.from(message()?.body ?? []).toString()).not.toContain('verification');
  });
});

describe('plainText', () => {
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
  ])('converts %j to %j', (text, written) => {
    expect(plainText(text, ['UBOT'], false)).toBe(written);
  });

  test('removes the first mention if the bot is unknown', () => {
    expect(plainText('<@UXYZ> <@UANN> hey', [], true)).toBe('<@UANN> hey');
    expect(plainText('<@UXYZ> hey', [], false)).toBe('<@UXYZ> hey');
  });

  test('decodes any text that the platform encoded', () => {
    const encoded = (text: string) =>
      text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '&', '<', '>', ';', 'lt', 'amp', ' ', '@') }),
        (text) => {
          expect(plainText(encoded(text), ['UBOT'], false)).toBe(text);
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

  test('is a command with parameters, in the conversation of the channel', () => {
    const event = parseEvent('slash_commands', payload);
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1');
    expect(readStored(event)).toMatchObject({
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

  test('has decoded text', () => {
    const event = parseEvent('slash_commands', { ...payload, text: 'a &amp; b &lt;c&gt; <@UBOB|bob>' });
    expect(readStored(event)).toMatchObject({
      text: 'a & b <c> <@UBOB|bob>',
      commandRest: 'a & b <c> <@UBOB|bob>',
    });
  });

  test('with another trigger id is another event', () => {
    const secondCommand = parseEvent('slash_commands', { ...payload, trigger_id: '1.3.abc' });
    expect(secondCommand?.id).not.toBe(parseEvent('slash_commands', payload)?.id);
  });

  test('with another text or command is another event, also with the same trigger id', () => {
    const ids = [payload, { ...payload, text: '' }, { ...payload, command: '/greet' }].map(
      (each) => parseEvent('slash_commands', each)?.id,
    );
    expect(new Set(ids).size).toBe(3);
    const repeatedPayload = { ...payload, response_url: 'https://hooks.example/another', token: 'rotated' };
    expect(parseEvent('slash_commands', repeatedPayload)?.id).toBe(ids[0]);
  });

  test('is stored without response URL and token', () => {
    const body = Buffer.from(parseEvent('slash_commands', payload)?.body ?? []).toString();
    expect(body).not.toContain('hooks.example');
    expect(body).not.toContain('verification');
  });

  test.each(['directmessage', 'privategroup'])('ignores the channel name %s', (channel_name) => {
    expect(
      readStored(parseEvent('slash_commands', { ...payload, channel_name })).channelAliases,
    ).toBeUndefined();
  });
});

describe('a button press', () => {
  const press = (actions: object, more: object = {}) =>
    parseEvent('interactive', {
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
    expect(readStored(event)).toMatchObject({
      names: ['approve'],
      text: 'approve',
      commandRest: '',
      isChoice: true,
      context: { 'chat.event': 'choice', 'chat.action.id': 'approve', 'chat.message': '5.5' },
    });
  });

  test('is stored without tokens and response URLs', () => {
    const secrets = { token: 's1', response_url: 's2', response_urls: ['s3'], bot_access_token: 's4' };
    const body = Buffer.from(press({ action_id: 'approve' }, secrets)?.body ?? []).toString();
    expect(body).not.toMatch(/s[1-4]/);
  });

  test('has the chosen value after the name', () => {
    const select = press({ type: 'static_select', action_id: 'quick', selected_option: { value: 'greet' } });
    expect(readStored(select)).toMatchObject({ names: ['quick'], text: 'quick greet', commandRest: 'greet' });
    const entities = press({ type: 'button', action_id: 'approve', value: 'a &amp; b' });
    expect(readStored(entities)).toMatchObject({
      commandRest: 'a & b',
      context: { 'chat.action.value': 'a & b' },
    });
    const button = press({ type: 'button', action_id: 'approve', value: '42' });
    expect(readStored(button)).toMatchObject({ names: ['approve'], text: 'approve 42', commandRest: '42' });
    const many = press({ action_id: 'pick', selected_options: [{ value: 'a' }, { value: 'b' }] });
    expect(readStored(many).commandRest).toBe('a b');
  });

  test('in a list of the gateway is the chosen action', () => {
    const event = press({ action_id: 'actor-gateway.list.1', selected_option: { value: 'deploy prod' } });
    expect(readStored(event)).toMatchObject({
      names: ['deploy prod', 'deploy'],
      text: 'deploy prod',
      commandRest: 'prod',
    });
  });

  test('on another button or at another time is another event, also with the same trigger id', () => {
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

  test('on a link is no event', () => {
    expect(press({ type: 'button', action_id: 'actor-gateway.link.1' })).toBeUndefined();
  });

  test('on a gateway message in the channel belongs to the conversation of the channel', () => {
    const event = press(
      { action_id: 'approve', block_id: 'actor-gateway.channel.1' },
      { container: { message_ts: '5.5', channel_id: 'C1' }, message: { ts: '5.5' } },
    );
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1');
  });

  test('of a submitted form has its values as parameters and text, and its callback id as name', () => {
    const values = {
      b1: { message: { type: 'plain_text_input', value: 'slow &amp; old' } },
      b2: { category: { type: 'static_select', selected_option: { value: 'bug' } } },
      b3: { category: { type: 'plain_text_input', value: 'again' } },
      b4: { empty: { type: 'plain_text_input', value: null } },
    };
    const event = parseEvent('interactive', {
      type: 'view_submission',
      user: { id: 'UANN', name: 'ann' },
      view: { id: 'V1', callback_id: 'feedback', state: { values } },
      trigger_id: '1',
    });
    expect(event?.key).toBe('conversation/chatworkspace/A1/UANN');
    expect(readStored(event)).toMatchObject({
      names: ['feedback'],
      text: 'message: slow & old\ncategory: bug\nb3: again',
      isChoice: true,
      parameters: { message: 'slow & old', category: 'bug', b3: 'again' },
      unsupported: undefined,
    });
  });

  test.each(['shortcut', 'message_action', 'view_submission'])('as a %s is unsupported', (type) => {
    const event = parseEvent('interactive', { type, user: { id: 'UANN' }, trigger_id: '1' });
    expect(readStored(event).unsupported).toContain('which triggers do not support');
  });
});

test('parsing does not throw for any payload', () => {
  const kinds = fc.constantFrom<WorkspacePayloadKind>('events_api', 'slash_commands', 'interactive');
  fc.assert(
    fc.property(kinds, fc.jsonValue(), (kind, payload) => {
      const event = parseEvent(kind, payload);
      if (event !== undefined) readStored(event);
    }),
  );
});

describe('a decision', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const press = (action: object, container: object = {}) =>
    parseEvent('interactive', {
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
  const react = (reaction: string, more: object = {}) =>
    parseEvent('events_api', {
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

  test('by a gateway button is queued with the commands of its conversation, and has no text', () => {
    const event = press({ action_id: decisionActionId(approval, 'approve') }, { thread_ts: '3.4' });
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1/3.4/commands');
    expect(readStored(event)).toMatchObject({
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

  test('is ignored for a text, a list choice or a value that looks like a gateway button', () => {
    const id = decisionActionId(approval, 'approve');
    for (const event of [
      message({ text: id }),
      press({ type: 'static_select', action_id: 'actor-gateway.list.1', selected_option: { value: id } }),
      press({ type: 'static_select', action_id: id, selected_option: { value: 'x' } }),
      press({ action_id: 'deploy', value: id }),
    ]) {
      expect(event?.key).not.toMatch(/commands$/);
      expect(readStored(event).decision).toBeUndefined();
      expect(readStored(event).text).toContain(id);
    }
  });

  test('by a reaction has the id of the message, and is queued with the commands of the channel', () => {
    const event = react('+1::skin-tone-3');
    expect(event?.key).toBe('conversation/chatworkspace/A1/C1/commands');
    expect(readStored(event)).toMatchObject({
      decision: { verdict: 'approve', about: { message: '5.6' } },
      names: [],
      text: undefined,
      user: 'UANN',
      channel: 'C1',
      context: { 'chat.event': 'reaction', 'chat.message': '5.6' },
    });
    expect(readStored(react('no_entry')).decision).toMatchObject({ verdict: 'deny' });
    expect(react('+1')?.id).toBe(react('+1')?.id);
    expect(react('+1')?.id).not.toBe(react('+1', { event_ts: '9.2' })?.id);
  });

  test.each<[string, object]>([
    ['on a file', { item: { type: 'file', file: 'F1' } }],
    ['without a user', { user: undefined }],
    ['without a name', { reaction: '' }],
    ['with a path as name', { reaction: '../x' }],
    ['that was removed', { type: 'reaction_removed' }],
  ])('is ignored for a reaction %s', (_, more) => {
    expect(react('+1', more)).toBeUndefined();
  });
});
