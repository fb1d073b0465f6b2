// Requests of HTTP nodes with values from outside, in the built program: only the file determines path, query
// and host.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { flow, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

interface ReceivedRequest {
  readonly server: 'api' | 'other';
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const received: ReceivedRequest[] = [];
let gateway: GatewayProcess;
let api: Server;
let other: Server;

const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function startServer(name: ReceivedRequest['server']): Promise<Server> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { url = '', headers } = request;
    received.push({ server: name, url, headers, body });
    if (url === '/away')
      response.writeHead(307, { location: `http://127.0.0.1:${portOf(other)}/taken` }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"state":"up"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** A flow with a single request and the parameter `q`. */
const sends = (name: string, config: Readonly<Record<string, unknown>>) =>
  flow(name, {
    parameters: [{ name: 'q' }],
    nodes: [
      { id: 'a', type: 'HTTP', config: { headers: { authorization: 'Bearer service-key' }, ...config } },
      { id: 'r', type: 'Response', config: { text: '{{ steps.a.output.body.state }}' } },
    ],
    connections: [{ from: 'a', to: 'r' }],
  });

const Q = '{{ parameters.q }}';

beforeAll(async () => {
  [api, other] = [await startServer('api'), await startServer('other')];
  const at = `http://127.0.0.1:${portOf(api)}`;
  gateway = await startAutomation({
    resources: [
      sends('path', { url: `${at}/users/${Q}/notes` }),
      sends('query', { method: 'POST', url: `${at}/search?q=${Q}&limit=5`, body: {} }),
      sends('port', { url: `http://127.0.0.1${Q}/x` }),
      sends('anywhere', { url: Q }),
      sends('listed', { url: Q, url_allow: [`${at}/`], allow_private: true }),
      sends('listed-public', { url: Q, url_allow: [`${at}/`, `http://localhost:${portOf(api)}/`] }),
      sends('checked', { url: `http://localhost:${portOf(api)}/${Q}`, allow_private: false }),
      sends('header', { url: `${at}/x`, headers: { 'x-note': `note ${Q}` } }),
      sends('body', {
        method: 'POST',
        url: `${at}/x`,
        body: {
          value: `a ${Q}`,
          text: `{"note": {{ json(parameters.q) }}}`,
          auth: "{{ base64('u:' + parameters.q) }}",
        },
      }),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
  for (const server of [api, other]) server.close().closeAllConnections();
});

beforeEach(() => {
  received.length = 0;
});

async function run(
  name: string,
  q: string,
): Promise<{ readonly state: string; readonly note: string | null }> {
  const body = JSON.stringify({ parameters: { q }, wait_seconds: 20 });
  const headers = { 'content-type': 'application/json' };
  return (await ask(`${gateway.url}/flows/${name}/runs`, { method: 'POST', headers, body })).json;
}

const urls = () => received.map(({ server, url }) => `${server} ${url}`);

test.each([
  ['x/admin/delete?all=1#', '/users/x%2Fadmin%2Fdelete%3Fall%3D1%23/notes'],
  ['a/b', '/users/a%2Fb/notes'],
  ['%2e%2e', '/users/%252e%252e/notes'],
  ['2.4.1', '/users/2.4.1/notes'],
])('the value %j inserted into the URL path of an HTTP node stays one path segment', async (q, url) => {
  expect(await run('path', q)).toMatchObject({ state: 'done' });
  expect(urls()).toEqual([`api ${url}`]);
  expect(received[0]?.headers.authorization).toBe('Bearer service-key');
});

test.each(['..', '.', '', '../../admin/delete?all=1#', 'a\\..\\b'])(
  'no request is sent for the value %j, which would remove a path segment',
  async (q) => {
    expect(await run('path', q)).toMatchObject({
      state: 'failed',
      note: expect.stringContaining('path segment'),
    });
    expect(urls()).toEqual([]);
  },
);

test('a value inserted into the URL query of an HTTP node cannot add query parameters', async () => {
  expect(await run('query', '1&limit=9999&x=#')).toMatchObject({ state: 'done' });
  expect(urls()).toEqual(['api /search?q=1%26limit%3D9999%26x%3D%23&limit=5']);
});

test('an HTTP node whose URL host contains an expression is reported at the start and sends no request', async () => {
  for (const name of ['port', 'anywhere'])
    expect(gateway.logs()).toContainEqual(
      expect.objectContaining({
        msg: expect.stringMatching(`flows/${name}.yaml:1:\\d+: spec.nodes\\[0\\].config.url: `),
      }),
    );
  expect((await run('port', `:${portOf(other)}`)).note).toContain('a host without {{ }}');
  expect((await run('anywhere', `http://127.0.0.1:${portOf(other)}/`)).note).toContain('url_allow');
  expect(urls()).toEqual([]);
});

test('an HTTP node whose whole URL is an expression sends requests only to the addresses in url_allow', async () => {
  const at = `http://127.0.0.1:${portOf(api)}`;
  expect(await run('listed', `${at}/a?b=c`)).toMatchObject({ state: 'done' });
  expect(urls()).toEqual(['api /a?b=c']);
  const otherUrl = `http://127.0.0.1:${portOf(other)}/`;
  for (const q of [otherUrl, `${at}@127.0.0.1:${portOf(other)}/`, `http://u@127.0.0.1:${portOf(api)}/`])
    expect(await run('listed', q)).toMatchObject({ state: 'failed' });
  expect(urls()).toHaveLength(1);
});

test('an HTTP node with allow_private: false or with an expression as its URL sends nothing to private addresses', async () => {
  const refusals = [
    await run('listed-public', `http://127.0.0.1:${portOf(api)}/`),
    await run('listed-public', `http://localhost:${portOf(api)}/`),
    await run('checked', 'x'),
  ];
  for (const { state, note } of refusals)
    expect([state, note]).toEqual([
      'failed',
      expect.stringMatching(/a loopback address; allow_private: true permits it$/),
    ]);
  expect(urls()).toEqual([]);
});

test('a redirect is not followed, and the header is not sent to its target', async () => {
  expect((await run('listed', `http://127.0.0.1:${portOf(api)}/away`)).note).toContain('answered 307');
  expect(urls()).toEqual(['api /away']);
});

test('no request is sent with a line break in a header', async () => {
  expect(await run('header', 'x\r\nx-admin: 1')).toMatchObject({ state: 'failed' });
  expect(urls()).toEqual([]);
  expect(await run('header', 'plain')).toMatchObject({ state: 'done' });
  expect(received[0]?.headers['x-note']).toBe('note plain');
});

test('a value inserted into the JSON body of an HTTP node cannot change the structure of the body', async () => {
  const q = '"}, "admin": true, {"';
  expect(await run('body', q)).toMatchObject({ state: 'done' });
  const body = JSON.parse(received[0]?.body ?? '');
  expect(body).toEqual({
    value: `a ${q}`,
    text: expect.any(String),
    auth: Buffer.from(`u:${q}`).toString('base64'),
  });
  expect(JSON.parse(body.text)).toEqual({ note: q });
});
