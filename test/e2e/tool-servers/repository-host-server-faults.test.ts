// Failures between the repository-host tool server and its host: refusals, redirects, broken connections, endless and
// malformed answers. The output of the server never contains the token.

import { spawnSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { HostClient, serverFile, textOf } from '../../fixtures/rest-host/host-client.ts';
import { ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const TOKEN = 'ghp_token/of+ada=7Qm2Zx81';
const where = { owner: 'ada', repo: 'tools' };
const issue = { ...where, issue_number: 1 };
/** Path template in the description. */
const AT = '/repos/{owner}/{repo}';

let host: ReplayHost;
/** A host that no request may reach. */
let stranger: ReplayHost;
let ada: HostClient;
/** Started with an answer timeout of two seconds. */
let hasty: HostClient;
let nobody: HostClient;

beforeAll(async () => {
  [host, stranger] = await Promise.all([ReplayHost.start({ speed: 50 }), ReplayHost.start()]);
  [ada, hasty, nobody] = await Promise.all([
    HostClient.start({ host, token: TOKEN }),
    HostClient.start({ host, token: TOKEN, args: ['--timeout-seconds', '2'] }),
    HostClient.start({ host }),
  ]);
});

afterAll(async () => {
  for (const { faults, stderr } of [ada, hasty, nobody]) expect([faults, stderr]).toEqual([[], '']);
  await Promise.all([ada.close(), hasty.close(), nobody.close()]);
  await Promise.all([host.stop(), stranger.stop()]);
});

beforeEach(() => host.forget());

describe('a refusal', () => {
  const said = { message: 'No such luck', documentation_url: 'https://docs.host.test/rest' };

  test.each([
    [400, /400 \(No such luck\)/],
    [401, /401 .*token is not valid.*REPOHOST_PERSONAL_ACCESS_TOKEN/],
    [403, /403 .*token may not do this/],
    [404, /404 .*token may not see it/],
    [409, /409 .*conflict/],
    [410, /410 .*deleted, or this feature is switched off/],
    [422, /422 .*Correct them/],
    [451, /451 .*legal/],
  ])(
    'of kind %i is told with what the host said and what to do, and asked for once',
    async (status, told) => {
      host.failNext({ status, body: said });
      const text = await ada.refusal('get_issue', issue);
      expect(text).toMatch(told);
      expect(text).toContain('No such luck');
      expect(host.requests).toHaveLength(1);
    },
  );

  test('says which permissions are missing, where the host does', async () => {
    const headers = { 'x-accepted-github-permissions': 'issues=write' };
    host.failNext({ status: 403, headers, body: { message: 'Resource not accessible', status: '403' } });
    expect(await ada.refusal('add_issue_comment', { ...issue, body: 'x' })).toContain('issues=write');
    const scopes = { 'x-accepted-oauth-scopes': 'repo', 'x-oauth-scopes': 'read:org' };
    host.failNext({ status: 404, headers: scopes, body: { message: 'Not Found', status: '404' } });
    expect(await ada.refusal('add_issue_comment', { ...issue, body: 'x' })).toMatch(/404/);
  });

  test('lists what is wrong, however the host lists it', async () => {
    const errors = [
      { resource: 'Issue', field: 'title', code: 'missing_field' },
      { resource: 'Issue', code: 'custom', message: 'title is too long' },
      'Only a sentence',
    ];
    host.failNext({ status: 422, body: { message: 'Validation Failed', errors } });
    const text = await ada.refusal('create_issue', { ...where, title: 'T' });
    expect(text).toMatch(/Validation Failed.*title.*missing_field.*title is too long.*Only a sentence/);
  });

  test('with a body that is no JSON, or a very long one, is still told in short', async () => {
    host.failNext({ status: 403, headers: { 'content-type': 'text/html' }, body: '<html>'.repeat(10_000) });
    expect((await ada.refusal('get_issue', issue)).length).toBeLessThan(2000);
    host.failNext({
      status: 422,
      body: { message: 'long '.repeat(100_000), errors: [[], null, 7, { a: {} }] },
    });
    expect((await ada.refusal('get_issue', issue)).length).toBeLessThan(2000);
    host.failNext({ status: 404, body: '{"message": {"a": 1}, "errors": "x"}' });
    expect(await ada.refusal('get_issue', issue)).toMatch(/404/);
  });

  test('of a token for reading is no limit: it is not tried again', async () => {
    const reader = await HostClient.start({
      host,
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'token-only-to-read' },
    });
    expect(await reader.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    const body = { message: 'Resource not accessible by personal access token' };
    host.failNext({ when: /^POST/, status: 403, body });
    expect(await reader.refusal('create_issue', { ...where, title: 'T' })).toMatch(/may not do this/);
    expect(host.requests.map(({ status }) => status)).toEqual([200, 403]);
    expect(host.requests[0]?.headers.authorization).toMatch(/^(token|Bearer) token-only-to-read$/);
    await reader.close();
  });

  test('without a token says that one is needed', async () => {
    expect(nobody.client.getInstructions()).toMatch(/no token/);
    expect(await nobody.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    expect(host.requests[0]?.headers.authorization).toBeUndefined();
    host.failNext({ status: 401, body: { message: 'Requires authentication' }, times: 2 });
    const write = await nobody.refusal('create_issue', { ...where, title: 'T' });
    expect(write).toMatch(/401.*set REPOHOST_PERSONAL_ACCESS_TOKEN/);
    expect(await nobody.refusal('search_code', { query: 'a' })).toMatch(/REPOHOST_PERSONAL_ACCESS_TOKEN/);
    host.failNext({ status: 404, body: { message: 'Not Found' } });
    expect(await nobody.refusal('get_file_contents', { ...where, path: 's' })).toMatch(/private/);
    host.forget();
  });
});

describe('a fault of the host', () => {
  test.each([500, 502, 503])('%i is asked again when nothing was to be changed', async (status) => {
    host.failNext({ status, headers: { 'content-type': 'text/html' }, body: '<h1>Unicorn</h1>' });
    expect(await ada.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    expect(host.requests.map((request) => request.status)).toEqual([status, 200]);
  });

  test('that stays is told, after a few attempts', async () => {
    host.failNext({ status: 502, body: '<h1>Unicorn</h1>', times: 50 });
    expect(await ada.refusal('get_issue', issue)).toMatch(/502.*later/);
    expect(host.requests.length).toBeGreaterThan(1);
    expect(host.requests.length).toBeLessThan(6);
  });

  test('is never a reason to write twice: the caller is told that it is not known', async () => {
    host.failNext({ when: /^POST/, isCut: true });
    expect(await ada.refusal('create_issue', { ...where, title: 'Maybe' })).toMatch(/not known whether/);
    expect(host.asked(/^POST/)).toHaveLength(1);
    host.failNext({ when: /^POST/, status: 502, body: 'Bad gateway' });
    expect(await ada.refusal('create_issue', { ...where, title: 'Maybe' })).toMatch(/not known whether/);
    expect(host.asked(/^POST/)).toHaveLength(2);
  });

  test('such as a connection that breaks is got over when reading', async () => {
    host.failNext({ isCut: true, times: 2 });
    expect(await ada.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    expect(host.requests).toHaveLength(3);
    host.failNext({ isCut: true, times: 50 });
    const text = await ada.refusal('get_issue', issue);
    expect(text).toMatch(/could not be reached/);
    expect(text).not.toMatch(/at .*\.js|node:internal/);
  });

  test('such as no answer at all, or one that drips, ends after the time that was set', async () => {
    host.failNext({ isHanging: true, when: /^POST/ });
    host.failNext({ unending: 'trickle', when: /^GET/ });
    const began = performance.now();
    const [write, read] = await Promise.all([
      hasty.refusal('create_issue', { ...where, title: 'Hangs' }),
      hasty.refusal('get_issue', issue),
    ]);
    expect(write).toMatch(/did not answer within 2 s.*not known whether/);
    expect(read).toMatch(/did not answer within 2 s.*later/);
    expect(performance.now() - began).toBeGreaterThan(1900);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(host.asked(/^POST/)).toHaveLength(1);
  });

  test('can be left by cancelling', async () => {
    host.failNext({ isHanging: true });
    const cancel = new AbortController();
    const call = nobody.call('get_issue', issue, { signal: cancel.signal });
    await eventually('the request', () => host.requests.length === 1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await eventually('the end of the request', () => host.requests[0]?.wasLeft);
    expect(await nobody.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
  });
});

describe('an answer', () => {
  test.each<[string, unknown]>([
    ['half of a JSON', '{"number": 1, "title"'],
    ['another JSON', '[1, 2, 3]'],
    ['null', 'null'],
    ['a page for people', '<html><body>Welcome</body></html>'],
    ['nothing', ''],
    ['numbers for texts', { number: 'one', title: 7, state: null }],
  ])('that is %s is an error of the host, told as one', async (_, body) => {
    for (const times of [1, 1]) {
      host.failNext({ status: 200, body, times });
      const text = await ada.refusal('get_issue', issue);
      expect(text).toMatch(/not what its API promises/);
      expect(text.length).toBeLessThan(400);
    }
    host.failNext({ status: 200, body });
    expect(await ada.refusal('list_issues', where)).toMatch(/not what its API promises/);
  });

  test('without an end is not read to its end', async () => {
    host.failNext({ unending: 'flood', times: 50 });
    expect(await ada.refusal('get_issue', issue)).toMatch(/larger than \d+ MiB/);
    expect(host.requests).toHaveLength(1);
    host.forget();
    expect(await ada.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
  });

  test('that is small only because it is packed is measured unpacked', async () => {
    const headers = { 'content-encoding': 'gzip' };
    host.failNext({ status: 200, headers, body: gzipSync(Buffer.alloc(40 * 1024 * 1024, ' ')) });
    expect(await ada.refusal('get_issue', issue)).toMatch(/larger than \d+ MiB/);
    host.failNext({ status: 200, headers, body: Buffer.from('not packed at all'), times: 50 });
    expect(await ada.refusal('get_issue', issue)).toMatch(/could not be reached|not what its API promises/);
    const packed = gzipSync('{"number":5,"title":"Packed","state":"open","created_at":"","html_url":""}');
    host.forget();
    host.failNext({ status: 200, headers, body: packed });
    expect(await ada.give('get_issue', issue)).toMatchObject({ title: 'Packed' });
  });

  test('with people and texts missing is no fault: accounts are deleted', async () => {
    const response = await fetch(`${host.url}/repos/ada/tools/issues/1`, {
      headers: { 'user-agent': 'test' },
    });
    const known = (await response.json()) as object;
    const body = { ...known, user: null, body: null, assignees: null, labels: ['bare'] };
    host.failNext({ status: 200, body });
    expect(await ada.give('get_issue', issue)).toMatchObject({ number: 1347, labels: ['bare'] });
  });
});

describe('a redirect', () => {
  test('of a renamed repository is followed, for reading and for writing', async () => {
    const moved = (status: number, when: RegExp, rest: string) =>
      host.failNext({ status, when, headers: { location: `${host.url}/repositories/1296269/${rest}` } });
    moved(301, /^GET/, 'issues/1');
    expect(await ada.give('get_issue', issue)).toMatchObject({ title: 'Found a bug' });
    moved(307, /^POST/, 'issues');
    await ada.give('create_issue', { ...where, title: 'Sent on', body: 'With its body.' });
    expect(host.requests.map(({ method, url, status }) => [method, url, status])).toEqual([
      ['GET', '/repos/ada/tools/issues/1', 301],
      ['GET', '/repositories/1296269/issues/1', 200],
      ['POST', '/repos/ada/tools/issues', 307],
      ['POST', '/repositories/1296269/issues', 201],
    ]);
    expect(host.requests.at(-1)?.body).toEqual({ title: 'Sent on', body: 'With its body.' });
    for (const { headers } of host.requests) expect(headers.authorization).toContain(TOKEN);
  });

  test.each([
    [301, /nothing was written/],
    [302, /nothing was written/],
    [303, /took this \(303\).*look before you call again/],
  ] as const)('with %i never turns a write into something else', async (status, told) => {
    host.failNext({ status, when: /^POST/, headers: { location: `${host.url}/repos/ada/tools/issues` } });
    const text = await ada.refusal('create_issue', { ...where, title: 'Turned' });
    expect(text).toMatch(told);
    expect(host.requests).toHaveLength(1);
  });

  test('to another host, port or scheme is not followed, and nothing of the token gets there', async () => {
    const { port } = new URL(host.url);
    for (const location of [
      `${stranger.url}/repos/ada/tools/issues/1`,
      `http://localhost:${port}/repos/ada/tools/issues/1`,
      'file:///etc/passwd',
      `//127.0.0.1:${new URL(stranger.url).port}/repos/ada/tools/issues/1`,
      `http://user:word@127.0.0.1:${port}/repos/ada/tools/issues/1`,
    ]) {
      host.failNext({ status: 302, headers: { location } });
      const text = await ada.refusal('get_issue', issue);
      expect(text, location).toMatch(/another host/);
      expect(text).not.toContain(stranger.url);
    }
    for (const status of [307, 308]) {
      host.failNext({
        status,
        when: /^POST/,
        headers: { location: `${stranger.url}/repos/ada/tools/issues` },
      });
      expect(await ada.refusal('create_issue', { ...where, title: 'T' })).toMatch(/another host/);
    }
    expect(stranger.requests).toEqual([]);
  });

  test('in a circle, or to nowhere, ends', async () => {
    host.failNext({ status: 302, times: 50, headers: { location: `${host.url}/repos/ada/tools/issues/1` } });
    expect(await ada.refusal('get_issue', issue)).toMatch(/circles/);
    expect(host.requests.length).toBeLessThan(8);
    host.forget();
    host.failNext({ status: 302, headers: { location: 'http://' } });
    expect(await ada.refusal('get_issue', issue)).toMatch(/302/);
  });
});

describe('the token', () => {
  test('is in the header of every request, beside the version of the API and a name', async () => {
    await ada.give('get_issue', issue);
    await ada.give('search_users', { query: 'ada' });
    expect(host.requests).toHaveLength(2);
    for (const { headers, url, text } of host.requests) {
      expect(headers.authorization).toMatch(/^(token|Bearer) \S+$/);
      expect(headers).toMatchObject({
        'x-github-api-version': '2022-11-28',
        'user-agent': expect.stringMatching(/repository-host/),
      });
      expect(url + text).not.toContain(TOKEN);
    }
  });

  test('does not come out again, wherever the host repeats it', async () => {
    const echo = `you sent ${TOKEN}, did you not`;
    const bodies: object[] = [
      { message: echo },
      {
        message: 'Validation Failed',
        errors: [echo, { message: echo }, { resource: echo, field: echo, code: echo }],
      },
      // Cut where the token stands.
      ...[560, 570, 575, 580, 585, 590, 595].map((length) => ({ message: `${'x'.repeat(length)} ${TOKEN}` })),
    ];
    for (const body of bodies)
      for (const status of [400, 401, 403, 404, 409, 422, 500]) {
        host.failNext({ status, when: /^POST/, body });
        await ada.refusal('create_issue', { ...where, title: 'T' });
      }
    const headers = {
      'x-accepted-github-permissions': echo,
      'x-accepted-oauth-scopes': echo,
      'x-oauth-scopes': echo,
    };
    host.failNext({ status: 403, headers, body: { message: 'no' } });
    await ada.refusal('get_issue', issue);
    host.failNext({ status: 200, headers: { link: `<https://x/?page=2&t=${TOKEN}>; rel="next"` }, body: [] });
    await ada.give('list_issues', where);

    const long = `${'x'.repeat(99_990)} ${echo}`;
    host.on(`GET ${AT}/commits`, { body: [{ commit: { message: echo } }] });
    await ada.give('list_commits', where);
    host.on(`GET ${AT}/contents/{path}`, {
      body: { size: long.length, content: Buffer.from(long).toString('base64') },
    });
    for (const offset of [0, 99_990, 100_000, 100_010])
      await ada.give('get_file_contents', { ...where, path: 'leak.txt', offset });
    const leaky = { title: echo, body: `${'x'.repeat(490)}${TOKEN}`, labels: [{ name: TOKEN }] };
    const issuePath = `${AT}/issues/{issue_number}`;
    host.on(`GET ${issuePath}`, { body: leaky });
    host.on(`GET ${AT}/issues`, { body: [leaky] });
    host.on('GET /search/issues', { body: { items: [leaky] } });
    host.on(`POST ${AT}/issues`, { body: leaky });
    host.on(`POST ${issuePath}/comments`, { body: { user: { login: TOKEN } } });
    await ada.give('create_issue', { ...where, title: echo });
    await ada.give('get_issue', issue);
    await ada.give('add_issue_comment', { ...issue, body: echo });
    await ada.give('list_issues', where);
    await ada.give('search_issues', { query: 'did' });
    const pull = { ...where, pull_number: 1 };
    const pullPath = `${AT}/pulls/{pull_number}`;
    host.on(`POST ${AT}/pulls`, { body: { title: echo, body: echo } });
    await ada.give('create_pull_request', { ...where, title: echo, head: 'leak', base: 'main' });
    host.on(`GET ${pullPath}`, { body: `diff --git a/a b/a\n+${echo}\n` });
    expect(textOf(await ada.call('get_pull_request_diff', pull))).toContain('[token removed]');
    host.on(`GET ${pullPath}/files`, { body: [{ filename: echo, patch: echo }] });
    await ada.give('get_pull_request_files', pull);

    const all = ada.everything();
    expect(all.match(/\[token removed\]/g)?.length).toBeGreaterThan(50);
    // The whole of it, or the larger part.
    for (const part of [TOKEN, TOKEN.slice(0, 12), TOKEN.slice(-12)]) {
      const at = all.indexOf(part);
      expect(at === -1 ? 'nowhere' : all.slice(Math.max(0, at - 200), at + 60)).toBe('nowhere');
    }
  });
});

describe('the start', () => {
  function run(env: Record<string, string>, args: readonly string[] = []) {
    return spawnSync(process.execPath, [serverFile, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      input: '',
      encoding: 'utf8',
      timeout: 60_000,
    });
  }

  test.each<[string, Record<string, string>, readonly string[], RegExp]>([
    ['an address that is none', { REPOHOST_API_URL: 'host.example' }, [], /REPOHOST_API_URL/],
    ['another scheme', { REPOHOST_API_URL: 'file:///etc' }, [], /REPOHOST_API_URL/],
    ['a password in the address', { REPOHOST_API_URL: 'https://u:hush-hush@h.example' }, [], /password/],
    ['plain http to elsewhere', { REPOHOST_API_URL: 'http://host.example/api' }, [], /https/],
    ['a name for a token', { REPOHOST_PERSONAL_ACCESS_TOKEN: '$HUSH_HUSH' }, [], /nobody filled in/],
    ['a token with a line end', { REPOHOST_PERSONAL_ACCESS_TOKEN: 'hush-hush\nhush' }, [], /token/],
    ['an unknown option', {}, ['--wide-open'], /--wide-open/],
    ['an argument', {}, ['extra'], /argument/],
    ['a wait that is no number', {}, ['--max-wait-seconds', 'long'], /max-wait-seconds/],
  ])('with %s ends with 2 and says what is wrong', (_, env, args, told) => {
    const { status, stdout, stderr } = run(env, args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(told);
    expect(stderr).not.toMatch(/hush-hush|HUSH|\.js:/);
  });

  test('tells its options and variables, its version, and ends when nobody is there', () => {
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

  test('answers what was asked before its client closed', () => {
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

test('the server is closed while the host still owes it an answer', async () => {
  const client = await HostClient.start({ host, token: TOKEN });
  host.failNext({ isHanging: true, times: 3 });
  const call = client.call('get_issue', issue).then(textOf, () => 'gone');
  await client.close();
  expect(await call).toBe('gone');
  host.forget();
});
