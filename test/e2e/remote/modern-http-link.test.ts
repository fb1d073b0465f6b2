// A modern link to a server of the public SDK v2, which compares all headers with the body, and to faulty
// servers.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { annotatedSchema } from '../../fixtures/remote/annotated-schemas.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import { notification, request, until } from '../../fixtures/remote/link-recorder.ts';
import { type LiveTimers, watchTimers } from '../../fixtures/remote/live-timers.ts';
import {
  answerJson,
  beginStream,
  type Exchange,
  event,
  idOf,
  result,
} from '../../fixtures/remote/local-server.ts';
import { modernRequest, startModernServer } from '../../fixtures/remote/modern-server.ts';
import { checkGuarantees, modernLink } from '../../fixtures/remote/open-link.ts';

let timers: LiveTimers;

beforeEach(() => {
  timers = watchTimers();
});

afterEach(async () => {
  timers.stop();
  vi.restoreAllMocks();
  await checkGuarantees();
  await endServers();
});

describe('with an SDK server over stateless HTTP', () => {
  test('a call is one POST without a session, with a JSON response', async () => {
    const server = await startModernServer();
    const { link, recorder } = modernLink(server.local.url());
    await link.open();
    link.ready();
    link.send(modernRequest(1, 'server/discover'), 1);
    expect((await recorder.answer(1)).text).toContain('"supportedVersions":["2026-07-28"]');
    link.send(modernRequest(2, 'tools/call', { name: 'echo', arguments: { text: 'hi' } }), 2, {
      traceparent: '00-abc-def-01',
    });
    expect((await recorder.answer(2)).text).toContain('"text":"hi"');
    await link.close();
    expect(server.local.requests.map(({ line }) => line)).toEqual(['POST /mcp', 'POST /mcp']);
    expect(server.local.requests[0]?.headers).not.toHaveProperty('mcp-name');
    expect(server.local.requests[1]?.headers).toMatchObject({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      traceparent: '00-abc-def-01',
    });
    for (const { headers } of server.local.requests) {
      expect(headers).not.toHaveProperty('mcp-session-id');
      expect(headers).not.toHaveProperty('last-event-id');
    }
  });

  test('messages before the answer are passed on with the id of their call', async () => {
    const server = await startModernServer();
    const { link, recorder } = modernLink(server.local.url());
    link.send(modernRequest(2, 'tools/call', { name: 'report', arguments: {} }), 2);
    await recorder.answer(2);
    expect(recorder.messages.map(({ text, call }) => [call, JSON.parse(text).method])).toEqual([
      [2, 'notifications/progress'],
      [2, 'notifications/progress'],
      [2, undefined],
    ]);
  });

  test.each(['größe', ' padded', 'tab\there', '=?base64?bGl0ZXJhbA==?=', '=?base64?=', '天気 ☀️'])(
    'the tool %j is found by the server, because the encoded name in the header matches the body',
    async (name) => {
      // The SDK warns about such names.
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      const server = await startModernServer([name]);
      const { link, recorder } = modernLink(server.local.url());
      link.send(modernRequest(2, 'tools/call', { name, arguments: { text: 'found' } }), 2);
      expect((await recorder.answer(2)).text).toContain('"text":"found"');
    },
  );

  test.each([
    ['resources/read', { uri: 'note://a/b?c#d' }, '"text":"read"'],
    // These resources and tasks do not exist. The server must not reject the request because of the headers.
    ['resources/read', { uri: 'note://a b/größe' }, 'invalid_uri'],
    ['prompts/get', { name: 'größe' }, '"messages":[]'],
    ['tasks/get', { taskId: 'tâche-1' }, '-32601'],
  ])('the request %s of %j names its target in a header', async (method, params, expected) => {
    const server = await startModernServer();
    const { link, recorder } = modernLink(server.local.url());
    link.send(modernRequest(2, method, params), 2);
    expect((await recorder.answer(2)).text).toContain(expected);
    expect(server.local.requests[0]?.headers).toHaveProperty('mcp-name');
  });

  test.each([
    { region: 'us-west1', shard: 42, dry: true, to: { city: 'Zürich' }, query: 'not for headers' },
    { region: ' padded ', shard: -1, dry: false, to: { city: '=?base64?x?=' } },
    { region: '', to: {} },
    { query: 'none of them' },
  ])('annotated parameters are sent in headers that the server accepts: %j', async (args) => {
    const server = await startModernServer();
    const requests: string[] = [];
    const inputSchemaOf = (tool: string): unknown => {
      requests.push(tool);
      return annotatedSchema;
    };
    const { link, recorder } = modernLink(server.local.url(), { inputSchemaOf });
    link.send(modernRequest(2, 'tools/call', { name: 'route', arguments: args }), 2);
    const answer = JSON.parse((await recorder.answer(2)).text);
    expect(JSON.parse(answer.result.content[0].text)).toEqual(args);
    expect(requests).toEqual(['route']);
    const headerNames = Object.keys(server.local.requests[0]?.headers ?? {}).filter((name) =>
      name.startsWith('mcp-param-'),
    );
    const annotated = [args.region, args.shard, args.dry, args.to?.city];
    expect(headerNames).toHaveLength(annotated.filter((value) => value !== undefined).length);
  });

  test('a call with missing headers gets the rejection of the server as its answer', async () => {
    const server = await startModernServer();
    const { link, recorder } = modernLink(server.local.url());
    link.send(modernRequest(2, 'tools/call', { name: 'route', arguments: { region: 'x' } }), 2);
    expect((await recorder.answer(2)).text).toContain('-32020');
    expect(recorder.undelivered).toEqual([]);
  });

  test.each([
    ['an unknown method (404)', modernRequest(2, 'no/such/method'), '-32601'],
    ['an unknown version (400)', modernRequest(2, 'tools/list', {}, '2099-01-01'), '-32022'],
    [
      'a version that is no header text (400)',
      modernRequest(2, 'tools/list', {}, '2026-07-28\r\nX: é'),
      '-32020',
    ],
    ['a method that is no header text (400)', modernRequest(2, 'tools/列\n'), '-32020'],
    ['a message of the older era (400)', request(2, 'tools/list'), '-32602'],
  ])('the error of the server for %s is passed on as its answer', async (_what, message, code) => {
    const server = await startModernServer();
    const { link, recorder } = modernLink(server.local.url());
    link.send(message, 2);
    expect((await recorder.answer(2)).text).toContain(code);
    expect(recorder.ended).toBeUndefined();
  });

  test.each(['hang', 'hang-silently'])(
    'a link that forgets a call (%s) cancels the request, and leaves no state behind',
    async (name) => {
      const server = await startModernServer();
      const { link, recorder } = modernLink(server.local.url());
      link.send(modernRequest(2, 'tools/call', { name, arguments: {} }), 2);
      await until('the call at the server', () => server.begun.includes(name));
      link.forget(2);
      await until('its cancellation', () => server.cancelled.includes(name));
      await server.local.noConnections();
      expect(timers.count).toBe(0);
      expect(recorder.undelivered).toEqual([]);
      link.send(modernRequest(3, 'tools/list'), 3);
      await recorder.answer(3);
    },
  );

  test('a subscription passes on notifications with its call, until the call is forgotten', async () => {
    const server = await startModernServer();
    const { link, recorder } = modernLink(server.local.url());
    const filter = { notifications: { toolsListChanged: true } };
    const methods = (call: number) =>
      recorder.messages.filter((each) => each.call === call).map(({ text }) => JSON.parse(text).method);
    for (const call of [2, 3]) link.send(modernRequest(call, 'subscriptions/listen', filter), call);
    await until('both acknowledged', () => methods(2).length === 1 && methods(3).length === 1);
    server.toolsChanged();
    await until('both told', () => methods(2).length === 2 && methods(3).length === 2);
    link.forget(2);
    server.toolsChanged();
    await until('the second notification', () => methods(3).length === 3);
    expect(methods(2)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ]);
    await server.close();
    expect(JSON.parse((await recorder.answer(3)).text).result.resultType).toBe('complete');
    expect(recorder.undelivered).toEqual([]);
  });
});

