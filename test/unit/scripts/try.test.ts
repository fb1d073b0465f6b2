// The chat in the terminal: what a typed line means, and how a message is drawn.

import { describe, expect, test } from 'vitest';
import { drawn } from '../../../scripts/try/drawing.ts';
import { typed } from '../../../scripts/try/typed.ts';

const commands = new Map([
  ['status', {}],
  ['deploy', { parameters: [{ name: 'env' }, { name: 'notes' }] }],
]);
const choices = ['Ship it', 'Drop it'];

describe('a typed line', () => {
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
  ])('%j', (line, what) => {
    expect(typed(line, { commands, choices })).toEqual(what);
  });

  test('goes to no group where there are none', () => {
    expect(typed('/place #team', { commands, choices, hasGroups: false })).toMatchObject({ do: 'complain' });
    expect(typed('/place Bob', { commands, choices, hasGroups: false })).toEqual({
      do: 'place',
      name: 'Bob',
    });
  });

  test('asks for a button where there is none', () => {
    expect(typed('#1', { commands, choices: [] })).toEqual({ do: 'complain', why: 'there is no button' });
  });
});

test('values that are given by name are in the order of the binding, in whatever order they were typed', () => {
  const { parameters } = typed('/deploy notes: some words env: prod', { commands, choices }) as {
    parameters?: object;
  };
  expect(Object.entries(parameters ?? {})).toEqual([
    ['env', 'prod'],
    ['notes', 'some words'],
  ]);
});

describe('a message', () => {
  const message = { id: '1', who: 'bot', text: 'yes', fields: [], choices: [], isEdited: false };

  test('of one line is one line; of several they stand below the name', () => {
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

  test('is wrapped at blanks, but for code, and obeyed by no terminal', () => {
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
