import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const json = (servers: Record<string, unknown>, more: object = {}) =>
  folder.loadCatalog(JSON.stringify({ mcpServers: servers, ...more }, null, '\t'), {}, 'desktop.json');

describe("a desktop client's file", () => {
  test('is accepted even with tabs, unknown keys and stray empty lists', async () => {
    const { loaded, lines } = await json(
      {
        files: { command: 'npx', args: ['-y', 'files'], env: { A: 'b' }, autoApprove: ['x'], zebra: 1 },
        web: { type: 'streamableHttp', url: 'https://a.example/mcp', args: [], env: {} },
      },
      { theme: 'dark' },
    );
    expect(loaded?.catalog.servers.files).toMatchObject({
      runtime: 'stdio',
      command: 'npx',
      cwd: folder.path,
    });
    expect(loaded?.catalog.servers.web).toMatchObject({ runtime: 'http', isolation: 'session' });
    expect(lines).toEqual([
      'desktop.json:15:4: warning: mcpServers.files.zebra: unknown key',
      'desktop.json:20:4: warning: mcpServers.web.args: is for local servers (command) only; this server has a url',
      'desktop.json:21:4: warning: mcpServers.web.env: is for local servers (command) only; this server has a url',
    ]);
  });

  test.each([
    ['stdio', { command: 'x' }, 'stdio'],
    ['http', { url: 'http://a' }, 'http'],
    ['streamable-http', { url: 'http://a' }, 'http'],
    ['streamableHttp', { url: 'http://a' }, 'http'],
    ['sse', { url: 'http://a' }, 'sse'],
  ])('may have an entry of the type %s', async (type, entry, runtime) => {
    const { loaded, lines } = await json({ a: { type, ...entry } });
    expect(lines).toEqual([]);
    expect(loaded?.catalog.servers.a?.runtime).toBe(runtime);
  });

  test.each([
    [{ disabled: true }, false],
    [{ disabled: false }, true],
    [{}, true],
    [{ enabled: false, disabled: true }, false],
  ])('with %j in an entry has a server with enabled: %s', async (fields, enabled) => {
    const { loaded } = await json({ a: { command: 'x', ...fields } });
    expect(loaded?.catalog.servers.a?.enabled).toBe(enabled);
    expect(loaded?.catalog.servers.a).not.toHaveProperty('disabled');
  });

  test.each([
    [{ disabledTools: ['rm', 'mv'] }, { allow: ['*'], deny: ['rm', 'mv'] }],
    [
      { excludeTools: ['rm'], tools: { deny: ['mv'] } },
      { allow: ['*'], deny: ['mv', 'rm'] },
    ],
    [{ enabledTools: ['ls'] }, { allow: ['ls'], deny: [] }],
    [
      { includeTools: ['ls', 'rm'], disabledTools: ['rm'] },
      { allow: ['ls', 'rm'], deny: ['rm'] },
    ],
    [{ enabledTools: [] }, { allow: [], deny: [] }],
    [{ disabledTools: [] }, { allow: ['*'], deny: [] }],
  ])('with %j in an entry allows and denies the listed tools', async (fields, tools) => {
    for (const transport of [{ command: 'x' }, { url: 'http://a' }]) {
      const { loaded, lines } = await json({ a: { ...transport, ...fields } });
      expect(lines).toEqual([]);
      expect(loaded?.catalog.servers.a?.tools).toEqual(tools);
      for (const key of Object.keys(fields))
        if (key !== 'tools') expect(loaded?.catalog.servers.a).not.toHaveProperty(key);
    }
  });

  test('with two lists of allowed tools in an entry is refused', async () => {
    const { loaded, lines } = await json({
      a: { command: 'x', enabledTools: ['ls'], tools: { allow: ['*'] } },
    });
    expect(loaded).toBeUndefined();
    expect(lines).toEqual([
      expect.stringMatching(
        /mcpServers\.a\.enabledTools: is a second list of allowed tools; keep only one list$/,
      ),
    ]);
  });

  test.each([
    [{ command: 'x', type: 'sse' }, 'mcpServers.a.type: contradicts command, which means stdio'],
    [{ url: 'http://a', type: 'stdio' }, 'mcpServers.a.type: contradicts url, which means http or sse'],
    [
      { url: 'http://a', type: 'sse', runtime: 'http' },
      'mcpServers.a.type: contradicts runtime, which is http',
    ],
    [
      { url: 'http://a', type: 'ws' },
      'mcpServers.a.type: expected one of stdio, http, streamable-http, streamableHttp, sse, found "ws"',
    ],
    [
      { command: 'x', disabled: true, enabled: true },
      'mcpServers.a.disabled: contradicts enabled, which is true',
    ],
    [{ address: 'http://a' }, 'mcpServers.a: needs a command (local server) or a url (remote server)'],
    [
      { command: 'x', args: '-y' },
      'mcpServers.a.args: expected a list, found text; write each argument as an item: args: [first, "second one"]',
    ],
    [{ command: 'x', disabled: 'yes' }, 'mcpServers.a.disabled: expected true or false, found "yes"'],
  ])('with the entry %j is refused', async (entry, problem) => {
    const { loaded, problems } = await json({ a: entry });
    expect(loaded).toBeUndefined();
    expect(problems.filter(({ severity }) => severity === 'error').map(({ message }) => message)).toEqual([
      problem,
    ]);
  });

  test.each([
    ['My Server', 'My-Server'],
    ['@scope/files', 'scope-files'],
    ['Café  Münster!', 'Cafe-Munster'],
    [`${'x'.repeat(63)} y`, 'x'.repeat(63)],
  ])('may name a server "%s", which becomes %s', async (name, id) => {
    const { loaded, lines } = await json({ [name]: { command: 'x' } });
    expect(Object.keys(loaded?.catalog.servers ?? {})).toEqual([id]);
    expect(lines).toEqual([
      `desktop.json:3:3: warning: mcpServers["${name}"]: not a valid id; the server is named ${id}`,
    ]);
  });

  test.each(['日本', '', '..', '!!'])('cannot name a server "%s", which yields no id', async (name) => {
    const { loaded, lines } = await json({ [name]: { command: 'x' } });
    expect(loaded).toBeUndefined();
    expect(lines).toEqual([
      `desktop.json:3:3: mcpServers["${name}"]: cannot derive an id from this name; use characters of A-Z a-z 0-9 . _ -`,
    ]);
  });

  test('provides only the first of two servers whose names yield the same id', async () => {
    const { loaded, lines } = await json({ 'a b': { command: 'x' }, 'a-b': { command: 'y' } });
    expect(loaded?.catalog.servers).toEqual({ 'a-b': expect.objectContaining({ command: 'x' }) });
    expect(lines).toContain(
      'desktop.json:6:3: warning: mcpServers.a-b: becomes the id a-b, which "a b" already has; the server is skipped',
    );
  });

  test('may be written as YAML', async () => {
    const { loaded } = await folder.loadCatalog('mcpServers:\n  a: { command: ./x, cwd: sub }\n');
    expect(loaded?.catalog.servers.a).toMatchObject({
      command: join(folder.path, 'x'),
      cwd: join(folder.path, 'sub'),
    });
  });
});
