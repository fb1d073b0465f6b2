// Requests to a scripted repository host on loopback: retries, rate limits, redirects and error messages.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { secretRemover } from '../../../../libs/rest/without-secrets.ts';
import { Host } from '../../../../tool-servers/repository-host/host.ts';
import { HostRefusal, MAX_RESPONSE_BYTES } from '../../../../tool-servers/repository-host/host-error.ts';
import { ToolError } from '../../../../tool-servers/tool-error.ts';

type Step = (request: IncomingMessage, response: ServerResponse) => void;

interface RecordedRequest {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

const token = 'tok_0123456789';
const clean = secretRemover([token]);
const requests: RecordedRequest[] = [];
/** Responses to the next requests. Without a step, the server responds with 200. */
let steps: Step[] = [];
let apiUrl = '';

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url, headers } = request;
    const body = Buffer.concat(chunks).toString();
    requests.push({ line: `${method} ${url}`, authorization: headers.authorization, body });
    const step = steps.shift() ?? answer(200, { ok: true });
    step(request, response);
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  requests.length = 0;
  steps = [];
});

function answer(status: number, data: unknown, headers: Record<string, string> = {}): Step {
  return (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof data === 'string' ? data : JSON.stringify(data));
}

const cut: Step = (_, response) => void response.socket?.resetAndDestroy();
const noAnswer: Step = () => {};

interface ProgressNotice {
  readonly progress: number;
  readonly message: string;
}

/** Creates a host. `call` starts a tool call on it, whose progress is recorded in `notices`. */
function createHost({ maxWaitMs = 5_000, timeoutMs = 2_000, signal = new AbortController().signal } = {}) {
  const notices: ProgressNotice[] = [];
  const host = new Host({ access: { apiUrl, token }, maxWaitMs, timeoutMs, clean });
  const call = () =>
    host.requestsFor({ signal, report: (progress, _, message) => notices.push({ progress, message }) });
  return { host, call, notices };
}

const schema = z.object({ ok: z.boolean() });
const repository = { owner: 'o', repo: 'r' };

function get(options?: Parameters<typeof createHost>[0]) {
  return createHost(options).call().request('GET /repos/{owner}/{repo}', repository, schema);
}

function post(options?: Parameters<typeof createHost>[0]) {
  return createHost(options)
    .call()
    .request('POST /repos/{owner}/{repo}/issues', { ...repository, title: 'T' }, schema);
}

/** Returns the message of the ToolError, which the request must throw. */
async function errorMessageOf(request: Promise<unknown>): Promise<string> {
  const error = await request.then(
    () => new Error('it succeeded'),
    (each: unknown) => each,
  );
  expect(error).toBeInstanceOf(ToolError);
  return (error as Error).message;
}

test('a clock that is set back delays no request', async () => {
  const { call } = createHost();
  const ask = () => call().request('GET /repos/{owner}/{repo}', repository, schema);
  await ask();
  const realNow = Date.now;
  Date.now = () => realNow() - 7_200_000;
  try {
    await ask();
  } finally {
    Date.now = realNow;
  }
  expect(requests).toHaveLength(2);
}, 20_000);

describe('a read request', () => {
  test('contains the token and the API version, and returns the checked data', async () => {
    const requestHeaders: IncomingMessage['headers'][] = [];
    steps = [
      (request, response) => {
        requestHeaders.push(request.headers);
        answer(200, { ok: true, more: 1 }, { link: '<x>; rel="next"' })(request, response);
      },
    ];
    expect(await get()).toEqual({ status: 200, data: { ok: true }, link: '<x>; rel="next"' });
    expect(requestHeaders[0]).toMatchObject({
      authorization: `token ${token}`,
      'x-github-api-version': '2022-11-28',
      'user-agent': expect.stringMatching(/^actor-gateway-repository-host\/\d/),
    });
  });

  test('is retried after a server error and after a broken connection', async () => {
    for (const fault of [answer(502, '<html>'), cut]) {
      requests.length = 0;
      steps = [fault];
      expect((await get()).data).toEqual({ ok: true });
      expect(requests).toHaveLength(2);
    }
  });

  test('is retried only a few times', async () => {
    for (const [fault, message] of [
      [answer(502, '<h1>Unicorn</h1>'), /responded with 502.*later/],
      [cut, /could not be reached/],
    ] as const) {
      requests.length = 0;
      steps = Array.from({ length: 50 }, () => fault);
      expect(await errorMessageOf(get())).toMatch(message);
      expect(requests).toHaveLength(3);
    }
  });

  test.each([400, 401, 403, 404, 405, 409, 410, 422, 451])(
    'is not retried after a refusal with %i',
    async (status) => {
      steps = [answer(status, { message: 'No.' })];
      expect(await errorMessageOf(get())).toContain(`The host responded with ${status} (No.).`);
      expect(requests).toHaveLength(1);
    },
  );

  test('is not retried after its full time limit', async () => {
    steps = [noAnswer];
    const message = await errorMessageOf(get({ timeoutMs: 200 }));
    expect(message).toMatch(/^127\.0\.0\.1:\d+ did not respond within 0\.2 s\. Retry later/);
    expect(requests).toHaveLength(1);
  });

  test('times out if the response body does not end in time', async () => {
    steps = [
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"ok":');
      },
    ];
    expect(await errorMessageOf(get({ timeoutMs: 200 }))).toContain('did not respond within 0.2 s');
  });

  test('has a size limit for its response', async () => {
    steps = [answer(200, JSON.stringify({ ok: true, pad: 'x'.repeat(MAX_RESPONSE_BYTES) }))];
    expect(await errorMessageOf(get({ timeoutMs: 10_000 }))).toContain('exceeds the limit of 24 MiB');
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['{"ok":', '.'],
    ['<html>', '.'],
    ['{"ok":"yes"}', ', at ok.'],
    ['null', '.'],
    ['[1,2]', '.'],
    ['', '.'],
  ])('reports a response that is not from the API: %s', async (data, location) => {
    steps = [answer(200, data)];
    expect(await errorMessageOf(get())).toContain(`does not match its API${location}`);
  });
});

