// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Files of clients with formats of their own, and files in formats that the gateway does not read.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foreignFormatHint } from '../../../../config/catalog/dialects/foreign-formats.ts';
import { editCatalog } from '../../../../config/catalog/edit-catalog.ts';
import { loadTarget } from '../../../../config/load-config.ts';
import { ConfigError, type Problem } from '../../../../config/reader/problem.ts';
import { SourceFile } from '../../../../config/reader/source-file.ts';
import { parseTomlTree } from '../../../../config/reader/toml-tree.ts';
import { plainValue } from '../../../../config/reader/yaml-members.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const fixture = (name: string) =>
  readFileSync(resolve(import.meta.dirname, '../../../fixtures/client-files', name), 'utf8');

/** Loads a file as the catalog at `path` in the folder. */
async function load(path: string, content: string | Buffer, env: Record<string, string> = {}) {
  const catalog = join(folder.path, path);
  mkdirSync(dirname(catalog), { recursive: true });
  writeFileSync(catalog, content);
  const messagesOf = (problems: readonly Problem[]) =>
    problems.map(({ line, column, severity, message }) => `${line}:${column}: ${severity}: ${message}`);
  try {
    const { catalog: read, warnings } = await loadTarget({ catalog }, env);
    return { servers: read.servers as Record<string, object>, lines: messagesOf(warnings) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { servers: {}, lines: messagesOf(error.problems) };
  }
}

/** Returns a ZIP archive of one file. */
function zipped(name: string, text: string, method: 0 | 8): Buffer {
  const plain = Buffer.from(text);
  const data = method === 0 ? plain : deflateRawSync(plain);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(method, 4);
  fields.writeUInt32LE(data.length, 14);
  fields.writeUInt32LE(plain.length, 18);
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), data]);
  const central = Buffer.concat([Buffer.from('PK\x01\x02\0\0'), fields, Buffer.alloc(14), Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

describe('the configuration file of', () => {
  test('Codex, in TOML, can be used as a catalog', async () => {
    const env = { DOCS_TOKEN: 'd0cs', REGION: 'eu', FIGMA_TOKEN: 'f1gma-of-ann', FIGMA_TEAM: 'blue' };
    const { servers, lines } = await load('.codex/config.toml', fixture('codex.toml'), env);
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      docs: {
        command: 'npx',
        args: ['-y', 'docs-mcp'],
        env: { LANG_CODE: 'de' },
        inherit_env: ['DOCS_TOKEN', 'REGION'],
        start_timeout_seconds: 20,
        request_timeout_seconds: 900,
        max_request_seconds: 900,
        tools: { allow: ['search'], deny: ['drop'] },
      },
      figma: {
        runtime: 'http',
        headers: {
          Authorization: 'Bearer f1gma-of-ann',
          'X-Figma-Region': 'us-east-1',
          'X-Team': 'blue',
        },
      },
      old: { enabled: false, command: join(folder.path, 'old') },
    });
  });

  test('Codex is reported with positions if it has errors', async () => {
    const text = '[mcp_servers.a]\ncommand = "x"\n[mcp_servers.b]\ncommand = "x"\nargs = [1]\nmode = 1\n';
    const { lines } = await load('config.toml', text);
    expect(lines).toEqual([
      expect.stringMatching(
        /^5:9: warning: mcp_servers\.b\.args\[0\]: expected text.*; the server is skipped$/,
      ),
      expect.stringMatching(/^6:1: warning: mcp_servers\.b\.mode: unknown key/),
    ]);
    expect((await load('config.toml', '[mcp_servers.a]\ncommand = "x\n')).lines).toEqual([
      expect.stringMatching(/^2:\d+: error: invalid TOML: Unterminated string constant/),
    ]);
    const deep = `a = ${'['.repeat(100_000)}`;
    expect((await load('config.toml', deep)).lines).toEqual(['1:5: error: values are nested too deeply']);
  });

  test('VS Code can be a catalog: its settings, a workspace file or a development container file', async () => {
    const mcp = {
      inputs: [{ id: 'the-key', type: 'promptString', password: true }],
      servers: { db: { type: 'stdio', command: 'x', env: { KEY: '${input:the-key}' } } },
    };
    const files = {
      'User/settings.json': { 'editor.fontSize': 12, mcp },
      'shop.code-workspace': { folders: [], settings: { mcp } },
      '.devcontainer/devcontainer.json': { customizations: { vscode: { mcp } } },
    };
    for (const [path, content] of Object.entries(files)) {
      const { servers, lines } = await load(path, JSON.stringify(content), { THE_KEY: 'k3y-of-ann' });
      expect([path, lines, servers]).toMatchObject([path, [], { db: { env: { KEY: 'k3y-of-ann' } } }]);
    }
  });

  test('Copilot CLI can be used as a catalog', async () => {
    const mcpServers = {
      near: { type: 'local', command: 'npx', args: ['$ROOT'], tools: ['*'], env: { KEY: '${KEY}' } },
      far: { type: 'http', url: 'https://h/mcp', tools: ['find'], headers: { 'X-Key': '$KEY' } },
    };
    const env = { ROOT: '/srv', KEY: 'k3y-of-ann' };
    const { servers, lines } = await load('mcp-config.json', JSON.stringify({ mcpServers }), env);
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      near: { runtime: 'stdio', args: ['/srv'], env: { KEY: 'k3y-of-ann' }, tools: { allow: ['*'] } },
      far: { runtime: 'http', headers: { 'X-Key': 'k3y-of-ann' }, tools: { allow: ['find'] } },
    });
  });

  test.each([1, 2])('OpenCode, version %i, can be used as a catalog', async (version) => {
    const env = { ONE_ROOT: '/srv', ONE_KEY: 'k3y-of-ann', FAR_TOKEN: 't0ken-of-ann' };
    const text = fixture('opencode.json');
    const nested = text.replace('"mcp": {', '"mcp": { "servers": {').replace(/\}\s*$/, '},}');
    const { servers, lines } = await load('opencode.json', version === 1 ? text : nested, env);
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      'local-one': {
        command: 'npx',
        args: ['-y', 'one-mcp', '/srv'],
        env: { ONE_KEY: 'k3y-of-ann' },
        enabled: false,
        request_timeout_seconds: 15,
      },
      far: { runtime: 'http', headers: { Authorization: 'Bearer t0ken-of-ann' } },
    });
  });

  test('Goose can be used as a catalog, without the built-in extensions of Goose', async () => {
    const env = { GITHUB_PERSONAL_ACCESS_TOKEN: 't0ken-of-ann' };
    const { servers, lines } = await load('goose/config.yaml', fixture('goose.yaml'), env);
    expect(lines).toEqual([
      '3:3: warning: extensions.developer: skipped: only Goose can start its extensions',
    ]);
    expect(servers).toMatchObject({
      github: {
        command: 'npx',
        env: { LOG: '1', GITHUB_PERSONAL_ACCESS_TOKEN: 't0ken-of-ann' },
        request_timeout_seconds: 300,
        tools: { allow: ['*'] },
      },
      far: { runtime: 'http', enabled: false, headers: { 'X-Team': 'blue' }, tools: { allow: ['find'] } },
      older: { runtime: 'sse' },
    });
  });

  test('an unpacked MCP bundle can be used as a catalog', async () => {
    const env = { API_KEY: 'k3y-of-ann' };
    const { servers, lines } = await load('notes/manifest.json', fixture('manifest.json'), env);
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      'my-notes': {
        command: 'node',
        args: [join(folder.path, 'notes/server/index.js'), '/a', '/b', '--limit=10'],
        env: { API_KEY: 'k3y-of-ann', REGION: '', SYSTEM: 'linux' },
      },
    });
  });

  test.each([0, 8] as const)(
    'an MCP bundle can be used as a catalog if it is unpacked in the same folder (ZIP method %i)',
    async (method) => {
      const env = { API_KEY: 'k3y-of-ann' };
      const bundle = zipped('manifest.json', fixture('manifest.json'), method);
      const packed = await load(`packed${method}.mcpb`, bundle, env);
      expect(packed.lines).toEqual([
        expect.stringMatching(/^12:16: error: server\.my-notes\.args\[0\]: unpack the bundle first/),
      ]);
      await load(`packed${method}/manifest.json`, fixture('manifest.json'), env);
      const { servers, lines } = await load(`packed${method}.mcpb`, bundle, env);
      expect(lines).toEqual([]);
      expect(servers).toMatchObject({ 'my-notes': { command: 'node' } });
    },
  );

  test('a broken MCP bundle is refused with an error', async () => {
    const bundle = zipped('manifest.json', fixture('manifest.json'), 8);
    for (const bytes of [Buffer.alloc(0), Buffer.from('no archive'), zipped('other.json', '{}', 8)])
      expect((await load('bad.mcpb', bytes)).lines).toEqual([
        expect.stringMatching(/error: the (?:file|archive)/),
      ]);
    const bomb = zipped('manifest.json', ' '.repeat(5 * 1024 * 1024), 8);
    expect((await load('bad.mcpb', bomb)).lines[0]).toMatch(/error: manifest\.json is too large$/);
    // The archive declares a small size.
    bomb.writeUInt32LE(10, bomb.length - 22 - 'manifest.json'.length - 46 + 24);
    expect((await load('bad.mcpb', bomb)).lines[0]).toMatch(/error: manifest\.json cannot be decompressed$/);
    await fc.assert(
      fc.asyncProperty(fc.nat(bundle.length - 1), fc.nat(255), async (at, byte) => {
        const changed = Buffer.from(bundle);
        changed[at] = byte;
        await load('changed.mcpb', changed);
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('a file in another format', () => {
  test.each([
    ['Codex', 'codex.txt', '[mcp_servers.a]\ncommand = "x"\nargs = [ "y" ]\n'],
    ['Continue', 'config.yaml', 'name: x\nschema: v1\nmcpServers:\n  - name: a\n    command: x\n'],
    ['Augment Code', 'settings.json', '{ "augment.advanced.mcpServers": [{ "name": "a", "command": "x" }] }'],
    ['Amp', 'settings.json', '{ "amp.mcpServers": { "a": { "command": "x" } } }'],
    ['Crush', 'crush.json', '{ "mcp": { "a": { "type": "stdio", "command": "x" } } }'],
    ['Warp', 'warp.json', '{ "a": { "command": "x" }, "b": { "url": "https://h/mcp" } }'],
  ])('is reported with the name of its client, %s', async (client, path, text) => {
    const { lines } = await load(path, text);
    expect(lines[0]).toMatch(new RegExp(`^1:1: error: this resembles a file of ${client}: `));
  });

  test('is recognized in linear time', () => {
    expect(foreignFormatHint(undefined, `mcpServers:${'\n'.repeat(300_000)}x`)).toBeUndefined();
  });

  test('is not edited if the gateway only reads its format', () => {
    for (const [path, text] of [
      ['config.toml', fixture('codex.toml')],
      ['opencode.json', fixture('opencode.json')],
      ['config.yaml', fixture('goose.yaml')],
      ['settings.json', '{ "mcp": { "servers": { "a": { "command": "x" } } } }'],
    ] as const)
      expect(editCatalog(text, { do: 'add', name: 'n', entry: { command: 'x' } }, path)).toEqual({
        refusal: expect.stringContaining('only read'),
      });
  });
});

describe("an entry of a client's file", () => {
  const entry = { command: 'x', args: ['${AUTH}', 'a:${AUTH}', '${HOST}'], env: { AUTH: 'Bearer ${T}' } };

  test('resolves references in its arguments with its own variables first', async () => {
    const env = { T: 't0ken-of-ann', AUTH: 'other', HOST: 'h' };
    const { servers, lines } = await load('mcp.json', JSON.stringify({ mcpServers: { a: entry } }), env);
    expect([lines, servers.a]).toMatchObject([
      [],
      { args: ['Bearer t0ken-of-ann', 'a:Bearer t0ken-of-ann', 'h'], env: { AUTH: 'Bearer t0ken-of-ann' } },
    ]);
  });

  test('reports an unset variable once', async () => {
    const { lines } = await load('mcp.json', JSON.stringify({ mcpServers: { a: entry } }), { HOST: 'h' });
    expect(lines.filter((line) => !line.includes('warning'))).toEqual([
      expect.stringContaining('mcpServers.a.env.AUTH: the environment variable T'),
    ]);
  });

  test('is skipped with a warning if it is invalid and another entry is valid; otherwise it is an error', async () => {
    const mcpServers = { bad: { url: 'ftp://h' }, good: { command: 'x' }, worse: { args: [1] } };
    const { servers, lines } = await load('mcp.json', JSON.stringify({ mcpServers }));
    expect(Object.keys(servers)).toEqual(['good']);
    expect(lines).toEqual([
      expect.stringMatching(/warning: mcpServers\.bad\.url: .*; the server is skipped$/),
      expect.stringMatching(/warning: mcpServers\.worse: needs a command.*; the server is skipped$/),
      expect.stringMatching(/warning: mcpServers\.worse\.args\[0\]: .*; the server is skipped$/),
    ]);
    const only = await load('mcp.json', JSON.stringify({ mcpServers: { bad: { url: 'ftp://h' } } }));
    expect(only.lines).toEqual([expect.stringMatching(/error: mcpServers\.bad\.url/)]);
    const native = await load('catalog.yaml', JSON.stringify({ servers: { ...mcpServers } }));
    expect(native.lines).toContainEqual(expect.stringMatching(/error: servers\.bad\.url/));
  });
});

test.each([
  ['lists', `a = ${'[1,'.repeat(1000)}1${']'.repeat(1000)}`, '1:5'],
  ['inline tables', `a = ${'{b='.repeat(100)}1${'}'.repeat(100)}`, '1:5'],
  ['a key', `${Array(5000).fill('a').join('.')} = 1`, '1:127'],
  ['a table', `[${Array(5000).fill('a').join('.')}]\nb = 1`, '1:128'],
])('TOML may not be nested too deeply, by %s', (_, text, position) => {
  const { problems } = parseTomlTree(new SourceFile('/x.toml', text));
  expect(problems.map(({ line, column, message }) => `${line}:${column}: ${message}`)).toEqual([
    `${position}: values are nested too deeply`,
  ]);
});

// A quadratic algorithm exceeds the test's time limit many times.
test.each([
  ['lines', '\\"""\n'.repeat(100_000)],
  ['a line', '\\"'.repeat(200_000)],
])('TOML with unfinished texts is read in linear time, in %s', (_, text) => {
  expect(parseTomlTree(new SourceFile('/x.toml', text)).isBroken).toBe(true);
});

test('TOML may contain brackets in text and comments', () => {
  const brackets = '[{'.repeat(100);
  const text = `a = "\\"${brackets}" # ${brackets}\nb = '${brackets}'\nc = """\n"${brackets}\\""""\nd = '''${brackets}'''\n`;
  const { root, problems } = parseTomlTree(new SourceFile('/x.toml', text));
  expect(problems).toEqual([]);
  expect(root && plainValue(root)).toMatchObject({ a: `"${brackets}`, b: brackets, d: brackets });
});

test('a TOML file is read with its values and their positions', () => {
  const text = 'a.b = 1\n[c."d e"]\nf = [true, { g = "h" }]\n[c."d e".i]\nj = 1.5\n';
  const { root } = parseTomlTree(new SourceFile('/x.toml', text));
  expect(root && plainValue(root)).toEqual({
    a: { b: 1 },
    c: { 'd e': { f: [true, { g: 'h' }], i: { j: 1.5 } } },
  });
});
