// HTTP triggers, over real sockets: authentication, stored events, and responses.

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { deflateSync, gzipSync } from 'node:zlib';
import { Webhook as StandardSigner } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { UnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { Adapter } from '../../../../actors/platforms/adapter.ts';
import { httpAdapter } from '../../../../actors/platforms/http/adapter.ts';
import { agentTarget } from '../../../../config/resources/triggers/target.ts';
import type { HttpTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { httpTrigger } from '../../../fixtures/automation/triggers.ts';

const SECRET = 'the secret of this trigger';
const STANDARD = `whsec_${Buffer.from('twenty-four bytes of key').toString('base64')}`;

let host: TestSourceHost;
let adapter: Adapter<HttpTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  adapter = httpAdapter(100_000);
});
afterEach(() => host.stop());

const hub = (body: string, secret = SECRET) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

function open(name: string, config: Partial<HttpTrigger['config']>) {
  return adapter.open(httpTrigger(name, config), host);
}

function post(body: string, headers: Record<string, string> = {}, path = '/hooks') {
  return fetch(host.url + path, { method: 'POST', body, headers });
}

function postSigned(body: string, headers: Record<string, string> = {}) {
  return post(body, { 'x-hub-signature-256': hub(body), ...headers });
}

const json = { 'content-type': 'application/json' };

