// Built-in commands in menus, and commands that bypass the queue of the conversation.

import { expect, test } from 'vitest';
import {
  builtInCommand,
  builtInCommands,
  isControlCall,
} from '../../../../actors/events/built-in-commands.ts';
import { controlKeyOf, conversationKeyOf } from '../../../../actors/store/key-kinds.ts';

test('the four built-in commands list their required options first, as command menus of platforms require', () => {
  expect(builtInCommands.map(({ name }) => name)).toEqual(['agent', 'task', 'fleet', 'flow']);
  for (const { name, description, options } of builtInCommands) {
    expect(name).toMatch(/^[a-z]{1,32}$/);
    const required = options.map((option) => option.required);
    expect(required).toEqual([...required].sort((a, b) => Number(b) - Number(a)));
    for (const each of [description, ...options.map((option) => option.description)])
      expect(each).toMatch(/^.{1,100}$/);
  }
});

test('a built-in command is found with or without its slash; other names are not found', () => {
  expect([builtInCommand('agent'), builtInCommand('/flow')].map((found) => found?.name)).toEqual([
    'agent',
    'flow',
  ]);
  for (const name of ['', '/', 'agents', 'deploy', '//agent']) {
    expect(builtInCommand(name)).toBeUndefined();
    expect(isControlCall(name, {})).toBe(false);
  }
});

test.each([
  ['agent', { action: 'status' }, true],
  ['/agent', { action: 'stop', agent_id: 'x' }, true],
  ['agent', { action: 'run', input: 'go' }, false],
  ['agent', {}, true],
  ['agent', { action: 'run', agent_id: 'x' }, true],
  ['agent', { action: 'run', input: ' ' }, true],
  ['task', { action: 'run', description: 'go' }, false],
  ['task', { action: 'run', input: 'go' }, true],
  ['task', { action: 'status' }, true],
  ['fleet', { action: 'status' }, true],
  ['fleet', {}, true],
  ['fleet', { action: 'run', input: 'go', description: 'go' }, false],
  ['flow', {}, true],
  ['flow', { workflow: 'nightly', action: 'show' }, true],
  ['flow', { workflow: 'nightly' }, false],
] as [string, Record<string, string>, boolean][])(
  'a call of the built-in command %s with %o is a control call, which bypasses its conversation: %s',
  (name, options, isControl) => {
    expect(isControlCall(name, options)).toBe(isControl);
  },
);

test('the key of a conversation can be derived from the key of its separate mailbox for control commands', () => {
  const key = 'conversation/chat/1/room';
  expect(conversationKeyOf(controlKeyOf(key))).toBe(key);
  expect(conversationKeyOf(key)).toBe(key);
});