describe('a message that expects no answer', () => {
  test('is posted in order, with the right headers', async () => {
    const exchanges: Exchange[] = [];
    const server = await serve((exchange) => void exchanges.push(exchange));
    const { link } = modernLink(server.url());
    for (const name of ['a', 'b']) link.send(notification(`notifications/${name}`));
    await until('the first', () => exchanges.length === 1);
    expect(link.queuedBytes).toBe(notification('notifications/b').length);
    exchanges[0]?.res.writeHead(202).end();
    await until('the second', () => exchanges.length === 2);
    exchanges[1]?.res.writeHead(400).end();
    await until('all taken', () => link.queuedBytes === 0);
    expect(
      server.requests.map(({ headers }) => [headers['mcp-method'], headers['mcp-protocol-version']]),
    ).toEqual([
      ['notifications/a', '2026-07-28'],
      ['notifications/b', '2026-07-28'],
    ]);
  });

  test('is not sent if modern MCP does not have such a message', async () => {
    const server = await serve(({ res, body }) =>
      idOf(body) === 2 ? answerJson(res, result(body)) : void res.writeHead(202).end(),
    );
    const { link, recorder } = modernLink(server.url());
    link.send(notification('notifications/cancelled', { requestId: 2 }));
    link.send(Buffer.from('{"jsonrpc":"2.0","id":7,"result":{}}'));
    link.send(notification('notifications/last'));
    link.send(modernRequest(2, 'tools/list'), 2);
    await recorder.answer(2);
    await until('both requests', () => server.requests.length === 2);
    expect(server.requests.map(({ headers }) => headers['mcp-method']).toSorted()).toEqual([
      'notifications/last',
      'tools/list',
    ]);
  });
});