describe('a trigger with a secret of scheme hub', () => {
  beforeEach(() =>
    open('orders', { webhook_secret: SECRET, webhook_secret_previous: 'the previous secret' }),
  );

  test('accepts requests with its signature and returns 202 with the id', async () => {
    const response = await postSigned('{"text":"hello"}', { ...json, 'idempotency-key': 'k-1' });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ id: 'http:orders/k-1', status: 'accepted' });
    expect(host.event().key).toBe('conversation/http/orders');
    expect(host.event().trace).toMatch(/^00-1{32}-/);
  });

  test('accepts requests signed with the previous secret', async () => {
    expect((await post('x', { 'x-hub-signature-256': hub('x', 'the previous secret') })).status).toBe(202);
  });

  test.each([
    ['no signature', {}],
    ['the signature of another secret', { 'x-hub-signature-256': hub('x', 'another') }],
    ['the signature of an empty secret', { 'x-hub-signature-256': hub('x', '') }],
    ['a short signature', { 'x-hub-signature-256': hub('x').slice(0, -2) }],
    ['a signature with non-hexadecimal letters', { 'x-hub-signature-256': `sha256=${'z'.repeat(64)}` }],
    ['a signature with another hash', { 'x-hub-signature-256': hub('x').replace('sha256', 'sha512') }],
    ['a signature in another header', { 'x-signature': hub('x') }],
  ] as [string, Record<string, string>][])('returns 401 for %s', async (_, headers) => {
    expect((await post('x', headers)).status).toBe(401);
    expect(host.store.events).toEqual([]);
  });

  test('returns 200 for a known delivery, and stores it once', async () => {
    for (const status of [202, 200])
      expect((await postSigned('x', { 'idempotency-key': 'same' })).status).toBe(status);
    expect(host.store.events).toHaveLength(1);
  });

  test('accepts equal bodies with other ids', async () => {
    const key = (id: string) => ({ ...json, 'idempotency-key': id });
    for (const id of ['1', '2', '3']) expect((await postSigned('{"a":1}', key(id))).status).toBe(202);
    expect(host.store.events).toHaveLength(3);
  });

  test('recognises a replayed request with another id in a replay window, and stores it once', async () => {
    await open('replayed', { webhook_secret: SECRET, path: '/replayed', replay_window_seconds: 300 });
    const postReplayed = (body: string, headers: Record<string, string>) =>
      post(body, { 'x-hub-signature-256': hub(body), ...headers }, '/replayed');
    const recorded = { ...json, 'idempotency-key': '1' };
    expect((await postReplayed('{"a":1}', recorded)).status).toBe(202);
    const upper = `sha256=${hub('{"a":1}').slice(7).toUpperCase()}`;
    const base64 = Buffer.from(upper.slice(7), 'hex').toString('base64');
    for (const other of [
      { 'idempotency-key': '2' },
      { 'webhook-id': '3' },
      { 'x-hub-signature-256': upper, 'webhook-id': '4' },
      { 'x-hub-signature-256': base64, 'webhook-id': '5' },
      {},
    ]) {
      const response = await postReplayed('{"a":1}', { ...json, ...other });
      expect([response.status, await response.json()]).toEqual([
        200,
        { id: 'http:replayed/1', status: 'duplicate' },
      ]);
    }
    expect((await postReplayed('{"a":2}', { ...json, 'idempotency-key': '2' })).status).toBe(202);
    expect(host.store.events).toHaveLength(2);
  });

  test('runs a dead event again for an equal body with another id, and returns its answer', async () => {
    await open('replayed', {
      webhook_secret: SECRET,
      path: '/replayed',
      replay_window_seconds: 300,
      respond: 'sync',
    });
    const headers = { 'x-hub-signature-256': hub('x') };
    const send = (id: string) => post('x', { ...headers, 'idempotency-key': id }, '/replayed');
    const first = send('1');
    await expect.poll(() => host.store.events.length).toBe(1);
    await host.settle('http:replayed/1', 'dead', { note: '502 bad gateway' });
    expect((await first).status).toBe(502);
    const second = send('2');
    const state = async () => (await host.store.delivery('http:replayed/1'))?.state;
    await expect.poll(state).toBe('queued');
    await host.settle('http:replayed/1', 'done', { answer: 'well' });
    expect(await (await second).json()).toEqual({ id: 'http:replayed/1', status: 'done', answer: 'well' });
    expect(host.store.events).toHaveLength(1);
  });

  test('accepts a retry under another id after the store refused the first request', async () => {
    await open('replayed', { webhook_secret: SECRET, path: '/replayed', replay_window_seconds: 300 });
    const headers = { 'x-hub-signature-256': hub('x') };
    host.store.fault = new UnavailableError('the store is full', 5);
    expect((await post('x', { ...headers, 'idempotency-key': '1' }, '/replayed')).status).toBe(503);
    host.store.fault = undefined;
    expect((await post('x', { ...headers, 'idempotency-key': '2' }, '/replayed')).status).toBe(202);
    expect(host.store.events).toHaveLength(1);
  });

  test('recognises a replayed request even if unsigned headers select another trigger', async () => {
    const command = { command: 'go', target: agentTarget('echo'), description: undefined, parameters: [] };
    const config = { webhook_secret: SECRET, path: '/shared', replay_window_seconds: 300 };
    await adapter.open(httpTrigger('one', config), host);
    await adapter.open({ ...httpTrigger('other', config), commands: [command] }, host);
    const body = '{"command":"go"}';
    const signed = { 'x-hub-signature-256': hub(body) };
    const statuses: number[] = [];
    for (const type of ['application/json', 'text/plain'])
      statuses.push(
        (await post(body, { ...signed, 'content-type': type, 'idempotency-key': type }, '/shared')).status,
      );
    expect(statuses).toEqual([202, 200]);
  });

  test('accepts each request without id, also with equal bodies', async () => {
    for (let count = 0; count < 3; count += 1)
      expect((await postSigned('{"ping":true}', json)).status).toBe(202);
    expect(host.store.events).toHaveLength(3);
  });

  test('distinguishes deliveries of two senders with the same id', async () => {
    await open('parcels', { webhook_secret: 'other', path: '/parcels' });
    await postSigned('x', { 'idempotency-key': '1' });
    const other = { 'x-hub-signature-256': hub('x', 'other'), 'idempotency-key': '1' };
    expect((await post('x', other, '/parcels')).status).toBe(202);
  });

  test('returns 400 for a long id, and generates a missing id', async () => {
    expect((await postSigned('x', { 'idempotency-key': 'k'.repeat(256) })).status).toBe(400);
    await postSigned('x');
    expect(host.event().id).toMatch(/^http:orders\/[0-9a-f-]{36}$/);
  });

  test('returns 400 for invalid JSON only if the signature is valid', async () => {
    expect((await postSigned('{', json)).status).toBe(400);
    expect((await post('{', { ...json, 'x-hub-signature-256': hub('[') })).status).toBe(401);
  });

  test('returns 405 with the allowed methods', async () => {
    const response = await fetch(`${host.url}/hooks`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  test('returns 413 for a large body', async () => {
    expect((await postSigned('x'.repeat(100_001))).status).toBe(413);
  });

  test('returns 503 if the store is unavailable', async () => {
    host.store.fault = new UnavailableError('the disk is full', 5);
    expect((await postSigned('x')).status).toBe(503);
  });
});

describe('an encoded body', () => {
  beforeEach(() => open('encoded', { webhook_secret: SECRET, key: 'body:from' }));

  const hello = '{"text":"grüße","from":"ada"}';
  const send = (body: Uint8Array, headers: Record<string, string>) =>
    fetch(`${host.url}/hooks`, {
      method: 'POST',
      body,
      headers: {
        'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
        ...headers,
      },
    });
  const utf16 = (text: string) => Buffer.from(text, 'utf16le');

  test.each([
    ['gzip', gzipSync(hello), { ...json, 'content-encoding': 'gzip' }],
    ['gzip under its older name', gzipSync(hello), { ...json, 'content-encoding': 'X-GZip' }],
    ['deflate', deflateSync(hello), { ...json, 'content-encoding': 'deflate' }],
    ['no coding', Buffer.from(hello), { ...json, 'content-encoding': 'identity' }],
    ['UTF-8', Buffer.from(hello), { 'content-type': 'application/json; charset=UTF-8' }],
    ['Latin-1', Buffer.from(hello, 'latin1'), { 'content-type': 'application/json; charset="ISO-8859-1"' }],
    ['UTF-16', utf16(hello), { 'content-type': 'application/json;charset=utf-16le' }],
    [
      'compressed UTF-16',
      gzipSync(utf16(hello)),
      { 'content-type': 'application/json;charset=utf-16le', 'content-encoding': 'gzip' },
    ],
  ] as [string, Buffer, Record<string, string>][])(
    'in %s is verified as sent, and stored decoded',
    async (_, body, headers) => {
      expect((await send(body, headers)).status).toBe(202);
      expect(adapter.read(host.event()).text).toBe('grüße');
      expect(host.event().key).toBe('conversation/http/encoded/ada');
      expect(Buffer.from(host.event().body).toString()).toBe(hello);
    },
  );

  test.each([
    ['an unknown coding', 415, gzipSync('x'), { 'content-encoding': 'br' }],
    ['two codings', 415, gzipSync(gzipSync('x')), { 'content-encoding': 'gzip, gzip' }],
    ['an unknown character set', 415, Buffer.from('x'), { 'content-type': 'text/plain; charset=klingon' }],
    ['bytes that are no UTF-8', 415, Buffer.from([0x61, 0xff]), { 'content-type': 'text/plain' }],
    ['JSON that is no UTF-8', 415, Buffer.from('{"text":"ü"}', 'latin1'), json],
    ['other bytes than its coding', 400, Buffer.from('plain'), { 'content-encoding': 'gzip' }],
    ['a truncated coding', 400, gzipSync('x'.repeat(50)).subarray(0, -9), { 'content-encoding': 'gzip' }],
    [
      'other bytes than its character set',
      400,
      Buffer.from([0xff, 0xff]),
      { 'content-type': 'text/plain; charset=euc-jp' },
    ],
    [
      'a decoded size above the limit',
      413,
      gzipSync(Buffer.alloc(100_001, 'x')),
      { 'content-encoding': 'gzip' },
    ],
    [
      'a decoded size above the limit by its character set',
      413,
      Buffer.alloc(99_000, 'ü', 'latin1'),
      { 'content-type': 'text/plain; charset=latin1' },
    ],
  ] as [string, number, Buffer, Record<string, string>][])(
    'with %s is refused with %i',
    async (_, status, body, headers) => {
      const response = await send(body, headers);
      expect([response.status, host.store.events]).toEqual([status, []]);
      if (headers['content-encoding'] === 'br')
        expect(response.headers.get('accept-encoding')).toBe('gzip, deflate');
    },
  );

  test('needs its proof before it is decoded', async () => {
    const forged = { 'content-encoding': 'gzip', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
    expect((await send(Buffer.from('no gzip'), forged)).status).toBe(401);
  });
});

test('the signature header is configurable', async () => {
  await open('forms', { webhook_secret: SECRET, signature_header: 'x-form-signature' });
  expect((await post('x', { 'X-Form-Signature': hub('x') })).status).toBe(202);
  expect((await post('x', { 'x-hub-signature-256': hub('x') })).status).toBe(401);
});

describe('a trigger with a secret of scheme standard', () => {
  beforeEach(() => open('events', { webhook_secret: STANDARD, scheme: 'standard' }));

  function signed(body: string, at = new Date(), id = 'msg_1', secret = STANDARD) {
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new StandardSigner(secret).sign(id, at, body),
    };
  }

  test('accepts requests of an independent signer, with its id', async () => {
    const body = '{"message":"grüße"}';
    expect((await post(body, { ...json, ...signed(body) })).status).toBe(202);
    expect(host.event().id).toBe('http:events/msg_1');
    expect(adapter.read(host.event()).text).toBe('grüße');
  });

  test('accepts the older header names, and identifies the event by the signed id', async () => {
    const older = Object.fromEntries(
      Object.entries(signed('x')).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
    );
    expect((await post('x', older)).status).toBe(202);
    expect(host.event().id).toBe('http:events/msg_1');
    // An id under the other name is unsigned.
    expect((await post('x', { ...older, 'webhook-id': 'msg_2' })).status).toBe(200);
    expect((await post('x', { ...signed('x'), 'svix-id': 'msg_2' })).status).toBe(200);
    expect((await post('x', { ...older, 'svix-id': 'msg_2' })).status).toBe(401);
    expect(host.store.events).toHaveLength(1);
  });

  test('accepts a list with one valid signature', async () => {
    const headers = signed('x');
    const other = signed('x', new Date(), 'msg_1', 'whsec_b3RoZXI=')['webhook-signature'];
    const list = `v1a,abc ${other} ${headers['webhook-signature']}`;
    expect((await post('x', { ...headers, 'webhook-signature': list })).status).toBe(202);
  });

  test.each([
    ['too old', -301],
    ['too far ahead', 301],
  ])('returns 401 for a time that is %s', async (_, seconds) => {
    expect((await post('x', signed('x', new Date(Date.now() + seconds * 1000)))).status).toBe(401);
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'returns 401 without %s, or with another value',
    async (name) => {
      const headers: Record<string, string> = signed('x');
      expect((await post('x', { ...headers, [name]: `1${headers[name]}` })).status).toBe(401);
      delete headers[name];
      expect((await post('x', headers)).status).toBe(401);
    },
  );
});

test('a secret of scheme standard that is not base64 is rejected, and the error does not show the secret', async () => {
  const opened = open('events', { webhook_secret: 'not base64!', scheme: 'standard' });
  await expect(opened).rejects.toThrow(/base64/);
  await expect(opened).rejects.not.toThrow(/not base64!/);
});

describe('required headers', () => {
  test('are compared with their values, and * accepts any value', async () => {
    await open('alarms', { required_headers: { 'x-token': 'open sesame', 'x-kind': '*' } });
    const right = { 'x-token': 'open sesame', 'x-kind': 'fire' };
    expect((await post('x', right)).status).toBe(202);
    expect((await post('x', { ...right, 'x-token': 'open sesamE' })).status).toBe(401);
    expect((await post('x', { ...right, 'x-token': 'open' })).status).toBe(401);
    expect((await post('x', { 'x-token': 'open sesame' })).status).toBe(401);
  });

  test('are required in addition to a signature', async () => {
    await open('alarms', { webhook_secret: SECRET, required_headers: { 'x-token': 'a' } });
    expect((await postSigned('x')).status).toBe(401);
    expect((await postSigned('x', { 'x-token': 'a' })).status).toBe(202);
  });

  test('are not stored in the event', async () => {
    await open('alarms', { required_headers: { 'x-token': 'open sesame' } });
    await post('x', { 'x-token': 'open sesame' });
    expect(JSON.stringify(host.event())).not.toContain('sesame');
    expect(JSON.stringify(adapter.read(host.event()))).not.toContain('sesame');
  });
});

describe('an unverified trigger', () => {
  test.each([
    ['no secret', {}],
    ['headers with any value', { required_headers: { 'x-token': '*' } }],
    ['an empty secret', { webhook_secret: '' }],
    ['an empty header', { required_headers: { 'x-token': '' } }],
  ])('is refused at its start with %s, unless unverified requests are allowed', async (_, config) => {
    await expect(open('any', config)).rejects.toThrow(/cannot be verified|empty/);
  });

  test('is restricted to this machine, and logs a warning', async () => {
    await open('any', { insecure_allow_unverified: true });
    expect((await post('x')).status).toBe(202);
    expect(host.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'trigger accepts unsigned webhooks' }),
    );
  });
});

