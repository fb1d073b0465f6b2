// Grammar of the command line: NOUN lists resources, NOUN VERB NAME acts on a resource. Removed forms print
// the new form. Errors do not repeat words of the command line.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandTree } from '../../../../src/cli/commands/grammar.ts';
import { newForm } from '../../../../src/cli/commands/removed-forms.ts';
import { runHere } from '../../../fixtures/gateway/run-here.ts';

const SECRET = 'hunter2-4711';
const commands = Object.entries(commandTree).flatMap(([name, entry]) =>
  typeof entry === 'function' ? [[name]] : [[name], ...Object.keys(entry.verbs).map((verb) => [name, verb])],
);

/** Removed command line, new form, and command name in the new form. */
const removed: readonly [words: string, form: string, command: string][] = [
  ['get servers', 'servers', 'servers'],
  ['get nodes --json', 'nodes', 'nodes'],
  [`get triggers ${SECRET}`, 'triggers show NAME', 'triggers show'],
  ['deliveries list --state dead', 'deliveries', 'deliveries'],
  [`run trigger ${SECRET} --yes`, 'triggers run NAME', 'triggers run'],
  [`run flow ${SECRET}`, 'flows run NAME', 'flows run'],
  [`start ${SECRET}`, 'servers start', 'servers start'],
  ['import --from cursor', 'servers import', 'servers import'],
  [`add ${SECRET} -- node server.js`, 'servers add', 'servers add'],
  [`graph ${SECRET}`, 'flows graph NAME', 'flows graph'],
  [`chat ${SECRET}`, 'agents chat NAME', 'agents chat'],
  [`send ${SECRET} --text hello`, 'triggers send', 'triggers send'],
  ['register --config gateway.yaml', 'triggers register', 'triggers register'],
  [`call ${SECRET} tool key=${SECRET}`, 'tools call SERVER TOOL', 'tools call'],
  [`tools ${SECRET}`, 'tools --server SERVER', 'tools'],
  [`tools ${SECRET} tool`, 'tools show SERVER NAME', 'tools show'],
  [`resources ${SECRET} docs://readme`, 'resources show SERVER NAME', 'resources show'],
  [`prompts ${SECRET} review language=go`, 'prompts show SERVER NAME', 'prompts show'],
  [`logs ${SECRET} -f`, 'logs --server SERVER', 'logs'],
  [`servers ${SECRET}`, 'servers show NAME', 'servers show'],
  ['machines trigger', 'machines show NAME', 'machines show'],
  ['gateway.yaml', '--config FILE', ''],
];

describe('a removed command form', () => {
  test.each(removed)('%s prints its new form, %s', async (words, form, command) => {
    const { code, stdout, stderr } = await runHere(words.split(' '));
    expect([code, stdout]).toEqual([2, '']);
    expect(`${stderr.split('\n')[1]}\n`).toContain(` ${form}\n`);
    expect(stderr).not.toContain(SECRET);
    const names = command.split(' ').filter((name) => name !== '');
    const entry = commandTree[(names[0] ?? 'servers') as keyof typeof commandTree];
    if (names.length === 2)
      expect(typeof entry === 'object' && names[1] && entry.verbs).toHaveProperty([names[1] ?? '']);
    else expect(entry).toBeDefined();
  });

  test('is distinct from all existing commands, whatever their arguments', () => {
    const argument = fc.oneof(fc.constantFrom('list', 'get', 'show', '--json', 'a.yaml'), fc.string());
    fc.assert(
      fc.property(fc.constantFrom(...commands), fc.array(argument, { maxLength: 4 }), (command, args) => {
        const isWithoutArguments = command.length === 1;
        expect(newForm([...command, ...(isWithoutArguments ? ['--json'] : args)])).toBeUndefined();
      }),
    );
  });
});

