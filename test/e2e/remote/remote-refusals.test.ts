// Errors of links when a remote server is unreachable, refuses requests, or sends invalid data: the error,
// the affected call, and whether the call may have been executed.

import { afterEach, describe, expect, test } from 'vitest';
import { endServers, serve, serveCalls, serveTcp } from '../../fixtures/remote/bad-servers.ts';
import { request, until } from '../../fixtures/remote/link-recorder.ts';
import { answerJson, type Exchange, idOf, result } from '../../fixtures/remote/local-server.ts';
import { checkGuarantees, httpLink, shakeHands, sseLink } from '../../fixtures/remote/open-link.ts';

afterEach(async () => {
  await checkGuarantees();
  await endServers();
});

describe('before a byte was sent', () => {
  test('a refused connection means that the call was not executed', async () => {
    const server = await serve(() => {});
    const url = server.url('/mcp?key=s3cret-value');
    await server.close();
    const { link, recorder } = httpLink(url);
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(mayHaveRun).toBe(false);
    expect(error.code).toBe('ERR_CONNECTION_LOST');
    expect(error.message).toMatch(/^could not connect to http:\/\/127\.0\.0\.1:\d+\/mcp: .*ECONNREFUSED/);
    expect(recorder.ended).toBeUndefined();
  });

  test('an unknown host means that the call was not executed', async () => {
    const { link, recorder } = httpLink(new URL('http://no-such-host.invalid/mcp'));
    link.send(request(2, 'x'), 2);
    expect(await recorder.failure(2)).toMatchObject({
      mayHaveRun: false,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
  });

  test('a server without TLS means that the call was not executed', async () => {
    const { url } = await serveTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    url.protocol = 'https:';
    const { link, recorder } = httpLink(url);
    link.send(request(2, 'x'), 2);
    expect(await recorder.failure(2)).toMatchObject({
      mayHaveRun: false,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
  });

  test('a hanging TLS handshake is aborted at the connect timeout', async () => {
    const { url } = await serveTcp(() => {});
    url.protocol = 'https:';
    const { link, recorder } = httpLink(url, { connectTimeoutMs: 80 });
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(error.message).toContain('no connection within 80 ms');
    expect(mayHaveRun).toBe(false);
  });

  test('an invalid URL or header fails the opening with an error that does not contain it', async () => {
    for (const [url, headers] of [
      ['ftp://127.0.0.1/mcp', {}],
      ['http://127.0.0.1/mcp', { 'X-Key': 's3cret-value\n' }],
      ['http://127.0.0.1/mcp', { 'X Key': 's3cret-value' }],
    ] as const) {
      for (const { link, recorder } of [
        httpLink(new URL(url), { headers }),
        sseLink(new URL(url), { headers }),
      ]) {
        const error = await link.open().catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: 'ERR_START_FAILED' });
        expect(String(error)).not.toContain('s3cret');
        expect(recorder.ended).toBe(error);
      }
    }
  });

  test('a traceparent that is invalid as a header fails the call without an exception', async () => {
    const server = await serve(({ res, body }) => answerJson(res, result(body)));
    const { link, recorder } = httpLink(server.url());
    link.send(request(2, 'x'), 2, { traceparent: 'bad\nvalue' });
    expect(await recorder.failure(2)).toMatchObject({ mayHaveRun: false });
    expect(server.requests).toEqual([]);
  });
});

describe('a refusal by a remote server', () => {
  test.each([
    [400, false],
    [401, false],
    [403, false],
    [429, false],
    [500, true],
    [502, true],
    [503, false],
  ])('with %i reports whether the call may have been executed: %s', async (status, mayBe) => {
    const server = await serveCalls(({ res }) => void res.writeHead(status).end(`because of s3cret-value`));
    const { link, recorder } = await shakeHands(httpLink(server.url('/mcp?key=hidden')));
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(mayHaveRun).toBe(mayBe);
    expect(error.code).toBe('ERR_UPSTREAM_PROTOCOL');
    expect(error.message).toContain(`responded ${status}`);
    expect(error.message).toContain('because of [redacted]');
    expect(error.message).not.toContain('hidden');
    expect(recorder.ended).toBeUndefined();
  });

  test('with 401 at the first contact causes an error that names the setting for headers', async () => {
    const server = await serve(({ res }) => void res.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
    const { link, recorder } = httpLink(server.url());
    await expect(shakeHands({ link, recorder })).rejects.toThrow(/401.*`headers:`.*mcp-remote/);
  });

  test('with a redirect is not followed', async () => {
    const target = await serve(({ res }) => void res.writeHead(200).end());
    const location = `${target.url('/elsewhere').href}?code=hidden`;
    const server = await serveCalls(({ res }) => void res.writeHead(302, { location }).end());
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(error.message).toContain(target.url('/elsewhere').href);
    expect(error.message).not.toContain('hidden');
    expect(mayHaveRun).toBe(false);
    expect(target.requests).toEqual([]);
  });

  test.each([400, 404, 500])(
    'with %i whose body is the answer to the call delivers the answer',
    async (status) => {
      const server = await serveCalls(({ res, body }) => {
        answerJson(
          res,
          { jsonrpc: '2.0', id: idOf(body), error: { code: -32601, message: 'no such method' } },
          status,
        );
      });
      const { link, recorder } = await shakeHands(httpLink(server.url()));
      link.send(request(2, 'x'), 2);
      expect(await recorder.answer(2)).toMatchObject({ call: 2, text: expect.stringContaining('-32601') });
      expect(recorder.ended).toBeUndefined();
    },
  );

  test('with a body that never ends is reported with the part received so far', async () => {
    const server = await serveCalls(({ res }) => void res.writeHead(500).write('half a sentence'));
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await recorder.failure(2)).error.message).toContain('half a sentence');
  });

  test('with a flood as body is truncated, and its connection is closed', async () => {
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
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await recorder.failure(2)).error.message.length).toBeLessThan(500);
    await until('the closed connection', () => isGivenUp);
  });

  test('that breaks off is not used as a response, even if its part is valid JSON-RPC', async () => {
    const server = await serveCalls(({ res, body }) => {
      const text = JSON.stringify(result(body));
      res.writeHead(400, { 'content-type': 'application/json', 'content-length': text.length + 1 });
      res.write(text, () => res.destroy());
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect(await recorder.failure(2)).toMatchObject({
      mayHaveRun: false,
      error: { code: 'ERR_UPSTREAM_PROTOCOL' },
    });
  });
});

describe('the loss of a session at a remote server', () => {
  test('fails the next call as not executed, and closes the connection', async () => {
    let calls = 0;
    const server = await serveCalls(({ res, body }) => {
      calls += 1;
      if (calls <= 2) answerJson(res, result(body));
      else res.writeHead(404).end();
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3]) {
      link.send(request(call, 'x'), call);
      await recorder.answer(call);
    }
    link.send(request(4, 'x'), 4);
    expect(await recorder.failure(4)).toMatchObject({
      mayHaveRun: false,
      error: { code: 'ERR_UPSTREAM_SESSION_EXPIRED' },
    });
    expect((await recorder.end()).code).toBe('ERR_UPSTREAM_SESSION_EXPIRED');
    link.send(request(5, 'x'), 5);
    expect(await recorder.failure(5)).toMatchObject({ mayHaveRun: false });
    await link.close();
    expect(server.requests.some(({ line }) => line.startsWith('DELETE'))).toBe(false);
  });

  test('fails all current calls as not executed when each is refused', async () => {
    const exchanges: Exchange[] = [];
    const server = await serveCalls((exchange) => {
      exchanges.push(exchange);
      if (exchanges.length === 3) for (const { res } of exchanges) res.writeHead(404).end();
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3, 4]) link.send(request(call, 'x'), call);
    await recorder.end();
    expect(recorder.undelivered.map(({ call, mayHaveRun }) => [call, mayHaveRun]).toSorted()).toEqual([
      [2, false],
      [3, false],
      [4, false],
    ]);
  });

  test('closes the connection soon, even if other calls hang', async () => {
    const server = await serveCalls(({ res, body }) => {
      if (idOf(body) === 3) res.writeHead(404).end();
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    await until('the hanging call', () => server.requests.some(({ body }) => body.includes('"id":2')));
    link.send(request(3, 'x'), 3);
    await recorder.failure(3);
    await recorder.end();
    expect(recorder.undelivered.map(({ call }) => call)).toEqual([3]);
  });

  test('is also detected by a 404 for a notification', async () => {
    const server = await serveCalls(({ res }) => void res.writeHead(404).end());
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled"}'));
    expect((await recorder.end()).code).toBe('ERR_UPSTREAM_SESSION_EXPIRED');
  });

  test('is not assumed after a 404 of a server that uses no sessions', async () => {
    const server = await serve(({ res }) => void res.writeHead(404).end('no such page'));
    const { link, recorder } = httpLink(server.url());
    link.send(request(2, 'x'), 2);
    expect((await recorder.failure(2)).error.message).toMatch(/404.*no such page.*check the address/);
    expect(recorder.ended).toBeUndefined();
  });
});

describe('an answer that violates the protocol', () => {
  const cases: [string, RegExp, (exchange: Exchange) => void][] = [
    ['202', /202.*JSON-RPC response/, ({ res }) => void res.writeHead(202).end()],
    [
      'an empty body',
      /empty body/,
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).end(),
    ],
    ['HTML', /text\/html/, ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['no content type', /content type ""/, ({ res }) => void res.writeHead(200).end('{}')],
    ['another id', /not its response/, ({ res }) => answerJson(res, { jsonrpc: '2.0', id: 999, result: {} })],
    [
      'compressed bytes',
      /coding gzip/,
      ({ res }) =>
        void res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('xx'),
    ],
  ];
  test.each(cases)('(%s) fails the call, which may have been executed', async (_name, message, onCall) => {
    const server = await serveCalls(onCall);
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(error.message).toMatch(message);
    expect(error.code).toBe('ERR_UPSTREAM_PROTOCOL');
    expect(mayHaveRun).toBe(true);
    link.send(request(3, 'x'), 3);
    await recorder.failure(3);
  });

  test('(not HTTP) fails the call, which may have been executed', async () => {
    const { url } = await serveTcp((socket) =>
      socket.once('data', () => socket.end('220 mail.example.com ESMTP\r\n')),
    );
    const { link, recorder } = httpLink(url);
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(error.message).toContain('invalid HTTP response');
    expect(error.message).not.toContain('s3cret');
    expect(mayHaveRun).toBe(true);
  });
});
