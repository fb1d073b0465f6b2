// Invalid requests on all endpoints that accept a body, for each HTTP engine with the built program: the
// response has an error status and a JSON-RPC error, no server is called, and the gateway continues.

import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  apiServer,
  ask,
  BOTH,
  call,
  initialize,
  introduction,
  JSON_TYPE,
  message,
  post,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';

const LIMIT = 4096;

const unknownServer = {
  jsonrpc: '2.0',
  id: null,
  error: {
    code: -32000,
    message: expect.stringMatching(/^there is no server ".*" in the catalog/),
    data: { reason: 'ERR_UNKNOWN_SERVER' },
  },
};

describe.each(httpEngines)('bad input on %s', (http) => {
  let gateway: GatewayProcess;
  let url: string;
  let session: Record<string, string>;

  beforeAll(async () => {
    gateway = await startGateway({
      http,
      settings: { limits: { body_bytes: LIMIT } },
      servers: { api: apiServer() },
    });
    url = gateway.url;
    session = await initialize(`${url}/mcp/api`);
  });

  afterAll(() => {
    expect(gateway.logs().filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  });

  /** The two addresses for messages to a server. */
  const addresses = [
    ['/mcp/:id', (body: string, headers = {}) => post(`${url}/mcp/api`, body, { ...session, ...headers })],
    ['/rpc', (body: string, headers = {}) => rpc(url, 'api', body, headers)],
  ] as const;

  test('a client with too large client info is rejected, because its session would store it', async () => {
    const params = { protocolVersion: '2025-11-25', clientInfo: { name: 'x'.repeat(70_000), version: '1' } };
    const roomy = await startGateway({ http, servers: { api: apiServer() } });
    const body = message('initialize', { ...params, capabilities: {} });
    const answer = await post(`${roomy.url}/mcp/api`, body);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id: 1, error: { code: -32602 } });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
  });

  describe.each(addresses)('at %s', (_, send) => {
    test.each([
      ['nothing', ''],
      ['no JSON', 'hello'],
      ['half a message', '{"jsonrpc":"2.0","id":1,"method":'],
      ['more than a message', `${message('ping')} {}`],
      ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
      ['single quotes', "{'jsonrpc':'2.0'}"],
      ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
      ['a raw control character', '{"jsonrpc":"2.0","id":1,"method":"pi\u0000ng"}'],
      ['a line break in a string', '{"jsonrpc":"2.0","id":1,"method":"pi\nng"}'],
      [
        'deep nesting',
        `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(1500)}${']'.repeat(1500)}}}`,
      ],
    ])('a body with invalid JSON (%s) returns 400 with −32700 and a null id', async (_name, body) => {
      const answer = await send(body);
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32700, message: expect.any(String) },
      });
    });

    test.each([
      ['a batch', `[${message('ping')}]`, null],
      ['an empty batch', '[]', null],
      ['a string', '"ping"', null],
      ['null', 'null', null],
      ['another version', '{"jsonrpc":"1.0","id":7,"method":"ping"}', 7],
      ['no version', '{"id":7,"method":"ping"}', 7],
      ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', null],
      ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', null],
      ['an id of 2 kB', message('ping', undefined, 'i'.repeat(2000)), null],
      ['two ids', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', null],
      ['a number as method', '{"jsonrpc":"2.0","id":7,"method":7}', null],
      ['two methods', '{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}', null],
      [
        'two names',
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","n\\u0061me":"pid"}}',
        null,
      ],
      ['neither method nor result', '{"jsonrpc":"2.0","id":7}', 7],
      ['a request with a result', '{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}', 7],
      ['a number as params', '{"jsonrpc":"2.0","id":7,"method":"ping","params":7}', 7],
    ])('an invalid JSON-RPC message (%s) returns 400 with −32600', async (_name, body, id) => {
      const answer = await send(body);
      expect([answer.status, answer.json.error.code]).toEqual([400, -32600]);
      expect([id, null]).toContain(answer.json.id);
    });

    test('bytes that are not UTF-8 return 400 with −32700', async () => {
      const bytes = Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}'),
      ]);
      const answer = await send(bytes as unknown as string);
      expect([answer.status, answer.json.error.code]).toEqual([400, -32700]);
    });

    test.each([
      'text/plain',
      'application/json-patch+json',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      '',
    ])('the content type %j returns 415', async (type) => {
      const answer = await send(call('echo'), { 'content-type': type });
      expect([answer.status, answer.json.error.code]).toEqual([415, -32600]);
    });

    test('a compressed body returns 415', async () => {
      const body = gzipSync(call('echo')) as unknown as string;
      const answer = await send(body, { 'content-encoding': 'gzip' });
      expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'identity']);
      expect((await send(call('echo'), { 'content-encoding': 'identity' })).status).toBe(200);
    });

    test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json ;charset=utf-8'])(
      'the content type %j is accepted',
      async (type) => expect((await send(call('echo'), { 'content-type': type })).status).toBe(200),
    );

    test('a body above limits.body_bytes returns 413, with a length or in chunks; a body at the limit passes', async () => {
      const sized = (bytes: number) => {
        const bare = call('echo', { pad: '' });
        return call('echo', { pad: 'x'.repeat(bytes - bare.length) });
      };
      expect((await send(sized(LIMIT))).status).toBe(200);
      const answer = await send(sized(LIMIT + 1));
      expect([answer.status, answer.json.error.code]).toEqual([413, -32600]);
      expect(answer.json.error.message).toMatch(/body/);
    });

    test.each([
      ['mcp-method', 'tools/list', call('echo')],
      ['mcp-name', 'pid', call('echo')],
      ['mcp-name', `=?base64?${Buffer.from('pid').toString('base64')}?=`, call('echo')],
      ['mcp-name', 'b', message('prompts/get', { name: 'a' })],
      ['mcp-name', 'file:///b', message('resources/read', { uri: 'file:///a' })],
      ['mcp-name', 'echo', message('tools/call', {})],
    ])('the header %s: %s that differs from the body returns 400 with −32020', async (name, value, body) => {
      const answer = await send(body, { [name]: value });
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ id: 1, error: { code: -32020 } });
    });

    test('the headers mcp-method and mcp-name are accepted if they match the body', async () => {
      const plain = { 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
      expect((await send(call('echo'), plain)).status).toBe(200);
      const encoded = `=?base64?${Buffer.from('echo').toString('base64')}?=`;
      expect((await send(call('echo'), { 'mcp-name': encoded })).status).toBe(200);
    });

    test('a notification returns 202 without a body', async () => {
      const answer = await send('{"jsonrpc":"2.0","method":"notifications/whatever"}');
      expect([answer.status, answer.text]).toEqual([202, '']);
    });

    test('JSON-RPC errors of an MCP server are returned unchanged', async () => {
      const answer = await send(call('fail', {}, 'my-id'));
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({
        jsonrpc: '2.0',
        id: 'my-id',
        error: { code: -32099, message: 'no such luck', data: { big: '9007199254740993', list: [1, null] } },
      });
      expect((await send(message('no/such/method'))).json.error.code).toBe(-32601);
    });

    test('a message with line breaks reaches the server as one message', async () => {
      const body = JSON.stringify(JSON.parse(call('echo', { a: [1, 2] })), null, 2).replaceAll('\n', '\r\n');
      const answer = await send(body);
      expect(answer.json.result.content[0].text).toBe('{"a":[1,2]}');
    });
  });

  describe('at /mcp', () => {
    test.each([
      ['application/json'],
      ['text/event-stream'],
      ['text/html'],
      ['application/json;q=0, text/event-stream'],
    ])('a POST that accepts only %s returns 406', async (accept) => {
      const answer = await post(`${url}/mcp`, message('ping'), { accept });
      expect([answer.status, answer.json.error.code]).toEqual([406, -32600]);
    });

    test('a POST without Accept returns 406', async () => {
      const headers = { 'content-type': JSON_TYPE };
      expect((await ask(`${url}/mcp`, { method: 'POST', body: message('ping'), headers })).status).toBe(406);
    });

    test.each([
      '*/*',
      'application/*, text/*',
      'text/event-stream; q=0.5 , application/json',
      'APPLICATION/JSON, Text/Event-Stream',
    ])('a POST that accepts %s passes', async (accept) => {
      const answer = await post(`${url}/mcp/api`, message('ping'), { ...session, accept });
      expect(answer.status).toBe(200);
    });

    test.each(['POST', 'GET', 'DELETE'])(
      '%s to an unknown server returns 404 with −32000',
      async (method) => {
        const headers = { accept: BOTH, 'content-type': JSON_TYPE };
        const options = method === 'POST' ? { body: message('initialize', introduction('2025-11-25')) } : {};
        const answer = await ask(`${url}/mcp/none`, { method, headers, ...options });
        expect([answer.status, answer.headers['content-type']]).toEqual([404, JSON_TYPE]);
        expect(answer.json).toEqual(unknownServer);
      },
    );

    test('a GET that does not accept a stream returns 406', async () => {
      const answer = await ask(`${url}/mcp/api`, { headers: { ...session, accept: JSON_TYPE } });
      expect(answer.status).toBe(406);
    });

    test('a request with MCP-Protocol-Version 2026-07-28 must be a POST with metadata in its body', async () => {
      const headers = { ...session, 'mcp-protocol-version': '2026-07-28' };
      const posted = await post(`${url}/mcp/api`, message('ping'), headers);
      expect([posted.status, posted.json.error.code, posted.json.id]).toEqual([400, -32602, 1]);
      for (const method of ['GET', 'DELETE']) {
        const answer = await ask(`${url}/mcp/api`, { method, headers: { ...headers, accept: BOTH } });
        expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
      }
    });

    test.each(['1.0', '2025-11-26', 'latest', '2025-11-25, 2025-11-25'])(
      'the MCP-Protocol-Version %s returns 400, for POST and GET',
      async (version) => {
        const headers = { ...session, 'mcp-protocol-version': version };
        const posted = await post(`${url}/mcp/api`, message('ping'), headers);
        expect([posted.status, posted.json.error.code]).toEqual([400, -32600]);
        expect(posted.json.error.message).toContain('2025-11-25');
        expect((await ask(`${url}/mcp/api`, { headers: { ...headers, accept: BOTH } })).status).toBe(400);
      },
    );

    test.each([
      ['params are missing', undefined],
      ['the version is missing', { capabilities: {}, clientInfo: {} }],
      ['the version is a number', { ...introduction('2025-11-25'), protocolVersion: 20251125 }],
      ['params are a list', []],
    ])(
      'an initialize request where %s returns error −32602 and creates no session',
      async (_name, params) => {
        const answer = await post(`${url}/mcp`, message('initialize', params, 5));
        expect([answer.status, answer.json.id, answer.json.error.code]).toEqual([200, 5, -32602]);
        expect(answer.headers['mcp-session-id']).toBeUndefined();
      },
    );

    test.each(['not-an-id', '../../etc/passwd', 'x'.repeat(5000), "' or 1=1", '__proto__'])(
      'the session id %s returns 404',
      async (id) => {
        const headers = { 'mcp-session-id': Buffer.from(id).toString('latin1') };
        const answer = await post(`${url}/mcp/api`, message('ping', undefined, 'p'), headers);
        expect([answer.status, answer.json.id, answer.json.error.code]).toEqual([404, 'p', -32001]);
      },
    );

    test.each(['abc', '1', '-1', '1-', '1-2-3', '999999999999999999999-1', '1_2', '0x1-1'])(
      'the Last-Event-ID %s returns 400',
      async (id) => {
        const headers = { ...session, accept: BOTH, 'last-event-id': id };
        expect((await ask(`${url}/mcp/api`, { headers })).status).toBe(400);
      },
    );
  });

  describe('at /rpc', () => {
    test('a request without X-MCP-Server returns 400 with −32600 and names the missing header', async () => {
      const answer = await post(`${url}/rpc`, call('echo'));
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32600, message: expect.stringMatching(/X-MCP-Server/) },
      });
    });

    test.each(['none', 'API', '../api', 'api, api', '__proto__', 'x'.repeat(3000)])(
      'the unknown server %s returns 404 with −32000',
      async (id) => {
        const answer = await rpc(url, id, call('echo'));
        expect(answer.status).toBe(404);
        expect(answer.json).toEqual({ ...unknownServer, id: 1 });
        expect(answer.text.length).toBeLessThan(400);
      },
    );

    test('a message without a request id to an unknown server returns an error with the id null', async () => {
      for (const body of ['{"jsonrpc":"2.0","method":"x"}', '{"jsonrpc":"2.0","id":7,"result":{}}'])
        expect((await rpc(url, 'none', body)).json).toEqual(unknownServer);
    });

    test('an unknown server that resembles a known one is reported with a suggestion', async () => {
      const unknown = await rpc(url, 'appi', call('echo', {}, 'x'));
      expect(unknown.json).toMatchObject({
        id: 'x',
        error: { message: expect.stringMatching(/did you mean api\?$/) },
      });
      const similarToNone = await rpc(url, 'quite-different', call('echo'));
      expect(similarToNone.json.error.message).toMatch(/GET \/servers lists the available servers$/);
    });

    test('initialize is rejected', async () => {
      const answer = await rpc(url, 'api', message('initialize', introduction('2025-11-25'), 9));
      expect(answer.json).toMatchObject({
        id: 9,
        error: { code: -32600, message: expect.stringMatching(/\/mcp/) },
      });
      expect(answer.headers['mcp-session-id']).toBeUndefined();
    });

    test.each(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])(
      '%s is rejected, because its effect would outlast the request',
      async (method) => {
        const answer = await rpc(url, 'api', message(method, { level: 'debug', uri: 'a:b' }));
        expect(answer.json.error.code).toBe(-32601);
      },
    );

    test('a JSON-RPC response sent by a client is rejected', async () => {
      const answer = await rpc(url, 'api', '{"jsonrpc":"2.0","id":1,"result":{}}');
      expect([answer.status, answer.json.error.code]).toEqual([400, -32600]);
    });

    test('a response is JSON, also after notifications', async () => {
      const params = { name: 'talk', arguments: { before: 3 }, _meta: { progressToken: 1 } };
      const answer = await rpc(url, 'api', message('tools/call', params), { accept: 'text/event-stream' });
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json.result.content[0].text).toBe('talked');
    });
  });

  test.each([
    '/mcp/api%0d%0aX-Injected:%20yes',
    '/mcp/%00',
    '/mcp/..%2fservers',
    '/mcp/%2e%2e',
    '/mcp/../servers',
    '/servers/%',
    '/servers/%zz',
    '/servers/%ff',
    '/servers/%c0%ae',
    '/servers/api%2fstart',
    '/servers/%0a',
    '/servers/api;x=1',
    '/servers/a\\b',
    '/%73ervers',
    '/servers/%2561pi',
  ])('a request for the path %s returns 404, and the path injects no response header', async (path) => {
    const client = await RawClient.connect(gateway.port);
    client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const answer = await client.answer();
    expect(answer.status).toBe(404);
    expect(answer.headers.has('x-injected')).toBe(false);
    const error = path.startsWith('/mcp/') && !path.includes('../') ? unknownServer.error : 'Not Found';
    expect(JSON.parse(answer.body.toString())).toMatchObject({ error });
    client.destroy();
  });

  test('an id is percent-decoded once', async () => {
    expect((await ask(`${url}/servers/%61pi`)).json.id).toBe('api');
  });

  test.each([
    [
      'two lengths',
      'POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    ],
    ['another coding', 'POST /rpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n{}'],
    ['two hosts', 'GET /servers HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n'],
  ])('a request with %s is rejected', async (_name, bytes) => {
    const client = await RawClient.connect(gateway.port);
    client.write(bytes);
    const answer = await client.answer().catch(() => undefined);
    expect([400, 403, undefined]).toContain(answer?.status);
    client.destroy();
    expect((await ask(`${url}/health`)).status).toBe(200);
  });

  test('an HTTP method named like a JavaScript object property causes no internal error: 400, 405 or a closed connection', async () => {
    for (const method of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const client = await RawClient.connect(gateway.port);
      client.write(`${method} /servers HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const answer = await client.answer().catch(() => undefined);
      expect([400, 405, undefined]).toContain(answer?.status);
      client.destroy();
    }
  });

  test('after all invalid input of this suite the MCP server still runs in its first process and answers', async () => {
    const { pids } = (await ask(`${url}/servers/api`)).json;
    expect(pids).toHaveLength(1);
    expect((await rpc(url, 'api', call('pid'))).json.result.content[0].text).toBe(String(pids[0]));
  });
});