describe('the protection of an unverified trigger against web pages', () => {
  test.each([
    ['a request with an Origin', 'POST', { origin: 'https://evil.example' }],
    ['a request with a null Origin', 'POST', { origin: 'null' }],
    ['a cross-site image or link', 'GET', { 'sec-fetch-site': 'cross-site' }],
  ] as [string, string, Record<string, string>][])(
    'rejects %s with the reason',
    async (_, method, headers) => {
      await open('any', { insecure_allow_unverified: true, methods: ['GET', 'POST'] });
      const pendingRequest = request(`${host.url}/hooks`, { method, headers }).end();
      const [response] = (await once(pendingRequest, 'response')) as [IncomingMessage];
      expect([response.statusCode, await text(response)]).toEqual([401, expect.stringMatching(/web pages/)]);
      expect(host.store.events).toEqual([]);
    },
  );

  test('accepts requests that a person opens in a browser', async () => {
    await open('any', { insecure_allow_unverified: true, methods: ['GET'] });
    const pendingRequest = request(`${host.url}/hooks`, { headers: { 'sec-fetch-site': 'none' } }).end();
    const [response] = (await once(pendingRequest, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(202);
  });

  test('does not check the Origin of signed requests', async () => {
    await open('orders', { webhook_secret: SECRET });
    expect((await postSigned('x', { origin: 'https://shop.example' })).status).toBe(202);
  });
});

describe('a chunked body', () => {
  function postChunked(body: string, headers: Record<string, string> = {}) {
    const stream = new Blob([body]).stream();
    return fetch(`${host.url}/hooks`, {
      method: 'POST',
      body: stream,
      duplex: 'half',
      headers,
    } as RequestInit);
  }

  test('is accepted if a signature or its JSON grammar proves that it is complete', async () => {
    await open('orders', { webhook_secret: SECRET });
    expect((await postChunked('x', { 'x-hub-signature-256': hub('x') })).status).toBe(202);
    expect((await postChunked('x', { 'x-hub-signature-256': hub('xy') })).status).toBe(401);
    await open('alarms', { path: '/hooks', required_headers: { 'x-token': 'open sesame' } });
    const token = { 'x-token': 'open sesame' };
    expect((await postChunked('{"a":1}', { ...token, ...json })).status).toBe(202);
  });

  test('is rejected and not stored if nothing proves that it is complete', async () => {
    await open('alarms', { required_headers: { 'x-token': 'open sesame' } });
    const token = { 'x-token': 'open sesame' };
    const answer = await postChunked('half a text', { ...token, 'content-type': 'text/plain' });
    expect([answer.status, await answer.text()]).toEqual([411, expect.stringMatching(/Content-Length/)]);
    expect((await postChunked('{"a":', { ...token, ...json })).status).toBe(400);
    expect(host.store.events).toEqual([]);
    expect((await post('whole', token)).status).toBe(202);
  });
});

describe('a stored request', () => {
  async function readEvent(body: string, headers: Record<string, string>) {
    await postSigned(body, headers);
    return adapter.read(host.event());
  }

  test.each([
    ['JSON', '{"text":"hi","n":1}', json, { text: 'hi', payload: { text: 'hi', n: 1 }, names: [] }],
    [
      'JSON with another content type',
      '{"input":"hi"}',
      { 'content-type': 'application/cloudevents+json' },
      { text: 'hi' },
    ],
    [
      'a command',
      '{"command":"/deploy","message":"now"}',
      json,
      { text: 'now', names: ['deploy'], commandRest: '' },
    ],
    [
      'a command with text',
      '{"command":"deploy a b","text":"c"}',
      json,
      { text: 'a b\nc', names: ['deploy'], commandRest: 'a b' },
    ],
    [
      'an empty command',
      '{"command":" / ","text":"c"}',
      json,
      { text: 'c', names: [], commandRest: undefined },
    ],
    ['a JSON string', '"hi"', json, { text: 'hi', payload: 'hi' }],
    ['a JSON list', '[1]', json, { text: undefined, payload: [1] }],
    ['text', '{"text":"hi"}', { 'content-type': 'text/plain' }, { text: '{"text":"hi"}' }],
    ['an empty text', '', { 'content-type': 'text/plain' }, { text: '', payload: '' }],
    ['a command that is no text', '{"command":{"a":1},"text":2}', json, { names: [], text: undefined }],
  ])('is read as expected: %s', async (_, body, headers, read) => {
    await open('notes', { webhook_secret: SECRET });
    expect(await readEvent(body, headers)).toMatchObject({ platform: 'http', triggers: ['notes'], ...read });
  });

  test('has the signed query of a GET as content', async () => {
    await open('notes', { webhook_secret: SECRET, methods: ['GET'] });
    const query = 'command=ping&text=a%20b';
    const ask = (signature: string, pendingRequest: string) =>
      fetch(`${host.url}/hooks?${pendingRequest}`, { headers: { 'x-hub-signature-256': signature } });
    expect((await ask(hub(''), query)).status).toBe(401);
    expect((await ask(hub(query), query)).status).toBe(202);
    const inbound = adapter.read(host.event());
    expect(inbound).toMatchObject({ names: ['ping'], text: 'a b', context: { 'http.method': 'GET' } });
    expect({ ...(inbound.payload as object) }).toEqual({ command: 'ping', text: 'a b' });
  });

  test('has the received bytes', async () => {
    await open('notes', { webhook_secret: SECRET });
    const body = ' {"n": 12345678901234567890, "a":1.0 } ';
    await postSigned(body, json);
    expect(Buffer.from(host.event().body).toString()).toBe(body);
  });
});

describe('the conversation key', () => {
  test.each([
    ['contains a member of the body', 'body:ticket.id', '{"ticket":{"id":17}}', {}, '/17'],
    ['contains a header', 'header:X-Room', '{}', { 'x-room': 'green' }, '/green'],
    ['has no suffix if the member is missing', 'body:ticket.id', '{"ticket":3}', {}, ''],
    ['has no suffix if the member is an object', 'body:ticket', '{"ticket":{}}', {}, ''],
    ['has no suffix if the header is missing', 'header:x-room', '{}', {}, ''],
  ] as [string, string, string, Record<string, string>, string][])(
    '%s',
    async (_, key, body, headers, end) => {
      await open('tickets', { webhook_secret: SECRET, key });
      await postSigned(body, { ...json, ...headers });
      expect(host.event().key).toBe(`conversation/http/tickets${end}`);
    },
  );

  test('is short and safe for any input', async () => {
    await open('tickets', { webhook_secret: SECRET, key: 'body:id' });
    for (const id of ['x'.repeat(5000), 'a\nb']) {
      await postSigned(JSON.stringify({ id }), json);
      expect(host.event().key).toMatch(/^conversation\/http\/tickets\/[0-9a-f]{64}$/);
    }
  });
});

describe('a trigger with respond: sync', () => {
  const config = { webhook_secret: SECRET, respond: 'sync', respond_timeout_seconds: 5 } as const;

  async function settledResponse(state: 'done' | 'dead' | 'ignored' | 'waiting', more: object) {
    await open('asks', config);
    const pendingRequest = postSigned('x', { 'idempotency-key': '1' });
    await expect.poll(() => host.store.events.length).toBe(1);
    await host.settle('http:asks/1', state, more);
    const response = await pendingRequest;
    return { status: response.status, body: await response.json() };
  }

  test('returns the answer of the handler', async () => {
    expect(await settledResponse('done', { answer: 'well' })).toEqual({
      status: 200,
      body: { id: 'http:asks/1', status: 'done', answer: 'well' },
    });
  });

  test('returns 502 for a dead delivery', async () => {
    expect(await settledResponse('dead', { note: 'the agent failed' })).toMatchObject({
      status: 502,
      body: { status: 'dead', note: 'the agent failed' },
    });
  });

  test('returns 200 for an ignored delivery', async () => {
    expect(await settledResponse('ignored', {})).toMatchObject({ status: 200, body: { status: 'ignored' } });
  });

  test('returns 202 immediately for a parked delivery, with the reason', async () => {
    const until = Date.parse('2026-11-23T02:00:00Z');
    expect(await settledResponse('waiting', { waitingFor: 'approval 1', until })).toEqual({
      status: 202,
      body: {
        id: 'http:asks/1',
        status: 'waiting',
        waiting_for: 'approval 1',
        until: '2026-11-23T02:00:00.000Z',
      },
    });
  });

  test('returns 202 after the timeout', async () => {
    await open('asks', { ...config, respond_timeout_seconds: 0.05 });
    const response = await postSigned('x');
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 202,
      body: { status: 'accepted' },
    });
  });

  test('does not wait for a known delivery', async () => {
    await open('asks', config);
    const first = postSigned('x', { 'idempotency-key': '1' });
    await expect.poll(() => host.store.events.length).toBe(1);
    const secondResponse = await postSigned('x', { 'idempotency-key': '1' });
    expect(await secondResponse.json()).toMatchObject({ status: 'duplicate' });
    await host.settle('http:asks/1', 'done');
    expect((await first).status).toBe(200);
  });

  test.each(['done', 'ignored'] as const)('keeps no waiter for a delivery that is %s', async (state) => {
    await open('asks', config);
    const first = postSigned('x', { 'idempotency-key': '1' });
    await expect.poll(() => host.store.events.length).toBe(1);
    await host.settle('http:asks/1', state);
    await first;
    const secondResponse = await postSigned('x', { 'idempotency-key': '1' });
    expect(await secondResponse.json()).toMatchObject({ status: 'duplicate' });
    expect(host.deliveryWaits.size).toBe(0);
  });

  test('keeps no waiter for a request that the store refused', async () => {
    await open('asks', config);
    host.store.fault = new UnavailableError('the store is full', 5);
    expect((await postSigned('x')).status).toBe(503);
    expect(host.deliveryWaits.size).toBe(0);
  });
});

