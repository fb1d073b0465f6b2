// What the layer above is told when a remote server cannot be reached, refuses, or answers nonsense: which error, for
// which call, and whether the call may have been carried out.

import { afterEach, describe, expect, test } from 'vitest';
import { endServers, serve, serveCalls, serveTcp } from '../../fixtures/remote/bad-servers.ts';
import { request, until } from '../../fixtures/remote/link-recorder.ts';
import { answerJson, type Exchange, idOf, result } from '../../fixtures/remote/local-server.ts';
import { checkPromises, httpLink, shakeHands, sseLink } from '../../fixtures/remote/open-link.ts';

afterEach(async () => {
  await checkPromises();
  await endServers();
});

describe('before anything was sent', () => {
  test('a refused connection means that the call was not carried out', async () => {
    const server = await serve(() => {});
    const url = server.url('/mcp?key=s3cret-value');
    await server.close();
    const { link, seen } = httpLink(url);
    link.send(request(2, 'x'), 2);
    const { error, wasCarriedOut } = await seen.failure(2);
    expect(wasCarriedOut).toBe(false);
    expect(error.code).toBe('ERR_CONNECTION_LOST');
    expect(error.message).toMatch(/^could not connect to http:\/\/127\.0\.0\.1:\d+\/mcp: .*ECONNREFUSED/);
    expect(seen.ended).toBeUndefined();
  });

  test('a host that does not exist means that the call was not carried out', async () => {
    const { link, seen } = httpLink(new URL('http://no-such-host.invalid/mcp'));
    link.send(request(2, 'x'), 2);
    expect(await seen.failure(2)).toMatchObject({
      wasCarriedOut: false,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
  });

  test('a server that does not speak TLS means that the call was not carried out', async () => {
    const { url } = await serveTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    url.protocol = 'https:';
    const { link, seen } = httpLink(url);
    link.send(request(2, 'x'), 2);
    expect(await seen.failure(2)).toMatchObject({
      wasCarriedOut: false,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
  });

  test('a TLS handshake that hangs ends at the deadline for connecting', async () => {
    const { url } = await serveTcp(() => {});
    url.protocol = 'https:';
    const { link, seen } = httpLink(url, { connectTimeoutMs: 80 });
    link.send(request(2, 'x'), 2);
    const { error, wasCarriedOut } = await seen.failure(2);
    expect(error.message).toContain('no connection within 80 ms');
    expect(wasCarriedOut).toBe(false);
  });

  test('an address or a header that HTTP does not allow is refused by open, without showing its value', async () => {
    for (const [url, headers] of [
      ['ftp://127.0.0.1/mcp', {}],
      ['http://127.0.0.1/mcp', { 'X-Key': 's3cret-value\n' }],
      ['http://127.0.0.1/mcp', { 'X Key': 's3cret-value' }],
    ] as const) {
      for (const { link, seen } of [
        httpLink(new URL(url), { headers }),
        sseLink(new URL(url), { headers }),
      ]) {
        const error = await link.open().catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: 'ERR_START_FAILED' });
        expect(String(error)).not.toContain('s3cret');
        expect(seen.ended).toBe(error);
      }
    }
  });

  test('a traceparent that HTTP does not allow fails the call and does not throw', async () => {
    const server = await serve(({ res, body }) => answerJson(res, result(body)));
    const { link, seen } = httpLink(server.url());
    link.send(request(2, 'x'), 2, { traceparent: 'bad\nvalue' });
    expect(await seen.failure(2)).toMatchObject({ wasCarriedOut: false });
    expect(server.requests).toEqual([]);
  });
});

describe('a refusal', () => {
  test.each([
    [400, false],
    [401, false],
    [403, false],
    [429, false],
    [500, true],
    [502, true],
    [503, false],
  ])('with %i says whether the call may have been carried out: %s', async (status, mayBe) => {
    const server = await serveCalls(({ res }) => void res.writeHead(status).end(`because of s3cret-value`));
    const { link, seen } = await shakeHands(httpLink(server.url('/mcp?key=hidden')));
    link.send(request(2, 'x'), 2);
    const { error, wasCarriedOut } = await seen.failure(2);
    expect(wasCarriedOut).toBe(mayBe);
    expect(error.code).toBe('ERR_UPSTREAM_PROTOCOL');
    expect(error.message).toContain(`answered ${status}`);
    expect(error.message).toContain('because of [redacted]');
    expect(error.message).not.toContain('hidden');
    expect(seen.ended).toBeUndefined();
  });

  test('on the first contact names the header to set', async () => {
    const server = await serve(({ res }) => void res.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
    const { link, seen } = httpLink(server.url());
    await expect(shakeHands({ link, seen })).rejects.toThrow(/401.*`headers:`.*mcp-remote/);
  });

  test('that redirects is not followed', async () => {
    const target = await serve(({ res }) => void res.writeHead(200).end());
    const location = `${target.url('/elsewhere').href}?code=hidden`;
    const server = await serveCalls(({ res }) => void res.writeHead(302, { location }).end());
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    const { error, wasCarriedOut } = await seen.failure(2);
    expect(error.message).toContain(target.url('/elsewhere').href);
    expect(error.message).not.toContain('hidden');
    expect(wasCarriedOut).toBe(false);
    expect(target.requests).toEqual([]);
  });

  test.each([400, 404, 500])(
    'with %i and an answer to the call in it delivers the answer',
    async (status) => {
      const server = await serveCalls(({ res, body }) => {
        answerJson(
          res,
          { jsonrpc: '2.0', id: idOf(body), error: { code: -32601, message: 'no such method' } },
          status,
        );
      });
      const { link, seen } = await shakeHands(httpLink(server.url()));
      link.send(request(2, 'x'), 2);
      expect(await seen.answer(2)).toMatchObject({ call: 2, text: expect.stringContaining('-32601') });
      expect(seen.ended).toBeUndefined();
    },
  );

  test('whose body never ends is reported all the same', async () => {
    const server = await serveCalls(({ res }) => void res.writeHead(500).write('half a sentence'));
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await seen.failure(2)).error.message).toContain('half a sentence');
  });

  test('with an endless body is cut short, and its connection given up', async () => {
    let isGivenUp = false;
    const server = await serveCalls(({ res }) => {
      res.writeHead(500);
      const pump = (): void => {
        while (!res.destroyed && res.write('x'.repeat(16_384)));
      };
      res.on('drain', pump);
      res.on('close', () => {
        isGivenUp = true;
      });
      pump();
    });
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await seen.failure(2)).error.message.length).toBeLessThan(500);
    await until('the connection given up', () => isGivenUp);
  });

  test('that breaks off is no answer, even if what came of it looks like one', async () => {
    const server = await serveCalls(({ res, body }) => {
      const text = JSON.stringify(result(body));
      res.writeHead(400, { 'content-type': 'application/json', 'content-length': text.length + 1 });
      res.write(text, () => res.destroy());
    });
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect(await seen.failure(2)).toMatchObject({
      wasCarriedOut: false,
      error: { code: 'ERR_UPSTREAM_PROTOCOL' },
    });
  });
});

