// Welcome messages when a bot joins a conversation or a person presses start, and answers to textless
// messages, with the real dispatcher and store.

import { afterEach, describe, expect, test } from 'vitest';
import type { Job } from '../../../../../actors/agents/handlers/handler.ts';
import { WORDLESS_REPLY } from '../../../../../actors/automation/conversations/messages.ts';
import { greeting } from '../../../../../actors/automation/conversations/welcome.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import type { Binding } from '../../../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { WaitingChat, type WaitingChatOptions } from '../../../../fixtures/automation/waiting-chat.ts';

let chat: WaitingChat | undefined;
afterEach(() => chat?.end());

const failingHandler = { run: () => Promise.reject(new Error('unexpected run of a handler')) };
const begin = (options: WaitingChatOptions) => {
  chat = new WaitingChat({ handler: failingHandler, ...options });
  return chat;
};
const arrival = { isArrival: true, isAwaited: false, text: undefined };
const triggerWithWelcome = (name: string, welcome: string | undefined): ManualTrigger => ({
  ...manualTrigger(name),
  default_target: undefined,
  welcome,
});

test('a welcome is sent once, needs no command or agent, and is not part of the history', async () => {
  const testChat = begin({ triggers: [triggerWithWelcome('chat', 'Hello there.')] });
  await testChat.say('e1', arrival);
  expect(await testChat.waitForState('e1', 'done')).toMatchObject({
    trigger: 'chat',
    answer: 'Hello there.',
  });
  await testChat.deliveries.requeue('e1');
  await testChat.waitForState('e1', 'done');
  expect(await testChat.waitForTexts('e1')).toEqual(['Hello there.']);
});

test('a welcome respects channel and user filters, but not text patterns', async () => {
  const filters = () => chatFilters({ channels: ['room'], users: ['ada'], patterns: ['^!'] });
  const testChat = begin({ triggers: [triggerWithWelcome('chat', 'Hello.')], adapter: { filters } });
  await testChat.say('e1', arrival);
  await testChat.say('e2', { ...arrival, channel: 'hall' });
  await testChat.say('e3', { ...arrival, user: 'bob' });
  await testChat.waitForState('e1', 'done');
  for (const id of ['e2', 'e3'])
    expect(await testChat.waitForState(id, 'ignored')).toMatchObject({
      note: 'no filter of a trigger lets it pass',
    });
  expect([await testChat.waitForTexts('e1'), await testChat.waitForTexts('e2')]).toEqual([['Hello.'], []]);
});

test('a trigger without `welcome` lets another trigger greet; an empty `welcome` prevents the greeting', async () => {
  const triggers = [
    triggerWithWelcome('a', undefined),
    triggerWithWelcome('b', 'From b.'),
    triggerWithWelcome('c', ''),
  ];
  const filters = ({ name }: { name: string }) => chatFilters(name === 'c' ? { channels: ['hall'] } : {});
  const testChat = begin({ triggers, adapter: { filters } });
  const of = { ...arrival, triggers: ['a', 'b', 'c'] };
  await testChat.say('e1', of);
  await testChat.say('e2', { ...of, channel: 'hall' });
  await testChat.say('e3', { ...of, triggers: ['a'] });
  expect(await testChat.waitForState('e1', 'done')).toMatchObject({ trigger: 'b' });
  expect(await testChat.waitForState('e2', 'done')).toMatchObject({ trigger: 'c', answer: '' });
  expect(await testChat.waitForState('e3', 'ignored')).toMatchObject({ note: 'no trigger has a welcome' });
  expect(testChat.sentMessages.map(({ text }) => text)).toEqual(['From b.']);
});