describe('a server that', () => {
  const cases: [
    string,
    (exchange: Exchange) => void,
    { code: string; mayHaveRun: boolean; message: RegExp },
  ][] = [
    [
      'cuts the stream',
      ({ res }) => {
        beginStream(res);
        res.write('data: {"jsonrpc":"2.0","id"', () => res.destroy());
      },
      { code: 'ERR_CONNECTION_LOST', mayHaveRun: true, message: /lost before the response/ },
    ],
    [
      'ends the stream without an answer, though with event ids',
      ({ res }) => {
        beginStream(res);
        res.end('id: e1\nretry: 10\ndata: {"jsonrpc":"2.0","method":"n"}\n\n');
      },
      { code: 'ERR_CONNECTION_LOST', mayHaveRun: true, message: /ended before the response/ },
    ],
    [
      'cuts the connection',
      ({ res }) => void res.destroy(),
      { code: 'ERR_CONNECTION_LOST', mayHaveRun: true, message: /lost before the response/ },
    ],
    [
      'says 404 without a body',
      ({ res }) => void res.writeHead(404).end(),
      { code: 'ERR_UPSTREAM_PROTOCOL', mayHaveRun: false, message: /responded 404/ },
    ],
    [
      'says 404 to another id',
      ({ res }) =>
        answerJson(res, { jsonrpc: '2.0', id: 99, error: { code: -32001, message: 'session' } }, 404),
      { code: 'ERR_UPSTREAM_PROTOCOL', mayHaveRun: false, message: /responded 404/ },
    ],
    [
      'says 500',
      ({ res }) => void res.writeHead(500).end('oops s3cret-value'),
      { code: 'ERR_UPSTREAM_PROTOCOL', mayHaveRun: true, message: /responded 500.*oops \[redacted\]/ },
    ],
    [
      'says 503',
      ({ res }) => void res.writeHead(503, { 'retry-after': '7' }).end(),
      { code: 'ERR_UPSTREAM_PROTOCOL', mayHaveRun: false, message: /wait 7 s/ },
    ],
    [
      'says 202 to a request',
      ({ res }) => void res.writeHead(202).end(),
      { code: 'ERR_UPSTREAM_PROTOCOL', mayHaveRun: true, message: /202.*JSON-RPC response/ },
    ],
    [
      'answers HTML',
      ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      { code: 'ERR_UPSTREAM_PROTOCOL', mayHaveRun: true, message: /text\/html/ },
    ],
    [
      'redirects',
      ({ res }) => void res.writeHead(307, { location: 'http://127.0.0.1:1/there' }).end(),
      {
        code: 'ERR_UPSTREAM_PROTOCOL',
        mayHaveRun: false,
        message: /this redirect is not followed.*1\/there/,
      },
    ],
  ];

  test.each(cases)('%s fails only the call', async (_what, answer, expected) => {
    const server = await serve((exchange) =>
      idOf(exchange.body) === 2 ? answer(exchange) : answerJson(exchange.res, result(exchange.body)),
    );
    const { link, recorder } = modernLink(server.url());
    link.send(modernRequest(2, 'tools/call', { name: 'x' }), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect({ code: error.code, mayHaveRun }).toEqual({
      code: expected.code,
      mayHaveRun: expected.mayHaveRun,
    });
    expect(error.message).toMatch(expected.message);
    link.send(modernRequest(3, 'tools/list'), 3);
    await recorder.answer(3);
    expect(server.requests.map(({ line }) => line)).toEqual(['POST /mcp', 'POST /mcp']);
    expect(timers.count).toBe(0);
  });

  test.each([400, 404, 500])(
    'sends status %i with a JSON-RPC error has answered the call',
    async (status) => {
      const server = await serve(({ res, body }) =>
        answerJson(
          res,
          { jsonrpc: '2.0', id: idOf(body), error: { code: -32001, message: 'no session' } },
          status,
        ),
      );
      const { link, recorder } = modernLink(server.url());
      link.send(modernRequest(2, 'x'), 2);
      expect((await recorder.answer(2)).text).toContain('-32001');
      expect(recorder.ended).toBeUndefined();
    },
  );

  test('sends session ids does not receive the ids in later requests', async () => {
    const server = await serve(({ res, body }) => {
      res.setHeader('mcp-session-id', 'session-1');
      answerJson(res, result(body));
    });
    const { link, recorder } = modernLink(server.url());
    for (const call of [2, 3]) {
      link.send(modernRequest(call, 'tools/list'), call);
      await recorder.answer(call);
    }
    await link.close();
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.headers).not.toHaveProperty('mcp-session-id');
  });

  test.each(['JSON', 'a stream'])(
    'sends too large a response, as %s, is reported with size and id',
    async (how) => {
      const server = await serve(({ res, body }) => {
        const answer = result(body, { text: 'x'.repeat(5_000) });
        if (how === 'JSON') return answerJson(res, answer);
        beginStream(res);
        res.end(event({ jsonrpc: '2.0', method: 'n' }) + event(answer));
      });
      const { link, recorder } = modernLink(server.url(), { maxMessageBytes: 1_000 });
      link.send(modernRequest(2, 'x'), 2);
      await until('the report', () => recorder.oversized.length > 0);
      expect(recorder.oversized).toEqual([{ size: expect.any(Number), id: '2', call: 2 }]);
      expect(recorder.undelivered).toEqual([]);
    },
  );

  test('is silent for longer than the idle timeout of connections is awaited', async () => {
    const server = await serve(({ res, body }) => {
      if (idOf(body) === 2) beginStream(res);
      setTimeout(() => {
        if (idOf(body) === 2) res.end(event(result(body)));
        else answerJson(res, result(body));
      }, 4_500);
    });
    const { link, recorder } = modernLink(server.url());
    for (const call of [2, 3]) link.send(modernRequest(call, 'x'), call);
    for (const call of [2, 3]) expect((await recorder.answer(call)).call).toBe(call);
  });
});

