// Grammar of the command line: a noun lists, NOUN VERB NAME works on one. Removed forms name their new form, errors repeat
// no word of the command line, and a command's code is loaded only when it runs.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandTree } from '../../../src/cli/commands/command-tree.ts';
import { newForm } from '../../../src/cli/commands/removed-forms.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const root = resolve(import.meta.dirname, '../../..');
const SECRET = 'hunter2-4711';

/** A removed command line, and the words of its new form that name a command. */
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

describe('a removed form', () => {
  test.each(removed)('%s prints its new form, %s', async (words, form, command) => {
    const { code, stdout, stderr } = await runMain(words.split(' '));
    expect([code, stdout]).toEqual([2, '']);
    expect(
      stderr
        .split('\n')[1]
        ?.trim()
        .replace(/^.*main\.js /, ''),
    ).toBe(form);
    expect(stderr).not.toContain(SECRET);
    const names = command.split(' ').filter((name) => name !== '');
    const entry = commandTree[(names[0] ?? 'servers') as keyof typeof commandTree];
    if (names.length === 2)
      expect(typeof entry === 'object' && names[1] && entry.verbs).toHaveProperty([names[1] ?? '']);
    else expect(entry).toBeDefined();
  });

  test('is none of the commands that there are, whatever their arguments', () => {
    const commands = Object.entries(commandTree).flatMap(([name, entry]) =>
      typeof entry === 'function' ? [[name]] : Object.keys(entry.verbs).map((verb) => [name, verb]),
    );
    const argument = fc.oneof(fc.constantFrom('list', 'get', 'show', '--json', 'a.yaml'), fc.string());
    fc.assert(
      fc.property(fc.constantFrom(...commands), fc.array(argument, { maxLength: 4 }), (command, args) => {
        const isWithoutArguments = command.length === 1;
        expect(newForm([...command, ...(isWithoutArguments ? ['--json'] : args)])).toBeUndefined();
      }),
    );
  });
});

describe('a mistake', () => {
  test.each([
    [['serves'], 'Did you mean servers?'],
    [['runs', 'shw', 'x'], 'Did you mean show?'],
    [['tools', 'cal', 'files'], 'Did you mean call?'],
    [['store', 'exprot'], 'Did you mean export?'],
    [['runs', '--stat', 'dead'], 'Did you mean --state?'],
  ])('%s is answered by what is meant', async (words, hint) => {
    const { code, stdout, stderr } = await runMain(words);
    expect([code, stdout]).toEqual([2, '']);
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
    ['--listen', SECRET],
    ['stdio', '--api-key-variable', SECRET, '--url', 'http://127.0.0.1:9/mcp'],
  ])('in %s %s %s %s is told without the word itself', async (...words) => {
    const given = words.filter((word) => word !== undefined);
    const { code, stdout, stderr } = await runMain(given);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).not.toContain(SECRET);
  });

  test.each([
    [['servers', '--json', 'show', 'x'], 'actor-gateway servers show [options]'],
    [['--config', 'gateway.yaml', 'servers'], 'servers [options]'],
  ])('of options before the command, %s, is no silence', async (words, form) => {
    const { code, stderr } = await runMain(words);
    expect(code).toBe(2);
    expect(stderr).toContain('the options of a command follow it');
    expect(stderr).toContain(form.replace('actor-gateway ', ''));
  });

  test.each([
    ['tools', '--catalog', 'c.yaml', '--url', 'http://127.0.0.1:9'],
    ['tools', '--catalog', 'c.yaml', '--profile', 'work'],
    ['servers', '--url', 'http://127.0.0.1:9', '--config', 'gateway.yaml'],
    ['connect', 'cursor', '--write', '--undo'],
    ['stdio', '--config', 'gateway.yaml', '--url', 'http://127.0.0.1:9/mcp'],
    ['stdio', '--config', 'gateway.yaml', '--header', 'A: b'],
    ['stdio', '--catalog', 'c.yaml', '--profile', 'work'],
  ])('of options that exclude each other is refused: %s %s %s', async (...words) => {
    const { code, stdout, stderr } = await runMain(words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('cannot be used with option');
  });
});

test('help of a noun lists its verbs with their arguments, and help of a verb its options', async () => {
  const [noun, verb, first] = await Promise.all([
    runMain(['servers', '--help']),
    runMain(['help', 'servers', 'show']),
    runMain(['help']),
  ]);
  expect([noun.code, verb.code, first.code]).toEqual([0, 0, 0]);
  expect(noun.stdout).toMatch(/^ {2}start <server> {2,}Start a server/m);
  expect(verb.stdout).toMatch(/^Usage: .* servers show \[options\] <server>$/m);
  expect(first.stdout).toMatch(/^ {2}servers {2,}List servers/m);
});

describe('the code of a command', () => {
  test.each([
    [['--help'], [], [/cli\/commands\//, /cli\/catalog\//]],
    [['--version'], [], [/cli\/commands\//, /cli\/catalog\//]],
    [
      ['servers', '--help'],
      [/commands\/server-commands/],
      [/cli\/catalog\/add-server/, /cli\/mcp\//, /cli\/registry\//],
    ],
    [
      ['servers', 'add', '--help'],
      [/cli\/catalog\/add-server/],
      [/cli\/registry\//, /commands\/server-commands/],
    ],
    [['tools', 'servers'], [], [/cli\/mcp\//]],
  ])('of %s alone is loaded', async (words, present, absent) => {
    const folder = temporaryFolder();
    await runMain(words, { env: { NODE_V8_COVERAGE: folder, NODE_OPTIONS: '' } });
    const sources = sourcesIn(folder);
    expect(sources).toContain('src/main.ts');
    for (const pattern of present) expect(sources).toContainEqual(expect.stringMatching(pattern));
    for (const pattern of absent) expect(sources.filter((source) => pattern.test(source))).toEqual([]);
  });
});

/** Returns the sources of the scripts that the engine listed. */
function sourcesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      readonly result: readonly { readonly url: string }[];
    };
    return result.flatMap(({ url }) => (url.startsWith('file:') ? sourcesOf(fileURLToPath(url)) : []));
  });
}

function sourcesOf(script: string): string[] {
  if (!existsSync(`${script}.map`)) return [];
  const { sources } = JSON.parse(readFileSync(`${script}.map`, 'utf8')) as {
    readonly sources: readonly string[];
  };
  return sources.map((source) => resolve(dirname(script), source).slice(root.length + 1));
}
