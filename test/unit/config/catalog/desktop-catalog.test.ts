import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const json = (servers: Record<string, unknown>, more: object = {}) =>
  folder.loadCatalog(JSON.stringify({ mcpServers: servers, ...more }, null, '\t'), {}, 'desktop.json');

describe("a desktop client's file", () => {
  test('is a catalog, also with tabs, unknown keys and stray empty lists', async () => {
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
      'desktop.json:20:4: warning: mcpServers.web.args: is for local servers (command) only, and this one has a url',
      'desktop.json:21:4: warning: mcpServers.web.env: is for local servers (command) only, and this one has a url',
    ]);
  });

  test.each([
    ['stdio', { command: 'x' }, 'stdio'],
    ['http', { url: 'http://a' }, 'http'],
    ['streamable-http', { url: 'http://a' }, 'http'],
    ['streamableHttp', { url: 'http://a' }, 'http'],
    ['sse', { url: 'http://a' }, 'sse'],
  ])('may say the type %s', async (type, entry, runtime) => {
    const { loaded, lines } = await json({ a: { type, ...entry } });
    expect(lines).toEqual([]);
    expect(loaded?.catalog.servers.a?.runtime).toBe(runtime);
  });

  test.each([
    [{ disabled: true }, false],
    [{ disabled: false }, true],
    [{}, true],
    [{ enabled: false, disabled: true }, false],
  ])('%j means enabled: %s', async (words, enabled) => {
    const { loaded } = await json({ a: { command: 'x', ...words } });
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
  ])('%j is told by tools', async (words, tools) => {
    for (const place of [{ command: 'x' }, { url: 'http://a' }]) {
      const { loaded, lines } = await json({ a: { ...place, ...words } });
      expect(lines).toEqual([]);
      expect(loaded?.catalog.servers.a?.tools).toEqual(tools);
      for (const key of Object.keys(words))
        if (key !== 'tools') expect(loaded?.catalog.servers.a).not.toHaveProperty(key);
    }
  });

  test('says only once which tools are allowed', async () => {
    const { loaded, lines } = await json({
      a: { command: 'x', enabledTools: ['ls'], tools: { allow: ['*'] } },
    });
    expect(loaded).toBeUndefined();
    expect(lines).toEqual([
      expect.stringMatching(
        /mcpServers\.a\.enabledTools: says once more which tools are allowed; leave one list$/,
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
    [{ address: 'http://a' }, 'mcpServers.a: needs a command (a local server) or a url (a remote one)'],
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
      `desktop.json:3:3: warning: mcpServers["${name}"]: this name is no id; the server is called ${id}`,
    ]);
  });

  test.each(['日本', '', '..', '!!'])(
    'may not name a server "%s", of which no id can be made',
    async (name) => {
      const { loaded, lines } = await json({ [name]: { command: 'x' } });
      expect(loaded).toBeUndefined();
      expect(lines).toEqual([
        `desktop.json:3:3: mcpServers["${name}"]: no id can be made of this name; use some of A-Z a-z 0-9 . _ -`,
      ]);
    },
  );

  test('with two names that become one id is refused', async () => {
    const { loaded, lines } = await json({ 'a b': { command: 'x' }, 'a-b': { command: 'y' } });
    expect(loaded).toBeUndefined();
    expect(lines.filter((line) => !line.includes('warning'))).toEqual([
      'desktop.json:6:3: mcpServers.a-b: becomes the id a-b, which "a b" has already',
    ]);
  });

  test('may also be written as YAML', async () => {
    const { loaded } = await folder.loadCatalog('mcpServers:\n  a: { command: ./x, cwd: sub }\n');
    expect(loaded?.catalog.servers.a).toMatchObject({
      command: join(folder.path, 'x'),
      cwd: join(folder.path, 'sub'),
    });
  });
});
