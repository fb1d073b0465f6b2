import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../config/load-config.ts';
import { ConfigError, formatProblem } from '../../../config/reader/problem.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { ConfigFolder } from './config-folder.ts';

const folder = new ConfigFolder();

describe('an unusable file', () => {
  test('is reported under its own name if it is the gateway file, and at its reference if it is the catalog', async () => {
    expect((await folder.load({}, 'none.yaml')).lines).toEqual(['none.yaml:1:1: the file does not exist']);
    folder.write('gateway.yaml', 'listen_addr: a:1\ncatalog_path: ./none.yaml\n');
    expect((await folder.load()).lines).toEqual([
      `gateway.yaml:2:15: catalog_path: ${join(folder.path, 'none.yaml')}: the file does not exist`,
    ]);
  });

  test('is reported if it is a folder', async () => {
    mkdirSync(join(folder.path, 'folder.yaml'), { recursive: true });
    expect((await folder.load({}, 'folder.yaml')).lines).toEqual([
      'folder.yaml:1:1: this is a folder, not a file',
    ]);
  });

  test('is reported if it is a named pipe, without waiting for a writer', async () => {
    execFileSync('mkfifo', [join(folder.path, 'pipe.yaml')]);
    expect((await folder.load({}, 'pipe.yaml')).lines).toEqual(['pipe.yaml:1:1: not a regular file']);
  });

  test('is reported if its path is below a file or has a null byte', async () => {
    folder.write('plain', '');
    expect((await folder.load({}, 'plain/gateway.yaml')).lines).toEqual([
      'plain/gateway.yaml:1:1: the file does not exist',
    ]);
    await expect(loadConfig('a\0b', {})).rejects.toThrow('the file cannot be read (ERR_INVALID_ARG_VALUE)');
  });

  test('is reported if the system cannot read it', async () => {
    const unreadable = '/proc/self/mem';
    await expect(loadConfig(unreadable, {})).rejects.toThrow(
      `${unreadable}:1:1: the file cannot be read (EIO)`,
    );
  });

  test('is reported if it is one byte too large', async () => {
    const comment = (size: number) => `#${'x'.repeat(size - 2)}\n`;
    folder.write('large.yaml', comment(4 * 1024 * 1024));
    expect((await folder.load({}, 'large.yaml')).lines[0]).toContain('the file is empty');
    folder.write('large.yaml', comment(4 * 1024 * 1024 + 1));
    expect((await folder.load({}, 'large.yaml')).lines).toEqual([
      'large.yaml:1:1: the file is larger than 4 MiB',
    ]);
  });

  test('is reported if it is not text', async () => {
    folder.write('bytes.yaml', Buffer.from([0x61, 0x3a, 0x0a, 0x62, 0xff, 0xfe]));
    expect((await folder.load({}, 'bytes.yaml')).lines).toEqual([
      'bytes.yaml:1:1: the file is not UTF-8 text (line 2, column 2)',
    ]);
  });

  test.each(['', '\n\n', '# nothing\n', '\uFEFF'])('is reported if it is empty: %j', async (text) => {
    const { lines } = await folder.loadGateway(text);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^gateway\.yaml:1:1: /);
    const catalog = await folder.loadCatalog(text);
    expect(catalog.lines).toHaveLength(1);
    expect(catalog.lines[0]).toMatch(/^catalog\.yaml:1:1: .*servers/);
  });

  test('is reported if it contains an empty document', async () => {
    expect((await folder.loadGateway('---\n')).lines).toEqual([
      'gateway.yaml:1:4: expected a mapping (key: value), found nothing; write { listen_addr: LISTEN_ADDR, catalog_path: CATALOG_PATH }',
    ]);
  });

  test('is reported if its root is not a mapping', async () => {
    expect((await folder.loadGateway('- a\n')).lines).toEqual([
      'gateway.yaml:1:1: expected a mapping (key: value), found a list; write { listen_addr: LISTEN_ADDR, catalog_path: CATALOG_PATH }',
    ]);
    expect((await folder.loadGateway('listen_addr\n')).lines).toEqual([
      'gateway.yaml:1:1: expected a mapping (key: value), found text; write { listen_addr: LISTEN_ADDR, catalog_path: CATALOG_PATH }',
    ]);
  });
});

