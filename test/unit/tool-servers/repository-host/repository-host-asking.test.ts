// Questions to a real server on loopback that answers from a script: what is asked again, what never is, and what is said.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { without } from '../../../../libs/rest/without-secrets.ts';
import { Host } from '../../../../tool-servers/repository-host/host.ts';
import { HostRefusal, MAX_ANSWER_BYTES } from '../../../../tool-servers/repository-host/host-fault.ts';
import { ToolError } from '../../../../tool-servers/tool-error.ts';

type Step = (request: IncomingMessage, response: ServerResponse) => void;

interface Asked {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

const token = 'tok_0123456789';
const clean = without([token]);
const asked: Asked[] = [];
let steps: Step[] = [];
let apiUrl = '';

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url, headers } = request;
    const body = Buffer.concat(chunks).toString();
    asked.push({ line: `${method} ${url}`, authorization: headers.authorization, body });
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
  asked.length = 0;
  steps = [];
});

function answer(status: number, data: unknown, headers: Record<string, string> = {}): Step {
  return (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof data === 'string' ? data : JSON.stringify(data));
}

const cut: Step = (_, response) => void response.socket?.resetAndDestroy();
const nothing: Step = () => {};

interface Told {
  readonly progress: number;
  readonly message: string;
}

function begin({ maxWaitMs = 5_000, timeoutMs = 2_000, signal = new AbortController().signal } = {}) {
  const told: Told[] = [];
  const host = new Host({ access: { apiUrl, token }, maxWaitMs, timeoutMs, clean });
  const call = () =>
    host.during({ signal, report: (progress, _, message) => told.push({ progress, message }) });
  return { host, call, told };
}

const read = z.object({ ok: z.boolean() });
const place = { owner: 'o', repo: 'r' };

function get(options?: Parameters<typeof begin>[0]) {
  return begin(options).call().ask('GET /repos/{owner}/{repo}', place, read);
}

function post(options?: Parameters<typeof begin>[0]) {
  return begin(options)
    .call()
    .ask('POST /repos/{owner}/{repo}/issues', { ...place, title: 'T' }, read);
}

async function saidBy(asking: Promise<unknown>): Promise<string> {
  const error = await asking.then(
    () => new Error('it succeeded'),
    (each: unknown) => each,
  );
  expect(error).toBeInstanceOf(ToolError);
  return (error as Error).message;
}

test('a clock that is set back keeps no request from leaving', async () => {
  const { call } = begin();
  const ask = () => call().ask('GET /repos/{owner}/{repo}', place, read);
  await ask();
  const realNow = Date.now;
  Date.now = () => realNow() - 7_200_000;
  try {
    await ask();
  } finally {
    Date.now = realNow;
  }
  expect(asked).toHaveLength(2);
}, 20_000);

describe('a request that reads', () => {
  test('carries the token and the version of the API, and gives what was looked at', async () => {
    const seen: IncomingMessage['headers'][] = [];
    steps = [
      (request, response) => {
        seen.push(request.headers);
        answer(200, { ok: true, more: 1 }, { link: '<x>; rel="next"' })(request, response);
      },
    ];
    expect(await get()).toEqual({ status: 200, data: { ok: true }, link: '<x>; rel="next"' });
    expect(seen[0]).toMatchObject({
      authorization: `token ${token}`,
      'x-github-api-version': '2022-11-28',
      'user-agent': expect.stringMatching(/^actor-gateway-repository-host\/\d/),
    });
  });

  test('is asked again after a fault of the host, and after a connection that broke', async () => {
    for (const fault of [answer(502, '<html>'), cut]) {
      asked.length = 0;
      steps = [fault];
      expect((await get()).data).toEqual({ ok: true });
      expect(asked).toHaveLength(2);
    }
  });

  test('is asked no more than a few times of a host whose fault stays', async () => {
    for (const [fault, said] of [
      [answer(502, '<h1>Unicorn</h1>'), /answered 502.*later/],
      [cut, /could not be reached/],
    ] as const) {
      asked.length = 0;
      steps = Array.from({ length: 50 }, () => fault);
      expect(await saidBy(get())).toMatch(said);
      expect(asked).toHaveLength(3);
    }
  });

  test.each([400, 401, 403, 404, 405, 409, 410, 422, 451])(
    'is not asked again after a refusal with %i',
    async (status) => {
      steps = [answer(status, { message: 'No.' })];
      expect(await saidBy(get())).toContain(`The host answered ${status} (No.).`);
      expect(asked).toHaveLength(1);
    },
  );

  test('is not asked again of a host that had all its time', async () => {
    steps = [nothing];
    const said = await saidBy(get({ timeoutMs: 200 }));
    expect(said).toMatch(/^127\.0\.0\.1:\d+ did not answer within 0\.2 s\. Call again later/);
    expect(asked).toHaveLength(1);
  });

  test('has a deadline for the body too', async () => {
    steps = [
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"ok":');
      },
    ];
    expect(await saidBy(get({ timeoutMs: 200 }))).toContain('did not answer within 0.2 s');
  });

  test('reads no more than so many bytes', async () => {
    steps = [answer(200, JSON.stringify({ ok: true, pad: 'x'.repeat(MAX_ANSWER_BYTES) }))];
    expect(await saidBy(get({ timeoutMs: 10_000 }))).toContain('larger than 24 MiB');
    expect(asked).toHaveLength(1);
  });

  test.each([
    ['{"ok":', '.'],
    ['<html>', '.'],
    ['{"ok":"yes"}', ', at ok.'],
    ['null', '.'],
    ['[1,2]', '.'],
    ['', '.'],
  ])('says so when the answer is no answer of an API: %s', async (data, where) => {
    steps = [answer(200, data)];
    expect(await saidBy(get())).toContain(`is not what its API promises${where}`);
  });
});

