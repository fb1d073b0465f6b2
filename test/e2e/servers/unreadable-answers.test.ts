// Responses of servers that are not valid JSON-RPC, on all transports: the call gets its response or an error
// with the reason immediately, not at its deadline, and the server continues.

import { afterEach, expect, test } from 'vitest';
import { callOnce, details, RawSession } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import { answerJson, beginStream, idOf, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  serverInfo: { name: 'far', version: '1' },
};
/** Far longer than the test may take. */
const patient = { request_timeout_seconds: 300 };

/** Responses by the reason of their error. ID is the id of the request. */
const invalid: readonly [name: string, message: string, reason: RegExp][] = [
  ['NaN', '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"x":NaN}}', /not JSON: expected a value at byte/],
  ['Infinity', '{"jsonrpc":"2.0","result":{"x":-Infinity},"id":ID}', /not JSON: expected a value at byte/],
  [
    'a tab in a string',
    '{"jsonrpc":"2.0","id":ID,"result":{"x":"a\tb"}}',
    /not JSON: control character in a string/,
  ],
  ['a trailing comma', '{"jsonrpc":"2.0","id":ID,"result":{"content":[],}}', /not JSON: expected a string/],
  ['single quotes', `{"jsonrpc":"2.0","id":ID,"result":{'content':[]}}`, /not JSON: expected a string/],
  ['half a message', '{"jsonrpc":"2.0","id":ID,"result":{"content":[', /not JSON: expected a value/],
  [
    'a result and an error',
    '{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}',
    /not valid JSON-RPC/,
  ],
  ['neither result nor error', '{"jsonrpc":"2.0","id":ID}', /not valid JSON-RPC/],
];

/** Unusual responses that are accepted. */
const unusual: readonly [name: string, message: string][] = [
  ['the id as text', '{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}'],
  ['a null error', '{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":null}'],
  ['a null method', '{"jsonrpc":"2.0","id":ID,"method":null,"params":null,"result":{"content":[]}}'],
  ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}'],
];

afterEach(endServers);

/** A remote server that responds to tool calls with the message in the argument `text`. */
async function remoteOf(form: string) {
  return serve(({ req, res, body }) => {
    if (req.method !== 'POST') return void res.writeHead(405).end();
    const id = idOf(body);
    if (id === undefined) return void res.writeHead(202).end();
    if (methodOf(body) === 'initialize') return answerJson(res, result(body, introduction));
    if (methodOf(body) !== 'tools/call') return answerJson(res, result(body, { tools: [] }));
    const message = String(JSON.parse(body).params.arguments.text).replace('ID', `${id}`);
    if (form === 'JSON') res.writeHead(200, { 'content-type': 'application/json' }).end(message);
    else {
      beginStream(res);
      // The stream stays open: the gateway must not depend on its closing.
      res.write(`id: 1\ndata: ${message}\n\n`);
    }
  });
}

test.each(['stdio', 'JSON', 'an event stream'])(
  'a response over %s that is not valid JSON-RPC fails its call with the reason; unusual responses are accepted',
  async (form) => {
    const far = form === 'stdio' ? undefined : await remoteOf(form);
    const server =
      far === undefined ? fault('puppet', patient) : { url: far.url().href, era: 'legacy', ...patient };
    const gateway = await startGateway({ servers: { bad: server } });
    const { url } = gateway;
    const call = (text: string) =>
      far === undefined
        ? callOnce(url, 'bad', 'do', { steps: [{ line: text }] })
        : callOnce(url, 'bad', 'do', { text });
    for (const [name, message, reason] of invalid) {
      const { status, error } = await call(message);
      expect([name, status]).toEqual([name, 502]);
      expect(error?.message).toMatch(/the response of server bad to tools\/call is/);
      expect(error?.message).toMatch(reason);
      expect(error?.data).toMatchObject({ reason: 'ERR_UPSTREAM_PROTOCOL', server: 'bad' });
    }
    for (const [name, message] of unusual) {
      const { status, body } = await call(message);
      expect([name, status, body.toString()]).toEqual([
        name,
        200,
        '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}',
      ]);
    }
    expect(await details(url, 'bad')).toMatchObject({ restarts: 0, in_flight: 0 });
    await gateway.stop();
  },
);

test.each([
  ['a null id', '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"it broke"}}'],
  ['no id', '{"jsonrpc":"2.0","error":{"code":-32603,"message":"it broke"}}'],
  ['a plain error', '{"error":"it broke"}'],
])('a JSON response with %s fails its call with the text of the server', async (_, text) => {
  const far = await remoteOf('JSON');
  const gateway = await startGateway({
    servers: { bad: { url: far.url().href, era: 'legacy', ...patient } },
  });
  const { status, error } = await callOnce(gateway.url, 'bad', 'do', { text });
  expect(status).toBe(502);
  expect(error?.message).toMatch(
    /responded to a request with a message that is not its response \(.*it broke/,
  );
  await gateway.stop();
});

test('a null cursor or an empty cursor of a client requests the first page', async () => {
  const { url } = await startGateway({ servers: { echo: fault('echo') } });
  for (const path of ['/mcp', '/mcp/echo']) {
    const session = await RawSession.open(url, path);
    const { result } = await session.request('tools/list');
    for (const cursor of [null, '']) {
      const page = await session.request('tools/list', { cursor });
      expect([path, cursor, page.result]).toEqual([path, cursor, result]);
    }
    for (const cursor of [5, 'x'])
      if (path === '/mcp')
        expect((await session.request('tools/list', { cursor })).error).toMatchObject({ code: -32602 });
  }
});

test('requests of clients may have a byte order mark and null members', async () => {
  const { url } = await startGateway({ servers: { echo: fault('echo') } });
  const session = await RawSession.open(url);
  const { body } = await session.raw(
    '\ufeff{"jsonrpc":"2.0","id":5,"method":"ping","params":null,"error":null}',
  );
  expect(body.toString()).toContain('"id":5,"result":{}');
});