describe('a write request', () => {
  test.each([
    ['a server error', answer(502, { message: 'Bad gateway' }), 'responded with 502'],
    ['a broken connection', cut, 'could not be reached'],
    ['a silent host', noAnswer, 'did not respond'],
  ])('is not retried after %s, and its outcome is reported as unknown', async (_, fault, what) => {
    steps = [fault];
    const message = await errorMessageOf(post({ timeoutMs: 300 }));
    expect(message).toContain(what);
    expect(message).toContain('outcome is unknown: check the state before you retry');
    expect(requests).toHaveLength(1);
  });

  test.each<[string, Step]>([
    ['an HTML page', answer(201, '<html>', { 'content-type': 'text/html' })],
    ['truncated JSON', answer(201, '{"ok":')],
    ['JSON of another shape', answer(201, { number: 7 })],
    ['no body', answer(204, '')],
    ['a redirect', answer(303, '', { location: '/elsewhere' })],
    ['a redirect without a location', answer(303, '')],
    ['a body above the limit', answer(201, JSON.stringify('x'.repeat(MAX_RESPONSE_BYTES)))],
  ])('that was accepted with %s is reported as probably done', async (_, step) => {
    steps = [step];
    const message = await errorMessageOf(post({ timeoutMs: 10_000 }));
    expect(message).toMatch(
      /The host accepted the request \((?:20\d|303)\), so it was probably executed, but the response is unreadable: check the state before you retry\.$/,
    );
    expect(message).not.toContain('REPOHOST_API_URL');
    expect(requests).toHaveLength(1);
  });

  test('to a closed port is reported as not sent', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const host = new Host({
      access: { apiUrl: `http://127.0.0.1:${port}`, token },
      maxWaitMs: 0,
      timeoutMs: 2_000,
      clean,
    });
    const call = host.requestsFor({ signal: new AbortController().signal, report: () => {} });
    const message = await errorMessageOf(call.request('POST /user/repos', { name: 'x' }, schema));
    expect(message).toContain('(ECONNREFUSED). Retry later');
  });

  test('is retried after a rate limit, because it was not carried out', async () => {
    steps = [answer(403, { message: 'You have exceeded a secondary rate limit.' }, { 'retry-after': '1' })];
    expect((await post()).data).toEqual({ ok: true });
    expect(requests.map(({ body }) => body)).toEqual(['{"title":"T"}', '{"title":"T"}']);
  });

  test('is sent a second after the previous write request, and the wait is reported', async () => {
    const { call, notices } = createHost({ maxWaitMs: 0 });
    const create = () => call().request('POST /user/repos', { name: 'x' }, schema);
    const startedAt = performance.now();
    await Promise.all([create(), create()]);
    // The limit is one write per second; timers may fire early.
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    expect(requests).toHaveLength(2);
    expect(notices.map(({ message }) => message)).toEqual([
      'Waiting 1 s for a write slot (one write per second).',
    ]);
  });

  test('that is cancelled while it waits for a slot does not delay the other writes', async () => {
    const cancelling = new AbortController();
    const { host, call } = createHost();
    const create = (toolCall = call()) => toolCall.request('POST /user/repos', { name: 'x' }, schema);
    await create();
    const cancelled = Array.from({ length: 5 }, () =>
      create(host.requestsFor({ signal: cancelling.signal, report: () => {} })),
    );
    const settled = Promise.allSettled(cancelled);
    const startedAt = performance.now();
    const last = create();
    cancelling.abort(new Error('cancelled'));
    expect((await settled).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    await last;
    // One second for its own slot, not six.
    expect(performance.now() - startedAt).toBeLessThan(1_900);
    expect(requests).toHaveLength(2);
  });
});

