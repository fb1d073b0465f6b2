// The HTTP API client, over real sockets: requests, responses and all kinds of faults.

import { getEventListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { type ApiRequest, HttpApi, type HttpApiOptions } from '../../../../libs/rest/http-api.ts';
import { RequestFault } from '../../../../libs/rest/request-fault.ts';
import { tlsIdentity } from '../../../fixtures/remote/tls-identity.ts';

const TOKEN = '123456:AAE+x/y-Zz_0';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Reply = (request: Seen, response: ServerResponse) => void;

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function platform(reply: Reply): Promise<{ readonly host: string; readonly received: Seen[] }> {
  const received: Seen[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const recorded = { method, url, headers, body: await text(request) };
    received.push(recorded);
    reply(recorded, response);
  });
  return { host: await listening(server), received };
}

/** Creates an API with the token in URLs and requests. */
function apiAt(host: string, more: Partial<HttpApiOptions> = {}): HttpApi {
  return new HttpApi({
    baseUrl: `http://${host}/bot${TOKEN}/`,
    headers: { authorization: `Bearer ${TOKEN}` },
    timeoutMs: 10_000,
    secrets: [TOKEN],
    ...more,
  });
}

async function faultOf(api: HttpApi, request: ApiRequest): Promise<RequestFault> {
  const error = await api.request(request).then(
    ({ status }) => expect.fail(`was answered ${status}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RequestFault);
  expectNoToken(error);
  return error as RequestFault;
}

function expectNoToken(error: unknown): void {
  const errorText = inspect(error, { depth: 10, showHidden: true }) + String((error as Error).stack);
  expect(errorText).not.toContain(TOKEN.slice(0, 10));
  expect(errorText).not.toContain(encodeURIComponent(TOKEN).slice(0, 10));
}

describe('a request', () => {
  test('extends the base URL, with the headers of the API and its own', async () => {
    const { host, received } = await platform((_, response) => response.end('{}'));
    const api = apiAt(host);
    await api.request({
      method: 'POST',
      path: '/sendMessage',
      query: { a: 'x y&z', b: 2, c: true, d: undefined },
      headers: { 'x-one': '1' },
      json: { text: 'Grüße' },
    });
    await api.request({ method: 'POST', path: '/token', form: { grant: 'a b', secret: 'ä&=' } });
    await api.request({ path: '/getMe' });
    expect(received.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
      `POST /bot${TOKEN}/sendMessage?a=x+y%26z&b=2&c=true {"text":"Grüße"}`,
      `POST /bot${TOKEN}/token grant=a+b&secret=%C3%A4%26%3D`,
      `GET /bot${TOKEN}/getMe `,
    ]);
    const common = { authorization: `Bearer ${TOKEN}`, accept: 'application/json' };
    expect(received.map(({ headers }) => headers)).toMatchObject([
      { ...common, 'x-one': '1', 'content-type': 'application/json' },
      { ...common, 'content-type': 'application/x-www-form-urlencoded' },
      { ...common, 'user-agent': expect.stringMatching(/^actor-gateway\/\d/) },
    ]);
    expect(received[2]?.headers).not.toHaveProperty('content-type');
  });

  test.each([
    '/../secret',
    '/x/%2e%2E/../../admin',
    '.evil.example/x',
    ':1/x',
    '@evil.example/',
    '\\..\\..\\x',
  ])('with the path %s, which leads away from the API, is not sent', async (path) => {
    const { host, received } = await platform((_, response) => response.end('{}'));
    const error: unknown = await apiAt(host)
      .request({ path })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expectNoToken(error);
    expect(received).toEqual([]);
  });

  test.each([
    ['user names', 'http://user:word@host.example'],
    ['queries', `http://host.example/?token=${TOKEN}`],
    ['other protocols', `ftp://host.example/${TOKEN}`],
    ['an invalid URL', `http://[${TOKEN}`],
  ])('is impossible with %s in the base URL', (_, baseUrl) => {
    let error: unknown;
    try {
      new HttpApi({ baseUrl });
    } catch (reason) {
      error = reason;
    }
    expect(error).toBeInstanceOf(TypeError);
    expectNoToken(error);
    expect(inspect(error)).not.toContain('word');
  });

  test('with a header that contains a line break is refused without showing its value', async () => {
    const make = () => apiAt('127.0.0.1:1', { headers: { authorization: `Bearer ${TOKEN}\nx: y` } });
    expect(make).toThrow(TypeError);
    expect(make).not.toThrow(TOKEN);
    const error: unknown = await apiAt('127.0.0.1:9')
      .request({ path: '/x', headers: { 'x-key': `${TOKEN}\r\nx: y` } })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expectNoToken(error);
  });
});

