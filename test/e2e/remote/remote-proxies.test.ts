// Proxies and load balancers before remote servers: redirects within the origin, cookies, and requested
// pauses.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { callOnce, http, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import {
  type Answerer,
  answerJson,
  type Exchange,
  idOf,
  methodOf,
  result,
} from '../../fixtures/remote/local-server.ts';

const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'far', version: '1' },
};
const SECRET = 'Bearer 4711-4711';

afterEach(endServers);

/** Handles each request to a legacy server; `headers` are headers of the response to `initialize`. */
function respond({ req, res, body }: Exchange, headers: Record<string, string | string[]> = {}) {
  if (req.method === 'DELETE') return void res.writeHead(200).end();
  if (req.method !== 'POST') return void res.writeHead(405).end();
  if (idOf(body) === undefined) return void res.writeHead(202).end();
  if (methodOf(body) !== 'initialize') return answerJson(res, result(body, { content: [], tools: [] }));
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  return answerJson(res, result(body, introduction));
}

async function gatewayFor(url: URL, more: object = {}) {
  const far = { url: url.href, era: 'legacy', headers: { authorization: SECRET }, ...more };
  return startGateway({ servers: { far } });
}

describe('a redirect', () => {
  test.each([307, 308])(
    'with status %s within the origin is followed for each kind of request',
    async (status) => {
      const remote = await serve((exchange) => {
        const { req, res } = exchange;
        if (req.url === '/mcp') return void res.writeHead(status, { location: '/mcp/' }).end();
        return respond(exchange, { 'mcp-session-id': 's1' });
      });
      const gateway = await gatewayFor(remote.url());
      expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
      expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
      await gateway.stop();
      const lines = remote.requests.map(({ line }) => line);
      // The target is used for all later requests.
      expect(lines.filter((line) => line === 'POST /mcp')).toHaveLength(1);
      expect(lines).toContain('DELETE /mcp/');
      const bodies = remote.requests.filter(({ line }) => line.startsWith('POST')).map(({ body }) => body);
      expect(bodies[1]).toBe(bodies[0]);
    },
  );

  test('of the GET stream does not change the address of POST requests', async () => {
    const remote = await serve((exchange) => {
      const { req, res } = exchange;
      if (req.method === 'GET') {
        if (req.url === '/mcp') return void res.writeHead(302, { location: '/login' }).end();
        return void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
      }
      return req.url === '/mcp' ? respond(exchange) : void res.writeHead(404).end();
    });
    const gateway = await gatewayFor(remote.url());
    expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
    await until('the redirected stream', () => remote.requests.some(({ line }) => line === 'GET /login'));
    expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
    expect(remote.requests.some(({ line }) => line === 'POST /login')).toBe(false);
    await gateway.stop();
  });

  test.each([
    ['to another origin', 307, 'OTHER/mcp'],
    ['with credentials', 307, 'http://user:secret@HOST/mcp/'],
    ['that changes the method', 303, '/mcp/'],
    ['without a target', 308, undefined],
    ['in a circle', 308, '/mcp'],
  ])('%s is not followed', async (_, status, location) => {
    const other = await serve(respond);
    const remote = await serve(({ res, req }) => {
      const host = req.headers.host ?? '';
      const target = location?.replace('OTHER', other.url('').href).replace('HOST', host);
      res.writeHead(status, target === undefined ? {} : { location: target }).end();
    });
    const gateway = await gatewayFor(remote.url(), { request_timeout_seconds: 3, restart: { intensity: 0 } });
    const { error } = await callOnce(gateway.url, 'far', 'x');
    expect(error?.message).toMatch(/responded 30\d .*this redirect is not followed/);
    expect(error?.message).not.toContain('secret');
    expect(other.requests).toEqual([]);
    expect(remote.requests.length).toBeLessThanOrEqual(4);
    await gateway.stop();
  });
});

