// Examples at the end of the help: every command has them, and each parses.

import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { commandTree } from '../../../../src/cli/commands/grammar.ts';
import { declareCommand } from '../../../../src/cli/commands/run-command.ts';
import { rootProgram } from '../../../../src/cli/options.ts';
import { runHere } from '../../../fixtures/gateway/run-here.ts';

/** All commands; `store` alone does nothing. */
const commands = Object.entries(commandTree).flatMap(([name, entry]) => {
  if (typeof entry === 'function') return [[name]];
  const verbs = Object.keys(entry.verbs).map((verb) => [name, verb]);
  return entry.list === undefined ? verbs : [[name], ...verbs];
});

/** Splits a command line like a shell. Ends at a pipe, a redirection and a comment. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [word, quoted, double] of line.matchAll(/'([^']*)'|"([^"]*)"|(?:[^\s'"]|'[^']*'|"[^"]*")+/g)) {
    if (/^[|<>#]|^\)$/.test(word)) break;
    words.push((quoted ?? double ?? word.replace(/['"]/g, '')).replace(/\)$/, ''));
  }
  return words;
}

async function declared(words: readonly string[]): Promise<{ command: Command; rest: readonly string[] }> {
  let command: Command = rootProgram();
  let rest = words;
  for (;;) {
    const next = command.commands.find((each) => each.name() === rest[0]);
    if (next === undefined) return { command, rest };
    rest = rest.slice(1);
    await declareCommand(next, rest);
    command = next;
  }
}

const titled = commands.map((words) => {
  const name = words.filter((word) => word !== undefined);
  return [name.join(' '), name] as const;
});

describe('the help', () => {
  test.each(titled)('of %s ends with examples of this command, which parse', async (_, name) => {
    const { stdout } = await runHere([...name, '--help']);
    const [, section] = stdout.split('\nExamples:\n');
    const lines = (section ?? '').trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(line).toMatch(/^ {2}\S/);
      const [, afterProgram] = /(?:^| |\()(?:actor-gateway|node \S+)(?: (.*))?$/.exec(line) ?? [];
      const typed = wordsOf(afterProgram ?? '');
      expect([line, typed.slice(0, name.length)]).toEqual([line, name]);
      const { command, rest } = await declared(typed);
      command.action(() => {});
      command.exitOverride().configureOutput({ writeErr: () => {}, outputError: () => {} });
      await expect(command.parseAsync([...rest], { from: 'user' }), line).resolves.toBeDefined();
    }
  });

  test('of the program ends with examples', async () => {
    const { stdout } = await runHere(['help']);
    expect(stdout).toMatch(/\nExamples:\n(?: {2}\S.*\n)+$/);
  });

  test('of a verb without a noun shows the only command with this verb, or lists all of them', async () => {
    expect(await runHere(['help', 'install'])).toEqual(await runHere(['servers', 'install', '--help']));
    const { code, stdout } = await runHere(['help', 'show']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^servers show <server> +Show a server/m);
    expect(stdout).toMatch(/^runs show <run> /m);
    const unknown = await runHere(['help', 'sohw']);
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  });
});