describe('the start button', () => {
  const start = { isStart: true, names: ['start'], text: '/start', isAwaited: false };

  test('is answered with the welcome or the command list, and reaches no agent', async () => {
    const written = begin({ triggers: [{ ...manualTrigger('chat'), welcome: 'Hello there.' }] });
    await written.say('e1', start);
    expect(await written.waitForState('e1', 'done')).toMatchObject({ answer: 'Hello there.' });
    await written.end();
    const listing = begin({ triggers: [manualTrigger('chat')] });
    await listing.say('e1', start);
    expect((await listing.waitForState('e1', 'done')).answer).toMatch(/^Hello!/);
    expect(await listing.waitForTexts('e1')).toHaveLength(1);
  });

  test('prefers a trigger with a welcome, and respects the filters except patterns', async () => {
    const filters = () => chatFilters({ users: ['ada'], patterns: ['^!'] });
    const triggers = [manualTrigger('a'), triggerWithWelcome('b', 'From b.')];
    const testChat = begin({ triggers, adapter: { filters } });
    const of = { ...start, triggers: ['a', 'b'] };
    await testChat.say('e1', of);
    await testChat.say('e2', { ...of, user: 'bob' });
    expect(await testChat.waitForState('e1', 'done')).toMatchObject({ trigger: 'b', answer: 'From b.' });
    await testChat.waitForState('e2', 'ignored');
    expect(await testChat.waitForTexts('e2')).toEqual([]);
  });

  test('reaches the command `start`, or with an empty welcome the agent', async () => {
    const handler = { run: async ({ command }: Job) => ({ text: `ran ${command}` }) };
    const commands = [{ command: 'start', description: undefined, target: agentTarget('a'), parameters: [] }];
    const bound = begin({ handler, triggers: [{ ...manualTrigger('chat'), commands, welcome: 'Hello.' }] });
    await bound.say('e1', start);
    await bound.waitForState('e1', 'done');
    expect(await bound.waitForTexts('e1')).toEqual(['ran start']);
    await bound.end();
    const silent = begin({ handler, triggers: [{ ...manualTrigger('chat'), welcome: '' }] });
    await silent.say('e1', start);
    await silent.waitForState('e1', 'done');
    expect(await silent.waitForTexts('e1')).toEqual(['ran undefined']);
  });
});

describe('a textless message', () => {
  const voice = { isWordless: true, unsupported: 'no text: voice', text: undefined, isAwaited: false };

  test('is recorded and answered with one sentence, even if the trigger has only commands', async () => {
    const testChat = begin({ triggers: [triggerWithWelcome('chat', undefined)] });
    await testChat.say('e1', voice);
    expect(await testChat.waitForState('e1', 'ignored')).toMatchObject({ note: 'no text: voice' });
    expect(await testChat.waitForTexts('e1')).toEqual([WORDLESS_REPLY]);
  });

  test('is not answered if a filter excludes the sender or checks the text', async () => {
    const filters = ({ name }: { name: string }) =>
      chatFilters(name === 'a' ? { users: ['ada'] } : { patterns: ['^!'] });
    const testChat = begin({ triggers: [manualTrigger('a'), manualTrigger('b')], adapter: { filters } });
    await testChat.say('e1', { ...voice, triggers: ['a'], user: 'bob' });
    await testChat.say('e2', { ...voice, triggers: ['b'] });
    for (const id of ['e1', 'e2']) await testChat.waitForState(id, 'ignored');
    await testChat.waitUntilSent();
    expect(testChat.sentMessages).toEqual([]);
  });

  test('is held while the trigger is paused', async () => {
    const testChat = begin({ triggers: [manualTrigger('chat')] });
    await testChat.pauses.pause(testChat.store, 'chat');
    await testChat.say('e1', voice);
    await testChat.waitForState('e1', 'held');
  });
});

test('the default greeting lists commands with descriptions, and the number of omitted commands', () => {
  const binding = (command: string, description?: string): Binding => ({
    command,
    description,
    target: agentTarget('a'),
    parameters: [],
  });
  const commands = [binding('deploy', 'Deploys a service'), binding('status')];
  const default_target = agentTarget('a');
  expect(greeting({ commands, default_target })).toBe(
    'Hello! Available commands:\n- /deploy: Deploys a service\n- /status\nWrite a message to get an answer.',
  );
  const many = Array.from({ length: 100 }, (_, n) => binding(`c${n}`));
  expect(greeting({ commands: many, default_target: undefined })).toMatch(/- \/c39\n- and 60 more$/);
  expect(greeting({ commands: [], default_target })).toBe('Hello! Write a message to get an answer.');
  expect(greeting({ commands: [], default_target: undefined })).toBe('Hello!');
});