describe('broken syntax', () => {
  test.each([
    ['a: "open', /^1:4: YAML syntax: a text in double quotes is not closed; write the closing "/],
    ['a: 1\n\tb: 2\n', /^2:1: YAML syntax: indented with a tab; /],
    ['a: b: c\n', /^1:4: YAML syntax: a value that contains a colon and a space needs quotes/],
    ['a: [1, 2\n', /^2:1: YAML syntax: /],
    ['a: @x\n', /^1:4: YAML syntax: a value cannot begin with @; put the value in quotes/],
    ['a: 1\n---\nb: 2\n', /^2:\d: only one YAML document/],
    ['a: *none\n', /^1:4: a value that begins with \* is an alias in YAML, and no anchor/],
    ['a: &x [*x]\n', /^1:8: this alias is inside its own anchor$/],
    ['a: !env X\n', /^1:4: a value that begins with ! is a tag in YAML, and tags are not supported here; /],
    ['a: 1\nb: 2\na: 3\n', /^3:1: duplicate key "a", already used on line 1$/],
    ['? [x]\n: 1\n', /^1:3: a key must be plain text$/],
  ])('%j is reported with a position', async (text, problem) => {
    const { lines } = await folder.loadGateway(text);
    expect(
      lines.map((line) => line.replace('gateway.yaml:', '')).find((line) => problem.test(line)),
    ).toBeDefined();
  });

  // A deep stack could make V8 abort the process.
  test.each(['[', '- ', '{', '{a: ', '? ', '&a [', '!!seq [', '"a": ['])(
    'endless nesting of %j is refused',
    async (open) => {
      for (const times of [70, 5000, 20_000]) {
        const { lines } = await folder.loadGateway(open.repeat(times));
        expect(lines).toHaveLength(1);
        expect(lines[0]).toMatch(/^gateway\.yaml:1:\d+: values are nested too deeply$/);
      }
    },
  );

  test.each([
    [
      '  cron: */5 * * * *',
      9,
      'a value that begins with * is an alias in YAML, and no anchor (&) of its name precedes it',
    ],
    [
      '  cron: * * * * *',
      9,
      'YAML syntax: a value that begins with * is an alias in YAML, and the name is missing',
    ],
    ['  args: [-y, @scope/package]', 14, 'YAML syntax: a value cannot begin with @'],
    ['  args: [`x`, @scope/package]', 10, 'YAML syntax: a value cannot begin with `'],
  ])('a missing quote, as in %s, is reported once per line, with advice', async (line, column, what) => {
    const advice = 'put the value in quotes, if it is text';
    const { lines } = await folder.loadGateway(`a:\n${line}\nb:\n${line}\n`);
    expect(lines).toEqual([
      `gateway.yaml:2:${column}: ${what}; ${advice}`,
      `gateway.yaml:4:${column}: ${what}; ${advice}`,
    ]);
  });

  test('is reported without the adjacent text, which may be a secret', async () => {
    for (const text of [
      'api_key: "a" hushhush\n',
      'api_key: |hushhush\n  x\n',
      'hushhush: }\n}hushhush',
      'a:\n - b\n hushhush\n',
    ]) {
      const { lines } = await folder.loadGateway(text);
      expect(lines.length, text).toBeGreaterThan(0);
      expect(lines.join('\n'), text).not.toContain('hushhush');
    }
  });

  test('at most twenty syntax errors are reported per file', async () => {
    const { lines } = await folder.loadGateway('- "x" y\n'.repeat(1000));
    expect(lines.filter((line) => line.includes('YAML syntax'))).toHaveLength(20);
  });

  test('syntax errors in JSON have positions', async () => {
    const { lines } = await folder.loadCatalog(
      '{\n  "mcpServers": {\n    "a": { "command": "x" \n',
      {},
      'c.json',
    );
    expect(lines[0]).toMatch(/^c\.json:\d+:\d+: YAML syntax: /);
  });

  test('a duplicate key in JSON is reported', async () => {
    const { lines } = await folder.loadCatalog(
      '{"mcpServers": {\n"a": {"command": "x"},\n"a": {"command": "y"}}}',
      {},
      'c.json',
    );
    expect(lines).toEqual(['c.json:3:1: duplicate key "a", already used on line 2']);
  });
});

describe('a hostile file', () => {
  test('cannot exceed the limit for expanded aliases', async () => {
    const levels = Array.from({ length: 20 }, (_, level) =>
      level === 0
        ? 'x0: &x0 [a]'
        : `x${level}: &x${level} [${Array(9)
            .fill(`*x${level - 1}`)
            .join(', ')}]`,
    );
    const { lines } = await folder.loadGateway(`${levels.join('\n')}\n`);
    expect(
      lines.some((line) => line.includes('the aliases of this file expand to more than 10000 values')),
    ).toBe(true);
  });

  test('of the maximum size is read within seconds', async () => {
    // In `npm test` it has fewer entries, and less processor time in proportion.
    const count = runs(20_000);
    const argument = 'y'.repeat(3_000_000 / count);
    const entries = Array.from(
      { length: count },
      (_, index) => `  server-${index}: { command: x, args: [${argument}] }`,
    );
    const before = process.cpuUsage();
    const { loaded } = await folder.loadCatalog(`servers:\n${entries.join('\n')}\n`);
    expect(Object.keys(loaded?.catalog.servers ?? {})).toHaveLength(count);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(3 * count);
  });
});

describe('a configuration problem', () => {
  const problem = { line: 3, column: 7, message: 'what', severity: 'error' } as const;

  test('is one line with the shortest path of its file', () => {
    expect(formatProblem({ ...problem, file: join(process.cwd(), 'a/b.yaml') })).toBe('a/b.yaml:3:7: what');
    expect(formatProblem({ ...problem, file: '/elsewhere/b.yaml' })).toBe('/elsewhere/b.yaml:3:7: what');
    expect(formatProblem({ ...problem, file: join(process.cwd(), '..b.yaml') })).toBe('..b.yaml:3:7: what');
  });

  test('is in the message of the ConfigError only if it is an error, not if it is a warning', () => {
    const file = '/elsewhere/b.yaml';
    const error = new ConfigError([
      { ...problem, file },
      { ...problem, file, severity: 'warning' },
      { ...problem, file, line: 4 },
    ]);
    expect(error).toMatchObject({ name: 'ConfigError', code: 'ERR_CONFIG' });
    expect(error.message).toBe('/elsewhere/b.yaml:3:7: what\n/elsewhere/b.yaml:4:7: what');
    expect(error.problems).toHaveLength(3);
  });
});