describe('the end of a connection to a remote server', () => {
  test.each(['close', 'kill'] as const)(
    'by %s leaves no socket and no timer, and sends nothing',
    async (how) => {
      const exchanges: Exchange[] = [];
      const server = await serve((exchange) => {
        exchanges.push(exchange);
        if (idOf(exchange.body) !== 3) return;
        beginStream(exchange.res);
        exchange.res.write(event({ jsonrpc: '2.0', method: 'n' }));
      });
      const { link, recorder } = modernLink(server.url());
      link.send(modernRequest(2, 'x'), 2);
      link.send(modernRequest(3, 'subscriptions/listen'), 3);
      for (const name of ['a', 'b']) link.send(notification(`notifications/${name}`));
      await until('all current requests', () => exchanges.length === 3 && recorder.messages.length === 1);
      await link[how]();
      expect(link.isOver).toBe(true);
      expect(recorder.ended?.code).toBe('ERR_STOPPED');
      await server.noConnections(3_500);
      expect(timers.count).toBe(0);
      expect(link.queuedBytes).toBe(0);
      expect(recorder.undelivered).toEqual([]);
      expect(server.requests).toHaveLength(3);
      link.send(modernRequest(4, 'x'), 4);
      link.send(notification('notifications/c'));
      expect(await recorder.failure(4)).toMatchObject({
        mayHaveRun: false,
        error: { code: 'ERR_STOPPED' },
      });
    },
  );

  test('is reported immediately after open if the address or a header is not allowed', async () => {
    for (const [url, headers] of [
      ['ftp://127.0.0.1/mcp', {}],
      ['http://127.0.0.1/mcp', { 'X-Key': 's3cret-value\n' }],
    ] as const) {
      const { link, recorder } = modernLink(new URL(url), { headers });
      const error = await link.open().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'ERR_START_FAILED' });
      expect(recorder.ended).toBe(error);
    }
  });

  test('can happen inside a message callback, and no message follows', async () => {
    const server = await serve(({ res }) => {
      beginStream(res);
      res.end(Array.from({ length: 50 }, (_, n) => event({ jsonrpc: '2.0', method: `n${n}` })).join(''));
    });
    const { link, recorder } = modernLink(server.url());
    const onMessage = recorder.onMessage.bind(recorder);
    recorder.onMessage = (bytes, call) => {
      onMessage(bytes, call);
      if (bytes.includes('n5')) link.kill();
    };
    link.send(modernRequest(2, 'x'), 2);
    await recorder.end();
    await server.noConnections();
    expect(recorder.messages.at(-1)?.text).toContain('n5');
  });
});