describe('a rate limit', () => {
  const secondary = (seconds: number) =>
    answer(429, { message: 'slow down' }, { 'retry-after': String(seconds) });

  test('is awaited, and the wait is reported', async () => {
    steps = [secondary(1)];
    const { call, notices } = createHost();
    await call().request('GET /repos/{owner}/{repo}', repository, schema);
    expect(notices.map(({ message }) => message)).toEqual([
      'Waiting 1 s for a pause requested by the host after too many requests.',
    ]);
  });

  test('that resets too late is reported immediately, and nothing more is sent', async () => {
    steps = [secondary(30)];
    const { call } = createHost();
    const ask = () => errorMessageOf(call().request('GET /repos/{owner}/{repo}', repository, schema));
    expect(await ask()).toMatch(
      /^The host rejected too many requests .* until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(30 s\); the wait limit of a call is 5 s/,
    );
    expect(await ask()).toContain('requested a pause');
    expect(requests).toHaveLength(1);
  });

  test('reported by one response stops the queued requests', async () => {
    const late: Step = (request, response) => void setTimeout(() => secondary(30)(request, response), 50);
    steps = Array.from({ length: 40 }, () => late);
    const { call } = createHost({ maxWaitMs: 0 });
    const messages = await Promise.all(
      Array.from({ length: 40 }, () =>
        errorMessageOf(call().request('GET /repos/{owner}/{repo}', repository, schema)),
      ),
    );
    for (const each of messages) expect(each).toContain('requested a pause until');
    // Ten requests run concurrently.
    expect(requests.length).toBeLessThanOrEqual(10);
  });

  test('of searches also counts retries', async () => {
    steps = Array.from({ length: 40 }, () => answer(503, {}));
    const { call } = createHost({ maxWaitMs: 0 });
    const messages = await Promise.all(
      Array.from({ length: 10 }, () =>
        errorMessageOf(call().request('GET /search/code', { q: 'x' }, schema)),
      ),
    );
    // The limit is ten searches per minute; without retries in the count there would be 30 requests.
    for (const each of messages) expect(each).toContain('code search rate limit of the host is exhausted');
    expect(requests).toHaveLength(10);
  });

  test('announced by the previous response prevents the next request', async () => {
    const resetTime = String(Math.floor(Date.now() / 1000) + 30);
    steps = [
      answer(200, { ok: true }, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': resetTime }),
      answer(200, { total_count: 0 }),
    ];
    const { call } = createHost();
    await call().request('GET /repos/{owner}/{repo}', repository, schema);
    expect(await errorMessageOf(call().request('GET /repos/{owner}/{repo}', repository, schema))).toContain(
      'The API rate limit of the host is exhausted until',
    );
    await call().request('GET /search/users', { q: 'x' }, z.object({ total_count: z.number() }));
    expect(requests).toHaveLength(2);
  });

  test('that is repeated makes the call fail at its wait limit', async () => {
    steps = Array.from({ length: 9 }, () => secondary(1));
    expect(await errorMessageOf(get({ maxWaitMs: 2_500 }))).toContain('the wait limit of a call is 2.5 s');
    expect(requests).toHaveLength(3);
  });

  test('is no longer awaited when the call is cancelled', async () => {
    steps = [secondary(4)];
    const cancelling = new AbortController();
    const { call, notices } = createHost({ signal: cancelling.signal });
    const request = call().request('GET /repos/{owner}/{repo}', repository, schema);
    const startedAt = performance.now();
    const cancel = setInterval(() => {
      if (notices.length > 0) cancelling.abort(new Error('cancelled'));
    }, 10);
    await expect(request).rejects.toThrow();
    clearInterval(cancel);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(requests).toHaveLength(1);
  });
});

describe('a redirect', () => {
  const to = (status: number, location: string) => answer(status, { message: 'Moved' }, { location });

  test('within the host is followed for reads', async () => {
    steps = [to(301, '/repositories/7')];
    await get();
    expect(requests.map(({ line }) => line)).toEqual(['GET /repos/o/r', 'GET /repositories/7']);
    expect(requests[1]?.authorization).toBe(`token ${token}`);
  });

  test.each([{}, { location: '' }])('without a location is not followed: %j', async (headers) => {
    steps = [answer(307, { message: 'Moved' }, headers)];
    expect(await errorMessageOf(post())).toContain('The response of the host (307) does not match its API');
    expect(requests).toHaveLength(1);
  });

  test('that keeps method and body is followed for writes', async () => {
    steps = [to(307, '/repositories/7/issues')];
    await post();
    expect(requests.map(({ line, body }) => `${line} ${body}`)).toEqual([
      'POST /repos/o/r/issues {"title":"T"}',
      'POST /repositories/7/issues {"title":"T"}',
    ]);
  });

  test.each([301, 302])(
    'with %i is not followed for writes, because it would change the method',
    async (status) => {
      steps = [to(status, '/repositories/7/issues')];
      expect(await errorMessageOf(post())).toContain('This repository has moved, and nothing was written.');
      expect(requests).toHaveLength(1);
    },
  );

  test('to another host is never followed, with or without the token', async () => {
    const { port } = server.address() as AddressInfo;
    for (const location of [
      `http://localhost:${port}/x`,
      `http://u:p@127.0.0.1:${port}/x`,
      `//127.0.0.2:${port}/x`,
      'file:///etc/passwd',
    ]) {
      for (const [ask, status] of [
        [get, 302],
        [post, 307],
        [post, 308],
      ] as const) {
        requests.length = 0;
        steps = [to(status, location)];
        expect(await errorMessageOf(ask())).toContain('another host');
        expect(requests).toHaveLength(1);
      }
    }
  });

  test('loop is followed three times, then the call fails', async () => {
    steps = Array.from({ length: 9 }, () => to(302, '/around'));
    expect(await errorMessageOf(get())).toContain('in a loop');
    expect(requests).toHaveLength(4);
  });
});

describe('a refusal of the host', () => {
  test("contains the host's message on one line, with its list of errors", async () => {
    const errors = [
      { resource: 'Issue', field: 'title', code: 'missing_field' },
      { message: 'Name is\ntoo long', code: 'custom' },
      'plain words',
      { code: 1 },
    ];
    steps = [answer(422, { message: 'Validation Failed', errors })];
    const error = await get().catch((each: unknown) => each);
    expect(error).toBeInstanceOf(HostRefusal);
    expect((error as HostRefusal).reason).toBe(
      'Validation Failed: Issue title missing_field; Name is too long; plain words',
    );
  });

  test('that is truncated within a token does not reveal the beginning of the token', async () => {
    for (let before = 585; before <= 605; before++) {
      steps = [answer(422, { message: `${'x'.repeat(before)}${token}` })];
      expect(await errorMessageOf(get())).not.toContain(token.slice(0, 5));
    }
  });

  test('with an escaped token does not reveal it', async () => {
    const escaped = [...token].map((each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('');
    steps = [answer(422, `{"message":"x${escaped}x"}`)];
    expect(await errorMessageOf(get())).toContain('(x[token removed]x)');
  });

  test('is truncated between characters', async () => {
    steps = [answer(422, { message: `${'x'.repeat(599)}😀😀` })];
    expect(await errorMessageOf(get())).toContain('x…)');
  });

  test.each([
    { message: 'x'.repeat(5_000) },
    { message: 'x'.repeat(5_000), errors: [[], null, 7, { a: {} }] },
    '<html>'.repeat(10_000),
    '{"message": {"a": 1}, "errors": "x"}',
  ])('is short, whatever the host returns', async (message) => {
    steps = [answer(422, message)];
    const errorMessage = await errorMessageOf(get());
    expect(errorMessage).toContain('responded with 422');
    expect(errorMessage.length).toBeLessThan(800);
  });

  test.each<[number, Record<string, string>, string]>([
    [401, {}, 'The token is invalid'],
    [
      403,
      { 'x-accepted-oauth-scopes': 'repo', 'x-oauth-scopes': 'read:user' },
      'Required scopes (one of): repo; present: read:user.',
    ],
    [403, { 'x-accepted-github-permissions': 'issues=write' }, 'Required permissions: issues=write.'],
    [403, { 'x-github-sso': 'required; url=https://h/sso' }, 'single sign-on'],
    [404, {}, 'the token has no access'],
    [409, {}, 'conflict'],
    [410, {}, 'disabled'],
    [422, {}, 'Correct them'],
    [451, {}, 'legal reasons'],
  ])('with status %i and headers %j contains a remedy', async (status, headers, advice) => {
    steps = [answer(status, { message: 'No' }, headers)];
    expect(await errorMessageOf(get())).toContain(advice);
  });

  test.each([401, 403, 404])('with %i says that a token is missing if none is configured', async (status) => {
    steps = [answer(status, { message: 'No' })];
    const host = new Host({ access: { apiUrl, token: undefined }, maxWaitMs: 0, timeoutMs: 2_000, clean });
    const call = host.requestsFor({ signal: new AbortController().signal, report: () => {} });
    expect(await errorMessageOf(call.request('GET /repos/{owner}/{repo}', repository, schema))).toMatch(
      /token/,
    );
    expect(requests[0]?.authorization).toBeUndefined();
  });
});
