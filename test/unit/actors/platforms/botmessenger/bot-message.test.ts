// Messages as calls of the bot platform: texts, buttons, topics, and unsupported content.

import { expect, test } from 'vitest';
import type { OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { menuOf } from '../../../../../actors/platforms/botmessenger/menu.ts';
import { botCalls } from '../../../../../actors/platforms/botmessenger/render-message.ts';
import type { BotMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';

const post = (more: Partial<OutboundMessage>): OutboundMessage => ({
  target: { place: '-1001' },
  action: { do: 'post' },
  text: 'hello',
  ...more,
});

test('a text is sent with its styles as entities, to its topic and as reply to its message', () => {
  const target = { place: '-1001234567890', thread: '42', repliesTo: '7' };
  expect(botCalls(post({ target, text: 'a *b* <c> _d' }))).toEqual([
    {
      method: 'sendMessage',
      parameters: {
        chat_id: -1001234567890,
        text: 'a b <c> _d',
        entities: [{ type: 'italic', offset: 2, length: 1 }],
        message_thread_id: 42,
        reply_parameters: { message_id: 7, allow_sending_without_reply: true },
      },
    },
  ]);
});

test('titles and fields appear literally, and native and plain texts are sent unchanged', () => {
  const card = { title: '*x* [a](b)', fields: [{ name: '_n_', value: '`v`' }] };
  expect(botCalls(post({ text: '**t**', card }))[0]?.parameters).toMatchObject({
    text: '*x* [a](b)\n\nt\n\n_n_: `v`',
    entities: [{ type: 'bold', offset: 12, length: 1 }],
  });
  const text = '<b>t</b> **x**';
  expect(botCalls(post({ text, format: 'plain' }))[0]?.parameters).toEqual({ chat_id: -1001, text });
  expect(botCalls(post({ text, format: 'native', card: { title: 'a<b' } }))[0]?.parameters).toEqual({
    chat_id: -1001,
    text: `a&lt;b\n\n${text}`,
    parse_mode: 'HTML',
  });
});

test('a long text becomes several messages; the first is the reply, the last has the buttons', () => {
  const card = { actions: [{ id: 'ok', title: 'Fine' }] };
  const calls = botCalls(
    post({ text: 'word '.repeat(2000), card, target: { place: '5', repliesTo: '7', thread: '3' } }),
  );
  expect(calls.length).toBe(3);
  const texts = calls.map(({ parameters }) => String(parameters.text));
  for (const text of texts) expect(text.length).toBeLessThanOrEqual(4096);
  expect(texts.join(' ').replaceAll(/\s+/g, ' ').trim()).toBe('word '.repeat(2000).trim());
  expect(calls.map(({ parameters }) => Object.keys(parameters).sort().join())).toEqual([
    'chat_id,message_thread_id,reply_parameters,text',
    'chat_id,message_thread_id,text',
    'chat_id,message_thread_id,reply_markup,text',
  ]);
});

test('a card becomes a title, fields and buttons; content that does not fit a button becomes text', () => {
  const card = {
    title: 'Deploy?',
    fields: [
      { name: 'env', value: 'prod' },
      { name: 'by', value: 'Ann' },
    ],
    actions: [
      { id: 'yes', title: 'Yes' },
      { id: 'é'.repeat(33), title: 'Too long', description: 'cannot be carried' },
      { id: 'docs', title: 'Docs', url: 'https://example.com/', description: 'How it is done' },
      { id: 'bad', title: 'Bad', url: 'ftp://example.com/' },
    ],
    inputs: [{ id: 'why', label: 'Why' }],
  };
  expect(botCalls(post({ text: '', card }))).toEqual([
    {
      method: 'sendMessage',
      parameters: {
        chat_id: -1001,
        text: 'Deploy?\n\nenv: prod\nby: Ann\n\nWhy: …\n\n- Too long: cannot be carried\n- Docs: How it is done\n- Bad: ftp://example.com/',
        reply_markup: {
          inline_keyboard: [
            [{ text: 'Yes', callback_data: 'yes' }],
            [{ text: 'Docs', url: 'https://example.com/' }],
          ],
        },
      },
    },
  ]);
});

test('an edit changes the message of the named delivery; text beyond the size limit becomes new messages', () => {
  const action = { do: 'edit', of: 'outbox:e/1' } as const;
  const calls = botCalls(
    post({ action, text: 'word '.repeat(1000), target: { place: '5', repliesTo: '7' } }),
  );
  expect(calls.map(({ method, of }) => [method, of])).toEqual([
    ['sendMessage', 'outbox:e/1'],
    ['sendMessage', undefined],
  ]);
  // If the edited message is missing, the text is posted as a reply.
  expect(calls[0]?.parameters.reply_parameters).toBeDefined();
  expect(calls[1]?.parameters.reply_parameters).toBeUndefined();
});

test('a message has one reaction, and an empty emoji removes it', () => {
  const react = (emoji: string) => botCalls(post({ action: { do: 'react', to: '7', emoji } }))[0];
  expect(react('👀')).toEqual({
    method: 'setMessageReaction',
    parameters: { chat_id: -1001, message_id: 7, reaction: [{ type: 'emoji', emoji: '👀' }] },
  });
  expect(react('')?.parameters.reaction).toEqual([]);
});

test('an empty text sends no message, and an invalid chat id is an error', () => {
  expect(botCalls(post({ text: '  \n' }))).toEqual([]);
  expect(() => botCalls(post({ target: { place: 'general' } }))).toThrow('"general" is not a valid chat id');
});

test('the menu of a bot contains the commands of all its triggers, each with a description', () => {
  const trigger = (...commands: { command: string; description?: string }[]) =>
    ({ commands }) as unknown as BotMessengerTrigger;
  const menu = menuOf([
    trigger({ command: 'deploy' }, { command: 'status', description: 'How it is' }),
    trigger({ command: 'deploy', description: 'Ship it' }, { command: 'logs', description: ' ' }),
  ]);
  expect(menu).toEqual([
    { command: 'deploy', description: 'Ship it' },
    { command: 'status', description: 'How it is' },
    { command: 'logs', description: 'logs' },
  ]);
});