describe('cookies of a session', () => {
  test('are sent with each later request of the session, and replaced by newer cookies', async () => {
    let count = 0;
    const remote = await serve((exchange) => {
      const { req, res, body } = exchange;
      if (req.method === 'POST' && methodOf(body) === 'tools/call') {
        count += 1;
        res.setHeader('set-cookie', `AWSALB=node-${count}; Path=/`);
      }
      return respond(exchange, {
        'mcp-session-id': 's1',
        'set-cookie': [
          'AWSALB=node-0; Path=/; Expires=Wed, 01 Dec 2100 00:00:00 GMT',
          'secure=1; Secure',
          'other=1; Path=/other',
          'old=1; Max-Age=0',
          'short; Path=/',
          `long=${'x'.repeat(5_000)}`,
        ],
      });
    });
    const gateway = await gatewayFor(remote.url(), { headers: { cookie: 'own=1' } });
    for (let n = 0; n < 3; n += 1) expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
    await gateway.stop();
    const calls = remote.requests.filter(({ body }) => body !== '' && methodOf(body) === 'tools/call');
    expect(calls.map(({ headers }) => headers.cookie)).toEqual([
      'own=1; AWSALB=node-0',
      'own=1; AWSALB=node-1',
      'own=1; AWSALB=node-2',
    ]);
    expect(remote.requests.at(-1)).toMatchObject({
      line: 'DELETE /mcp',
      headers: { cookie: 'own=1; AWSALB=node-3' },
    });
    expect(remote.requests[0]?.headers.cookie).toBe('own=1');
  });

  test('are parsed as in browsers, with characters, blanks and dates that the grammar forbids', async () => {
    const sent = [
      'quoted="a b, c=d"; Path=/',
      'equals=a==',
      'spaced = two words ; path=/mcp',
      'sp ace@=1;PATH=/',
      'json={"a":[1,2]}; Domain=.other.example; SameSite=None; HttpOnly',
      'bytes=gr\u00fc\u00df',
      'empty=',
      'invalid-path=1; Path=mcp',
      'ignored-age=1; Max-Age="0"; Expires=Wed, 01-Dec-2100 00:00:00 GMT',
      `long-attribute=1; Path=/${'x'.repeat(1_100)}`,
      `many-attributes=1; ${'x=1; '.repeat(1_000)}`,
      'both=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
      '=nameless',
      'gone=1; Max-Age = -99999999999999999',
      'gone=2; expires=Thu Jan  1 00:00:00 1970',
      'secure=1; SECURE=',
      `huge=${'x'.repeat(4_093)}`,
      'last=1; Path=/other; Path=/',
      'last=longer path; Path=/mcp',
    ];
    const remote = await serve((exchange) => respond(exchange, { 'set-cookie': sent }));
    const gateway = await gatewayFor(remote.url());
    expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
    await gateway.stop();
    const { headers } = remote.requests.find(({ body }) => body.includes('tools/call')) ?? {};
    expect(headers?.cookie).toBe(
      [
        'spaced=two words; last=longer path; quoted="a b, c=d"; equals=a==; sp ace@=1; json={"a":[1,2]}',
        'bytes=gr\u00fc\u00df; empty=; invalid-path=1; ignored-age=1; long-attribute=1; many-attributes=1; both=1; last=1',
      ].join('; '),
    );
  });

  test('are limited in number and in total size, and the latest are kept', async () => {
    let answers = 0;
    const remote = await serve((exchange) => {
      const { req, res, body } = exchange;
      if (req.method === 'POST' && methodOf(body) === 'tools/call') {
        answers += 1;
        const large = Array.from({ length: 9 }, (_, n) => `large${n}=${'x'.repeat(1_200)}`);
        if (answers === 1) res.setHeader('set-cookie', large);
      }
      const small = Array.from({ length: 70 }, (_, n) => `c${n}=1`);
      return respond(exchange, { 'set-cookie': small });
    });
    const gateway = await gatewayFor(remote.url());
    for (let n = 0; n < 2; n += 1) await callOnce(gateway.url, 'far', 'x');
    await gateway.stop();
    const calls = remote.requests.filter(({ body }) => body.includes('tools/call'));
    const [first = '', second = ''] = calls.map(({ headers }) => headers.cookie ?? '');
    expect(first.split('; ')).toEqual(Array.from({ length: 50 }, (_, n) => `c${n + 20}=1`));
    expect(second.split('; ').at(-1)).toMatch(/^large8=/);
    expect(second.length).toBeLessThan(8_100);
    expect(second.match(/large/g)).toHaveLength(6);
  });

  test('are not sent after their expiry', async () => {
    const remote = await serve((exchange) => respond(exchange, { 'set-cookie': 'short=1; Max-Age=2' }));
    const gateway = await gatewayFor(remote.url());
    await callOnce(gateway.url, 'far', 'x');
    await sleep(2_100);
    await callOnce(gateway.url, 'far', 'x');
    const calls = remote.requests.filter(({ body }) => body !== '' && methodOf(body) === 'tools/call');
    expect(calls.map(({ headers }) => headers.cookie)).toEqual(['short=1', undefined]);
    await gateway.stop();
  });

  test('are not sent in another session', async () => {
    let isLost = true;
    const remote = await serve((exchange) => {
      const { req, res, body } = exchange;
      if (req.method === 'POST' && methodOf(body) === 'tools/call' && isLost) {
        isLost = false;
        return void res.writeHead(404).end();
      }
      return respond(exchange, { 'mcp-session-id': 's1', 'set-cookie': 'node=1' });
    });
    const gateway = await gatewayFor(remote.url());
    await callOnce(gateway.url, 'far', 'x');
    expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
    const starts = remote.requests.filter(({ body }) => body !== '' && methodOf(body) === 'initialize');
    expect(starts.length).toBeGreaterThan(1);
    for (const { headers } of starts) expect(headers.cookie).toBeUndefined();
    await gateway.stop();
  });
});

