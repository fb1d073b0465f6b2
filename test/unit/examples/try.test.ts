// The chat in the terminal: parsing of typed lines and drawing of messages.

import { describe, expect, test } from 'vitest';
import { drawn } from '../../../examples/try/drawing.ts';
import { standIn } from '../../../examples/try/stand-in-rules.ts';
import { parseLine } from '../../../examples/try/typed.ts';

const commands = new Map([
  ['status', {}],
  ['deploy', { parameters: [{ name: 'env' }, { name: 'notes' }] }],
]);
const choices = ['Ship it', 'Drop it'];

describe('a line typed in the local chat example', () => {
  test.each([
    ['  hello there ', { do: 'say', text: 'hello there' }],
    ['   ', { do: 'nothing' }],
    ['#2', { do: 'press', title: 'Drop it' }],
    ['ship IT', { do: 'press', title: 'Ship it' }],
    ['#3', { do: 'complain', why: 'there are 2 buttons' }],
    ['#0', { do: 'complain', why: 'there are 2 buttons' }],
    ['#team', { do: 'say', text: '#team' }],
    [
      '/deploy prod and some words ',
      { do: 'command', name: 'deploy', parameters: { env: 'prod', notes: 'and some words' } },
    ],
    ['/deploy prod', { do: 'command', name: 'deploy', parameters: { env: 'prod' } }],
    ['/status', { do: 'command', name: 'status', parameters: {} }],
    ['/unknown a b', { do: 'command', name: 'unknown', parameters: { text: 'a b' } }],
    [
      '/agent run desk some words',
      {
        do: 'command',
        name: 'agent',
        parameters: { action: 'run', agent_id: 'desk', input: 'some words' },
      },
    ],
    [
      '/deploy notes: and some words env:prod',
      { do: 'command', name: 'deploy', parameters: { env: 'prod', notes: 'and some words' } },
    ],
    [
      '/agent action:run input:what is 1: one?',
      { do: 'command', name: 'agent', parameters: { action: 'run', input: 'what is 1: one?' } },
    ],
    [
      '/deploy https://prod x',
      { do: 'command', name: 'deploy', parameters: { env: 'https://prod', notes: 'x' } },
    ],
    ['/', { do: 'say', text: '/' }],
    ['/place #team', { do: 'place', name: '#team' }],
    ['/place', { do: 'who' }],
    ['/who', { do: 'who' }],
    ['/help', { do: 'help' }],
    ['/quit', { do: 'quit' }],
  ])('%j is parsed', (line, what) => {
    expect(parseLine(line, { commands, choices })).toEqual(what);
  });

  test('cannot select a chat group if there are no groups', () => {
    expect(parseLine('/place #team', { commands, choices, hasGroups: false })).toMatchObject({
      do: 'complain',
    });
    expect(parseLine('/place Bob', { commands, choices, hasGroups: false })).toEqual({
      do: 'place',
      name: 'Bob',
    });
  });

  test('complains about a button number if there is no button', () => {
    expect(parseLine('#1', { commands, choices: [] })).toEqual({ do: 'complain', why: 'there is no button' });
  });
});

test('a command typed in the local chat example has its parameters in declared order, however they were typed', () => {
  const { parameters } = parseLine('/deploy notes: some words env: prod', { commands, choices }) as {
    parameters?: object;
  };
  expect(Object.entries(parameters ?? {})).toEqual([
    ['env', 'prod'],
    ['notes', 'some words'],
  ]);
});

describe('a message drawn in the local chat example', () => {
  const message = { id: '1', who: 'bot', text: 'yes', fields: [], choices: [], isEdited: false };

  test('is one line for one line of text; further lines are below the name', () => {
    expect(drawn(message)).toEqual(['bot: yes']);
    expect(drawn({ ...message, mark: '✅', isEdited: true }, { place: 'Bob' })).toEqual([
      'bot in Bob (edited): ✅ yes',
    ]);
    expect(drawn({ ...message, text: 'one\ntwo' })).toEqual(['bot:', '  one', '  two']);
  });

  test('with a title, fields or buttons is a card', () => {
    const fields = [
      { name: 'Branch', value: 'main' },
      { name: 'By', value: 'Ada' },
    ];
    expect(drawn({ ...message, title: 'Release', fields, choices })).toEqual([
      'bot:',
      '┌─',
      '│ Release',
      '│ yes',
      '│ Branch  main',
      '│ By      Ada',
      '│ [#1 Ship it] [#2 Drop it]',
      '└─',
    ]);
  });

  test('is wrapped at spaces except in code, without terminal control sequences', () => {
    const text = 'some words that are too many\n```\nsome code that is not wrapped\n```\nno\u001b[2Jharm';
    expect(drawn({ ...message, text }, { columns: 24 })).toEqual([
      'bot:',
      '  some words that are',
      '  too many',
      '  ```',
      '  some code that is not wrapped',
      '  ```',
      '  noharm',
    ]);
  });
});

describe('the fake model of the chat example', () => {
  const offered = (...names: string[]) => names.map((name) => ({ function: { name } }));
  const tools = offered('read_text_file', 'list_directory', 'write_file');
  const user = (content: unknown) => ({ role: 'user', content });

  test.each([
    ['what does hello.txt say?', 'read_text_file', { path: 'hello.txt' }],
    ['read notes/today.md', 'read_text_file', { path: 'notes/today.md' }],
    ['which files are there?', 'list_directory', { path: '.' }],
    ['write "buy milk" to shopping.txt', 'write_file', { path: 'shopping.txt', content: 'buy milk\n' }],
    ['please write milk into a/b.txt', 'write_file', { path: 'a/b.txt', content: 'milk\n' }],
  ])('for the input %s calls the tool %s', (commandLine, name, input) => {
    expect(standIn({ messages: [user(commandLine)], tools })).toEqual({ calls: [{ name, input }] });
    expect(standIn({ messages: [user([{ type: 'text', text: commandLine }])], tools }).calls).toHaveLength(1);
  });

  test('only calls offered tools', () => {
    const answer = standIn({ messages: [user('write "x" to y.txt')], tools: offered('read_text_file') });
    expect(answer.calls).toBeUndefined();
    expect(answer.text?.join('')).toContain('write_file, which is not offered');
  });

  test('repeats the latest tool results, slowly on request, and says that it is not a model', () => {
    const messages = [
      user('read a.txt'),
      { role: 'tool', content: 'of before' },
      { role: 'assistant', content: 'said' },
      user('slowly: read b.txt'),
      { role: 'assistant', content: null },
      { role: 'tool', content: 'it is green\n' },
    ];
    const answer = standIn({ messages, tools });
    expect(answer.text?.join('')).toBe('By my rules, the result of the tool:\n\nit is green');
    expect(answer.delayMs).toBe(10_000);
    expect(standIn({ messages: [user('hello')], tools }).text?.join('')).toContain('I am not a model');
  });
});