describe('a request that writes', () => {
  test.each([
    ['a fault of the host', answer(502, { message: 'Bad gateway' }), 'answered 502'],
    ['a connection that broke', cut, 'could not be reached'],
    ['a host that says nothing', nothing, 'did not answer'],
  ])(
    'is not sent again after %s, and the caller is told that it may have been done',
    async (_, fault, what) => {
      steps = [fault];
      const said = await saidBy(post({ timeoutMs: 300 }));
      expect(said).toContain(what);
      expect(said).toContain('not known whether this was done: look before you call again');
      expect(asked).toHaveLength(1);
    },
  );

  test.each<[string, Step]>([
    ['a page for people', answer(201, '<html>', { 'content-type': 'text/html' })],
    ['half of a JSON', answer(201, '{"ok":')],
    ['another JSON', answer(201, { number: 7 })],
    ['no body', answer(204, '')],
    ['an address to look at', answer(303, '', { location: '/elsewhere' })],
    ['an address without a place', answer(303, '')],
    ['too much to read', answer(201, JSON.stringify('x'.repeat(MAX_ANSWER_BYTES)))],
  ])('that was taken with %s is told as probably done, not as a mistake of the operator', async (_, step) => {
    steps = [step];
    const said = await saidBy(post({ timeoutMs: 10_000 }));
    expect(said).toMatch(
      /The host took this \(20\d|303\), so it was probably done, but its answer cannot be read: look before you call again\.$/,
    );
    expect(said).not.toContain('REPOHOST_API_URL');
    expect(asked).toHaveLength(1);
  });

  test('is known not to have been sent where nobody listens', async () => {
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
    const asking = host.during({ signal: new AbortController().signal, report: () => {} });
    const said = await saidBy(asking.ask('POST /user/repos', { name: 'x' }, read));
    expect(said).toContain('(ECONNREFUSED). Call again later');
  });

  test('is sent again after a refusal for too many requests, since that one was not carried out', async () => {
    steps = [answer(403, { message: 'You have exceeded a secondary rate limit.' }, { 'retry-after': '1' })];
    expect((await post()).data).toEqual({ ok: true });
    expect(asked.map(({ body }) => body)).toEqual(['{"title":"T"}', '{"title":"T"}']);
  });

  test('leaves a second after the one before it, and says that it waits', async () => {
    const { call, told } = begin({ maxWaitMs: 0 });
    const create = () => call().ask('POST /user/repos', { name: 'x' }, read);
    const startedAt = performance.now();
    await Promise.all([create(), create()]);
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    expect(asked).toHaveLength(2);
    expect(told.map(({ message }) => message)).toEqual([
      'Waiting 1 s for its turn: one request that writes begins each second.',
    ]);
  });

  test('that is cancelled while it waits leaves its turn to the others', async () => {
    const cancelling = new AbortController();
    const { host, call } = begin();
    const create = (asking = call()) => asking.ask('POST /user/repos', { name: 'x' }, read);
    await create();
    const cancelled = Array.from({ length: 5 }, () =>
      create(host.during({ signal: cancelling.signal, report: () => {} })),
    );
    const settled = Promise.allSettled(cancelled);
    const startedAt = performance.now();
    const last = create();
    cancelling.abort(new Error('cancelled'));
    expect((await settled).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    await last;
    expect(performance.now() - startedAt).toBeLessThan(1_900);
    expect(asked).toHaveLength(2);
  });
});

describe('a limit', () => {
  const secondary = (seconds: number) =>
    answer(429, { message: 'slow down' }, { 'retry-after': String(seconds) });

  test('is waited for, and the caller is told', async () => {
    steps = [secondary(1)];
    const { call, told } = begin();
    await call().ask('GET /repos/{owner}/{repo}', place, read);
    expect(told.map(({ message }) => message)).toEqual([
      'Waiting 1 s for the pause that the host asked for after too many requests.',
    ]);
  });

  test('that is too far away is told at once, and then nothing is sent', async () => {
    steps = [secondary(30)];
    const { call } = begin();
    const ask = () => saidBy(call().ask('GET /repos/{owner}/{repo}', place, read));
    expect(await ask()).toMatch(
      /^The host refused too many requests .* until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, in 30 s; this call waits 5 s at most/,
    );
    expect(await ask()).toContain('asked for a pause');
    expect(asked).toHaveLength(1);
  });

  test('that one answer told stops those that stand in line behind it', async () => {
    const late: Step = (request, response) => void setTimeout(() => secondary(30)(request, response), 50);
    steps = Array.from({ length: 40 }, () => late);
    const { call } = begin({ maxWaitMs: 0 });
    const said = await Promise.all(
      Array.from({ length: 40 }, () => saidBy(call().ask('GET /repos/{owner}/{repo}', place, read))),
    );
    for (const each of said) expect(each).toContain('asked for a pause until');
    // Ten run at a time.
    expect(asked.length).toBeLessThanOrEqual(10);
  });

  test('of searches counts those that are sent again', async () => {
    steps = Array.from({ length: 40 }, () => answer(503, {}));
    const { call } = begin({ maxWaitMs: 0 });
    const said = await Promise.all(
      Array.from({ length: 10 }, () => saidBy(call().ask('GET /search/code', { q: 'x' }, read))),
    );
    for (const each of said) expect(each).toContain('code search limit is used up');
    expect(asked).toHaveLength(10);
  });

  test('that the last answer announced is not run into', async () => {
    const soon = String(Math.floor(Date.now() / 1000) + 30);
    steps = [
      answer(200, { ok: true }, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon }),
      answer(200, { total_count: 0 }),
    ];
    const { call } = begin();
    await call().ask('GET /repos/{owner}/{repo}', place, read);
    expect(await saidBy(call().ask('GET /repos/{owner}/{repo}', place, read))).toContain(
      "The host's API limit is used up until",
    );
    await call().ask('GET /search/users', { q: 'x' }, z.object({ total_count: z.number() }));
    expect(asked).toHaveLength(2);
  });

  test('that comes again and again ends the patience of a call', async () => {
    steps = Array.from({ length: 9 }, () => secondary(1));
    expect(await saidBy(get({ maxWaitMs: 2_500 }))).toContain('this call waits 2.5 s at most');
    expect(asked).toHaveLength(3);
  });

  test('is no longer waited for when the call is cancelled', async () => {
    steps = [secondary(4)];
    const cancelling = new AbortController();
    const { call, told } = begin({ signal: cancelling.signal });
    const asking = call().ask('GET /repos/{owner}/{repo}', place, read);
    const startedAt = performance.now();
    const cancel = setInterval(() => {
      if (told.length > 0) cancelling.abort(new Error('cancelled'));
    }, 10);
    await expect(asking).rejects.toThrow();
    clearInterval(cancel);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(asked).toHaveLength(1);
  });
});

