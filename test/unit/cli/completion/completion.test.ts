// Completion as the commands declare it: every one of them, whatever is typed.

import type { Command } from 'commander';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { commandTree } from '../../../../src/cli/commands/command-tree.ts';
import { declareCommand } from '../../../../src/cli/commands/run-command.ts';
import { gluedWords, linesOf } from '../../../../src/cli/completion/answer.ts';
import { completed, type NamesOf } from '../../../../src/cli/completion/completed.ts';
import { placeholderNoun, wordsIn } from '../../../../src/cli/completion/value-nouns.ts';
import { rootProgram } from '../../../../src/cli/options.ts';

const noNames: NamesOf = () => Promise.resolve([]);

/** Names that say what was asked for. */
const names: NamesOf = async (noun, _, { args, options }) => [
  [`${noun}-of-${args.map(({ word }) => word).join('+')}-${[...options.keys()].join('+')}`, ''],
];

const complete = (typed: readonly string[], namesOf: NamesOf) =>
  completed(typed, rootProgram(), (command) => declareCommand(command), namesOf);

/** Returns the help of a command, as the program prints it. */
async function helpOf(names: readonly string[]): Promise<string> {
  let command = rootProgram();
  for (const name of names) {
    command = command.commands.find((each) => each.name() === name) as Command;
    await declareCommand(command);
  }
  return command.helpInformation();
}

async function words(typed: readonly string[], namesOf = noNames): Promise<readonly string[]> {
  const { mode, candidates } = await complete(typed, namesOf);
  return mode === 'words' ? candidates.map(([word]) => word) : [`(${mode})`];
}

const commands = Object.entries(commandTree).flatMap(([name, entry]) =>
  typeof entry === 'function' ? [[name]] : [[name], ...Object.keys(entry.verbs).map((verb) => [name, verb])],
);

describe('completion', () => {
  test.each(commands)('knows the options of %s %s without being told of it', async (...name) => {
    const given = name.filter((word) => word !== undefined);
    const help = await helpOf(given);
    const told = [...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option]) => option);
    expect(told).toContain('--help');
    expect([...(await words([...given, '-']))].sort()).toEqual([...told].sort());
  });

  test('of the first word gives all commands, and the options of the program after a dash', async () => {
    expect(await words([''])).toEqual(rootProgram().commands.map((command) => command.name()));
    expect((await words([''])).toSorted()).toEqual(Object.keys(commandTree).toSorted());
    expect(await words(['vali'])).toEqual(['validate']);
    expect(await words(['--ch'])).toEqual(['--check']);
    expect(await words(['--config', ''])).toEqual(['(files)']);
    expect(await words(['nonsense', ''])).toEqual([]);
  });

  test('of a command with verbs gives those, and then what the verb takes', async () => {
    expect(await words(['approvals', ''])).toEqual(['show', 'approve', 'deny']);
    expect(await words(['approvals', '--s'])).toEqual(['--state']);
    expect(await words(['store', '-'])).toEqual(['--help']);
    expect(await words(['runs', '--kind', ''])).toEqual(['agent', 'fleet', 'flow', 'command']);
    expect(await words(['runs', '--kind=f'])).toEqual(['--kind=fleet', '--kind=flow']);
    expect(await words(['top', '--sort', 'l'])).toEqual(['latency']);
    expect(await words(['completion', ''])).toEqual(['bash', 'zsh', 'fish']);
    expect(await words(['validate', '-f', ''])).toEqual(['(files)']);
    expect(await words(['init', ''])).toEqual(['(folders)']);
  });

  test('asks for names with what was given before', async () => {
    expect(await words(['servers', 'show', ''], names)).toEqual(['server-of--']);
    expect(await words(['servers', 'stop', '--url', 'http://x', ''], names)).toEqual(['server-of----url']);
    expect(await words(['triggers', 'run', ''], names)).toEqual(['trigger-of--']);
    expect(await words(['runs', '--flow', ''], names)).toEqual(['flow-of--']);
    expect(await words(['deliveries', 'replay', 'one', ''], names)).toEqual(['delivery-of-one-']);
    expect(await words(['explain', ''], names)).toEqual(['field-of--']);
    expect(await words(['servers', 'show', 'one', ''], names)).toContain('--json');
    expect(await words(['servers', '--json', '-'], names)).not.toContain('--json');
  });

  test('CMP1: answers whatever the words are, and runs nothing', async () => {
    const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      const known = commands.flat().concat(Object.keys(commandTree));
      const option = fc.constantFrom(
        '--',
        '-',
        '--json',
        '--url',
        '-f',
        '--config=x',
        '--help',
        '-c',
        '=',
        ':',
      );
      const word = fc.oneof(fc.constantFrom(...known), option, fc.string());
      await fc.assert(
        fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (typed) => {
          await complete(typed, names);
          await complete(gluedWords(typed).words, noNames);
        }),
        { numRuns: 150 },
      );
      expect(said).not.toHaveBeenCalled();
    } finally {
      said.mockRestore();
    }
  });
});

test('what bash has taken apart is one word again, of which it replaces the end', () => {
  expect(gluedWords(['--url', 'http', ':', '//127.0.0.1', ':', '80', 'x'])).toEqual({
    words: ['--url', 'http://127.0.0.1:80', 'x'],
    skip: 0,
  });
  expect(gluedWords(['runs', '--kind', '=', 'f'])).toEqual({
    words: ['runs', '--kind=f'],
    skip: 7,
  });
  expect(gluedWords(['runs', '--kind', '='])).toMatchObject({ words: ['runs', '--kind='] });
});

test('CMP2: a name that a terminal would obey, or that would be two lines, is no candidate', () => {
  const candidates = ['good one', 'two\nlines', '\u001b]0;x\u0007', 'a\u202eb', ''].map(
    (name) => [name, 'a\tb'] as const,
  );
  expect(linesOf({ mode: 'words', candidates }, 0)).toEqual(['words', 'good one\ta b']);
});

test('what a value names is read off the help', () => {
  expect(placeholderNoun('id', 'id of a server, as the catalog has it')).toBe('server');
  expect(placeholderNoun('name', 'only of this agent', 'agent')).toBe('agent');
  expect(placeholderNoun('triggers', 'names of triggers; without any, all')).toBe('trigger');
  expect(placeholderNoun('tool', 'a tool of the server')).toBe('tool');
  expect(placeholderNoun('text', 'what to say to an agent', 'text')).toBeUndefined();
  expect(placeholderNoun('constructor', '__proto__')).toBeUndefined();
  expect(wordsIn('only these, by commas: queued, running, done')).toEqual(['queued', 'running', 'done']);
  expect(wordsIn('one of a, b or c; all without it')).toEqual(['a', 'b', 'c']);
  expect(wordsIn('zed, gemini or cline')).toEqual(['zed', 'gemini', 'cline']);
  expect(wordsIn('a time, or a while ago such as 15m')).toEqual([]);
});
