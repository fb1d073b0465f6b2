// The checked fetch (only permitted addresses), with servers on this machine.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { refusalOf } from '../../../../libs/rest/address-check.ts';
import { checkedFetch } from '../../../../libs/rest/checked-fetch.ts';
import type { AddressCheck, Resolve } from '../../../../libs/rest/destination.ts';
import { HttpApi } from '../../../../libs/rest/http-api.ts';
import { RequestFault } from '../../../../libs/rest/request-fault.ts';
import { tlsIdentity } from '../../../fixtures/remote/tls-identity.ts';

let server: Server;
let port: number;
let requests: {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}[] = [];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ url: request.url ?? '', headers: request.headers, body });
    if (request.url === '/moved') response.writeHead(302, { location: 'http://127.0.0.1/admin' }).end();
    else if (request.url === '/empty') response.writeHead(204).end();
    else if (request.url === '/large') response.end('x'.repeat(100_000));
    else if (request.url === '/silent') response.flushHeaders();
    else if (request.url === '/broken')
      response.writeHead(200, { 'content-length': '10' }).write('abc', () => response.destroy());
    else
      response
        .writeHead(
          200,
          [
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2'],
          ].flat(),
        )
        .end('{"ok":true}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterAll(() => server.close().closeAllConnections());
beforeEach(() => {
  requests = [];
});

/** Simulated DNS: lookups return these results in order. */
function answers(...lists: readonly (readonly string[])[]): Resolve & { count: number } {
  const resolve = Object.assign(
    async () => {
      const list = lists[Math.min(resolve.count, lists.length - 1)] ?? [];
      resolve.count += 1;
      return list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    { count: 0 },
  );
  return resolve;
}

const all: AddressCheck = () => undefined;

function apiAt(host: string, refusal: AddressCheck, resolve?: Resolve): HttpApi {
  return new HttpApi({
    baseUrl: `http://${host}:${port}`,
    headers: { authorization: 'Bearer s3cret' },
    timeoutMs: 2_000,
    maxAnswerBytes: 50_000,
    fetch: checkedFetch(refusal, resolve),
  });
}

async function faultOf(work: Promise<unknown>): Promise<RequestFault> {
  const fault = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (fault instanceof RequestFault) return fault;
  throw new Error(`there was no fault: ${fault}`);
}

test('a request reaches the checked address of a host name, with its own host, headers and body', async () => {
  const resolve = answers(['127.0.0.1']);
  const answer = await apiAt('name.test', all, resolve).request({
    method: 'POST',
    path: '/a?b=c',
    json: { n: 1 },
  });
  expect([answer.status, answer.json, answer.headers.getSetCookie()]).toEqual([
    200,
    { ok: true },
    ['a=1', 'b=2'],
  ]);
  expect(resolve.count).toBe(1);
  expect(requests).toMatchObject([{ url: '/a?b=c', body: '{"n":1}' }]);
  expect(requests[0]?.headers).toMatchObject({
    host: `name.test:${port}`,
    authorization: 'Bearer s3cret',
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  });
});

test.each([
  ['127.0.0.1', 'a loopback address'],
  ['localhost', 'localhost is '],
  ['[::1]', 'a loopback address'],
  ['[::ffff:127.0.0.1]', 'a loopback address'],
  ['0.0.0.0', 'the unspecified address'],
  ['169.254.169.254', 'a link-local address'],
  ['2130706433', 'a loopback address'],
  ['0x7f.1', 'a loopback address'],
  ['192.168.0.1', 'a private address'],
])('a request to the forbidden address %s is never sent', async (host, reason) => {
  const fault = await faultOf(apiAt(host, refusalOf).request({ path: '/a' }));
  expect(fault).toMatchObject({ kind: 'forbidden', mayHaveArrived: false });
  expect(fault.message).toContain(reason);
  expect(requests).toEqual([]);
});

test('a DNS response that changes after the check has no effect', async () => {
  // 192.0.2.1 is unreachable; a second lookup would return the address of the server.
  const isFirst: AddressCheck = (address) => (address === '127.0.0.1' ? 'a loopback address' : undefined);
  const resolve = answers(['192.0.2.1'], ['127.0.0.1']);
  const api = apiAt('localhost', isFirst, resolve);
  await faultOf(api.request({ path: '/a', timeoutMs: 500 }));
  expect([resolve.count, requests]).toEqual([1, []]);
  // The next request checks the address too.
  expect((await faultOf(api.request({ path: '/a' }))).message).toContain('localhost is 127.0.0.1');
  expect(requests).toEqual([]);
});

test('a host name with one forbidden address among several is refused', async () => {
  const fault = await faultOf(
    apiAt('mixed.test', refusalOf, answers(['1.1.1.1', '10.0.0.1'])).request({ path: '/a' }),
  );
  expect([fault.kind, fault.message]).toEqual([
    'forbidden',
    `no connection to mixed.test:${port}: mixed.test is 10.0.0.1, a private address`,
  ]);
});

test('nothing is sent to a server with an untrusted certificate', async () => {
  const tls = createTlsServer(tlsIdentity, (_, response) => response.end('{}'));
  tls.listen(0, '127.0.0.1');
  await once(tls, 'listening');
  try {
    const baseUrl = `https://name.test:${(tls.address() as AddressInfo).port}`;
    const api = new HttpApi({ baseUrl, fetch: checkedFetch(all, answers(['127.0.0.1'])) });
    expect(await faultOf(api.request({ path: '/a' }))).toMatchObject({
      kind: 'insecure',
      mayHaveArrived: false,
    });
  } finally {
    tls.close().closeAllConnections();
  }
});

test('a redirect is returned as a response', async () => {
  const answer = await apiAt('name.test', all, answers(['127.0.0.1'])).request({ path: '/moved' });
  expect([answer.status, requests.length]).toEqual([302, 1]);
});

test('empty and large responses, silent servers and lost connections give the same results as with plain fetch', async () => {
  const api = apiAt('name.test', all, answers(['127.0.0.1']));
  expect(await api.request({ path: '/empty' })).toMatchObject({ status: 204, text: '' });
  expect((await api.request({ method: 'HEAD', path: '/a' })).text).toBe('');
  expect(await faultOf(api.request({ path: '/large' }))).toMatchObject({ kind: 'too-large', status: 200 });
  expect(await faultOf(api.request({ path: '/silent', timeoutMs: 300 }))).toMatchObject({ kind: 'timeout' });
  expect(await faultOf(api.request({ path: '/broken' }))).toMatchObject({ kind: 'broken', status: 200 });
  const unknown = apiAt('name.test', all, answers([]));
  expect(await faultOf(unknown.request({ path: '/a' }))).toMatchObject({
    kind: 'unreachable',
    code: 'ENOTFOUND',
  });
});

test('a request ends at its deadline while its host name is looked up', async () => {
  const never: Resolve = () => new Promise(() => {});
  const fault = await faultOf(apiAt('slow.test', all, never).request({ path: '/a', timeoutMs: 200 }));
  expect(fault.kind).toBe('timeout');
});
