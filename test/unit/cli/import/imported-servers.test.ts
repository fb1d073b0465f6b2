// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Import of servers from several files: duplicates, names and secrets.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importableServers } from '../../../../config/catalog/importable-servers.ts';
import { isCredentialName } from '../../../../config/credentials/credential-names.ts';
import { SourceFile } from '../../../../config/reader/source-file.ts';
import { hideSecrets } from '../../../../src/cli/import/hide-secrets.ts';
import { type FileServers, mergeServers } from '../../../../src/cli/import/merge-servers.ts';

function serversOfFile(client: string, mcpServers: object, file = `/home/ann/${client}.json`): FileServers {
  const source = new SourceFile(file, JSON.stringify({ mcpServers }));
  return { client, shortName: client, file, servers: importableServers(source).servers };
}

/** Returns the entry without secrets, and the names of the variables for them. */
function hidden(entry: object) {
  const { servers, variables } = hideSecrets([{ id: 'shop', entry: { ...entry } }]);
  return { entry: servers[0]?.entry, variables: variables.map(({ name }) => name) };
}

describe('servers of several clients', () => {
  test('are merged if they are equal, and enabled if one of them is', () => {
    const { servers } = mergeServers([
      serversOfFile('cursor', { files: { command: 'npx', args: ['files'], disabled: true } }),
      serversOfFile('cline', {
        files: { type: 'stdio', command: 'npx', args: ['files'], env: {}, autoApprove: [] },
      }),
    ]);
    expect(servers).toMatchObject([{ id: 'files', entry: { command: 'npx', args: ['files'] } }]);
    expect(servers[0]?.entry).not.toHaveProperty('enabled');
    expect(servers[0]?.origins.map(({ client }) => client)).toEqual(['cursor', 'cline']);
  });

  test('get unique names if only their names are equal', () => {
    const { servers } = mergeServers([
      serversOfFile('cursor', { files: { command: 'a' } }),
      serversOfFile('cline', { files: { command: 'b' }, 'files-zed': { command: 'd' } }),
      serversOfFile('zed', { files: { command: 'c' } }),
      serversOfFile('other', { files: { command: 'b' } }),
    ]);
    expect(servers.map(({ id, renamedFrom, origins }) => [id, renamedFrom, origins.length])).toEqual([
      ['files', undefined, 1],
      ['files-cline', 'files', 2],
      ['files-zed', undefined, 1],
      ['files-zed-2', 'files', 1],
    ]);
  });

  test('exclude the gateway itself', () => {
    const { servers, ownEntries } = mergeServers([
      serversOfFile('cursor', {
        'actor-gateway': { url: 'http://127.0.0.1:8080/mcp' },
        tools: { command: 'npx', args: ['actor-gateway', 'stdio'] },
        files: { command: 'x' },
      }),
    ]);
    expect(servers.map(({ id }) => id)).toEqual(['files']);
    expect(ownEntries).toHaveLength(2);
  });

  test('from projects of Claude Code run in the project folder and keep their disabled state', () => {
    const file = resolve(import.meta.dirname, '../../../fixtures/client-files/claude-code.json');
    const { servers } = importableServers(
      new SourceFile('/home/ann/.claude.json', readFileSync(file, 'utf8')),
    );
    expect(servers.filter(({ project }) => project !== undefined)).toMatchObject([
      {
        id: 'db',
        project: '/home/ann/shop',
        entry: { command: '/home/ann/shop/scripts/db-server', cwd: '/home/ann/shop' },
      },
      { id: 'old', entry: { enabled: false } },
    ]);
  });

  test('have only fields of the catalog, and other keys are reported', () => {
    const text = '{ "mcpServers": { "a": { "command": "x", "serverInstructions": true, "timeout": 5 } } }';
    const { servers, problems } = importableServers(new SourceFile('/x/librechat.json', text));
    expect(servers).toMatchObject([{ id: 'a' }]);
    expect(servers[0]?.entry).toEqual({ command: 'x', request_timeout_seconds: 5 });
    expect(problems).toMatchObject([{ message: expect.stringContaining('serverInstructions: unknown key') }]);
  });

  test('with errors are skipped with their positions, and files without servers cause no problem', () => {
    const text = '{ "mcpServers": {\n "a": { "command": "x" },\n "b": { "args": [] } } }';
    const { servers, problems } = importableServers(new SourceFile('/x/mcp.json', text));
    expect(servers.map(({ id }) => id)).toEqual(['a']);
    expect(problems).toMatchObject([
      { line: 3, column: 2, message: expect.stringContaining('needs a command') },
    ]);
    const settings = importableServers(new SourceFile('/x/settings.json', '{ "theme": "dark" }'));
    expect(settings).toEqual({ servers: [], problems: [], hasServers: false });
  });
});

