// Completion of the command line, for all commands and any words.

import type { Command } from 'commander';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { commandTree } from '../../../../src/cli/commands/grammar.ts';
import { declareCommand } from '../../../../src/cli/commands/run-command.ts';
import { completeWords, type NamesOf } from '../../../../src/cli/completion/complete-words.ts';
import { joinWords, responseLines } from '../../../../src/cli/completion/shell-response.ts';
import { parseChoices, placeholderNoun } from '../../../../src/cli/completion/value-nouns.ts';
import { rootProgram } from '../../../../src/cli/options.ts';

const noNames: NamesOf = () => Promise.resolve([]);

/** Returns names that show the request. */
const names: NamesOf = async (noun, _, { args, options }) => [
  [`${noun}-of-${args.map(({ word }) => word).join('+')}-${[...options.keys()].join('+')}`, ''],
];

const complete = (typed: readonly string[], namesOf: NamesOf) =>
  completeWords(typed, rootProgram(), (command) => declareCommand(command), namesOf);

async function helpOf(names: readonly string[]): Promise<string> {
  let command = rootProgram();
  for (const name of names) {
    command = command.commands.find((each) => each.name() === name) as Command;
    await declareCommand(command);
  }
  return command.helpInformation();
}

async function completionsOf(typed: readonly string[], namesOf = noNames): Promise<readonly string[]> {
  const { mode, candidates } = await complete(typed, namesOf);
  return mode === 'words' ? candidates.map(([word]) => word) : [`(${mode})`];
}

const commands = Object.entries(commandTree).flatMap(([name, entry]) =>
  typeof entry === 'function' ? [[name]] : [[name], ...Object.keys(entry.verbs).map((verb) => [name, verb])],
);

describe('completion', () => {
  test.each(commands)('lists the options of %s %s from its declaration', async (...name) => {
    const typedWords = name.filter((word) => word !== undefined);
    const help = await helpOf(typedWords);
    const helpOptions = [...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option]) => option);
    expect(helpOptions).toContain('--help');
    expect([...(await completionsOf([...typedWords, '-']))].sort()).toEqual([...helpOptions].sort());
  });

  test("of the first word lists all commands, or the program's options after a dash", async () => {
    expect(await completionsOf([''])).toEqual(rootProgram().commands.map((command) => command.name()));
    expect((await completionsOf([''])).toSorted()).toEqual(Object.keys(commandTree).toSorted());
    expect(await completionsOf(['vali'])).toEqual(['validate']);
    expect(await completionsOf(['--ch'])).toEqual(['--check']);
    expect(await completionsOf(['--config', ''])).toEqual(['(files)']);
    expect(await completionsOf(['nonsense', ''])).toEqual([]);
  });

  test("of a command lists its verbs, and then the verb's arguments and options", async () => {
    expect(await completionsOf(['approvals', ''])).toEqual(['show', 'approve', 'deny']);
    expect(await completionsOf(['approvals', '--s'])).toEqual(['--state']);
    expect(await completionsOf(['store', '-'])).toEqual(['--help']);
    expect(await completionsOf(['runs', '--kind', ''])).toEqual(['agent', 'fleet', 'flow', 'command']);
    expect(await completionsOf(['runs', '--kind=f'])).toEqual(['--kind=fleet', '--kind=flow']);
    expect(await completionsOf(['top', '--sort', 'l'])).toEqual(['latency']);
    expect(await completionsOf(['completion', ''])).toEqual(['bash', 'zsh', 'fish']);
    expect(await completionsOf(['validate', '-f', ''])).toEqual(['(files)']);
    expect(await completionsOf(['init', ''])).toEqual(['(folders)']);
  });

  test('looks up names of the kind that the command expects at this position', async () => {
    expect(await completionsOf(['servers', 'show', ''], names)).toEqual(['server-of--']);
    expect(await completionsOf(['servers', 'stop', '--url', 'http://x', ''], names)).toEqual([
      'server-of----url',
    ]);
    expect(await completionsOf(['triggers', 'run', ''], names)).toEqual(['trigger-of--']);
    expect(await completionsOf(['runs', '--flow', ''], names)).toEqual(['flow-of--']);
    expect(await completionsOf(['deliveries', 'replay', 'one', ''], names)).toEqual(['delivery-of-one-']);
    expect(await completionsOf(['explain', ''], names)).toEqual(['field-of--']);
    expect(await completionsOf(['servers', 'show', 'one', ''], names)).toContain('--json');
    expect(await completionsOf(['servers', '--json', '-'], names)).not.toContain('--json');
  });

  test('responds to any command line without running a command', async () => {
    const stdoutWrite = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      const knownWords = commands.flat().concat(Object.keys(commandTree));
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
      const word = fc.oneof(fc.constantFrom(...knownWords), option, fc.string());
      await fc.assert(
        fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (typed) => {
          await complete(typed, names);
          await complete(joinWords(typed).words, noNames);
        }),
        { numRuns: 150 },
      );
      expect(stdoutWrite).not.toHaveBeenCalled();
    } finally {
      stdoutWrite.mockRestore();
    }
  });
});

test('completion joins words that bash splits at colons or equals signs, and omits the text before the split', () => {
  expect(joinWords(['--url', 'http', ':', '//127.0.0.1', ':', '80', 'x'])).toEqual({
    words: ['--url', 'http://127.0.0.1:80', 'x'],
    skip: 0,
  });
  expect(joinWords(['runs', '--kind', '=', 'f'])).toEqual({
    words: ['runs', '--kind=f'],
    skip: 7,
  });
  expect(joinWords(['runs', '--kind', '='])).toMatchObject({ words: ['runs', '--kind='] });
});

test('names with control characters or line breaks are not candidates', () => {
  const candidates = ['good one', 'two\nlines', '\u001b]0;x\u0007', 'a\u202eb', ''].map(
    (name) => [name, 'a\tb'] as const,
  );
  expect(responseLines({ mode: 'words', candidates }, 0)).toEqual(['words', 'good one\ta b']);
});

test('completion derives the kind of a value and its choices from the help text of the option', () => {
  expect(placeholderNoun('id', 'id of a server, as the catalog has it')).toBe('server');
  expect(placeholderNoun('name', 'only runs of this agent', 'agent')).toBe('agent');
  expect(placeholderNoun('triggers', 'names of triggers; without any, all')).toBe('trigger');
  expect(placeholderNoun('tool', 'a tool of the server')).toBe('tool');
  expect(placeholderNoun('text', 'what to say to an agent', 'text')).toBeUndefined();
  expect(placeholderNoun('constructor', '__proto__')).toBeUndefined();
  expect(parseChoices('only these states, separated by commas: queued, running, done')).toEqual([
    'queued',
    'running',
    'done',
  ]);
  expect(parseChoices('one of a, b or c; all without it')).toEqual(['a', 'b', 'c']);
  expect(parseChoices('zed, gemini or cline')).toEqual(['zed', 'gemini', 'cline']);
  expect(parseChoices('a time, or a while ago such as 15m')).toEqual([]);
});
