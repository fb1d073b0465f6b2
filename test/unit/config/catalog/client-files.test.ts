// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
// The files of clients as their documents describe them, used as catalogs as they are.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadTarget } from '../../../../config/load-config.ts';
import { ConfigError, type Problem } from '../../../../config/reader/problem.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const fixture = (name: string) =>
  readFileSync(resolve(import.meta.dirname, `../../../fixtures/client-files/${name}.json`), 'utf8');

/** Loads a text as the catalog that lies at `path` below the folder. */
async function load(path: string, text: string, env: Record<string, string> = {}) {
  const catalog = join(folder.path, path);
  mkdirSync(dirname(catalog), { recursive: true });
  writeFileSync(catalog, text);
  const told = (problems: readonly Problem[]) =>
    problems.map(({ line, column, severity, message }) => `${line}:${column}: ${severity}: ${message}`);
  try {
    const { catalog: read, warnings } = await loadTarget({ catalog }, env);
    return { servers: read.servers as Record<string, object>, lines: told(warnings) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { servers: {}, lines: told(error.problems) };
  }
}

describe('the file of', () => {
  test('Claude Desktop is a catalog', async () => {
    const { servers, lines } = await load('claude_desktop_config.json', fixture('claude-desktop'));
    expect(lines).toEqual([
      '7:5: warning: mcpServers["My Notes"]: this name is no id; the server is called My-Notes',
    ]);
    expect(servers).toMatchObject({
      filesystem: { runtime: 'stdio', command: 'npx', args: { length: 4 } },
      'My-Notes': { command: '/usr/local/bin/notes', env: { NOTES_TOKEN: 'n0tes-t0ken-of-ann' } },
    });
  });

  test('Claude Code is a catalog of its user, whatever else it holds', async () => {
    const { servers, lines } = await load('.claude.json', fixture('claude-code'), { API_KEY: 'k3y-of-ann' });
    expect(lines).toEqual([]);
    expect(Object.keys(servers)).toEqual(['api-server', 'issues', 'airtable']);
    expect(servers).toMatchObject({
      'api-server': {
        runtime: 'sse',
        url: 'https://api.example.com/mcp',
        headers: { Authorization: 'Bearer k3y-of-ann' },
      },
      issues: { runtime: 'http', request_timeout_seconds: 120 },
    });
    const { lines: without } = await load('only.json', '{"theme": "dark", "projects": {}}');
    expect(without).toEqual([
      '1:1: error: servers: required, but missing; this file has servers of its projects alone; the command "servers import" makes a catalog of them',
    ]);
  });

  test('Cursor is a catalog, with its references', async () => {
    const env = { API_KEY: 'k3y-of-ann', MY_SERVICE_TOKEN: 't0ken-of-ann' };
    const { servers, lines } = await load('cursor/mcp.json', fixture('cursor'), env);
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      'local-server': {
        args: [`${homedir()}/mcp-server.py`, '--separator', '/'],
        env: { API_KEY: 'k3y-of-ann' },
      },
      'remote-server': { runtime: 'http', headers: { Authorization: 'Bearer t0ken-of-ann' } },
      older: { runtime: 'sse' },
    });
  });

  test('a project stands in the folder of the project, and may name a file of variables', async () => {
    writeFileSync(join(folder.path, '.env.servers'), '# of the servers\nDB="a b"\nPRICE=${5}\n');
    const { servers, lines } = await load('.cursor/mcp.json', fixture('cursor-project'));
    expect(lines).toEqual([]);
    expect(servers.here).toMatchObject({
      args: [join(folder.path, 'server.js'), '--name', folder.path.split('/').at(-1)],
      cwd: folder.path,
      env: { DB: 'a b', PRICE: '${5}' },
    });
    const elsewhere = await load('copied.json', fixture('cursor-project'));
    expect(elsewhere.lines).toEqual([
      expect.stringMatching(
        /^5:16: error: mcpServers\.here\.args\[0\]: \$\{workspaceFolder\} is the folder of a project/,
      ),
      expect.stringMatching(/^5:\d+: error: mcpServers\.here\.args\[2\]: /),
      expect.stringMatching(/^6:18: error: mcpServers\.here\.envFile: /),
    ]);
  });

  test('a project may not name a file of variables that is not there', async () => {
    const entry = '{ "mcpServers": {\n "a": { "command": "x", "envFile": "no.env" } } }';
    const { lines } = await load('.cursor/mcp.json', entry);
    expect(lines).toEqual([
      expect.stringMatching(/^2:36: error: mcpServers\.a\.envFile: .*no\.env: the file does not exist$/),
    ]);
  });

  test('VS Code is a catalog, with its inputs, comments and trailing commas', async () => {
    const { servers, lines } = await load('mcp.json', fixture('vscode'), { PERPLEXITY_KEY: 'p3y-of-ann' });
    expect(lines).toEqual([
      '16:5: warning: servers.boxed.sandboxEnabled: is ignored: the gateway starts it without a sandbox',
    ]);
    expect(servers).toMatchObject({
      perplexity: { env: { PERPLEXITY_API_KEY: 'p3y-of-ann', REGION: 'eu-1', PORT: '3000' } },
      github: { runtime: 'http' },
      boxed: { command: 'npx' },
    });
    const { lines: unset } = await load('mcp.json', fixture('vscode'));
    expect(unset.join('\n')).toContain('the environment variable PERPLEXITY_KEY is not set');
  });

  test('Windsurf is a catalog', async () => {
    const env = { GITHUB_TOKEN: 'g3y-of-ann', AUTH_TOKEN: 'a3y-of-ann' };
    const { servers, lines } = await load('mcp_config.json', fixture('windsurf'), env);
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      github: { tools: { allow: ['*'], deny: ['delete_repository', 'create_gist'] }, enabled: true },
      'remote-http-mcp': { runtime: 'http', url: 'https://remote.example.com/mcp' },
      off: { runtime: 'sse', enabled: false },
    });
  });

  test('Zed is a catalog, but for what its extensions start', async () => {
    const { servers, lines } = await load('zed/settings.json', fixture('zed'));
    expect(lines).toEqual([
      '22:37: warning: context_servers.remote-mcp-server.headers.Authorization: is shorter than 8 characters: it is not struck out of logs and errors',
      '24:5: warning: context_servers.mcp-server-postgres: is an extension of Zed, which nobody else can start; it is left out',
    ]);
    expect(Object.keys(servers)).toEqual(['local-mcp-server', 'older-form', 'remote-mcp-server']);
    expect(servers['older-form']).toMatchObject({
      command: '/path/to/my-context-server',
      args: ['run'],
      env: { LEVEL: '1' },
      enabled: false,
    });
  });

  test('Gemini CLI is a catalog, with its own timeouts, transports (DIA3) and lists (DIA2)', async () => {
    const env = { DB_CONNECTION_STRING: 'd', EXTERNAL_API_KEY: 'e3y-of-ann' };
    const { servers, lines } = await load('settings.json', fixture('gemini'), env);
    expect(lines).toEqual([
      '14:55: warning: mcpServers.httpServer.headers.Content-Type: is ignored: it is set by the gateway itself',
    ]);
    expect(servers).toMatchObject({
      pythonTools: {
        cwd: join(folder.path, 'mcp-servers/python'),
        env: { DATABASE_URL: 'd', API_KEY: 'e3y-of-ann' },
        request_timeout_seconds: 15,
      },
      httpServer: { runtime: 'http', request_timeout_seconds: 900, max_request_seconds: 900 },
      sseServer: { runtime: 'sse' },
      filteredServer: {
        tools: { allow: ['safe_tool', 'file_reader', 'data_processor'], deny: ['file_reader'] },
        request_timeout_seconds: 2,
      },
      experimental: { enabled: false },
    });
  });

  test('Cline is a catalog', async () => {
    const { servers, lines } = await load('cline_mcp_settings.json', fixture('cline'));
    expect(lines).toEqual([]);
    expect(servers).toMatchObject({
      'local-server': { enabled: true, request_timeout_seconds: 3600, max_request_seconds: 3600 },
      'remote-server': { runtime: 'sse', enabled: false },
      streamed: { runtime: 'http', request_timeout_seconds: 60 },
    });
  });
});

