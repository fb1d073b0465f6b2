// The `.env` file next to the configuration: format, errors and precedence.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../../config/load-config.ts';
import { environmentBeside, parseEnvText, readEnvFile } from '../../../../config/reader/env-file.ts';
import { formatProblem } from '../../../../config/reader/problem.ts';
import { SourceFile } from '../../../../config/reader/source-file.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';

const folder = newFolder('env-file-');

const parsed = (text: string) => {
  const { values, problems } = parseEnvText(new SourceFile('.env', text));
  return { values, problems: problems.map(({ line, column, message }) => `${line}:${column}: ${message}`) };
};

describe('the format of an env file', () => {
  test('has comments, quotes, multi-line values and export, like dotenv', () => {
    const text = [
      '# of the team',
      'PLAIN=one two # a comment',
      "export QUOTED='a # b' # a comment",
      'LINES="first\\nsecond"',
      'KEY="-----BEGIN',
      '  x=y',
      '-----END"',
      'BACK=`it\'s "so"`',
      '  EMPTY = ',
      'JSON={"a": 1}',
      '',
    ];
    const values = {
      PLAIN: 'one two',
      QUOTED: 'a # b',
      LINES: 'first\nsecond',
      KEY: '-----BEGIN\n  x=y\n-----END',
      BACK: `it's "so"`,
      EMPTY: '',
      JSON: '{"a": 1}',
    };
    expect(parsed(text.join('\n'))).toEqual({ values, problems: [] });
    expect(parsed(text.slice(0, 4).join('\r\n')).values).toEqual({
      PLAIN: 'one two',
      QUOTED: 'a # b',
      LINES: 'first\nsecond',
    });
  });

  test('is read as by Node, for valid assignments', () => {
    const valueText = fc.stringMatching(/^[ \w#='"`\\${}\u00e4-]{0,12}$/);
    const name = fc.stringMatching(/^[A-Z]{1,3}$/);
    const line = fc
      .tuple(name, fc.constantFrom('', "'", '"', '`'), valueText)
      .map(([key, q, value]) => `${key}=${q}${value}${q}`);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\r\n'), (lines, end) => {
        const text = lines.map((each) => each + end).join('');
        const { values, problems } = parsed(text);
        // Some versions of Node 22 read the next line as the value if a value has only spaces.
        if (lines.some((each) => /= +$/.test(each))) return;
        if (problems.length === 0) expect(values).toEqual({ ...parseEnv(text) });
      }),
      { numRuns: 2000 },
    );
  });

  test('reads a value of spaces as empty, and the next line separately', () => {
    expect(parsed('A= \nB=1\nC= \n')).toEqual({ values: { A: '', B: '1', C: '' }, problems: [] });
  });

  test('reports an invalid assignment with its position, without its text', () => {
    const { values, problems } = parsed('A=1\n  hunter2 hunter2\nB: x\nC="open\nD="a" b\nE=2\n');
    expect(values).toEqual({ A: '1', E: '2' });
    expect(problems).toEqual([
      '2:3: expected NAME=value, or a comment after #',
      '3:1: expected NAME=value, or a comment after #',
      expect.stringContaining('4:1: '),
      expect.stringContaining('5:1: only a comment may follow the closing quote'),
    ]);
    expect(parsed('A="open\nB=2').problems).toEqual(['1:1: the closing quote is missing']);
  });
});

describe('an env file', () => {
  test('may be missing; a folder or a file readable by all is a warning, a too large or binary file an error', async () => {
    const at = (name: string) => join(folder, name);
    writeFileSync(at('large'), `A=${'x'.repeat(300_000)}`);
    writeFileSync(at('binary'), Buffer.from([0x41, 0x3d, 0xff]));
    writeFileSync(at('open'), 'A=1\n');
    chmodSync(at('open'), 0o644);
    writeFileSync(at('names'), 'A=\n');
    chmodSync(at('names'), 0o644);
    mkdirSync(at('folder'));
    symlinkSync(at('nowhere'), at('link'));
    const problemsIn = async (name: string) =>
      (await readEnvFile(at(name))).problems.map(({ severity, message }) => `${severity}: ${message}`);
    expect(await problemsIn('nowhere')).toEqual([]);
    expect(await problemsIn('names')).toEqual([]);
    expect(await problemsIn('large')).toEqual(['error: the file is larger than 256 KiB']);
    expect(await problemsIn('binary')).toEqual([expect.stringMatching(/^error: the file is not UTF-8/)]);
    expect(await problemsIn('folder')).toEqual(['warning: this is a folder; ignored']);
    expect(await problemsIn('open')).toEqual([
      expect.stringMatching(/^warning: the file is readable by every user/),
    ]);
    chmodSync(at('open'), 0o600);
    expect(await problemsIn('open')).toEqual([]);
  });

  test('adds no variable that the environment already has, even if it is empty there', async () => {
    const file = join(folder, '.env');
    writeFileSync(file, 'A=file\nB=file\nC=file\n', { mode: 0o600 });
    const { environment, fromFile } = await environmentBeside(join(folder, 'gateway.yaml'), {
      A: 'own',
      B: '',
    });
    expect(environment).toEqual({ A: 'own', B: '', C: 'file' });
    expect(fromFile).toEqual({ C: 'file' });
    rmSync(file);
  });
});

describe('a configuration with .env', () => {
  const configFolder = mkdtempSync(join(folder, 'config-'));
  const gateway = join(configFolder, 'gateway.yaml');
  writeFileSync(gateway, `listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\napi_key: \${THE_KEY}\n`);
  const catalog = (text: string) => writeFileSync(join(configFolder, 'catalog.yaml'), text);
  const envFile = (text: string) => writeFileSync(join(configFolder, '.env'), text, { mode: 0o600 });

  test('resolves references with this file and treats its values as secrets; servers get only named variables', async () => {
    catalog(
      `servers:\n  a: {command: node, env: {TOKEN: "\${A_TOKEN}"}}\n  b: {command: node, inherit_env: [PASSED]}\n  c: {command: node, inherit_env: true}\n`,
    );
    envFile('THE_KEY=of-the-gateway\nA_TOKEN=of-server-a\nPASSED=of-server-b8x2k\nOTHER=of-nobody\n');
    const loaded = await loadConfig(gateway, { A_TOKEN: 'of-the-process' });
    expect(loaded.config.api_key).toBe('of-the-gateway');
    expect(loaded.catalog.servers.a).toMatchObject({ env: { TOKEN: 'of-the-process' } });
    expect(loaded.catalog.servers.b).toMatchObject({
      env: { PASSED: 'of-server-b8x2k' },
      credentials: ['of-server-b8x2k'],
    });
    expect(loaded.catalog.servers.c).toMatchObject({ env: {} });
    expect(loaded.catalog.servers.c?.credentials).toEqual(['of-the-process']);
    expect(loaded.secrets).toEqual(
      expect.arrayContaining(['of-the-gateway', 'of-the-process', 'of-server-b8x2k']),
    );
    expect(loaded.secrets).not.toContain('of-nobody');
  });

  test('reports errors of the env file together with those of other files', async () => {
    catalog(`servers: {a: {command: node, cwd: "\${MISSING}"}}\n`);
    envFile('THE_KEY=x1234567\nnot an assignment\n');
    const error = await loadConfig(gateway, {}).catch((each) => each);
    expect(error.problems.map(formatProblem)).toEqual([
      expect.stringMatching(/\.env:2:1: expected NAME=value/),
      expect.stringMatching(/catalog\.yaml:1:\d+: .*MISSING is not set/),
    ]);
  });
});