describe('a lost session', () => {
  test('after some calls fails the next one as not carried out and ends the link', async () => {
    let calls = 0;
    const server = await serveCalls(({ res, body }) => {
      calls += 1;
      if (calls <= 2) answerJson(res, result(body));
      else res.writeHead(404).end();
    });
    const { link, seen } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3]) {
      link.send(request(call, 'x'), call);
      await seen.answer(call);
    }
    link.send(request(4, 'x'), 4);
    expect(await seen.failure(4)).toMatchObject({
      wasCarriedOut: false,
      error: { code: 'ERR_UPSTREAM_SESSION_EXPIRED' },
    });
    expect((await seen.end()).code).toBe('ERR_UPSTREAM_SESSION_EXPIRED');
    link.send(request(5, 'x'), 5);
    expect(await seen.failure(5)).toMatchObject({ wasCarriedOut: false });
    await link.close();
    expect(server.requests.some(({ line }) => line.startsWith('DELETE'))).toBe(false);
  });

  test('lets the calls that were on their way learn that they were refused, too', async () => {
    const held: Exchange[] = [];
    const server = await serveCalls((exchange) => {
      held.push(exchange);
      if (held.length === 3) for (const { res } of held) res.writeHead(404).end();
    });
    const { link, seen } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3, 4]) link.send(request(call, 'x'), call);
    await seen.end();
    expect(seen.undelivered.map(({ call, wasCarriedOut }) => [call, wasCarriedOut]).toSorted()).toEqual([
      [2, false],
      [3, false],
      [4, false],
    ]);
  });

  test('does not wait long for calls that hang', async () => {
    const server = await serveCalls(({ res, body }) => {
      if (idOf(body) === 3) res.writeHead(404).end();
    });
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    await until('the call that hangs', () => server.requests.some(({ body }) => body.includes('"id":2')));
    link.send(request(3, 'x'), 3);
    await seen.failure(3);
    await seen.end();
    expect(seen.undelivered.map(({ call }) => call)).toEqual([3]);
  });

  test('shows in the answer to a notification as well', async () => {
    const server = await serveCalls(({ res }) => void res.writeHead(404).end());
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled"}'));
    expect((await seen.end()).code).toBe('ERR_UPSTREAM_SESSION_EXPIRED');
  });

  test('without a session is an ordinary refusal', async () => {
    const server = await serve(({ res }) => void res.writeHead(404).end('no such page'));
    const { link, seen } = httpLink(server.url());
    link.send(request(2, 'x'), 2);
    expect((await seen.failure(2)).error.message).toMatch(/404.*no such page.*check the address/);
    expect(seen.ended).toBeUndefined();
  });
});

describe('an answer that breaks the protocol', () => {
  const cases: [string, RegExp, (exchange: Exchange) => void][] = [
    ['202', /202.*without an answer/, ({ res }) => void res.writeHead(202).end()],
    [
      'an empty body',
      /empty body/,
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).end(),
    ],
    ['HTML', /text\/html/, ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['no content type', /content type ""/, ({ res }) => void res.writeHead(200).end('{}')],
    ['another id', /no answer to it/, ({ res }) => answerJson(res, { jsonrpc: '2.0', id: 999, result: {} })],
    [
      'compressed bytes',
      /coding gzip/,
      ({ res }) =>
        void res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('xx'),
    ],
  ];
  test.each(cases)('(%s) fails the call, which may have been carried out', async (_name, message, onCall) => {
    const server = await serveCalls(onCall);
    const { link, seen } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    const { error, wasCarriedOut } = await seen.failure(2);
    expect(error.message).toMatch(message);
    expect(error.code).toBe('ERR_UPSTREAM_PROTOCOL');
    expect(wasCarriedOut).toBe(true);
    link.send(request(3, 'x'), 3);
    await seen.failure(3);
  });

  test('(not HTTP at all) fails the call, which may have been carried out', async () => {
    const { url } = await serveTcp((socket) =>
      socket.once('data', () => socket.end('220 mail.example.com ESMTP\r\n')),
    );
    const { link, seen } = httpLink(url);
    link.send(request(2, 'x'), 2);
    const { error, wasCarriedOut } = await seen.failure(2);
    expect(error.message).toContain('not HTTP');
    expect(error.message).not.toContain('s3cret');
    expect(wasCarriedOut).toBe(true);
  });
});