describe('a file of JSON', () => {
  test.each([
    [
      '{\n  "mcpServers": {\n    "a": { "command": "x" }\n    "b": { "command": "y" }\n  }\n}',
      /^4:5: error: YAML syntax/,
    ],
    ['{\n  "mcpServers": { /* no end\n  }\n}', /^2:19: error: the comment that begins here has no end$/],
    [
      '{\n  // "a": 1\n  "mcpServers": { "a": { "comand": "x" } }\n}',
      /^3:19: error: mcpServers\.a: needs a command/,
    ],
    [
      '{ "mcpServers": { "a": { "url": "${command:x}" } } }',
      /^1:33: error: mcpServers\.a\.url: \$\{command:x\} is replaced by the editor alone/,
    ],
    [
      '{ "mcpServers": { "a": { "command": "x", "timeout": "5" } } }',
      /^1:53: error: mcpServers\.a\.timeout: expected a number/,
    ],
    [
      '{ "context_servers": {}, "mcpServers": {} }',
      /^1:26: error: context_servers|^1:3: error: context_servers: a catalog has either/,
    ],
  ])('that is wrong is refused with its place: %s', async (text, line) => {
    const { lines } = await load('wrong.json', text);
    expect(lines.filter((each) => each.includes(' error: '))[0]).toMatch(line);
  });

  test.each([
    ['{"servers":{"a":{"url":"http://h/a//b"}}} // end', 'http://h/a//b'],
    ['// first\n{"servers":{"a":/* here */{"url":"http://h/\\"/*x*/"}}}', 'http://h/%22/*x*/'],
    ['{"servers":{"a":{"url":http://h/x}}}', 'http://h/x'],
  ])('keeps what only looks like a comment: %s', async (text, url) => {
    const { servers, lines } = await load('comments.json', text);
    expect([lines, servers.a]).toMatchObject([[], { url }]);
  });

  test('of our own stays strict, and so does YAML with the words of VS Code (DIA1)', async () => {
    const own = await load('own.json', '{"servers":{"a":{"command":"x","zebra":1}}}');
    expect(own.lines).toEqual(['1:32: error: servers.a.zebra: unknown key']);
    const yaml = await load('own.yaml', 'inputs: []\nservers: { a: { command: x, type: stdio } }\n');
    expect(yaml.lines.filter((line) => line.includes('error'))).toHaveLength(2);
  });
});
