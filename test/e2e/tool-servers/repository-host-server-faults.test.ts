// Failures between the repository-host tool server and the host that need the whole program. See
// test/unit/tool-servers/repository-host/repository-host-asking.test.ts for other failures. The output of the
// server never contains the token.

import { spawnSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { HostClient, serverFile, textOf } from '../../fixtures/rest-host/host-client.ts';
import { ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const TOKEN = 'ghp_token/of+ada=7Qm2Zx81';
const repository = { owner: 'ada', repo: 'tools' };
const issue = { ...repository, issue_number: 1 };
/** Path template in the description. */
const AT = '/repos/{owner}/{repo}';

let host: ReplayHost;
let ada: HostClient;
let anonymous: HostClient;

beforeAll(async () => {
  host = await ReplayHost.start({ speed: 50 });
  [ada, anonymous] = await Promise.all([
    HostClient.start({ host, token: TOKEN }),
    HostClient.start({ host }),
  ]);
});

afterAll(async () => {
  for (const { faults, stderr } of [ada, anonymous]) expect([faults, stderr]).toEqual([[], '']);
  await Promise.all([ada.close(), anonymous.close()]);
  await host.stop();
});

beforeEach(() => host.forget());

describe('a refusal', () => {
  test('of a write with a read-only token does not count as a rate limit and is not retried', async () => {
    const reader = await HostClient.start({
      host,
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'token-only-to-read' },
    });
    expect(await reader.callTool('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    const body = { message: 'Resource not accessible by personal access token' };
    host.failNext({ when: /^POST/, status: 403, body });
    expect(await reader.refusal('create_issue', { ...repository, title: 'T' })).toMatch(
      /no permission for this/,
    );
    expect(host.requests.map(({ status }) => status)).toEqual([200, 403]);
    expect(host.requests[0]?.headers.authorization).toMatch(/^(token|Bearer) token-only-to-read$/);
    await reader.close();
  });

  test('names the variable of the token if no token is set', async () => {
    expect(anonymous.client.getInstructions()).toMatch(/No token/);
    expect(await anonymous.callTool('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    expect(host.requests[0]?.headers.authorization).toBeUndefined();
    host.failNext({ status: 401, body: { message: 'Requires authentication' }, times: 2 });
    const write = await anonymous.refusal('create_issue', { ...repository, title: 'T' });
    expect(write).toMatch(/401.*set REPOHOST_PERSONAL_ACCESS_TOKEN/);
    expect(await anonymous.refusal('search_code', { query: 'a' })).toMatch(/REPOHOST_PERSONAL_ACCESS_TOKEN/);
    host.failNext({ status: 404, body: { message: 'Not Found' } });
    expect(await anonymous.refusal('get_file_contents', { ...repository, path: 's' })).toMatch(/private/);
    host.forget();
  });
});

describe('a request without a response from the repository host', () => {
  test('is aborted when the client cancels the call', async () => {
    host.failNext({ isHanging: true });
    const cancel = new AbortController();
    const call = anonymous.call('get_issue', issue, { signal: cancel.signal });
    await eventually('the request', () => host.requests.length === 1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await eventually('the end of the request', () => host.requests[0]?.wasDisconnected);
    expect(await anonymous.callTool('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
  });
});

describe('a response', () => {
  test('that is small only in compressed form is limited by its uncompressed size', async () => {
    const headers = { 'content-encoding': 'gzip' };
    host.failNext({ status: 200, headers, body: gzipSync(Buffer.alloc(40 * 1024 * 1024, ' ')) });
    expect(await ada.refusal('get_issue', issue)).toMatch(/limit of \d+ MiB/);
    host.failNext({ status: 200, headers, body: Buffer.from('not packed at all'), times: 50 });
    expect(await ada.refusal('get_issue', issue)).toMatch(/could not be reached|does not match its API/);
    const packed = gzipSync('{"number":5,"title":"Packed","state":"open","created_at":"","html_url":""}');
    host.forget();
    host.failNext({ status: 200, headers, body: packed });
    expect(await ada.callTool('get_issue', issue)).toMatchObject({ title: 'Packed' });
  });

  test('is valid even if people and texts are missing, because accounts are deleted', async () => {
    const response = await fetch(`${host.url}/repos/ada/tools/issues/1`, {
      headers: { 'user-agent': 'test' },
    });
    const fullBody = (await response.json()) as object;
    const body = { ...fullBody, user: null, body: null, assignees: null, labels: ['bare'] };
    host.failNext({ status: 200, body });
    expect(await ada.callTool('get_issue', issue)).toMatchObject({ number: 1347, labels: ['bare'] });
  });
});

describe('the token', () => {
  test('is removed from all output, wherever the host repeats it', async () => {
    const echo = `you sent ${TOKEN}, did you not`;
    const bodies: object[] = [
      { message: echo },
      {
        message: 'Validation Failed',
        errors: [echo, { message: echo }, { resource: echo, field: echo, code: echo }],
      },
      // Truncated inside the token.
      ...[560, 570, 575, 580, 585, 590, 595].map((length) => ({ message: `${'x'.repeat(length)} ${TOKEN}` })),
    ];
    for (const body of bodies)
      for (const status of [400, 401, 403, 404, 409, 422, 500]) {
        host.failNext({ status, when: /^POST/, body });
        await ada.refusal('create_issue', { ...repository, title: 'T' });
      }
    const headers = {
      'x-accepted-github-permissions': echo,
      'x-accepted-oauth-scopes': echo,
      'x-oauth-scopes': echo,
    };
    host.failNext({ status: 403, headers, body: { message: 'no' } });
    await ada.refusal('get_issue', issue);
    host.failNext({ status: 200, headers: { link: `<https://x/?page=2&t=${TOKEN}>; rel="next"` }, body: [] });
    await ada.callTool('list_issues', repository);

    const long = `${'x'.repeat(99_990)} ${echo}`;
    host.on(`GET ${AT}/commits`, { body: [{ commit: { message: echo } }] });
    await ada.callTool('list_commits', repository);
    host.on(`GET ${AT}/contents/{path}`, {
      body: { size: long.length, content: Buffer.from(long).toString('base64') },
    });
    for (const offset of [0, 99_990, 100_000, 100_010])
      await ada.callTool('get_file_contents', { ...repository, path: 'leak.txt', offset });
    const leaky = { title: echo, body: `${'x'.repeat(490)}${TOKEN}`, labels: [{ name: TOKEN }] };
    const issuePath = `${AT}/issues/{issue_number}`;
    host.on(`GET ${issuePath}`, { body: leaky });
    host.on(`GET ${AT}/issues`, { body: [leaky] });
    host.on('GET /search/issues', { body: { items: [leaky] } });
    host.on(`POST ${AT}/issues`, { body: leaky });
    host.on(`POST ${issuePath}/comments`, { body: { user: { login: TOKEN } } });
    await ada.callTool('create_issue', { ...repository, title: echo });
    await ada.callTool('get_issue', issue);
    await ada.callTool('add_issue_comment', { ...issue, body: echo });
    await ada.callTool('list_issues', repository);
    await ada.callTool('search_issues', { query: 'did' });
    const pull = { ...repository, pull_number: 1 };
    const pullPath = `${AT}/pulls/{pull_number}`;
    host.on(`POST ${AT}/pulls`, { body: { title: echo, body: echo } });
    await ada.callTool('create_pull_request', { ...repository, title: echo, head: 'leak', base: 'main' });
    host.on(`GET ${pullPath}`, { body: `diff --git a/a b/a\n+${echo}\n` });
    expect(textOf(await ada.call('get_pull_request_diff', pull))).toContain('[token removed]');
    host.on(`GET ${pullPath}/files`, { body: [{ filename: echo, patch: echo }] });
    await ada.callTool('get_pull_request_files', pull);

    const all = ada.everything();
    expect(all.match(/\[token removed\]/g)?.length).toBeGreaterThan(50);
    // The whole token, or the larger part.
    for (const part of [TOKEN, TOKEN.slice(0, 12), TOKEN.slice(-12)]) {
      const at = all.indexOf(part);
      expect(at === -1 ? 'nowhere' : all.slice(Math.max(0, at - 200), at + 60)).toBe('nowhere');
    }
  });
});

describe('the program', () => {
  function run(env: Record<string, string>, args: readonly string[] = []) {
    return spawnSync(process.execPath, [serverFile, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      input: '',
      encoding: 'utf8',
      timeout: 60_000,
    });
  }

  test.each<[string, Record<string, string>, readonly string[], RegExp]>([
    ['an invalid address', { REPOHOST_API_URL: 'host.example' }, [], /REPOHOST_API_URL/],
    ['another scheme', { REPOHOST_API_URL: 'file:///etc' }, [], /REPOHOST_API_URL/],
    ['a password in the address', { REPOHOST_API_URL: 'https://u:hush-hush@h.example' }, [], /password/],
    ['plain http to a public host', { REPOHOST_API_URL: 'http://host.example/api' }, [], /https/],
    ['a name for a token', { REPOHOST_PERSONAL_ACCESS_TOKEN: '$HUSH_HUSH' }, [], /unexpanded variable/],
    ['a token with a line end', { REPOHOST_PERSONAL_ACCESS_TOKEN: 'hush-hush\nhush' }, [], /token/],
    ['an unknown option', {}, ['--wide-open'], /--wide-open/],
    ['an argument', {}, ['extra'], /argument/],
    ['a wait that is no number', {}, ['--max-wait-seconds', 'long'], /max-wait-seconds/],
  ])('with %s exits with 2 and the reason', (_, env, args, message) => {
    const { status, stdout, stderr } = run(env, args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/hush-hush|HUSH|\.js:/);
  });

  test('prints its options, variables and version, and exits if no client is connected', () => {
    const help = run({}, ['--help']);
    expect(help.status).toBe(0);
    for (const name of [
      '--read-only',
      '--max-wait-seconds',
      'REPOHOST_PERSONAL_ACCESS_TOKEN',
      'REPOHOST_API_URL',
    ])
      expect(help.stdout).toContain(name);
    expect(run({}, ['--version']).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const idle = run({ REPOHOST_PERSONAL_ACCESS_TOKEN: 'a-token-1234' });
    expect([idle.status, idle.stdout, idle.stderr]).toEqual([0, '', '']);
  });

  test('answers requests that were sent before the client closed', () => {
    const message = (id: number, method: string, params: object) =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    const clientInfo = { name: 'pipe', version: '1' };
    const input =
      message(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }) +
      message(2, 'tools/call', { name: 'get_issue', arguments: { ...issue, owner: '..' } });
    const { status, stdout } = spawnSync(process.execPath, [serverFile], {
      env: { PATH: process.env.PATH ?? '' },
      input,
      encoding: 'utf8',
      timeout: 60_000,
    });
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number; result: { isError?: boolean } });
    expect(answers.map(({ id }) => id)).toEqual([1, 2]);
    expect(answers[1]?.result.isError).toBe(true);
    expect(status).toBe(0);
  });
});

test('a call that waits for the host fails when the client closes the server', async () => {
  const client = await HostClient.start({ host, token: TOKEN });
  host.failNext({ isHanging: true, times: 3 });
  const call = client.call('get_issue', issue).then(textOf, () => 'gone');
  await client.close();
  expect(await call).toBe('gone');
  host.forget();
});