describe('triggers with a common path', () => {
  test('receive only requests with their secret and method', async () => {
    await open('b-same', { webhook_secret: SECRET });
    await open('a-same', { webhook_secret: SECRET, methods: ['POST', 'PUT'] });
    await open('other', { webhook_secret: 'another' });
    await postSigned('x');
    expect(adapter.read(host.event()).triggers).toEqual(['a-same', 'b-same']);
    await post('x', { 'x-hub-signature-256': hub('x', 'another') });
    expect(adapter.read(host.event()).triggers).toEqual(['other']);
    const put = { method: 'PUT', body: 'x', headers: { 'x-hub-signature-256': hub('x') } };
    expect((await fetch(`${host.url}/hooks`, put)).status).toBe(202);
    expect(adapter.read(host.event()).triggers).toEqual(['a-same']);
    const invalidRequest = {
      method: 'PUT',
      body: 'x',
      headers: { 'x-hub-signature-256': hub('x', 'another') },
    };
    expect((await fetch(`${host.url}/hooks`, invalidRequest)).status).toBe(401);
  });
});

describe('triggers with a common path and secret', () => {
  const bound = (name: string, command: string, config: Partial<HttpTrigger['config']>) => {
    const binding = { command, target: agentTarget('echo'), description: undefined, parameters: [] };
    const trigger = httpTrigger(name, { webhook_secret: SECRET, ...config });
    return adapter.open({ ...trigger, commands: [binding], default_target: undefined }, host);
  };
  const command = (name: string, id: string) =>
    postSigned(JSON.stringify({ command: name, room: 'blue' }), { ...json, 'idempotency-key': id });

  beforeEach(async () => {
    await bound('a', 'status', {});
    await bound('b', 'deploy', { respond: 'sync', key: 'body:room' });
  });

  test('have separate conversations with their own keys', async () => {
    await command('status', '1');
    expect(host.event().key).toBe('conversation/http/a');
    const waiting = command('deploy', '2');
    await expect.poll(() => host.store.events.length).toBe(2);
    expect(host.event()).toMatchObject({ id: 'http:b/2', key: 'conversation/http/b/blue' });
    expect(adapter.read(host.event()).triggers).toEqual(['a', 'b']);
    await host.settle('http:b/2', 'done', { answer: 'deployed' });
    expect(await (await waiting).json()).toMatchObject({ answer: 'deployed' });
  });

  test('use the response mode of the matching trigger, or of the first trigger if no trigger matches', async () => {
    expect((await command('status', '1')).status).toBe(202);
    expect((await command('unknown', '2')).status).toBe(202);
    expect(host.event().id).toBe('http:a/2');
  });
});

