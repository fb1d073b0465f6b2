// Command line of the built program: output and exit codes.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import manifest from '../../../package.json' with { type: 'json' };
import {
  type GatewaySetup,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const { version } = manifest;

const root = resolve(import.meta.dirname, '../../..');
const SECRET = 'hunter2-4711';
const good = {
  servers: { one: { command: 'node' }, far: { url: 'http://127.0.0.1:9/mcp', enabled: false } },
};

function files(setup: GatewaySetup, gatewayText?: string) {
  const folder = temporaryFolder();
  const config = writeConfiguration(folder, setup);
  if (gatewayText !== undefined) writeFileSync(config, gatewayText);
  return { folder, config, catalog: join(folder, 'catalog.yaml') };
}

describe('the command line', () => {
  test('prints the commands with --help and exits with 0', async () => {
    for (const flag of ['--help', '-h']) {
      const { code, stdout, stderr } = await runMain([flag]);
      expect([code, stderr]).toEqual([0, '']);
      for (const word of [
        '--config',
        '--check',
        '--json',
        '--version',
        'SIGHUP',
        'reloads the catalog and the triggers;',
        'Exit codes',
      ])
        expect(stdout).toContain(word);
    }
  });

  test('prints only the version with --version', async () => {
    for (const flag of ['--version', '-V'])
      expect(await runMain([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test.each([
    ['no --config, without a gateway.yaml', []],
    ['--config without a file', ['--config']],
    ['--config and --catalog', ['--config', 'x.yaml', '--catalog', 'y.yaml']],
    ['no address after --listen', ['--config', 'x.yaml', '--listen', 'localhost']],
    ['an unknown option', ['--config', 'x.yaml', '--verbose']],
    ['a stray argument', ['--config', 'x.yaml', 'more']],
    ['an option before the command', ['--config', 'gateway.yaml', 'servers']],
    ['an invalid address', ['--listen', SECRET]],
    ['an invalid variable', ['stdio', '--api-key-variable', SECRET, '--url', 'http://127.0.0.1:9/mcp']],
    ['a configuration and an address', ['stdio', '--config', 'x.yaml', '--url', 'http://127.0.0.1:9/mcp']],
    ['a configuration and a header', ['stdio', '--config', 'x.yaml', '--header', 'A: b']],
    ['a catalog and a profile', ['stdio', '--catalog', 'c.yaml', '--profile', 'work']],
  ])('exits with 2 and an error that mentions --help, if given %s', async (_, args) => {
    const { code, stdout, stderr } = await runMain(args, { cwd: temporaryFolder() });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain('--help');
    expect(stderr).not.toContain(SECRET);
    if (args.length === 0)
      for (const option of ['init', 'import', '--catalog']) expect(stderr).toContain(option);
  });

  test.each([
    ['--hedaer=X-Key: a-secret', '--hedaer'],
    ['--hedaer X-Key: a-secret', '--hedaer'],
    ['-HX-Key: a-secret', '-H'],
    ["-H'a-secret' more", '-H'],
  ])('names an unknown option in the error without its value (%s)', async (option, printed) => {
    const { code, stderr } = await runMain(['--config', 'x.yaml', option]);
    expect(code).toBe(2);
    expect(stderr).toContain(`unknown option '${printed}'`);
    expect(stderr).not.toContain('secret');
  });

  test('exits with 2 and names a missing file, with and without --check', async () => {
    const folder = temporaryFolder();
    for (const more of [[], ['--check']]) {
      const { code, stderr } = await runMain(['--config', 'missing.yaml', ...more], { cwd: folder });
      expect(code).toBe(2);
      expect(stderr).toBe('missing.yaml:1:1: the file does not exist\n');
    }
  });

  test('exits with 2 and reports the line of the gateway file that names a missing catalog', async () => {
    const { config, folder } = files({}, 'listen_addr: 127.0.0.1:0\ncatalog_path: ./gone.yaml\n');
    const { code, stderr } = await runMain(['--config', config, '--check']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/gateway\.yaml:2:15: .*gone\.yaml/);
    expect(stderr).toContain(folder);
  });
});

describe('a public address without a key', () => {
  // No machine has this address: the start fails after the warnings.
  const config = writeConfiguration(temporaryFolder(), { settings: { listen_addr: '192.0.2.1:0' } });

  test('causes a warning at --check and at a start', async () => {
    const [checked, started] = await Promise.all([
      runMain(['--config', config, '--check']),
      runMain(['--config', config]),
    ]);
    expect([checked.code, started.code]).toEqual([0, 1]);
    for (const text of [checked.stderr, started.stdout]) {
      expect(text).toMatch(/listen_addr: (warning: )?LISTENING BEYOND LOOPBACK WITHOUT A KEY/);
      expect(text).toContain(
        'the inspector is off: other machines can reach this address, and api_key is not set',
      );
    }
  });
});

describe('without --config', () => {
  test('a start and client commands use the gateway.yaml of the current folder', async () => {
    const { folder } = files(good, 'listen_addr: 127.0.0.1:9\ncatalog_path: ./catalog.yaml\n');
    const [checked, asked] = await Promise.all([
      runMain(['--check'], { cwd: folder }),
      runMain(['servers'], { cwd: folder }),
    ]);
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    expect(checked.stdout).toMatch(/^gateway\.yaml is valid; .*catalog\.yaml has 2 servers\n/);
    expect([asked.code, asked.stderr]).toEqual([
      1,
      'no gateway listens at http://127.0.0.1:9 (listen_addr of ./gateway.yaml); start the gateway, or set its address with --url or --config\n',
    ]);
  });
});

describe('--check', () => {
  test('exits with 0 for a valid configuration and starts nothing', async () => {
    const { config } = files(good);
    const { code, stdout, stderr } = await runMain(['--config', config, '--check']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/is valid; .*catalog\.yaml has 2 servers\n/);
    expect(stdout).toMatch(/^ {2}one {2}stdio {2}shared$/m);
    expect(stdout).toMatch(/^ {2}far {2}http {2}disabled$/m);
  });

  test('prints the result for a valid configuration as JSON with --json', async () => {
    const { config } = files(good);
    const { code, stdout } = await runMain(['--config', config, '--check', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true, servers: ['one', 'far'], problems: [] }]);
  });

  const badGateway = [
    'listen_addr: 127.0.0.1',
    'catalog_path: ./catalog.yaml',
    'log_levl: info',
    `api_key: \${NO_SUCH_KEY}`,
    '',
  ].join('\n');
  const badCatalog = [
    'servers:',
    '  one:',
    '    comand: node',
    '    pool: { max: zero }',
    '  "two three":',
    '    command: node',
    '',
  ].join('\n');

  test('exits with 2 for an invalid configuration and prints all problems of both files with line and column', async () => {
    const { config, catalog } = files({ catalogText: badCatalog }, badGateway);
    const { code, stdout, stderr } = await runMain(['--config', config, '--check']);
    expect([code, stdout]).toEqual([2, '']);
    const lines = stderr.trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^\/.*\.yaml:\d+:\d+: \S/);
    const expected = [
      [config, '1:14: ', 'host:port'],
      [config, '3:1: ', 'log_level'],
      [config, '4:', 'NO_SUCH_KEY'],
      [catalog, '3:5: ', 'command'],
      [catalog, '4:', 'max'],
      [catalog, '5:', 'two three'],
    ] as const;
    for (const [file, place, word] of expected) {
      expect(lines.filter((line) => line.startsWith(`${file}:${place}`) && line.includes(word))).not.toEqual(
        [],
      );
    }
    const started = await runMain(['--config', config]);
    expect([started.code, started.stdout, started.stderr]).toEqual([2, '', stderr]);
  });

  test('prints problems with their positions as JSON with --json', async () => {
    const { config } = files({ catalogText: badCatalog }, badGateway);
    const { code, stdout } = await runMain(['--config', config, '--check', '--json']);
    expect(code).toBe(2);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ ok: false, servers: [] });
    expect(report.problems.length).toBeGreaterThanOrEqual(6);
    for (const problem of report.problems)
      expect(problem).toMatchObject({
        file: expect.stringMatching(/^\/.*\.yaml$/),
        line: expect.any(Number),
        column: expect.any(Number),
        message: expect.any(String),
      });
  });

  test.each([
    ['malformed YAML', 'servers: [', /catalog\.yaml:1:\d+: /],
    ['a tab', 'servers:\n\tone: {}', /catalog\.yaml:2:1: /],
    ['nothing at all', '', /catalog\.yaml:1:1: .*empty/],
    ['a list', '- one', /catalog\.yaml:1:1: /],
    ['an id twice', 'servers:\n  a: {command: x}\n  a: {command: y}', /catalog\.yaml:3:3: /],
    ['a command and a url', 'servers:\n  a: {command: x, url: "http://h/"}', /catalog\.yaml:2:\d+: .*url/],
  ])('reports %s in the catalog with line and column', async (_, catalogText, line) => {
    const { config } = files({ catalogText });
    const { code, stderr } = await runMain(['--config', config, '--check']);
    expect(code).toBe(2);
    expect(stderr).toMatch(line);
  });

  test('never prints a value from the environment', async () => {
    const { config } = files(
      {},
      `listen_addr: \${SECRET_ADDR}\ncatalog_path: ./catalog.yaml\nlog_level: \${SECRET_LEVEL}\n`,
    );
    const env = { SECRET_ADDR: 'hunter2-hunter2', SECRET_LEVEL: 'correct-horse' };
    const { code, stdout, stderr } = await runMain(['--config', config, '--check'], { env });
    expect(code).toBe(2);
    expect(stdout + stderr).not.toMatch(/hunter2|correct-horse/);
  });
});

describe('the warning about a listen address that other machines can reach', () => {
  test.each(['127.0.0.1', '127.0.0.2', '127.255.255.254', 'localhost', 'LOCALHOST', '::1', '[::1]'])(
    'is not printed for %s, a loopback address',
    (host) => expect(isLoopback(host)).toBe(true),
  );

  test.each([
    '0.0.0.0',
    '::',
    '[::]',
    '192.168.1.1',
    '10.127.0.1',
    '127.evil.example',
    '127.0.0.1.nip.io',
    'localhost.example',
    '::ffff:10.0.0.1',
    '',
  ])('is printed for %s', (host) => expect(isLoopback(host)).toBe(false));
});

describe('the code loaded by the command line', () => {
  test.each([
    [['--help'], [], [/cli\/commands\//, /cli\/catalog\//]],
    [['--version'], [], [/cli\/commands\//, /cli\/catalog\//]],
    [
      ['servers', '--help'],
      [/cli\/commands\/servers\.ts/],
      [/cli\/catalog\/add-server/, /cli\/mcp\//, /cli\/registry\//],
    ],
    [
      ['servers', 'add', '--help'],
      [/cli\/catalog\/add-server/],
      [/cli\/registry\//, /cli\/commands\/servers\.ts/],
    ],
    [['tools', 'servers'], [], [/cli\/mcp\//]],
  ])('for %s contains only the modules of this command', async (description, present, absent) => {
    const folder = temporaryFolder();
    await runMain(description, { env: { NODE_V8_COVERAGE: folder, NODE_OPTIONS: '' } });
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