describe('a usage error', () => {
  test.each([
    [['serves'], 'Did you mean servers?'],
    [['trigger'], 'Did you mean triggers?'],
    [['runs', 'shw', 'x'], 'Did you mean show?'],
    [['deliveries', 'repaly'], 'Did you mean replay?'],
    [['tools', 'cal', 'files'], 'Did you mean call?'],
    [['store', 'exprot'], 'Did you mean export?'],
    [['runs', '--stat', 'dead'], 'Did you mean --state?'],
    [['servers', '--jsno'], 'Did you mean --json?'],
    [['servers', 'start'], 'missing required argument'],
    [['deliveries', 'show'], 'missing required argument'],
    [['validate'], "required option '-f, --file <path...>'"],
    [['validate', 'agents/'], "required option '-f, --file <path...>'"],
    [['servers', 'stop', 'a', 'b'], 'too many arguments'],
    [['stats', '--once'], 'unknown option'],
    [['deliveries', 'show', 'x', '--state', 'dead'], 'unknown option'],
    [['top', '--interval', '0'], '--interval'],
    [['machines', 'show', 'toaster'], 'gateway'],
    [['servers', '--url', '127.0.0.1:8080'], '--url '],
    [['servers', '--url', 'ftp://127.0.0.1/'], '--url '],
    [['servers', '--url', 'http://'], '--url '],
    [['triggers', 'run', 'x', '--input', 'version'], '--input'],
    [['triggers', 'run', 'x', '--output', 'yaml'], '--output'],
    [['servers', '--json', 'show', 'x'], 'put the options after the command'],
    [['servers', '--json', 'show', 'x'], 'servers show [options]'],
  ])('in %s is reported with a suggestion', async (words, hint) => {
    const { code, stdout, stderr } = await runHere(words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(hint);
  });

  test.each([
    [SECRET],
    ['runs', SECRET],
    ['nodes', SECRET],
    ['top', `--kye=${SECRET}`],
    ['top', '--kye', SECRET],
    ['top', '--sort', SECRET],
    ['top', '--timeout', SECRET],
    ['completion', SECRET],
    ['flows', 'run', 'deploy', '--param', SECRET],
    ['connect', 'cursor', '--name', `${SECRET}/`],
    ['connect', 'cursor', '--api-key', SECRET],
    ['stats', `--api-key=${SECRET}`],
    ['servers', '--url', `http://user:${SECRET}@127.0.0.1:1/`],
  ])('in %s %s %s %s is reported without repeating the mistyped word', async (...words) => {
    const typed = words.filter((argument) => argument !== undefined);
    const { code, stdout, stderr } = await runHere(typed);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).not.toContain(SECRET);
    if (typed.some((argument) => argument.startsWith('--api-key')))
      expect(stderr).toContain('--api-key-file FILE');
  });

  test.each([
    ['tools', '--catalog', 'c.yaml', '--url', 'http://127.0.0.1:9'],
    ['tools', '--catalog', 'c.yaml', '--profile', 'work'],
    ['servers', '--url', 'http://127.0.0.1:9', '--config', 'gateway.yaml'],
    ['connect', 'cursor', '--write', '--undo'],
  ])('for mutually exclusive options is reported: %s %s %s', async (...words) => {
    const { code, stdout, stderr } = await runHere(words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('cannot be used with option');
  });
});

describe('help', () => {
  test('lists all nouns', async () => {
    const { code, stdout, stderr } = await runHere(['help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of Object.keys(commandTree)) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(stdout).toMatch(/^ {2}servers {2,}List servers/m);
  });

  test.each(commands.map((words) => ({ command: words.join(' '), words })))(
    'of $command contains usage and exit codes',
    async ({ words }) => {
      const { code, stdout, stderr } = await runHere([...words, '--help']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(new RegExp(`^Usage: .*? ${words.join(' ')}\\b`));
      // `store` alone does nothing.
      expect(stdout.includes('Exit codes')).toBe(words.join() !== 'store');
      expect(stdout).not.toContain('--api-key ');
      expect(await runHere(['help', ...words])).toEqual({ code, stdout, stderr });
    },
  );

  test('of a noun lists its verbs with arguments, and is printed if a verb is missing', async () => {
    const { stdout } = await runHere(['servers', '--help']);
    expect(stdout).toMatch(/^ {2}start <server> {2,}Start a server/m);
    const [store, help] = [await runHere(['store']), await runHere(['store', '--help'])];
    expect(store).toEqual({ code: 2, stdout: '', stderr: help.stdout });
  });
});
