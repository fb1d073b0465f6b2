// What is said where a bot is brought into a conversation, and by which trigger; over the real dispatcher and store.

import { afterEach, expect, test } from 'vitest';
import { greeting } from '../../../../../actors/automation/conversations/welcome.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import type { Binding } from '../../../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { WaitingChat, type WaitingChatOptions } from '../../../../fixtures/automation/waiting-chat.ts';

let chat: WaitingChat | undefined;
afterEach(() => chat?.end());

const nobody = { run: () => Promise.reject(new Error('a handler was asked')) };
const begin = (options: WaitingChatOptions) => {
  chat = new WaitingChat({ handler: nobody, ...options });
  return chat;
};
const arrival = { isArrival: true, isAwaited: false, text: undefined };
const welcoming = (name: string, welcome: string | undefined): ManualTrigger => ({
  ...manualTrigger(name),
  default_target: undefined,
  welcome,
});

test('the welcome is said once, without commands or an agent, and is no talk', async () => {
  const here = begin({ triggers: [welcoming('chat', 'Hello there.')] });
  await here.say('e1', arrival);
  expect(await here.reached('e1', 'done')).toMatchObject({ trigger: 'chat', answer: 'Hello there.' });
  await here.deliveries.requeue('e1');
  await here.reached('e1', 'done');
  expect(await here.saidTo('e1')).toEqual(['Hello there.']);
});

test('filters hold: channels and users, whatever patterns say of what people write', async () => {
  const filters = () => chatFilters({ channels: ['room'], users: ['ada'], patterns: ['^!'] });
  const here = begin({ triggers: [welcoming('chat', 'Hello.')], adapter: { filters } });
  await here.say('e1', arrival);
  await here.say('e2', { ...arrival, channel: 'hall' });
  await here.say('e3', { ...arrival, user: 'bob' });
  await here.reached('e1', 'done');
  for (const id of ['e2', 'e3'])
    expect(await here.reached(id, 'ignored')).toMatchObject({ note: 'no filter of a trigger lets it pass' });
  expect([await here.saidTo('e1'), await here.saidTo('e2')]).toEqual([['Hello.'], []]);
});

test('a trigger without one leaves it to another, one with an empty one does not', async () => {
  const triggers = [welcoming('a', undefined), welcoming('b', 'From b.'), welcoming('c', '')];
  const filters = ({ name }: { name: string }) => chatFilters(name === 'c' ? { channels: ['hall'] } : {});
  const here = begin({ triggers, adapter: { filters } });
  const of = { ...arrival, triggers: ['a', 'b', 'c'] };
  await here.say('e1', of);
  await here.say('e2', { ...of, channel: 'hall' });
  await here.say('e3', { ...of, triggers: ['a'] });
  expect(await here.reached('e1', 'done')).toMatchObject({ trigger: 'b' });
  expect(await here.reached('e2', 'done')).toMatchObject({ trigger: 'c', answer: '' });
  expect(await here.reached('e3', 'ignored')).toMatchObject({ note: 'no trigger has a welcome' });
  expect(here.said.map(({ text }) => text)).toEqual(['From b.']);
});

test('a greeting lists the commands with their descriptions, and says when there are more than people read', () => {
  const binding = (command: string, description?: string): Binding => ({
    ...{ command, description, target: agentTarget('a'), parameters: [] },
  });
  const commands = [binding('deploy', 'Deploys a service'), binding('status')];
  const default_target = agentTarget('a');
  expect(greeting({ commands, default_target })).toBe(
    'Hello! These commands are answered here:\n- /deploy: Deploys a service\n- /status\nWrite what you need, and you will get an answer.',
  );
  const many = Array.from({ length: 100 }, (_, n) => binding(`c${n}`));
  expect(greeting({ commands: many, default_target: undefined })).toMatch(/- \/c39\n- and 60 more$/);
  expect(greeting({ commands: [], default_target })).toBe(
    'Hello! Write what you need, and you will get an answer.',
  );
  expect(greeting({ commands: [], default_target: undefined })).toBe('Hello!');
});