test('configured headers do not replace the headers of the message', async () => {
  const server = await serve(({ res, body }) => answerJson(res, result(body)));
  const headers = { 'X-Key': 's3cret-value', 'Mcp-Method': 'other', 'MCP-Protocol-Version': '2025-11-25' };
  const { link, recorder } = modernLink(server.url(), { headers });
  link.send(modernRequest(2, 'tools/list', {}, '2026-12-31'), 2);
  await recorder.answer(2);
  expect(server.requests[0]?.headers).toMatchObject({
    'x-key': 's3cret-value',
    'mcp-method': 'tools/list',
    'mcp-protocol-version': '2026-12-31',
  });
});

test('an invalid message fails its call unsent, without throwing', async () => {
  const server = await serve(({ res, body }) => answerJson(res, result(body)));
  const { link, recorder } = modernLink(server.url());
  link.send(Buffer.from('{"jsonrpc":'), 2);
  link.send(Buffer.from('nonsense'));
  expect(await recorder.failure(2)).toMatchObject({ mayHaveRun: false, error: { code: 'ERR_INTERNAL' } });
  link.send(modernRequest(3, 'tools/list'), 3);
  await recorder.answer(3);
  expect(server.requests).toHaveLength(1);
});

test('messages and answers are passed on unchanged', async () => {
  const bytes = '{"jsonrpc":"2.0","id":2,"result":{"n":12345678901234567890,"f":1.0,"é":"\\u00e9"}}';
  const server = await serve(
    ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).end(bytes),
  );
  const { link, recorder } = modernLink(server.url(), { inputSchemaOf: () => annotatedSchema });
  const call =
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"r\\u0061","arguments":{"shard":7.0}}}';
  link.send(Buffer.from(call), 2);
  expect((await recorder.answer(2)).text).toBe(bytes);
  expect(server.requests[0]?.body).toBe(call);
  expect(server.requests[0]?.headers).toMatchObject({ 'mcp-name': 'ra', 'mcp-param-shard': '7' });
});
