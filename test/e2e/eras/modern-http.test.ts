// Requests of the modern era by plain HTTP, for each HTTP engine: header rules, status codes, streams, and
// cancellation by disconnect (2026-07-28, Streamable HTTP).

import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import {
  type Answer,
  apiServer,
  ask,
  call,
  eventually,
  initialize,
  JSON_TYPE,
  latch,
  message,
  post,
} from '../../fixtures/clients/api-client.ts';
import {
  listenAsk,
  modern,
  modernStream,
  prepared,
  SERVER_INFO,
  textOf,
  toolCall,
} from '../../fixtures/clients/modern-client.ts';
import { details, stats } from '../../fixtures/clients/raw-session.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';

let remote: RemoteBothEras;

beforeAll(async () => {
  remote = await bothErasOverHttp();
});

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const codeOf = ({ status, json }: Answer) => [status, json?.error?.code, json?.id];

describe.each(httpEnginesInTurn)('the modern MCP protocol over %s', (http) => {
  let gateway: GatewayProcess;
  let all: string;
  let own: string;
  let legacy: string;

  beforeAll(async () => {
    gateway = await startGateway({
      http,
      settings: { allowed_origins: ['https://app.example'] },
      servers: {
        own: { ...bothErasOverStdio(), era: 'modern' },
        api: apiServer(),
        far: { url: remote.url, era: 'modern' },
        'far-legacy': { url: remote.url, era: 'legacy' },
      },
    });
    all = `${gateway.url}/mcp`;
    own = `${gateway.url}/mcp/own`;
    legacy = `${gateway.url}/mcp/api`;
    for (const id of ['own', 'api', 'far', 'far-legacy'])
      expect((await modern(`${all}/${id}`, { method: 'tools/list' })).error).toBeUndefined();
  });

  describe('a modern MCP request', () => {
    test('without the version header is rejected, and not treated as a legacy request', async () => {
      const request = toolCall(
        'echo',
        {},
        { headers: { 'mcp-protocol-version': undefined, accept: 'text/html' } },
      );
      expect(codeOf(await modern(own, request))).toEqual([400, -32020, 1]);
    });

    test('with the version header but without metadata in the body is rejected', async () => {
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
      expect(codeOf(await post(own, message('tools/list', {}, '7'), headers))).toEqual([400, -32602, '7']);
    });

    test('without version header and metadata is handled by the rules of the legacy protocol', async () => {
      expect((await post(own, message('tools/list'))).status).toBe(400);
      const session = await initialize(legacy);
      expect((await post(legacy, call('echo', { a: 1 }), session)).json.result.content[0].text).toBe(
        '{"a":1}',
      );
      expect(
        (await ask(legacy, { method: 'POST', body: message('ping'), headers: { 'content-type': JSON_TYPE } }))
          .status,
      ).toBe(406);
    });

    test('needs no particular Accept header', async () => {
      for (const accept of ['text/html', '', 'application/json;q=0'])
        expect((await modern(own, { method: 'tools/list', headers: { accept } })).error).toBeUndefined();
    });

    test('ignores a session id and a Last-Event-ID, and creates no session', async () => {
      const headers = { 'mcp-session-id': 'nobody', 'last-event-id': 'nowhere' };
      for (const address of [own, legacy, all]) {
        const answer = await modern(address, { method: 'server/discover', headers });
        expect([answer.status, answer.headers['mcp-session-id']]).toEqual([200, undefined]);
      }
    });

    test('cannot be a batch', async () => {
      const { body, headers } = prepared({ method: 'tools/list' });
      const answer = await post(own, `[${body}]`, headers);
      expect([answer.status, answer.json.error.code]).toEqual([400, -32600]);
    });

    test('cannot use GET and DELETE', async () => {
      for (const method of ['GET', 'DELETE'])
        for (const address of [own, all]) {
          const answer = await ask(address, { method, headers: { 'mcp-protocol-version': '2026-07-28' } });
          expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
        }
    });
  });

  describe('the headers of a modern MCP request', () => {
    test.each([
      ['no method', { 'mcp-method': undefined }],
      ['another method', { 'mcp-method': 'tools/list' }],
      ['the method in another case', { 'mcp-method': 'Tools/Call' }],
      ['no name', { 'mcp-name': undefined }],
      ['another name', { 'mcp-name': 'stats' }],
      ['the name in another case', { 'mcp-name': 'Echo' }],
      ['another name in Base64', { 'mcp-name': base64('stats') }],
      ['a name in broken Base64', { 'mcp-name': '=?base64?ZWNo!w==?=' }],
      ['a name in Base64 without its padding', { 'mcp-name': '=?base64?ZWNobw?=' }],
      ['a marker in capitals', { 'mcp-name': '=?BASE64?ZWNobw==?=' }],
      ['another version', { 'mcp-protocol-version': '2025-11-25' }],
      ['a version of the future', { 'mcp-protocol-version': '2027-01-01' }],
    ])('do not match the body and are rejected: %s', async (_, headers) => {
      for (const address of [own, legacy, all])
        expect(codeOf(await modern(address, toolCall('echo', {}, { headers, id: '"x"' })))).toEqual([
          400,
          -32020,
          'x',
        ]);
    });

    test('may contain the tool name in Base64', async () => {
      const answer = await modern(
        own,
        toolCall('echo', { a: 1 }, { headers: { 'mcp-name': base64('echo') } }),
      );
      expect([answer.status, textOf(answer)]).toEqual([200, '{"a":1}']);
    });

    test('must have the tool name in Base64 if it is no valid header text, or if it looks like Base64', async () => {
      for (const name of ['größe', 'a\nb', ' x ', '=?base64?eA==?=', '']) {
        const headers = { headers: { 'mcp-name': base64(name) } };
        const answer = await modern(own, toolCall(name, {}, headers));
        expect([answer.status, answer.json.error.message]).toEqual([
          200,
          expect.stringContaining(`no tool ${name}`),
        ]);
        expect(codeOf(await modern(own, toolCall(`${name}2`, {}, headers)))).toEqual([400, -32020, 1]);
      }
    });

    test('are rejected if they contain bytes that are no valid header text, even if the body has the same bytes', async () => {
      const port = new URL(own).port;
      const { body } = prepared(toolCall('é'));
      const answer = await raw(Number(port), [
        'POST /mcp/own HTTP/1.1',
        `Host: 127.0.0.1:${port}`,
        'Content-Type: application/json',
        'MCP-Protocol-Version: 2026-07-28',
        'Mcp-Method: tools/call',
        'Mcp-Name: é',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
        '',
        body,
      ]);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('"code":-32020');
    });

    test('must also match the resource URI or the prompt name in the body', async () => {
      const uri = 'test://static-text';
      const resourceRequest = { method: 'resources/read', params: { uri } };
      const prompt = { method: 'prompts/get', params: { name: 'test_simple_prompt' } };
      for (const request of [resourceRequest, prompt]) {
        expect((await modern(own, request)).error).toBeUndefined();
        for (const name of [undefined, 'x'])
          expect(codeOf(await modern(own, { ...request, headers: { 'mcp-name': name } }))).toEqual([
            400, -32020, 1,
          ]);
      }
    });

    test('must not contain a tool name if the tool call in the body has none', async () => {
      const nameless = { method: 'tools/call', params: { arguments: {} } };
      expect((await modern(all, nameless)).json.error.code).toBe(-32602);
      expect(codeOf(await modern(all, { ...nameless, headers: { 'mcp-name': 'x' } }))).toEqual([
        400, -32020, 1,
      ]);
      const other = { method: 'tools/list', headers: { 'mcp-name': 'whatever' } };
      expect((await modern(all, other)).error).toBeUndefined();
    });
  });

  describe('the metadata of a modern MCP request', () => {
    test('is rejected with 400 for an unsupported protocol version', async () => {
      for (const protocolVersion of ['2027-01-01', '2025-11-25', 'tomorrow', '']) {
        const headers = { 'mcp-protocol-version': protocolVersion };
        const answer = await modern(own, {
          method: 'tools/list',
          meta: { protocolVersion },
          headers,
          id: '"v"',
        });
        expect(codeOf(answer)).toEqual([400, -32022, 'v']);
        expect(answer.json.error.data).toEqual({ supported: ['2026-07-28'], requested: protocolVersion });
      }
    });

    test.each([
      ['no capabilities', { clientCapabilities: undefined }],
      ['capabilities that are no object', { clientCapabilities: [] }],
      ['an unknown log level', { logLevel: 'loud' }],
      ['a log level that is no text', { logLevel: 7 }],
    ])('is rejected with 400 for %s', async (_, meta) => {
      for (const address of [own, legacy, all])
        expect(codeOf(await modern(address, { method: 'tools/list', meta }))).toEqual([400, -32602, 1]);
    });

    test('needs no client info', async () => {
      const meta = { clientInfo: undefined };
      for (const address of [own, legacy])
        expect((await modern(address, { ...toolCall('echo', { a: 1 }), meta })).error).toBeUndefined();
    });
  });

  describe('the response to a modern MCP request', () => {
    test.each([
      'initialize',
      'ping',
      'logging/setLevel',
      'resources/subscribe',
      'resources/unsubscribe',
      'no/such',
      'constructor',
    ])('has status 404 for the unknown method %s', async (method) => {
      for (const address of [own, legacy, all, `${all}/far`, `${all}/far-legacy`]) {
        const params = method.startsWith('resources/') ? { uri: 'test://static-text' } : { level: 'info' };
        const answer = await modern(address, { method, params, id: '9007199254740993' });
        expect([answer.status, answer.json.error.code]).toEqual([404, -32601]);
        expect(answer.text).toContain('"id":9007199254740993');
      }
    });

    test('has status 200 for the error of a tool', async () => {
      for (const address of [own, `${all}/far`, `${all}/far-legacy`])
        for (const code of [-32601, -32602, -32603, -32050])
          expect(codeOf(await modern(address, toolCall('fail', { code })))).toEqual([200, code, 1]);
    });

    test('has status 400 for a missing client capability that a tool requires', async () => {
      for (const address of [own, `${all}/far`])
        expect(codeOf(await modern(address, toolCall('test_missing_capability')))).toEqual([400, -32021, 1]);
    });

    test('has status 200 and an error for an unknown tool, prompt or resource, and 404 for an unknown server', async () => {
      expect(codeOf(await modern(all, toolCall('nobody__knows')))).toEqual([200, -32602, 1]);
      expect((await modern(`${all}/nobody`, { method: 'tools/list' })).status).toBe(404);
      expect(codeOf(await modern(all, { method: 'prompts/get', params: { name: 'x' } }))).toEqual([
        200, -32602, 1,
      ]);
      expect(codeOf(await modern(all, { method: 'resources/read', params: { uri: 'x://y' } }))).toEqual([
        200, -32602, 1,
      ]);
    });

    test('has status 202 for a notification, which has no effect, with or without metadata', async () => {
      const gate = latch();
      const holding = modern(legacy, toolCall('hold', { until: gate.path }, { id: '77' }));
      await eventually('the call', async () => (await details(gateway.url, 'api')).in_flight === 1);
      const params = { requestId: 77, reason: 'no' };
      for (const request of [
        { method: 'notifications/cancelled', params, id: null },
        { method: 'notifications/no/such', id: null },
        { method: 'notifications/cancelled', params, id: null, headers: { 'mcp-method': undefined } },
      ]) {
        const answer = await modern(legacy, request);
        expect([answer.status, answer.text]).toEqual([202, '']);
      }
      const bare = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      expect((await post(legacy, bare, { 'mcp-protocol-version': '2026-07-28' })).status).toBe(202);
      gate.open();
      expect(textOf(await holding)).toBe('held');
    });

    test('has status 400 if the client sends a response instead of a request', async () => {
      const headers = { 'mcp-protocol-version': '2026-07-28' };
      const answer = await post(own, '{"jsonrpc":"2.0","id":5,"result":{}}', headers);
      expect([answer.status, answer.json.error.code]).toEqual([400, -32600]);
    });

    test('has a result that contains the server info and is marked complete', async () => {
      const [mine, everyone] = [
        await modern(own, { method: 'tools/list' }),
        await modern(all, { method: 'tools/list' }),
      ];
      expect(mine.json.result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
      expect(mine.json.result._meta[SERVER_INFO].name).toBe('both-eras');
      expect(everyone.json.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
      expect(everyone.json.result._meta[SERVER_INFO].name).toBe('actor-gateway');
      expect((await modern(legacy, toolCall('echo'))).json.result.resultType).toBe('complete');
    });
  });

  describe('a modern tool call with arguments in headers', () => {
    const region = (args: unknown, header: string | undefined) =>
      toolCall('region', args, { headers: { 'mcp-param-region': header } });

    test('is answered if headers and arguments match', async () => {
      for (const [address, name] of [
        [own, 'region'],
        [`${all}/far`, 'region'],
        [`${all}/far-legacy`, 'region'],
        [all, 'own__region'],
      ] as const) {
        for (const [value, header] of [
          ['us-west1', 'us-west1'],
          ['us-west1', base64('us-west1')],
          ['größe', base64('größe')],
          [null, undefined],
        ] as const) {
          const { headers = {} } = region({}, header);
          const answer = await modern(address, toolCall(name, { region: value, query: 'q' }, { headers }));
          expect([answer.status, JSON.parse(textOf(answer)).given]).toEqual([
            200,
            { region: value, query: 'q' },
          ]);
        }
        expect((await modern(address, toolCall(name, { query: 'q' }))).error).toBeUndefined();
      }
    });

    test.each([
      ['is missing', { region: 'us' }, undefined],
      ['differs', { region: 'us' }, 'eu'],
      ['differs in its case', { region: 'us' }, 'US'],
      ['is present for a missing argument', {}, 'us'],
      ['is present for null', { region: null }, 'us'],
      ['is broken Base64', { region: 'us' }, '=?base64?dX?='],
      ['is bytes that are no text', { region: '\ufffd' }, '=?base64?/w==?='],
    ])('is rejected if a header %s', async (_, args, header) => {
      for (const address of [own, `${all}/far`, `${all}/far-legacy`])
        expect(codeOf(await modern(address, region(args, header)))).toEqual([400, -32020, 1]);
      const { headers = {} } = region(args, header);
      expect(codeOf(await modern(all, toolCall('own__region', args, { headers })))).toEqual([400, -32020, 1]);
    });

    test('is answered despite headers that the tool does not require', async () => {
      const headers = { 'mcp-param-other': 'x', 'mcp-param-region': 'x' };
      expect((await modern(own, toolCall('echo', {}, { headers }))).error).toBeUndefined();
    });
  });

  describe('the response body of a modern MCP request', () => {
    test('is JSON if the result is the first message', async () => {
      const answer = await modern(legacy, toolCall('echo', {}, { meta: { progressToken: 'p' } }));
      expect([answer.status, answer.headers['content-type']]).toEqual([200, JSON_TYPE]);
    });

    test('is an event stream without event ids if progress comes first, in order, with the result at the end', async () => {
      for (const address of [own, `${all}/far`, `${all}/far-legacy`]) {
        const stream = modernStream(
          address,
          toolCall('slow', { steps: 5, ms: 5 }, { meta: { progressToken: 'p' }, id: '"s"' }),
        );
        await stream.ended();
        expect(stream.status).toBe(200);
        expect(stream.headers).toMatchObject({
          'content-type': 'text/event-stream',
          'x-accel-buffering': 'no',
        });
        expect(stream.text).not.toMatch(/^(id|retry):/m);
        expect(stream.messages.map(({ json }) => json.params?.progress ?? json.id)).toEqual([
          1,
          2,
          3,
          4,
          5,
          's',
        ]);
        expect(stream.messages.slice(0, -1).every(({ json }) => json.params.progressToken === 'p')).toBe(
          true,
        );
      }
    });

    test('is an event stream with keepalive comments if the result takes long', async () => {
      const gate = latch();
      const stream = modernStream(legacy, toolCall('hold', { until: gate.path }));
      await stream.until('the first comment', ({ text }) => text.startsWith(':'));
      expect(stream.messages).toEqual([]);
      gate.open();
      await stream.ended();
      expect(stream.messages.map(textOf)).toEqual(['held']);
    });
  });

  describe('a modern MCP request is cancelled', () => {
    const cancelled = () => remote.sharedState.statistics.cancelled.length;
    const wait = (id: string, inFlight: number) =>
      eventually(
        `${inFlight} in flight at ${id}`,
        async () => (await details(gateway.url, id)).in_flight === inFlight,
      );

    test.each(['far', 'far-legacy'])(
      'when the client disconnects before the response begins, at the remote server %s',
      async (id) => {
        const before = cancelled();
        const { length } = remote.sharedState.statistics.calls;
        const stream = modernStream(`${all}/${id}`, toolCall('hang'));
        await eventually('the call', () => remote.sharedState.statistics.calls.length > length);
        expect(stream.status).toBe(0);
        stream.drop();
        await eventually('the cancellation', () => cancelled() === before + 1);
        await wait(id, 0);
      },
    );

    test.each(['far', 'far-legacy'])(
      'when the client disconnects during the event stream, at the remote server %s',
      async (id) => {
        const before = cancelled();
        const stream = modernStream(
          `${all}/${id}`,
          toolCall('slow', { steps: 1000, ms: 20 }, { meta: { progressToken: 1 } }),
        );
        await stream.until('progress', ({ messages }) => messages.length > 1);
        stream.drop();
        await eventually('the cancellation', () => cancelled() === before + 1);
        await wait(id, 0);
      },
    );

    test('when the client disconnects, at a stdio server of the modern or the legacy protocol', async () => {
      const linesOf = async (): Promise<string[]> =>
        JSON.parse(textOf(await modern(own, toolCall('stats')))).cancelled;
      const before = (await linesOf()).length;
      const hanging = modernStream(own, toolCall('hang'));
      await wait('own', 1);
      hanging.drop();
      await eventually('the cancellation', async () => (await linesOf()).length === before + 1);
      const gate = latch();
      const holding = modernStream(legacy, toolCall('hold', { until: gate.path }));
      await wait('api', 1);
      holding.drop();
      await wait('api', 0);
      gate.open();
    });

    test('when the client disconnects from /mcp, and no request remains in flight', async () => {
      const before = cancelled();
      const stream = modernStream(all, toolCall('far__hang'));
      await wait('far', 1);
      stream.drop();
      await eventually('the cancellation', () => cancelled() === before + 1);
      const { in_flight } = (await stats(gateway.url)).requests;
      expect(in_flight).toBe(0);
    });

    test('at /rpc', async () => {
      const before = cancelled();
      const stream = modernStream(
        `${gateway.url}/rpc`,
        toolCall('hang', {}, { headers: { 'x-mcp-server': 'far' } }),
      );
      await wait('far', 1);
      stream.drop();
      await eventually('the cancellation', () => cancelled() === before + 1);
    });

    test('when the client stays connected but does not read a large stream', async () => {
      const { body, headers } = prepared(
        toolCall(
          'talk',
          { before: 40, after: 40, bytes: 1 << 20, until: latch().path },
          { meta: { progressToken: 1 } },
        ),
      );
      const port = Number(new URL(own).port);
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {});
      const head = Object.entries({
        host: `127.0.0.1:${port}`,
        ...headers,
        'content-length': Buffer.byteLength(body),
      });
      socket.write(
        `POST /mcp/api HTTP/1.1\r\n${head.map(([key, value]) => `${key}: ${value}`).join('\r\n')}\r\n\r\n${body}`,
      );
      socket.pause();
      await wait('api', 1);
      await wait('api', 0);
      socket.destroy();
    });
  });

  describe('at /rpc', () => {
    const rpc = { 'x-mcp-server': 'own' };

    test('a modern MCP request is answered in JSON, and needs no headers', async () => {
      const headers = {
        ...rpc,
        'mcp-protocol-version': undefined,
        'mcp-method': undefined,
        'mcp-name': undefined,
      };
      const request = toolCall('slow', { steps: 3, ms: 1 }, { headers, meta: { progressToken: 1 } });
      const answer = await modern(`${gateway.url}/rpc`, request);
      expect([answer.status, answer.headers['content-type']]).toEqual([200, JSON_TYPE]);
      expect(answer.json.result.resultType).toBe('complete');
    });

    test('a modern MCP request is rejected if its headers contradict its body, or if it opens a listen stream', async () => {
      const headers = { ...rpc, 'mcp-name': 'other' };
      expect(codeOf(await modern(`${gateway.url}/rpc`, toolCall('echo', {}, { headers })))).toEqual([
        400, -32020, 1,
      ]);
      const listen = await modern(
        `${gateway.url}/rpc`,
        listenAsk({ toolsListChanged: true }, { headers: rpc }),
      );
      expect([listen.json.error.code, listen.json.id]).toEqual([-32601, 1]);
      const unsupportedVersion = {
        method: 'tools/list',
        meta: { protocolVersion: '2027-01-01' },
        headers: rpc,
      };
      expect(codeOf(await modern(`${gateway.url}/rpc`, unsupportedVersion))).toEqual([400, -32022, 1]);
    });
  });

  describe('a modern MCP request of a web page', () => {
    test('may have all headers of the protocol and of tool arguments, but no others', async () => {
      const expected =
        'content-type,mcp-method,mcp-name,mcp-param-region,mcp-param-x-y,mcp-protocol-version,x-other,mcp-param-,mcp-param-a b';
      const answer = await ask(own, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': expected,
        },
      });
      expect(answer.status).toBe(204);
      const allowed = String(answer.headers['access-control-allow-headers']).split(', ');
      for (const name of [
        'mcp-method',
        'mcp-name',
        'mcp-protocol-version',
        'content-type',
        'mcp-param-region',
        'mcp-param-x-y',
      ])
        expect(allowed).toContain(name);
      for (const name of ['x-other', 'mcp-param-', 'mcp-param-a b']) expect(allowed).not.toContain(name);
    });

    test('is answered only for an allowed origin, as JSON and as a stream', async () => {
      const origin = 'https://app.example';
      const json = await modern(own, { method: 'tools/list', headers: { origin } });
      expect([json.status, json.headers['access-control-allow-origin']]).toEqual([200, origin]);
      const stream = modernStream(
        own,
        toolCall('slow', {}, { meta: { progressToken: 1 }, headers: { origin } }),
      );
      await stream.ended();
      expect(stream.headers['access-control-allow-origin']).toBe(origin);
      for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }])
        expect((await modern(own, { method: 'tools/list', headers })).status).toBe(403);
    });
  });
});