describe('a secret', () => {
  test.each([
    [{ env: { API_KEY: 'abc-def-ghi' } }, { env: { API_KEY: '${API_KEY}' } }, ['API_KEY']],
    [{ env: { API_KEY: '${OTHER}' } }, { env: { API_KEY: '${OTHER}' } }, ['OTHER']],
    [{ env: { API_KEY: '${KEY:-abc-def}' } }, { env: { API_KEY: '${KEY}' } }, ['KEY']],
    [
      { headers: { authorization: 'Bearer abcdefg' } },
      { headers: { authorization: 'Bearer ${SHOP_TOKEN}' } },
      ['SHOP_TOKEN'],
    ],
    [
      { headers: { 'X-Api-Key': 'abcdefg' } },
      { headers: { 'X-Api-Key': '${SHOP_API_KEY}' } },
      ['SHOP_API_KEY'],
    ],
    [
      { args: ['--api-key', 'abcdefg', 'x'] },
      { args: ['--api-key', '${SHOP_API_KEY}', 'x'] },
      ['SHOP_API_KEY'],
    ],
    [
      { args: ['-H', 'Authorization: Basic YW5u'] },
      { args: ['-H', 'Authorization: Basic ${SHOP_TOKEN}'] },
      ['SHOP_TOKEN'],
    ],
    [{ args: ['--env', 'MY_TOKEN=abcdefg'] }, { args: ['--env', 'MY_TOKEN=${MY_TOKEN}'] }, ['MY_TOKEN']],
    [
      { url: 'https://h/mcp?token=abcdefg&a=1' },
      { url: 'https://h/mcp?token=${SHOP_TOKEN}&a=1' },
      ['SHOP_TOKEN'],
    ],
    [
      { url: 'https://h/s/0f8fad5b-d9cb-469f-a165-70867728950e/mcp' },
      { url: 'https://h/s/${SHOP_URL_KEY}/mcp' },
      ['SHOP_URL_KEY'],
    ],
    [
      { args: ['postgres://ann:pw@db/x'] },
      { args: ['postgres://ann:${SHOP_PASSWORD}@db/x'] },
      ['SHOP_PASSWORD'],
    ],
    [
      { env: { SETTINGS: `{"t":"ghp_${'a1'.repeat(12)}"}` } },
      { env: { SETTINGS: '{"t":"${SHOP_TOKEN}"}' } },
      ['SHOP_TOKEN'],
    ],
    [
      { env: { A_TOKEN: 'same-value', B_KEY: 'same-value' }, args: ['x-same-value-y'] },
      { env: { A_TOKEN: '${A_TOKEN}', B_KEY: '${A_TOKEN}' }, args: ['x-${A_TOKEN}-y'] },
      ['A_TOKEN'],
    ],
    [
      { env: { AUTH_HEADER: 'Bearer 4711-4711' }, args: ['--header', 'Authorization:${AUTH_HEADER}'] },
      {
        env: { AUTH_HEADER: 'Bearer ${SHOP_TOKEN}' },
        args: ['--header', 'Authorization:${AUTH_HEADER}'],
      },
      ['SHOP_TOKEN'],
    ],
    [
      { env: { HEADERS: '{"Authorization": "Bearer ab\\"cd12", "Version": "2022-06-28"}' } },
      { env: { HEADERS: '{"Authorization": "Bearer ${SHOP_AUTHORIZATION}", "Version": "2022-06-28"}' } },
      ['SHOP_AUTHORIZATION'],
    ],
    [
      { args: ['--headers', '{"x":{"api_keys":["one-key","two-key"]},"pin":1}'] },
      { args: ['--headers', '{"x":{"api_keys":["${SHOP_API_KEYS}","${SHOP_API_KEYS_2}"]},"pin":1}'] },
      ['SHOP_API_KEYS'],
    ],
    [
      { env: { CONNECTION: 'Server=db,1433;User Id=sa;Password=a,b{c d;Encrypt=true' } },
      { env: { CONNECTION: 'Server=db,1433;User Id=sa;Password=${SHOP_PASSWORD};Encrypt=true' } },
      ['SHOP_PASSWORD'],
    ],
    [
      { args: ['AccountName=a;AccountKey=abc/def==;EndpointSuffix=x'] },
      { args: ['AccountName=a;AccountKey=${SHOP_ACCOUNT_KEY};EndpointSuffix=x'] },
      ['SHOP_ACCOUNT_KEY'],
    ],
    [
      { env: { DB: 'host=db user=ann password=abc-def' } },
      { env: { DB: 'host=db user=ann password=${SHOP_PASSWORD}' } },
      ['SHOP_PASSWORD'],
    ],
    [
      { args: ['Authorization: Bearer abcdefg'] },
      { args: ['Authorization: Bearer ${SHOP_AUTHORIZATION}'] },
      ['SHOP_AUTHORIZATION'],
    ],
    [
      { headers: { 'X-Upstream': 'Bearer abc-4711' } },
      { headers: { 'X-Upstream': 'Bearer ${SHOP_TOKEN}' } },
      ['SHOP_TOKEN'],
    ],
    [
      { env: { GITHUB_PAT: 'abcdefg', X_COOKIE: 'd=abcdefgh', BEARER: 'abcdef', SMTP_PASS: 'abcde' } },
      {
        env: {
          GITHUB_PAT: '${GITHUB_PAT}',
          X_COOKIE: '${X_COOKIE}',
          BEARER: '${BEARER}',
          SMTP_PASS: '${SMTP_PASS}',
        },
      },
      ['GITHUB_PAT', 'X_COOKIE', 'BEARER', 'SMTP_PASS'],
    ],
    [
      { args: ['--pat', 'abcdefg', '--bearer=hijklmn', '--env=SMTP_PASS=opqrst'] },
      { args: ['--pat', '${SHOP_PAT}', '--bearer=${SHOP_BEARER}', '--env=SMTP_PASS=${SHOP_SMTP_PASS}'] },
      ['SHOP_PAT'],
    ],
    [
      { url: 'https://h/mcp?pat=abcdefg#bearer=hijklmn' },
      { url: 'https://h/mcp?pat=${SHOP_PAT}#bearer=${SHOP_BEARER}' },
      ['SHOP_PAT', 'SHOP_BEARER'],
    ],
    [{ env: { X: '${DB_PASS:-abc-def}' } }, { env: { X: '${DB_PASS}' } }, ['DB_PASS']],
    [
      { args: [`--x`, `gsk_${'a1'.repeat(12)}`, `a$ghp_${'a1'.repeat(12)}`] },
      { args: ['--x', '${SHOP_TOKEN}', 'a${SHOP_TOKEN_2}'] },
      ['SHOP_TOKEN'],
    ],
    [
      { args: ['run', '-e', 'TOKEN=abc-first'], env: { TOKEN: 'abc-other' } },
      { args: ['run', '-e', 'TOKEN=${SHOP_TOKEN}'], env: { TOKEN: '${TOKEN}' } },
      ['SHOP_TOKEN', 'TOKEN'],
    ],
  ])('in %j becomes a variable', (entry, expected, variables) => {
    expect(hidden(entry)).toEqual({ entry: expected, variables: expect.arrayContaining(variables) });
  });

  test('is not assumed for a value that only has a similar name, or for an empty value', () => {
    const entry = {
      env: {
        MAX_TOKENS: '4096',
        AUTH_TYPE: 'oauth',
        KEY_FILE: '/home/ann/.ssh/id',
        USE_KEY: 'true',
        KEYLESS: '',
        HELP: 'Bearer authentication',
        AUTH_SCHEME: 'Basic auth',
        LIST: '{"sort_key": "name", "auth": true, "a": [1, 2]}',
      },
      args: ['--no-auth', '/srv/data', '--port', '8080', '--key-file', '/x', '--token'],
      url: 'https://example.com/organisations/my-long-organisation-name/mcp',
    };
    expect(hidden(entry)).toEqual({ entry, variables: [] });
    for (const name of [
      'TOKEN',
      'GITHUB_PERSONAL_ACCESS_TOKEN',
      'apiKey',
      'DB_PASSWORD',
      'CLIENT_SECRET',
      'AWS_ACCESS_KEY_ID',
    ])
      expect([name, isCredentialName(name)]).toEqual([name, true]);
  });

  test('has its own variable if its name is already used', () => {
    const { servers, variables } = hideSecrets([
      { id: 'a', entry: { env: { API_KEY: 'first-value' } } },
      { id: 'b', entry: { env: { API_KEY: 'second-value' } } },
      { id: 'c', entry: { env: { API_KEY: 'first-value', KEY: '${TOKEN}' } } },
      { id: 'd', entry: { env: { TOKEN: 'nobody-knows-whether-it-is-that' } } },
    ]);
    expect(servers.map(({ entry }) => entry.env)).toEqual([
      { API_KEY: '${API_KEY}' },
      { API_KEY: '${B_API_KEY}' },
      { API_KEY: '${API_KEY}', KEY: '${TOKEN}' },
      { TOKEN: '${D_TOKEN}' },
    ]);
    expect(variables.map(({ name, servers: ids, wasWritten }) => [name, ids, wasWritten])).toEqual([
      ['API_KEY', ['a', 'c'], true],
      ['B_API_KEY', ['b'], true],
      ['TOKEN', ['c'], false],
      ['D_TOKEN', ['d'], true],
    ]);
  });
});