describe('a redirect', () => {
  const to = (status: number, location: string) => answer(status, { message: 'Moved' }, { location });

  test('within the host is followed by what reads', async () => {
    steps = [to(301, '/repositories/7')];
    await get();
    expect(asked.map(({ line }) => line)).toEqual(['GET /repos/o/r', 'GET /repositories/7']);
    expect(asked[1]?.authorization).toBe(`token ${token}`);
  });

  test.each([{}, { location: '' }])('without a place leads nowhere: %j', async (headers) => {
    steps = [answer(307, { message: 'Moved' }, headers)];
    expect(await saidBy(post())).toContain("The host's answer (307) is not what its API promises");
    expect(asked).toHaveLength(1);
  });

  test('is followed by what writes where it keeps method and body', async () => {
    steps = [to(307, '/repositories/7/issues')];
    await post();
    expect(asked.map(({ line, body }) => `${line} ${body}`)).toEqual([
      'POST /repos/o/r/issues {"title":"T"}',
      'POST /repositories/7/issues {"title":"T"}',
    ]);
  });

  test.each([301, 302])(
    'with %i is not followed by what writes: it would become something else',
    async (status) => {
      steps = [to(status, '/repositories/7/issues')];
      expect(await saidBy(post())).toContain('This repository has moved, and nothing was written.');
      expect(asked).toHaveLength(1);
    },
  );

  test('to another host is never followed, with the token or without', async () => {
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
        asked.length = 0;
        steps = [to(status, location)];
        expect(await saidBy(ask())).toContain('another host');
        expect(asked).toHaveLength(1);
      }
    }
  });

  test('that leads in circles ends', async () => {
    steps = Array.from({ length: 9 }, () => to(302, '/around'));
    expect(await saidBy(get())).toContain('in circles');
    expect(asked).toHaveLength(4);
  });
});