describe('a response', () => {
  test('is returned for any status, parsed if it is JSON', async () => {
    const bodies: Record<string, [number, string]> = {
      '/ok': [200, '{"ok":true}'],
      '/mark': [200, '\ufeff{"ok":true}'],
      '/refused': [403, '{"ok":false,"description":"Forbidden"}'],
      '/page': [502, '<html>Bad gateway</html>'],
      '/moved': [302, ''],
      '/none': [204, ''],
    };
    const { host } = await platform(({ url }, response) => {
      const [status, body] = bodies[url.slice(`/bot${TOKEN}`.length)] ?? [404, ''];
      response.writeHead(status, { 'x-what': 'this', location: 'http://127.0.0.1:1/' }).end(body);
    });
    const api = apiAt(host);
    const messages = [];
    for (const path of Object.keys(bodies)) {
      const answer = await api.request({ path });
      expect(answer.headers.get('x-what')).toBe('this');
      messages.push([answer.status, answer.isOk, answer.json]);
    }
    expect(messages).toEqual([
      [200, true, { ok: true }],
      [200, true, { ok: true }],
      [403, false, { ok: false, description: 'Forbidden' }],
      [502, false, undefined],
      [302, false, undefined],
      [204, true, undefined],
    ]);
    expect((await api.request({ path: '/page' })).text).toBe('<html>Bad gateway</html>');
  });

  test('contains integers beyond the safe range as text, and all else unchanged', async () => {
    const messages =
      '{"id": 900719925474099301, "n":[9007199254740991,-12345678901234567890,1234567890123456.5,12345678901234567e2,0.12345678901234567890], "s":"\\"x\\": 900719925474099301 ü"}';
    const { host } = await platform((_, response) => response.end(messages));
    const { json } = await apiAt(host).request({ path: '/x' });
    expect(json).toEqual({
      id: '900719925474099301',
      n: [
        9007199254740991,
        '-12345678901234567890',
        1234567890123456.5,
        1234567890123456800,
        0.12345678901234568,
      ],
      s: '"x": 900719925474099301 ü',
    });
  });

  test('contains no secrets in its body, in any notation', async () => {
    const spellings = [
      TOKEN,
      encodeURIComponent(TOKEN),
      JSON.stringify(TOKEN).replaceAll('/', '\\/'),
      [...TOKEN].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join(''),
    ];
    const { host } = await platform(({ url }, response) => {
      const spelling = spellings[Number(url.at(-1))] ?? '';
      if (url.includes('page')) response.end(`<p>not found: /bot${spellings[0]}/x, naïve</p>`);
      else response.end(`{"description":"naïve \\u00fc ${spelling.replace(/^"|"$/g, '')}!"}`);
    });
    const api = apiAt(host);
    for (const index of spellings.keys()) {
      const { json } = await api.request({ path: '/x', query: { index } });
      expect(json, spellings[index] ?? '').toEqual({ description: 'naïve ü [token removed]!' });
    }
    expect((await api.request({ path: '/page' })).text).toBe(
      '<p>not found: /bot[token removed]/x, naïve</p>',
    );
  });

  test('keeps its bytes if it contains no secret', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const { host } = await platform((_, response) => response.end(bytes));
    const answer = await apiAt(host).request({ path: '/file' });
    expect(answer.bytes.equals(bytes)).toBe(true);
  });

  test('contains the retry delay', async () => {
    const { host } = await platform((_, response) => response.writeHead(429, { 'retry-after': '7' }).end());
    const answer = await apiAt(host).request({ path: '/x' });
    expect(answer.retryAfterMs).toBe(7_000);
  });
});