/** Sends text unchanged in Latin-1. Returns the whole response. */
function raw(port: number, lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const head = Buffer.from(`${lines.slice(0, -1).join('\r\n')}\r\n`, 'latin1');
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', reject).on('close', () => resolve(text));
    socket.write(Buffer.concat([head, Buffer.from(lines.at(-1) ?? '')]));
  });
}

describe.each(httpEnginesInTurn)(
  'the modern MCP protocol at the limits and at a shutdown, over %s',
  (http) => {
    test('above limits.in_flight a request fails with its id and Retry-After', async () => {
      const gateway = await startGateway({
        http,
        servers: { api: apiServer() },
        settings: { limits: { in_flight: 4 } },
      });
      const address = `${gateway.url}/mcp/api`;
      const gate = latch();
      const holding = [1, 2].map(() => modern(address, toolCall('hold', { until: gate.path })));
      await eventually('both', async () => (await details(gateway.url, 'api')).in_flight === 2);
      const refusal = await modern(address, toolCall('echo', {}, { id: '"third"' }));
      expect(codeOf(refusal)).toEqual([200, -32000, 'third']);
      expect(refusal.headers['retry-after']).toBe('1');
      gate.open();
      expect((await Promise.all(holding)).map(textOf)).toEqual(['held', 'held']);
      expect((await modern(address, toolCall('echo'))).json.error).toBeUndefined();
    });

    test('each listen stream of a modern client counts towards limits.sessions', async () => {
      const gateway = await startGateway({
        http,
        servers: { api: apiServer() },
        settings: { limits: { sessions: 3 } },
      });
      const address = `${gateway.url}/mcp`;
      await initialize(address);
      const listens = [1, 2].map(() => modernStream(address, listenAsk({ toolsListChanged: true })));
      for (const listen of listens) await listen.opened();
      const refusal = await modern(address, listenAsk({ toolsListChanged: true }, { id: '"x"' }));
      expect([...codeOf(refusal), refusal.json.error.data.reason]).toEqual([
        200,
        -32000,
        'x',
        'ERR_OVERLOADED',
      ]);
      expect(refusal.headers['retry-after']).toBe('1');
      const session = await post(
        address,
        message('initialize', {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'c', version: '1' },
        }),
      );
      expect([session.status, session.json.error.data.reason]).toEqual([200, 'ERR_OVERLOADED']);
      expect(session.headers['mcp-session-id']).toBeUndefined();
      listens[0]?.drop();
      await eventually('room', async () => {
        const listen = modernStream(address, listenAsk({ toolsListChanged: true }));
        await listen.opened();
        return listen.status === 200;
      });
    });

    test('a modern MCP request without a valid API key is refused with 401 or 403', async () => {
      const gateway = await startGateway({
        http,
        servers: { api: apiServer() },
        settings: { api_key: 'a-key-of-some-length' },
      });
      const address = `${gateway.url}/mcp/api`;
      expect((await modern(address, toolCall('echo'))).status).toBe(401);
      expect((await modern(address, listenAsk({}))).status).toBe(401);
      expect(
        (await modern(address, toolCall('echo', {}, { headers: { 'x-api-key': 'wrong' } }))).status,
      ).toBe(403);
      expect(
        (await modern(address, toolCall('echo', {}, { headers: { 'x-api-key': 'a-key-of-some-length' } })))
          .status,
      ).toBe(200);
    });

    test('when the gateway stops, listen streams are completed, calls are answered or get an error, and the exit is in time', async () => {
      const gateway = await startGateway({
        http,
        servers: { api: apiServer() },
        settings: { shutdown_seconds: 4 },
      });
      const address = `${gateway.url}/mcp/api`;
      const gate = latch();
      const answered = modern(address, toolCall('hold', { until: gate.path }, { id: '"a"' }));
      const abandoned = modern(address, toolCall('hold', { until: latch().path }, { id: '"b"' }));
      const streaming = modernStream(
        address,
        toolCall('talk', { before: 1, until: latch().path }, { id: '"c"', meta: { progressToken: 1 } }),
      );
      await streaming.until('progress', ({ messages }) => messages.length === 1);
      const listens = [address, `${gateway.url}/mcp`].map((at) =>
        modernStream(at, listenAsk({ toolsListChanged: true }, { id: '"l"' })),
      );
      await listens[1]?.opened();
      await eventually('all calls', async () => (await details(gateway.url, 'api')).in_flight === 3);
      const since = Date.now();
      const exited = gateway.stop();
      await listens[1]?.ended();
      expect(listens[1]?.messages.at(-1)?.json).toMatchObject({
        id: 'l',
        result: { resultType: 'complete' },
      });
      const late = await modern(address, toolCall('echo', {}, { id: '"late"' }));
      expect(codeOf(late)).toEqual([503, -32000, 'late']);
      expect(late.headers['retry-after']).toBe('1');
      gate.open();
      expect(textOf(await answered)).toBe('held');
      expect(codeOf(await abandoned)).toEqual([200, -32000, 'b']);
      await streaming.ended();
      expect(streaming.messages.at(-1)?.json).toMatchObject({ id: 'c', error: { code: -32000 } });
      expect(await exited).toBe(0);
      expect(Date.now() - since).toBeLessThan(20_000);
    });
  },
);