describe('a refusal', () => {
  test('repeats what the host said, on one line, with its list of errors', async () => {
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

  test('that repeats the token at the place where it is cut does not give away its beginning', async () => {
    for (let before = 585; before <= 605; before++) {
      steps = [answer(422, { message: `${'x'.repeat(before)}${token}` })];
      expect(await saidBy(get())).not.toContain(token.slice(0, 5));
    }
  });

  test('that spells the token in another way does not give it away', async () => {
    const escaped = [...token].map((each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('');
    steps = [answer(422, `{"message":"x${escaped}x"}`)];
    expect(await saidBy(get())).toContain('(x[token removed]x)');
  });

  test('is cut between characters', async () => {
    steps = [answer(422, { message: `${'x'.repeat(599)}😀😀` })];
    expect(await saidBy(get())).toContain('x…)');
  });

  test.each([
    { message: 'x'.repeat(5_000) },
    { message: 'x'.repeat(5_000), errors: [[], null, 7, { a: {} }] },
    '<html>'.repeat(10_000),
    '{"message": {"a": 1}, "errors": "x"}',
  ])('is told in short, whatever the host says', async (said) => {
    steps = [answer(422, said)];
    const told = await saidBy(get());
    expect(told).toContain('answered 422');
    expect(told.length).toBeLessThan(800);
  });

  test.each<[number, Record<string, string>, string]>([
    [401, {}, 'The token is not valid'],
    [
      403,
      { 'x-accepted-oauth-scopes': 'repo', 'x-oauth-scopes': 'read:user' },
      'It needs one of the scopes: repo; it has: read:user.',
    ],
    [403, { 'x-accepted-github-permissions': 'issues=write' }, 'It needs the permissions: issues=write.'],
    [403, { 'x-github-sso': 'required; url=https://h/sso' }, 'single sign-on'],
    [404, {}, 'the token may not see it'],
    [409, {}, 'conflict'],
    [410, {}, 'switched off'],
    [422, {}, 'Correct them'],
    [451, {}, 'legal reasons'],
  ])('with %i %j says what to do', async (status, headers, advice) => {
    steps = [answer(status, { message: 'No' }, headers)];
    expect(await saidBy(get())).toContain(advice);
  });

  test.each([401, 403, 404])('with %i names the missing token where there is none', async (status) => {
    steps = [answer(status, { message: 'No' })];
    const host = new Host({ access: { apiUrl, token: undefined }, maxWaitMs: 0, timeoutMs: 2_000, clean });
    const asking = host.during({ signal: new AbortController().signal, report: () => {} });
    expect(await saidBy(asking.ask('GET /repos/{owner}/{repo}', place, read))).toMatch(/token/);
    expect(asked[0]?.authorization).toBeUndefined();
  });
});