describe('an error of an HTTP request', () => {
  test('of a refused connection means that the request has not arrived', async () => {
    const { host } = await platform(() => {});
    await closers.pop()?.();
    const fault = await faultOf(apiAt(host), { method: 'POST', path: '/x', json: {} });
    expect(fault).toMatchObject({ kind: 'unreachable', code: 'ECONNREFUSED', mayHaveArrived: false });
    expect(fault.message).toBe(`${host} could not be reached: ECONNREFUSED`);
  });

  test('of a blocked port is reported as such', async () => {
    const fault = await faultOf(apiAt('127.0.0.1:6000'), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'unreachable', code: 'bad port', mayHaveArrived: false });
  });

  test('of an untrusted certificate occurs before anything is sent', async () => {
    const received: string[] = [];
    const server = createTlsServer(tlsIdentity, (request, response) => {
      received.push(request.url ?? '');
      response.end();
    });
    const host = await listening(server);
    const fault = await faultOf(apiAt(host, { baseUrl: `https://${host}/bot${TOKEN}` }), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'insecure', mayHaveArrived: false });
    expect(fault.message).toContain(fault.code);
    expect(received).toEqual([]);
  });

  test('of a connection lost after sending means that the request may have arrived', async () => {
    const { host, received } = await platform((_, response) => response.destroy());
    const fault = await faultOf(apiAt(host), { method: 'POST', path: '/x', json: {} });
    expect(fault).toMatchObject({ kind: 'broken', mayHaveArrived: true, status: undefined });
    expect(received).toHaveLength(1);
  });

  test('of an interrupted response contains its status', async () => {
    const { host } = await platform((_, response) => {
      response.writeHead(201, { 'content-length': '100' }).write('{"id":', () => response.destroy());
    });
    const fault = await faultOf(apiAt(host), { method: 'POST', path: '/x', json: {} });
    expect(fault).toMatchObject({ kind: 'broken', mayHaveArrived: true, status: 201 });
  });

  test('of a response that is not HTTP is a lost connection', async () => {
    const server = createNetServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('SSH-2.0-OpenSSH_9.9\r\n'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const fault = await faultOf(apiAt(`127.0.0.1:${(server.address() as AddressInfo).port}`), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'broken', mayHaveArrived: true });
  });

  test.each(['before it answers', 'in the middle of its answer'])(
    'of a host that hangs %s is a timeout, and closes the connection',
    async (when) => {
      let closed: Promise<unknown> | undefined;
      const { host } = await platform((_, response) => {
        closed = new Promise((resolve) => response.on('close', resolve));
        if (when !== 'before it answers') response.writeHead(200).write('{');
      });
      const fault = await faultOf(apiAt(host, { timeoutMs: 300 }), { path: '/x' });
      expect(fault).toMatchObject({ kind: 'timeout', mayHaveArrived: true });
      expect(fault.message).toBe(`${host} did not respond within 300 ms`);
      await closed;
    },
  );

  test('does not result from a fractional deadline', async () => {
    const { host, received } = await platform((_, response) => response.end('{}'));
    expect((await apiAt(host).request({ path: '/x', timeoutMs: 3_999.4 })).status).toBe(200);
    expect(received).toHaveLength(1);
  });

  test('of a response above the size limit occurs before its end, also after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(4_000_000));
    const { host } = await platform(({ url }, response) => {
      if (url.endsWith('bomb')) response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      else response.end(Buffer.alloc(1_000));
    });
    const api = apiAt(host, { maxAnswerBytes: 1_000 });
    expect((await api.request({ path: '/fits' })).bytes).toHaveLength(1_000);
    expect(await faultOf(api, { path: '/bomb' })).toMatchObject({ kind: 'too-large', status: 200 });
    const fault = await faultOf(api, { path: '/fits', maxAnswerBytes: 999 });
    expect(fault.message).toBe(`the response of ${host} (200) exceeds 999 bytes`);
  });

  test('of an abort before the start means that the request has not arrived, later that it may have', async () => {
    const { host, received } = await platform(() => leave.abort(new Error(TOKEN)));
    const leave = new AbortController();
    const api = apiAt(host);
    const running = await faultOf(api, { path: '/x', signal: leave.signal });
    expect(running).toMatchObject({ kind: 'aborted', mayHaveArrived: true });
    const late = await faultOf(api, { path: '/x', signal: leave.signal });
    expect(late).toMatchObject({ kind: 'aborted', mayHaveArrived: false });
    expect(received).toHaveLength(1);
  });

  test('leaves no listeners on a long-lived abort signal', async () => {
    const { host } = await platform(({ url }, response) =>
      url.endsWith('lost') ? response.destroy() : response.end('{}'),
    );
    const { signal } = new AbortController();
    const api = apiAt(host);
    for (let count = 0; count < 3; count++) await api.request({ path: '/x', signal });
    await faultOf(api, { path: '/lost', signal });
    await api.request({ path: '/..', signal }).catch(() => {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a redirect', () => {
  async function redirecting(status: number, location: string) {
    return await platform(({ url }, response) => {
      if (url.endsWith('/there')) response.end('{"arrived":true}');
      else response.writeHead(status, { location }).end('moved');
    });
  }

  test.each([301, 302, 303, 307, 308])('with %i is followed within the origin for reads', async (status) => {
    const { host, received } = await redirecting(status, '/repositories/1/there');
    const answer = await apiAt(host, { redirects: 'same-origin' }).request({ path: '/x' });
    expect(answer.json).toEqual({ arrived: true });
    expect(received[1]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  test.each([307, 308])('with %i keeps method and body', async (status) => {
    const { host, received } = await redirecting(status, 'there');
    const api = apiAt(host, { redirects: 'same-origin' });
    expect((await api.request({ method: 'PATCH', path: '/x', json: { a: 1 } })).isOk).toBe(true);
    expect(received.map(({ method, body }) => [method, body])).toEqual([
      ['PATCH', '{"a":1}'],
      ['PATCH', '{"a":1}'],
    ]);
  });

  test.each([
    [301, false],
    [302, false],
    [303, true],
  ])('with %i would change the method of a write, and is not followed', async (status, mayHaveArrived) => {
    const { host, received } = await redirecting(status, 'there');
    const fault = await faultOf(apiAt(host, { redirects: 'same-origin' }), {
      method: 'POST',
      path: '/x',
      json: {},
    });
    expect(fault).toMatchObject({ kind: 'redirected', code: 'moved', status, mayHaveArrived });
    expect(received).toHaveLength(1);
  });

  test('to another origin is not followed, and its address is not reported', async () => {
    const other = await platform((_, response) => response.end('{}'));
    for (const target of [
      `http://${other.host}/${TOKEN}/there`,
      'http://a:b@HOST/there',
      '//evil.example/there',
    ]) {
      const { host, received } = await platform((_, response) =>
        response.writeHead(307, { location: target.replace('HOST', host) }).end(),
      );
      const fault = await faultOf(apiAt(host, { redirects: 'same-origin' }), { path: '/x' });
      expect(fault).toMatchObject({ kind: 'redirected', code: 'elsewhere', mayHaveArrived: false });
      expect(received).toHaveLength(1);
    }
    expect(other.received).toEqual([]);
  });

  test('in a loop ends with a fault', async () => {
    const { host, received } = await redirecting(302, '/round');
    const fault = await faultOf(apiAt(host, { redirects: 'same-origin' }), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'redirected', code: 'circle' });
    expect(received).toHaveLength(4);
  });
});
