// The client of HTTP APIs against real sockets: what it sends, what it reads, and every way in which there is no answer.

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

async function platform(reply: Reply): Promise<{ readonly host: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: await text(request) };
    seen.push(one);
    reply(one, response);
  });
  return { host: await listening(server), seen };
}

/** An API whose every address and every request holds the token. */
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
  const shown = inspect(error, { depth: 10, showHidden: true }) + String((error as Error).stack);
  expect(shown).not.toContain(TOKEN.slice(0, 10));
  expect(shown).not.toContain(encodeURIComponent(TOKEN).slice(0, 10));
}

describe('a request', () => {
  test('goes below the address that was given, with the headers of the API and its own', async () => {
    const { host, seen } = await platform((_, response) => response.end('{}'));
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
    expect(seen.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
      `POST /bot${TOKEN}/sendMessage?a=x+y%26z&b=2&c=true {"text":"Grüße"}`,
      `POST /bot${TOKEN}/token grant=a+b&secret=%C3%A4%26%3D`,
      `GET /bot${TOKEN}/getMe `,
    ]);
    const common = { authorization: `Bearer ${TOKEN}`, accept: 'application/json' };
    expect(seen.map(({ headers }) => headers)).toMatchObject([
      { ...common, 'x-one': '1', 'content-type': 'application/json' },
      { ...common, 'content-type': 'application/x-www-form-urlencoded' },
      { ...common, 'user-agent': expect.stringMatching(/^actor-gateway\/\d/) },
    ]);
    expect(seen[2]?.headers).not.toHaveProperty('content-type');
  });

  test.each([
    '/../secret',
    '/x/%2e%2E/../../admin',
    '.evil.example/x',
    ':1/x',
    '@evil.example/',
    '\\..\\..\\x',
  ])('whose path %s leads away from the API is not sent', async (path) => {
    const { host, seen } = await platform((_, response) => response.end('{}'));
    const error: unknown = await apiAt(host)
      .request({ path })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expectNoToken(error);
    expect(seen).toEqual([]);
  });

  test.each([
    ['user names', 'http://user:word@host.example'],
    ['queries', `http://host.example/?token=${TOKEN}`],
    ['other protocols', `ftp://host.example/${TOKEN}`],
    ['what is no address', `http://[${TOKEN}`],
  ])('cannot be made with %s in the address of the API', (_, baseUrl) => {
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

  test('cannot have a header that would become two, and its value is not told', async () => {
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

describe('an answer', () => {
  test('is an answer whatever its status, as JSON where it is JSON', async () => {
    const bodies: Record<string, [number, string]> = {
      '/ok': [200, '{"ok":true}'],
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
    const said = [];
    for (const path of Object.keys(bodies)) {
      const answer = await api.request({ path });
      expect(answer.headers.get('x-what')).toBe('this');
      said.push([answer.status, answer.isOk, answer.json]);
    }
    expect(said).toEqual([
      [200, true, { ok: true }],
      [403, false, { ok: false, description: 'Forbidden' }],
      [502, false, undefined],
      [302, false, undefined],
      [204, true, undefined],
    ]);
    expect((await api.request({ path: '/page' })).text).toBe('<html>Bad gateway</html>');
  });

  test('has integers that no number can hold as text, and all else as it is', async () => {
    const said =
      '{"id": 900719925474099301, "n":[9007199254740991,-12345678901234567890,1234567890123456.5,12345678901234567e2,0.12345678901234567890], "s":"\\"x\\": 900719925474099301 ü"}';
    const { host } = await platform((_, response) => response.end(said));
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

  test('has none of the secrets in its body, in whatever way they are written (HC4, WS1)', async () => {
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

  test('keeps its bytes where nothing was taken out', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const { host } = await platform((_, response) => response.end(bytes));
    const answer = await apiAt(host).request({ path: '/file' });
    expect(answer.bytes.equals(bytes)).toBe(true);
  });

  test('says for how long to stay away', async () => {
    const { host } = await platform((_, response) => response.writeHead(429, { 'retry-after': '7' }).end());
    const answer = await apiAt(host).request({ path: '/x' });
    expect(answer.retryAfterMs).toBe(7_000);
  });
});

describe('without an answer that can be used', () => {
  test('a host that nobody listens at was not reached, so nothing arrived (RF2)', async () => {
    const { host } = await platform(() => {});
    await closers.pop()?.();
    const fault = await faultOf(apiAt(host), { method: 'POST', path: '/x', json: {} });
    expect(fault).toMatchObject({ kind: 'unreachable', code: 'ECONNREFUSED', mayHaveArrived: false });
    expect(fault.message).toBe(`${host} could not be reached: ECONNREFUSED`);
  });

  test('a port that is not asked for web pages is told as what it is', async () => {
    const fault = await faultOf(apiAt('127.0.0.1:6000'), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'unreachable', code: 'bad port', mayHaveArrived: false });
  });

  test('a certificate that nobody vouches for ends it before anything is sent', async () => {
    const seen: string[] = [];
    const server = createTlsServer(tlsIdentity, (request, response) => {
      seen.push(request.url ?? '');
      response.end();
    });
    const host = await listening(server);
    const fault = await faultOf(apiAt(host, { baseUrl: `https://${host}/bot${TOKEN}` }), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'insecure', mayHaveArrived: false });
    expect(fault.message).toContain(fault.code);
    expect(seen).toEqual([]);
  });

  test('a connection that is lost once the request was sent may have brought it there (HC3)', async () => {
    const { host, seen } = await platform((_, response) => response.destroy());
    const fault = await faultOf(apiAt(host), { method: 'POST', path: '/x', json: {} });
    expect(fault).toMatchObject({ kind: 'broken', mayHaveArrived: true, status: undefined });
    expect(seen).toHaveLength(1);
  });

  test('an answer that breaks off tells its status', async () => {
    const { host } = await platform((_, response) => {
      response.writeHead(201, { 'content-length': '100' }).write('{"id":', () => response.destroy());
    });
    const fault = await faultOf(apiAt(host), { method: 'POST', path: '/x', json: {} });
    expect(fault).toMatchObject({ kind: 'broken', mayHaveArrived: true, status: 201 });
  });

  test('what is no HTTP is a connection that was lost', async () => {
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
    'a host that hangs %s is given up, and its connection',
    async (when) => {
      let closed: Promise<unknown> | undefined;
      const { host } = await platform((_, response) => {
        closed = new Promise((resolve) => response.on('close', resolve));
        if (when !== 'before it answers') response.writeHead(200).write('{');
      });
      const fault = await faultOf(apiAt(host, { timeoutMs: 300 }), { path: '/x' });
      expect(fault).toMatchObject({ kind: 'timeout', mayHaveArrived: true });
      expect(fault.message).toBe(`${host} gave no answer within 300 ms`);
      await closed;
    },
  );

  test('a deadline may be what is left of another one, a fraction of a millisecond included', async () => {
    const { host, seen } = await platform((_, response) => response.end('{}'));
    expect((await apiAt(host).request({ path: '/x', timeoutMs: 3_999.4 })).status).toBe(200);
    expect(seen).toHaveLength(1);
  });

  test('an answer beyond the bound is not read to its end, as it is after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(4_000_000));
    const { host } = await platform(({ url }, response) => {
      if (url.endsWith('bomb')) response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      else response.end(Buffer.alloc(1_000));
    });
    const api = apiAt(host, { maxAnswerBytes: 1_000 });
    expect((await api.request({ path: '/fits' })).bytes).toHaveLength(1_000);
    expect(await faultOf(api, { path: '/bomb' })).toMatchObject({ kind: 'too-large', status: 200 });
    const fault = await faultOf(api, { path: '/fits', maxAnswerBytes: 999 });
    expect(fault.message).toBe(`${host} answered 200 with more than 999 bytes`);
  });

  test('one that was given up before it began has not arrived, one that runs may have', async () => {
    const { host, seen } = await platform(() => leave.abort(new Error(TOKEN)));
    const leave = new AbortController();
    const api = apiAt(host);
    const running = await faultOf(api, { path: '/x', signal: leave.signal });
    expect(running).toMatchObject({ kind: 'aborted', mayHaveArrived: true });
    const late = await faultOf(api, { path: '/x', signal: leave.signal });
    expect(late).toMatchObject({ kind: 'aborted', mayHaveArrived: false });
    expect(seen).toHaveLength(1);
  });

  test('nothing is left at a signal that outlives its requests', async () => {
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

  test.each([301, 302, 303, 307, 308])(
    'of %i is followed within the origin by what reads',
    async (status) => {
      const { host, seen } = await redirecting(status, '/repositories/1/there');
      const answer = await apiAt(host, { redirects: 'same-origin' }).request({ path: '/x' });
      expect(answer.json).toEqual({ arrived: true });
      expect(seen[1]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    },
  );

  test.each([307, 308])('of %i takes method and body with it', async (status) => {
    const { host, seen } = await redirecting(status, 'there');
    const api = apiAt(host, { redirects: 'same-origin' });
    expect((await api.request({ method: 'PATCH', path: '/x', json: { a: 1 } })).isOk).toBe(true);
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['PATCH', '{"a":1}'],
      ['PATCH', '{"a":1}'],
    ]);
  });

  test.each([
    [301, false],
    [302, false],
    [303, true],
  ])(
    'of %i would make something else of what writes, and is not followed',
    async (status, mayHaveArrived) => {
      const { host, seen } = await redirecting(status, 'there');
      const fault = await faultOf(apiAt(host, { redirects: 'same-origin' }), {
        method: 'POST',
        path: '/x',
        json: {},
      });
      expect(fault).toMatchObject({ kind: 'redirected', code: 'moved', status, mayHaveArrived });
      expect(seen).toHaveLength(1);
    },
  );

  test('to another origin is not followed, and nothing of it is told (HC2)', async () => {
    const other = await platform((_, response) => response.end('{}'));
    for (const target of [
      `http://${other.host}/${TOKEN}/there`,
      'http://a:b@HOST/there',
      '//evil.example/there',
    ]) {
      const { host, seen } = await platform((_, response) =>
        response.writeHead(307, { location: target.replace('HOST', host) }).end(),
      );
      const fault = await faultOf(apiAt(host, { redirects: 'same-origin' }), { path: '/x' });
      expect(fault).toMatchObject({ kind: 'redirected', code: 'elsewhere', mayHaveArrived: false });
      expect(seen).toHaveLength(1);
    }
    expect(other.seen).toEqual([]);
  });

  test('in a circle comes to an end', async () => {
    const { host, seen } = await redirecting(302, '/round');
    const fault = await faultOf(apiAt(host, { redirects: 'same-origin' }), { path: '/x' });
    expect(fault).toMatchObject({ kind: 'redirected', code: 'circle' });
    expect(seen).toHaveLength(4);
  });
});
