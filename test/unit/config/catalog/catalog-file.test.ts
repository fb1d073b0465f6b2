// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const commonDefaults = {
  era: 'legacy',
  enabled: true,
  idle_timeout_seconds: 300,
  start_timeout_seconds: 30,
  request_timeout_seconds: 60,
  max_request_seconds: 600,
  forward_roots: false,
  health: { interval_seconds: 30, timeout_seconds: 5, failures: 3 },
  restart: {
    intensity: 5,
    period_seconds: 60,
    min_backoff_ms: 250,
    max_backoff_seconds: 30,
    park_seconds: 60,
  },
  tools: { allow: ['*'], deny: [] },
  tags: [],
};

describe('the catalog', () => {
  test('may be empty', async () => {
    const { loaded } = await folder.loadCatalog('servers: {}\n');
    expect(Object.keys(loaded?.catalog.servers ?? { none: 1 })).toEqual([]);
  });

  test('gives a local server the documented defaults', async () => {
    const { loaded, lines } = await folder.loadCatalog('servers:\n  files:\n    command: node\n');
    expect(lines).toEqual([]);
    expect(loaded?.catalog.servers.files).toEqual({
      runtime: 'stdio',
      command: 'node',
      args: [],
      env: {},
      cwd: folder.path,
      inherit_env: [],
      install_timeout_seconds: 600,
      isolation: 'shared',
      placement: 'node',
      pool: { max: 1, in_flight: 256, waiting: 256 },
      ...commonDefaults,
    });
  });

  test('gives a remote server the documented defaults', async () => {
    const { loaded, lines } = await folder.loadCatalog(
      'servers:\n  search:\n    url: https://mcp.example.com/mcp\n',
    );
    expect(lines).toEqual([]);
    expect(loaded?.catalog.servers.search).toEqual({
      runtime: 'http',
      url: 'https://mcp.example.com/mcp',
      headers: {},
      isolation: 'session',
      placement: 'node',
      pool: { max: 1000, in_flight: 256, waiting: 256 },
      ...commonDefaults,
    });
  });

  test.each([
    ['command: a', 1],
    ['command: a\n    isolation: session', 32],
    ['command: a\n    isolation: session\n    pool: { max: 4 }', 4],
    ['command: a\n    pool: { waiting: 9 }', 1],
    ['url: http://a', 1000],
    ['url: http://a\n    isolation: shared', 1],
    ['url: http://a\n    pool: { max: 7 }', 7],
  ])('gives the entry "%s" a pool of at most %i connections', async (entry, max) => {
    const { loaded } = await folder.loadCatalog(`servers:\n  a:\n    ${entry}\n`);
    expect(loaded?.catalog.servers.a?.pool.max).toBe(max);
  });

  test('accepts every field of a local server', async () => {
    const { loaded, lines } = await folder.loadCatalog(`servers:
  a:
    runtime: stdio
    command: ./bin/server
    args: [--port, "8080", ""]
    env: { TOKEN: "t0ken-of-ann", EMPTY: "" }
    cwd: ../work
    idle_timeout_seconds: 0
    start_timeout_seconds: 1
    request_timeout_seconds: 2.5
    max_request_seconds: 3
    isolation: session
    placement: cluster
    era: auto
    enabled: false
    inherit_env: [HOME, "npm_config_cache"]
    install_timeout_seconds: 90
    forward_roots: true
    pool: { max: 2, in_flight: 3, waiting: 4 }
    health: { interval_seconds: 0, timeout_seconds: 1, failures: 2 }
    restart: { intensity: 0, period_seconds: 1, min_backoff_ms: 1, max_backoff_seconds: 1, park_seconds: 0 }
    tools: { allow: ["read_*"], deny: ["*_all"] }
    tags: [files, "local.1"]
`);
    expect(lines).toEqual([]);
    expect(loaded?.catalog.servers.a).toEqual({
      runtime: 'stdio',
      command: join(folder.path, 'bin/server'),
      args: ['--port', '8080', ''],
      env: { TOKEN: 't0ken-of-ann', EMPTY: '' },
      credentials: ['t0ken-of-ann'],
      cwd: join(folder.path, '../work'),
      idle_timeout_seconds: 0,
      start_timeout_seconds: 1,
      request_timeout_seconds: 2.5,
      max_request_seconds: 3,
      isolation: 'session',
      placement: 'cluster',
      era: 'auto',
      enabled: false,
      inherit_env: ['HOME', 'npm_config_cache'],
      install_timeout_seconds: 90,
      forward_roots: true,
      pool: { max: 2, in_flight: 3, waiting: 4 },
      health: { interval_seconds: 0, timeout_seconds: 1, failures: 2 },
      restart: {
        intensity: 0,
        period_seconds: 1,
        min_backoff_ms: 1,
        max_backoff_seconds: 1,
        park_seconds: 0,
      },
      tools: { allow: ['read_*'], deny: ['*_all'] },
      tags: ['files', 'local.1'],
    });
  });

  test.each([
    ['true', true],
    ['false', []],
    ['[]', []],
    ['"${ALL}"', true],
  ])('accepts inherit_env: %s', async (inherited, normalised) => {
    const { loaded } = await folder.loadCatalog(
      `servers:\n  a: { command: x, inherit_env: ${inherited} }\n`,
      {
        ALL: 'true',
      },
    );
    expect(loaded?.catalog.servers.a).toMatchObject({ inherit_env: normalised });
  });

  test('accepts the older remote transport only with runtime: sse', async () => {
    const { loaded } = await folder.loadCatalog(
      'servers:\n  a: { runtime: sse, url: "http://a:1/sse?x=1#top" }\n',
    );
    expect(loaded?.catalog.servers.a).toMatchObject({ runtime: 'sse', url: 'http://a:1/sse?x=1' });
  });

  test('accepts ids that are members of Object.prototype', async () => {
    const ids = ['__proto__', 'constructor', 'toString', 'a.b', '-', '1', 'x'.repeat(64)];
    const { loaded, lines } = await folder.loadCatalog(
      `servers:\n${ids.map((id) => `  "${id}": { command: "${id}", env: { ${id}: v } }\n`).join('')}`,
    );
    expect(lines).toEqual([]);
    const servers = loaded?.catalog.servers ?? {};
    expect(Object.keys(servers).sort()).toEqual([...ids].sort());
    for (const id of ids) {
      const entry = servers[id];
      expect(entry?.runtime === 'stdio' && [entry.command, Object.keys(entry.env)]).toEqual([id, [id]]);
    }
  });

  test('accepts YAML aliases for shared parts of entries', async () => {
    const { loaded, lines } = await folder.loadCatalog(
      'servers:\n  a: { command: x, health: &h { failures: 9 } }\n  b: { command: y, health: *h }\n',
    );
    expect(lines).toEqual([]);
    expect(loaded?.catalog.servers.b?.health.failures).toBe(9);
  });

  test.each([
    ['{}', '2:3: servers.a: needs a command (local server) or a url (remote server)'],
    [
      '{ command: x, url: "http://a" }',
      '2:3: servers.a: has both command and url; a server is either local or remote',
    ],
    ['x', '2:6: servers.a: expected a mapping (key: value), found text; write a: { command: COMMAND }'],
    ['', '2:6: servers.a: expected a mapping (key: value), found nothing; write a: { command: COMMAND }'],
    ['{ command: "" }', '2:17: servers.a.command: expected non-empty text, found empty text'],
    [
      '{ command: [x] }',
      '2:17: servers.a.command: expected text, found a list; command is the program only; put its arguments into args: [first, second]',
    ],
    [
      '{ command: x, args: --all }',
      '2:26: servers.a.args: expected a list, found text; write each argument as an item: args: [first, "second one"]',
    ],
    ['{ command: x, args: [1] }', '2:27: servers.a.args[0]: expected text, found 1; put it in quotes'],
    [
      '{ command: x, env: { A: 1 } }',
      '2:30: servers.a.env.A: expected text, found a number; put it in quotes',
    ],
    ['{ command: x, env: { A: } }', '2:30: servers.a.env.A: expected text, found nothing'],
    [
      '{ command: x, env: "A=secret" }',
      '2:25: servers.a.env: expected a mapping (key: value), found text; write each variable as NAME: value, not as NAME=value',
    ],
    [
      '{ command: x, env: { "A=B": c } }',
      '2:27: servers.a.env["A=B"]: the key should be a variable name without "="',
    ],
    [
      '{ command: x, inherit_env: HOME }',
      '2:33: servers.a.inherit_env: expected true or false or a list, found text',
    ],
    ['{ command: x, runtime: http }', '2:29: servers.a.runtime: contradicts command, which means stdio'],
    [
      '{ url: "http://a", runtime: stdio }',
      '2:34: servers.a.runtime: contradicts url, which means http or sse',
    ],
    [
      '{ command: x, runtime: docker }',
      '2:29: servers.a.runtime: expected one of stdio, http, sse, found "docker"',
    ],
    [
      '{ command: x, headers: {} }',
      '2:20: servers.a.headers: is for remote servers (url) only; this server has a command',
    ],
    [
      '{ url: "http://a", args: [] }',
      '2:25: servers.a.args: is for local servers (command) only; this server has a url',
    ],
    [
      '{ url: "http://a", cwd: . }',
      '2:25: servers.a.cwd: is for local servers (command) only; this server has a url',
    ],
    [
      '{ url: "ftp://a/?k=secret" }',
      '2:13: servers.a.url: expected an address that begins with http:// or https://',
    ],
    ['{ url: "a b" }', '2:13: servers.a.url: expected an address that begins with http:// or https://'],
    [
      '{ url: "https://u:secret@a/" }',
      '2:13: servers.a.url: contains a user name or password; send them in headers (Authorization) instead',
    ],
    [
      '{ url: "http://a", headers: { "X Y": z } }',
      '2:36: servers.a.headers["X Y"]: the key should be an HTTP header name',
    ],
    ['{ url: "http://a", headers: { A: x, a: y } }', '2:42: servers.a.headers.a: is the same header as A'],
    [
      '{ url: "http://a", headers: { Content-Length: "1" } }',
      '2:36: servers.a.headers.Content-Length: is set by the gateway itself',
    ],
    [
      '{ url: "http://a", headers: { X: "a\\r\\nsecret: b" } }',
      '2:39: servers.a.headers.X: expected text without line breaks or control characters (does the variable end with a line break?), found text',
    ],
    [
      '{ command: x, isolation: none }',
      '2:31: servers.a.isolation: expected one of shared, session, found "none"',
    ],
    [
      '{ command: x, idle_timeout: 3 }',
      '2:20: servers.a.idle_timeout: unknown key; did you mean idle_timeout_seconds?',
    ],
    ['{ command: x, healthy: {} }', '2:20: servers.a.healthy: unknown key; did you mean health?'],
    ['{ command: x, pool: { maxx: 3 } }', '2:28: servers.a.pool.maxx: unknown key; did you mean max?'],
    [
      '{ command: x, idle_timeout_seconds: 5m }',
      '2:42: servers.a.idle_timeout_seconds: expected a number >= 0, found "5m"; the field name contains the unit; write idle_timeout_seconds: 300',
    ],
    [
      '{ command: x, request_timeout_seconds: 900 }',
      '2:45: servers.a.request_timeout_seconds: request_timeout_seconds (900) must not exceed max_request_seconds (600)',
    ],
    [
      '{ command: x, max_request_seconds: 5 }',
      '2:41: servers.a.max_request_seconds: request_timeout_seconds (60) must not exceed max_request_seconds (5)',
    ],
    [
      '{ command: x, restart: { min_backoff_ms: 31000 } }',
      '2:29: servers.a.restart: min_backoff_ms (31000) must not exceed max_backoff_seconds (30)',
    ],
    [
      '{ command: x, tools: { deny: [""] } }',
      '2:36: servers.a.tools.deny[0]: expected non-empty text, found empty text',
    ],
    [
      `{ command: x, tools: { deny: [${'a'.repeat(1025)}] } }`,
      `2:36: servers.a.tools.deny[0]: expected text of at most 1024 characters, found "${'a'.repeat(55)}…"`,
    ],
    ...['@(a|b)', '{1..3}', '[[:alpha:]]*'].map((pattern) => [
      `{ command: x, tools: { deny: ["${pattern}"] } }`,
      `2:36: servers.a.tools.deny[0]: expected a pattern of * ? [a-z] [!a-z] {a,b}, without ( ), {1..3} and [[:alpha:]], found "${pattern}"`,
    ]),
    [
      '{ command: x, tags: ["a b"] }',
      '2:27: servers.a.tags[0]: expected 1 to 64 of A-Z a-z 0-9 . _ -, found "a b"',
    ],
    [
      `{ command: x, tags: [${'a, '.repeat(16)}a] }`,
      '2:26: servers.a.tags: expected a list of at most 16, found 17',
    ],
    ['{ command: x, type: stdio }', '2:20: servers.a.type: unknown key'],
  ])('refuses the entry %s', async (entry, problem) => {
    const { lines } = await folder.loadCatalog(`servers:\n  a: ${entry}\n`);
    expect(lines).toEqual([`catalog.yaml:${problem}`]);
  });

  test.each([
    ['a b', '; did you mean a-b?'],
    ['a/b', '; did you mean a-b?'],
    ['', ''],
    ['.', ''],
    ['..', ''],
    ['é', '; did you mean e?'],
    ['x'.repeat(65), ''],
  ])('refuses the id "%s"', async (id, advice) => {
    const { lines } = await folder.loadCatalog(`servers:\n  "${id}": { command: x }\n`);
    const path = /^x+$/.test(id) ? `servers.${id}` : `servers["${id}"]`;
    const rule = 'an id has 1 to 64 of the characters A-Z a-z 0-9 . _ - (and is not . or ..)';
    expect(lines).toEqual([`catalog.yaml:2:3: ${path}: ${rule}${advice}`]);
  });

  test.each([
    ['{}', '1:1: servers: required, but missing; write servers: {} for a catalog without servers'],
    ['server: {}', '1:1: server: unknown key; did you mean servers?'],
    ['servers:', '1:9: servers: expected a mapping from id to server; write {} for no servers'],
    ['servers: []', '1:10: servers: expected a mapping from id to server; write {} for no servers'],
    ['[]', '1:1: expected a mapping with the key servers (or mcpServers)'],
    ['just text', '1:1: expected a mapping with the key servers (or mcpServers)'],
    ['servers: {}\nextra: 1', '2:1: extra: unknown key'],
    ['servers: {}\nmcpServers: {}', '2:1: mcpServers: use either servers or mcpServers, not both'],
  ])('refuses %s at the root', async (text, problem) => {
    const { lines } = await folder.loadCatalog(text);
    expect(lines).toContain(`catalog.yaml:${problem}`);
  });

  test.each(['node server.js', 'node /srv/server.js'])(
    'warns about the command %s, which looks like a shell line',
    async (command) => {
      const { loaded, lines } = await folder.loadCatalog(`servers:\n  a: { command: ${command} }\n`);
      expect(loaded).toBeDefined();
      expect(lines).toEqual([
        'catalog.yaml:2:17: warning: servers.a.command: must be a program, not a shell line; put the arguments into args',
      ]);
    },
  );

  test.each(['/opt/my servers/files', './my servers/files'])(
    'accepts the command %s, a path with a space',
    async (command) => {
      expect((await folder.loadCatalog(`servers:\n  a: { command: ${command} }\n`)).lines).toEqual([]);
    },
  );

  test('reports all problems of catalog and gateway file together, in order', async () => {
    folder.write('gateway.yaml', 'catalog_path: catalog.yaml\nlog_level: loud\nzebra: 1\n');
    folder.write('catalog.yaml', 'servers:\n  a: { command: 5, zebra: 1 }\n  b: { url: x }\n');
    const { lines } = await folder.load();
    expect(lines.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      'gateway.yaml:1:1: listen_addr',
      'gateway.yaml:2:12: log_level',
      'gateway.yaml:3:1: zebra',
      'catalog.yaml:2:17: servers.a.command',
      'catalog.yaml:2:20: servers.a.zebra',
      'catalog.yaml:3:13: servers.b.url',
    ]);
  });

  test('reports its own errors even if the gateway file has a syntax error', async () => {
    folder.write('gateway.yaml', 'catalog_path: catalog.yaml\nlisten_addr: "127\n');
    folder.write('catalog.yaml', 'servers: 1\n');
    const { lines } = await folder.load();
    expect(lines.at(0)).toMatch(/^gateway\.yaml:\d+:\d+: YAML syntax: /);
    expect(lines.at(-1)).toMatch(/^catalog\.yaml:1:10: /);
  });
});