test('a trigger with a port has its own listener with only its path', async () => {
  const other = await new TestSourceHost().start();
  const { port } = new URL(other.url);
  await other.stop();
  const opened = await open('apart', { webhook_secret: SECRET, port: Number(port), path: '/' });
  const send = (url: string) =>
    fetch(url, { method: 'POST', body: 'x', headers: { 'x-hub-signature-256': hub('x') } });
  expect((await send(`http://127.0.0.1:${port}/`)).status).toBe(202);
  expect((await send(`http://127.0.0.1:${port}/hooks`)).status).toBe(404);
  expect((await send(`${host.url}/`)).status).toBe(404);
  await opened.close();
  await expect(send(`http://127.0.0.1:${port}/`)).rejects.toThrow();
});

test('a replaced trigger is registered once, with the new settings', async () => {
  const before = await open('orders', { webhook_secret: SECRET, key: 'header:x-room' });
  await open('orders', { webhook_secret: SECRET, key: 'header:x-table' });
  const headers = { 'x-hub-signature-256': hub('x'), 'x-room': 'a', 'x-table': 'b' };
  await post('x', headers);
  expect(host.event().key).toBe('conversation/http/orders/b');
  expect(adapter.read(host.event()).triggers).toEqual(['orders']);
  await before.close();
  expect((await post('x', headers)).status).toBe(202);
});
