// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Configuration files of MCP clients, from the vendors' documentation, used as catalogs without changes.

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

/** Loads a text as the catalog at `path` in the folder. */
async function load(path: string, text: string, env: Record<string, string> = {}) {
  const catalog = join(folder.path, path);
  mkdirSync(dirname(catalog), { recursive: true });
  writeFileSync(catalog, text);
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

describe("the transport of a server in a client's file", () => {
  test.each([
    [{ transport: 'sse' }, 'sse'],
    [{ transport: 'SSE' }, 'sse'],
    [{ transport: { type: 'sse' } }, 'sse'],
    [{ transportType: 'sse' }, 'sse'],
    [{ type: 'sse' }, 'sse'],
    [{ transport: 'http' }, 'http'],
    [{ transport: 'streamable-http' }, 'http'],
    [{ transport: { type: 'streamable_http' } }, 'http'],
    [{ transportType: 'streamableHttp' }, 'http'],
    [{}, 'http'],
  ])('declared as %j for a remote server is %s', async (declared, runtime) => {
    const entry = { url: 'https://example.com/events', ...declared };
    const { servers, lines } = await load('mcp.json', JSON.stringify({ mcpServers: { far: entry } }));
    expect([servers.far, lines]).toMatchObject([{ runtime }, []]);
  });

  test('declared as http is http, even if the address of the server ends in /sse', async () => {
    const entry = { url: 'https://example.com/sse', transport: 'http' };
    const { servers } = await load('mcp.json', JSON.stringify({ mcpServers: { far: entry } }));
    expect(servers.far).toMatchObject({ runtime: 'http' });
  });

  test.each([
    { transport: 'websocket' },
    { transport: '' },
    { transport: 'stdio' },
    { transportType: 'websocket' },
    { type: 'http', transport: 'sse' },
    { runtime: 'sse', transportType: 'http' },
  ])('declared as %j is reported, and the other fields of the entry decide', async (declared) => {
    const entry = { url: 'https://example.com/sse', ...declared };
    const { servers, lines } = await load('mcp.json', JSON.stringify({ mcpServers: { far: entry } }));
    expect(lines).toEqual([expect.stringMatching(/warning: .*transport.*did you mean runtime/i)]);
    expect(servers.far).toMatchObject({ runtime: 'type' in declared ? 'http' : 'sse' });
  });

  test('may be declared as stdio for a local server', async () => {
    for (const declared of [
      { transport: 'stdio' },
      { transportType: 'stdio' },
      { transport: { type: 'stdio' } },
    ]) {
      const entry = { command: 'node', ...declared };
      const { servers, lines } = await load('mcp.json', JSON.stringify({ mcpServers: { near: entry } }));
      expect([servers.near, lines]).toMatchObject([{ runtime: 'stdio' }, []]);
    }
  });
});

describe('the configuration file of', () => {
  test('Claude Desktop is a catalog', async () => {
    const { servers, lines } = await load('claude_desktop_config.json', fixture('claude-desktop'));
    expect(lines).toEqual([
      '7:5: warning: mcpServers["My Notes"]: not a valid id; the server is named My-Notes',
    ]);
    expect(servers).toMatchObject({
      filesystem: { runtime: 'stdio', command: 'npx', args: { length: 4 } },
      'My-Notes': { command: '/usr/local/bin/notes', env: { NOTES_TOKEN: 'n0tes-t0ken-of-ann' } },
    });
  });

  test("Claude Code is a catalog with the user's servers, regardless of its other content", async () => {
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
      '1:1: error: servers: required, but missing; this file only has servers of projects; import them with the command "servers import"',
    ]);
  });

  test('Cursor is a catalog, including references', async () => {
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

  test("a Cursor project resolves paths in the project's folder, and may have an env file", async () => {
    writeFileSync(join(folder.path, '.env.servers'), '# of the servers\nDB="a b"\nPRICE=${5}\n');
    const { servers, lines } = await load('.cursor/mcp.json', fixture('cursor-project'));
    expect(lines).toEqual([]);
    expect(servers.here).toMatchObject({
      args: [join(folder.path, 'server.js'), '--name', folder.path.split('/').at(-1)],
      cwd: folder.path,
      env: { DB: 'a b', PRICE: '${5}' },
    });
    const otherFile = await load('copied.json', fixture('cursor-project'));
    expect(otherFile.lines).toEqual([
      expect.stringMatching(
        /^5:16: error: mcpServers\.here\.args\[0\]: \$\{workspaceFolder\} needs a project folder/,
      ),
      expect.stringMatching(/^5:\d+: error: mcpServers\.here\.args\[2\]: /),
      expect.stringMatching(/^6:18: error: mcpServers\.here\.envFile: /),
    ]);
  });

  test('a Cursor project cannot have a missing env file', async () => {
    const entry = '{ "mcpServers": {\n "a": { "command": "x", "envFile": "no.env" } } }';
    const { lines } = await load('.cursor/mcp.json', entry);
    expect(lines).toEqual([
      expect.stringMatching(/^2:36: error: mcpServers\.a\.envFile: .*no\.env: the file does not exist$/),
    ]);
  });

  test('VS Code is a catalog, with inputs, comments and trailing commas', async () => {
    const { servers, lines } = await load('mcp.json', fixture('vscode'), { PERPLEXITY_KEY: 'p3y-of-ann' });
    expect(lines).toEqual([
      '16:5: warning: servers.boxed.sandboxEnabled: ignored: the gateway starts the server without a sandbox',
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

  test('Zed is a catalog, except servers started by extensions', async () => {
    const { servers, lines } = await load('zed/settings.json', fixture('zed'));
    expect(lines).toEqual([
      '22:37: warning: context_servers.remote-mcp-server.headers.Authorization: is shorter than 8 characters and cannot be redacted in logs and errors',
      '24:5: warning: context_servers.mcp-server-postgres: skipped: only Zed can start its extensions',
    ]);
    expect(Object.keys(servers)).toEqual(['local-mcp-server', 'older-form', 'remote-mcp-server']);
    expect(servers['older-form']).toMatchObject({
      command: '/path/to/my-context-server',
      args: ['run'],
      env: { LEVEL: '1' },
      enabled: false,
    });
  });

  test('Gemini CLI is a catalog, with its timeouts, transports and tool lists', async () => {
    const env = { DB_CONNECTION_STRING: 'd', EXTERNAL_API_KEY: 'e3y-of-ann' };
    const { servers, lines } = await load('settings.json', fixture('gemini'), env);
    expect(lines).toEqual([
      '14:55: warning: mcpServers.httpServer.headers.Content-Type: ignored: the gateway sets this header itself',
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

describe('a JSON file', () => {
  test.each([
    [
      '{\n  "mcpServers": {\n    "a": { "command": "x" }\n    "b": { "command": "y" }\n  }\n}',
      /^4:5: error: YAML syntax/,
    ],
    ['{\n  "mcpServers": { /* no end\n  }\n}', /^2:19: error: this comment is not closed$/],
    [
      '{\n  // "a": 1\n  "mcpServers": { "a": { "comand": "x" } }\n}',
      /^3:19: error: mcpServers\.a: needs a command/,
    ],
    [
      '{ "mcpServers": { "a": { "url": "${command:x}" } } }',
      /^1:33: error: mcpServers\.a\.url: \$\{command:x\} is only available in the editor/,
    ],
    [
      '{ "mcpServers": { "a": { "command": "x", "timeout": "5" } } }',
      /^1:53: error: mcpServers\.a\.timeout: expected a number/,
    ],
    [
      '{ "context_servers": {}, "mcpServers": {} }',
      /^1:26: error: context_servers|^1:3: error: context_servers: use either/,
    ],
  ])('with an error is refused with its position: %s', async (text, line) => {
    const { lines } = await load('wrong.json', text);
    expect(lines.filter((each) => each.includes(' error: '))[0]).toMatch(line);
  });

  test.each([
    ['{"servers":{"a":{"url":"http://h/a//b"}}} // end', 'http://h/a//b'],
    ['// first\n{"servers":{"a":/* here */{"url":"http://h/\\"/*x*/"}}}', 'http://h/%22/*x*/'],
    ['{"servers":{"a":{"url":http://h/x}}}', 'http://h/x'],
  ])('keeps text that only looks like a comment: %s', async (text, url) => {
    const { servers, lines } = await load('comments.json', text);
    expect([lines, servers.a]).toMatchObject([[], { url }]);
  });

  test('with an unknown key is refused in the native format, and so is a YAML file with fields of VS Code', async () => {
    const own = await load('own.json', '{"servers":{"a":{"command":"x","zebra":1}}}');
    expect(own.lines).toEqual(['1:32: error: servers.a.zebra: unknown key']);
    const yaml = await load('own.yaml', 'inputs: []\nservers: { a: { command: x, type: stdio } }\n');
    expect(yaml.lines.filter((line) => line.includes('error'))).toHaveLength(2);
  });
});