describe('a pause that a server requests', () => {
  const inDate = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString();
  const refusing =
    (status: number, retryAfter: () => string, isRefused: (method: string) => boolean): Answerer =>
    (exchange) => {
      const { req, res, body } = exchange;
      if (req.method !== 'POST' || !isRefused(methodOf(body))) return respond(exchange);
      return void res.writeHead(status, { 'retry-after': retryAfter() }).end('slow down');
    };

  test.each([
    [429, '20'],
    [503, '20'],
    [429, 'date'],
  ])(
    'by status %s and Retry-After %s prevents a retry of the call, and is reported to the client',
    async (status, header) => {
      const retryAfter = () => (header === 'date' ? inDate(20) : header);
      const remote = await serve(refusing(status, retryAfter, (method) => method === 'tools/call'));
      const gateway = await gatewayFor(remote.url());
      const answer = await callOnce(gateway.url, 'far', 'x');
      expect(answer.error?.message).toMatch(/the server asks to wait (19|20) s/);
      expect(['19', '20']).toContain(answer.headers['retry-after']);
      expect(remote.requests.filter(({ body }) => body.includes('tools/call'))).toHaveLength(1);
      await gateway.stop();
    },
  );

  const answers: Readonly<Record<string, (id: unknown, error: object) => string>> = {
    plain: (id, error) => JSON.stringify({ jsonrpc: '2.0', id, error }),
    'text id': (id, error) => JSON.stringify({ jsonrpc: '2.0', id: String(id), error }),
    marked: (id, error) => `\uFEFF${JSON.stringify({ error, id, jsonrpc: '2.0' })}\r\n`,
    'with a null result': (id, error) => JSON.stringify({ jsonrpc: '2.0', id, result: null, error }),
  };
  const pauses: readonly (readonly [string, () => string, RegExp | undefined])[] = [
    ['in seconds', () => '20', /^20$/],
    ['as a date', () => inDate(20), /^(19|20)$/],
    [
      'as a date without zone',
      () => inDate(20).replace(/^(...), (\d\d) (...) (\d{4}) (.*) GMT/, '$1 $3 $2 $5 $4'),
      /^(19|20)$/,
    ],
    ['twice', () => '7, 20', /^20$/],
    ['of centuries', () => '9'.repeat(20), /^86400$/],
    ['until a far date', () => 'Fri, 31 Dec 9999 23:59:59 GMT', /^86400$/],
    ['until a past date', () => inDate(-60), undefined],
    ['of zero', () => '0', undefined],
    ['below zero', () => '-20', undefined],
    ['in words', () => 'soon', undefined],
  ];

  test('beside a JSON-RPC error is reported with the code and the data of the error', async () => {
    const cases = [429, 503].flatMap((status) =>
      Object.keys(answers).flatMap((form) => pauses.map(([pause]) => `${status} ${form} ${pause}`)),
    );
    const error = { code: -32_029, message: `too fast, ${SECRET}`, data: { bucket: 'a', key: SECRET } };
    const remote = await serve((exchange) => {
      const { req, res, body } = exchange;
      if (req.method !== 'POST' || methodOf(body) !== 'tools/call') return respond(exchange);
      const { name } = JSON.parse(body).params;
      const [, status, form = '', pause] =
        /^(\d+) (.*?) ((?:in|as|twice|of|until|below).*)$/.exec(name) ?? [];
      const header = pauses.find(([each]) => each === pause)?.[1]() ?? '';
      res.writeHead(Number(status), { 'retry-after': header, 'content-type': 'application/json' });
      return void res.end(answers[form]?.(idOf(body), error));
    });
    const gateway = await startGateway({
      servers: { far: { url: remote.url().href, era: 'legacy', headers: { authorization: SECRET } } },
      env: { TZ: 'America/New_York' },
    });
    const seen = await Promise.all(cases.map((name) => callOnce(gateway.url, 'far', name)));
    await gateway.stop();
    for (const [at, name] of cases.entries()) {
      const { error: received, headers } = seen[at] as (typeof seen)[number];
      const expected = pauses.find(([pause]) => name.endsWith(` ${pause}`))?.[2];
      expect.soft(received?.code, name).toBe(-32_029);
      expect.soft(received?.data, name).toMatchObject({ bucket: 'a', key: '[redacted]' });
      expect.soft(received?.message, name).toMatch(/^too fast, \[redacted\]/);
      expect.soft(received?.message.includes('the server asks to wait'), name).toBe(expected !== undefined);
      if (expected === undefined) expect.soft(headers['retry-after'], name).toBeUndefined();
      else expect.soft(headers['retry-after'], name).toMatch(expected);
    }
    expect(remote.requests.filter(({ body }) => body.includes('tools/call'))).toHaveLength(cases.length);
  });

  test('beside a JSON-RPC error of the handshake delays the next start', async () => {
    const remote = await serve(({ res, body }) => {
      const answer = {
        jsonrpc: '2.0',
        id: idOf(body),
        error: { code: -32_000, message: 'too many sessions' },
      };
      res.setHeader('retry-after', '20');
      answerJson(res, answer, 429);
    });
    const gateway = await gatewayFor(remote.url(), {
      request_timeout_seconds: 2,
      restart: { min_backoff_ms: 10, max_backoff_seconds: 1 },
    });
    const { error } = await callOnce(gateway.url, 'far', 'x');
    expect(error?.message).toContain('too many sessions; the server asks to wait 20 s');
    await sleep(1_500);
    expect(remote.requests).toHaveLength(1);
    await gateway.stop();
  });

  test('of zero seconds does not prevent a retry of the call', async () => {
    let hasRefused = false;
    const remote = await serve((exchange) => {
      const { req, res, body } = exchange;
      if (req.method !== 'POST' || methodOf(body) !== 'tools/call' || hasRefused) return respond(exchange);
      hasRefused = true;
      return void res.writeHead(503, { 'retry-after': '0' }).end('again');
    });
    const gateway = await gatewayFor(remote.url());
    expect((await callOnce(gateway.url, 'far', 'x')).status).toBe(200);
    await gateway.stop();
  });

  test.each([429, 503])('of status %s delays the next start', async (status) => {
    const remote = await serve(
      refusing(
        status,
        () => '20',
        () => true,
      ),
    );
    const gateway = await gatewayFor(remote.url(), {
      request_timeout_seconds: 2,
      restart: { min_backoff_ms: 10, max_backoff_seconds: 1 },
    });
    const { error } = await callOnce(gateway.url, 'far', 'x');
    expect(error?.message).toContain('the server asks to wait 20 s');
    await sleep(1_500);
    expect(remote.requests).toHaveLength(1);
    const record = await http(`${gateway.url}/servers/far`);
    expect(record.body.toString()).toContain('"state":"failed"');
    await gateway.stop();
  });
});
