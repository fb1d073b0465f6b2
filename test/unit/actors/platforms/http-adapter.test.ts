// Triggers of type HTTP over real sockets: who is let in, what is kept of a request, and what is answered.

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
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

describe('a secret of the scheme hub', () => {
  beforeEach(() => open('orders', { webhook_secret: SECRET, webhook_secret_previous: 'the one before' }));

  test('lets in what it signed, and answers 202 with the id', async () => {
    const response = await postSigned('{"text":"hello"}', { ...json, 'idempotency-key': 'k-1' });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ id: 'http:orders/k-1', status: 'accepted' });
    expect(host.event().key).toBe('conversation/http/orders');
    expect(host.event().trace).toMatch(/^00-1{32}-/);
  });

  test('lets in what the one before signed', async () => {
    expect((await post('x', { 'x-hub-signature-256': hub('x', 'the one before') })).status).toBe(202);
  });

  test.each([
    ['no signature', {}],
    ['one of another secret', { 'x-hub-signature-256': hub('x', 'another') }],
    ['one of an empty secret', { 'x-hub-signature-256': hub('x', '') }],
    ['one that is too short', { 'x-hub-signature-256': hub('x').slice(0, -2) }],
    ['one with letters that are not hexadecimal', { 'x-hub-signature-256': `sha256=${'z'.repeat(64)}` }],
    ['one with another hash before it', { 'x-hub-signature-256': hub('x').replace('sha256', 'sha512') }],
    ['one in another header', { 'x-signature': hub('x') }],
  ] as [string, Record<string, string>][])('answers 401 to %s', async (_, headers) => {
    expect((await post('x', headers)).status).toBe(401);
    expect(host.store.events).toEqual([]);
  });

  test('answers 200 to a delivery it has, and keeps it once', async () => {
    for (const status of [202, 200])
      expect((await postSigned('x', { 'idempotency-key': 'same' })).status).toBe(status);
    expect(host.store.events).toHaveLength(1);
  });

  test('knows a recorded request under whatever other id it comes, and keeps it once', async () => {
    const recorded = { ...json, 'idempotency-key': '1' };
    expect((await postSigned('{"a":1}', recorded)).status).toBe(202);
    const upper = `sha256=${hub('{"a":1}').slice(7).toUpperCase()}`;
    for (const other of [
      { 'idempotency-key': '2' },
      { 'webhook-id': '3' },
      { 'x-hub-signature-256': upper, 'webhook-id': '4' },
      {},
    ]) {
      const response = await postSigned('{"a":1}', { ...json, ...other });
      expect([response.status, await response.json()]).toEqual([
        200,
        { id: 'http:orders/1', status: 'duplicate' },
      ]);
    }
    expect((await postSigned('{"a":2}', { ...json, 'idempotency-key': '2' })).status).toBe(202);
    expect(host.store.events).toHaveLength(2);
  });

  test('knows a recorded request although headers that are not signed have it taken by another trigger', async () => {
    const command = { command: 'go', target: agentTarget('echo'), description: undefined, parameters: [] };
    const config = { webhook_secret: SECRET, path: '/shared' };
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

  test('takes each request that nobody has named, however often the same is said', async () => {
    for (let count = 0; count < 3; count += 1)
      expect((await postSigned('{"ping":true}', json)).status).toBe(202);
    expect(host.store.events).toHaveLength(3);
  });

  test('takes the same again under another id with replay_window_seconds: 0', async () => {
    await open('often', { webhook_secret: SECRET, path: '/often', replay_window_seconds: 0 });
    const headers = { 'x-hub-signature-256': hub('x') };
    for (const id of ['1', '2'])
      expect((await post('x', { ...headers, 'idempotency-key': id }, '/often')).status).toBe(202);
  });

  test('does not tell the deliveries of two senders apart by their ids alone', async () => {
    await open('parcels', { webhook_secret: 'other', path: '/parcels' });
    await postSigned('x', { 'idempotency-key': '1' });
    const other = { 'x-hub-signature-256': hub('x', 'other'), 'idempotency-key': '1' };
    expect((await post('x', other, '/parcels')).status).toBe(202);
  });

  test('answers 400 to an id that is too long, and gives one where there is none', async () => {
    expect((await postSigned('x', { 'idempotency-key': 'k'.repeat(256) })).status).toBe(400);
    await postSigned('x');
    expect(host.event().id).toMatch(/^http:orders\/[0-9a-f-]{36}$/);
  });

  test('answers 400 when the content type says JSON and the body is none, but only to who knows the secret', async () => {
    expect((await postSigned('{', json)).status).toBe(400);
    expect((await post('{', { ...json, 'x-hub-signature-256': hub('[') })).status).toBe(401);
  });

  test('answers 405 with the methods there are (WH1)', async () => {
    const response = await fetch(`${host.url}/hooks`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  test('answers 413 to a body that is too large', async () => {
    expect((await postSigned('x'.repeat(100_001))).status).toBe(413);
  });

  test('answers 503 when the store cannot keep it', async () => {
    host.store.fault = new UnavailableError('the disk is full', 5);
    expect((await postSigned('x')).status).toBe(503);
  });
});

test('the header of a signature can have another name', async () => {
  await open('forms', { webhook_secret: SECRET, signature_header: 'x-form-signature' });
  expect((await post('x', { 'X-Form-Signature': hub('x') })).status).toBe(202);
  expect((await post('x', { 'x-hub-signature-256': hub('x') })).status).toBe(401);
});

describe('a secret of the scheme standard', () => {
  beforeEach(() => open('events', { webhook_secret: STANDARD, scheme: 'standard' }));

  function signed(body: string, at = new Date(), id = 'msg_1', secret = STANDARD) {
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new StandardSigner(secret).sign(id, at, body),
    };
  }

  test('lets in what an independent signer signed, under its id', async () => {
    const body = '{"message":"grüße"}';
    expect((await post(body, { ...json, ...signed(body) })).status).toBe(202);
    expect(host.event().id).toBe('http:events/msg_1');
    expect(adapter.read(host.event()).text).toBe('grüße');
  });

  test('lets in a list of signatures of which one fits', async () => {
    const headers = signed('x');
    const other = signed('x', new Date(), 'msg_1', 'whsec_b3RoZXI=')['webhook-signature'];
    const list = `v1a,abc ${other} ${headers['webhook-signature']}`;
    expect((await post('x', { ...headers, 'webhook-signature': list })).status).toBe(202);
  });

  test.each([
    ['too old', -301],
    ['too far ahead', 301],
  ])('answers 401 to a time that is %s', async (_, seconds) => {
    expect((await post('x', signed('x', new Date(Date.now() + seconds * 1000)))).status).toBe(401);
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'answers 401 without %s, or with another',
    async (name) => {
      const headers: Record<string, string> = signed('x');
      expect((await post('x', { ...headers, [name]: `1${headers[name]}` })).status).toBe(401);
      delete headers[name];
      expect((await post('x', headers)).status).toBe(401);
    },
  );
});

test('a secret of the scheme standard that is not base64 does not open, and is not shown', async () => {
  const opened = open('events', { webhook_secret: 'not base64!', scheme: 'standard' });
  await expect(opened).rejects.toThrow(/base64/);
  await expect(opened).rejects.not.toThrow(/not base64!/);
});

describe('required headers', () => {
  test('are compared with their values, of which * is any', async () => {
    await open('alarms', { required_headers: { 'x-token': 'open sesame', 'x-kind': '*' } });
    const right = { 'x-token': 'open sesame', 'x-kind': 'fire' };
    expect((await post('x', right)).status).toBe(202);
    expect((await post('x', { ...right, 'x-token': 'open sesamE' })).status).toBe(401);
    expect((await post('x', { ...right, 'x-token': 'open' })).status).toBe(401);
    expect((await post('x', { 'x-token': 'open sesame' })).status).toBe(401);
  });

  test('are needed beside a signature', async () => {
    await open('alarms', { webhook_secret: SECRET, required_headers: { 'x-token': 'a' } });
    expect((await postSigned('x')).status).toBe(401);
    expect((await postSigned('x', { 'x-token': 'a' })).status).toBe(202);
  });

  test('stay out of the event', async () => {
    await open('alarms', { required_headers: { 'x-token': 'open sesame' } });
    await post('x', { 'x-token': 'open sesame' });
    expect(JSON.stringify(host.event())).not.toContain('sesame');
    expect(JSON.stringify(adapter.read(host.event()))).not.toContain('sesame');
  });
});

describe('a trigger that verifies nothing', () => {
  test.each([
    ['no secret', {}],
    ['headers with any value', { required_headers: { 'x-token': '*' } }],
    ['an empty secret', { webhook_secret: '' }],
    ['a header that is empty', { required_headers: { 'x-token': '' } }],
  ])('does not open with %s unless that is asked for', async (_, config) => {
    await expect(open('any', config)).rejects.toThrow(/proves|empty/);
  });

  test('is open to this machine only, and says so', async () => {
    await open('any', { insecure_allow_unverified: true });
    expect((await post('x')).status).toBe(202);
    expect(host.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'trigger takes what nobody has signed' }),
    );
  });
});

describe('a trigger that verifies nothing, and a web page', () => {
  test.each([
    ['a request with an Origin', 'POST', { origin: 'https://evil.example' }],
    ['a request of a page without an address', 'POST', { origin: 'null' }],
    ['an image, or a link, of another site', 'GET', { 'sec-fetch-site': 'cross-site' }],
  ] as [string, string, Record<string, string>][])('refuses %s, and says why', async (_, method, headers) => {
    await open('any', { insecure_allow_unverified: true, methods: ['GET', 'POST'] });
    const asked = request(`${host.url}/hooks`, { method, headers }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect([response.statusCode, await text(response)]).toEqual([401, expect.stringMatching(/a web page/)]);
    expect(host.store.events).toEqual([]);
  });

  test('takes what a person opens in a browser', async () => {
    await open('any', { insecure_allow_unverified: true, methods: ['GET'] });
    const asked = request(`${host.url}/hooks`, { headers: { 'sec-fetch-site': 'none' } }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(202);
  });

  test('asks nothing of the kind where a signature proves who sends', async () => {
    await open('orders', { webhook_secret: SECRET });
    expect((await postSigned('x', { origin: 'https://shop.example' })).status).toBe(202);
  });
});

describe('a body in chunks that were not read strictly', () => {
  function postChunked(body: string, headers: Record<string, string> = {}) {
    const stream = new Blob([body]).stream();
    return fetch(`${host.url}/hooks`, {
      method: 'POST',
      body: stream,
      duplex: 'half',
      headers,
    } as RequestInit);
  }

  test('is taken where a signature or its own grammar shows that it is whole', async () => {
    await open('orders', { webhook_secret: SECRET });
    expect((await postChunked('x', { 'x-hub-signature-256': hub('x') })).status).toBe(202);
    expect((await postChunked('x', { 'x-hub-signature-256': hub('xy') })).status).toBe(401);
    await open('alarms', { path: '/hooks', required_headers: { 'x-token': 'open sesame' } });
    const token = { 'x-token': 'open sesame' };
    expect((await postChunked('{"a":1}', { ...token, ...json })).status).toBe(202);
  });

  test('is refused where nothing does, and nothing of it is kept', async () => {
    await open('alarms', { required_headers: { 'x-token': 'open sesame' } });
    const token = { 'x-token': 'open sesame' };
    const answer = await postChunked('half a text', { ...token, 'content-type': 'text/plain' });
    expect([answer.status, await answer.text()]).toEqual([411, expect.stringMatching(/Content-Length/)]);
    expect((await postChunked('{"a":', { ...token, ...json })).status).toBe(400);
    expect(host.store.events).toEqual([]);
    expect((await post('whole', token)).status).toBe(202);
  });
});

describe('what a request says', () => {
  async function sent(body: string, headers: Record<string, string>) {
    await postSigned(body, headers);
    return adapter.read(host.event());
  }

  test.each([
    ['JSON', '{"text":"hi","n":1}', json, { text: 'hi', payload: { text: 'hi', n: 1 }, names: [] }],
    [
      'JSON of another type',
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
      'a command with more',
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
    ['JSON that is text', '"hi"', json, { text: 'hi', payload: 'hi' }],
    ['JSON that is a list', '[1]', json, { text: undefined, payload: [1] }],
    ['text', '{"text":"hi"}', { 'content-type': 'text/plain' }, { text: '{"text":"hi"}' }],
    ['nothing', '', { 'content-type': 'text/plain' }, { text: '', payload: '' }],
    ['a command that is no text', '{"command":{"a":1},"text":2}', json, { names: [], text: undefined }],
  ])('is read: %s', async (_, body, headers, read) => {
    await open('notes', { webhook_secret: SECRET });
    expect(await sent(body, headers)).toMatchObject({ platform: 'http', triggers: ['notes'], ...read });
  });

  test('is read from the query of a GET, which is what was signed (HV2)', async () => {
    await open('notes', { webhook_secret: SECRET, methods: ['GET'] });
    const query = 'command=ping&text=a%20b';
    const ask = (signature: string, asked: string) =>
      fetch(`${host.url}/hooks?${asked}`, { headers: { 'x-hub-signature-256': signature } });
    expect((await ask(hub(''), query)).status).toBe(401);
    expect((await ask(hub(query), query)).status).toBe(202);
    const inbound = adapter.read(host.event());
    expect(inbound).toMatchObject({ names: ['ping'], text: 'a b', context: { 'http.method': 'GET' } });
    expect({ ...(inbound.payload as object) }).toEqual({ command: 'ping', text: 'a b' });
  });

  test('keeps its bytes as they came', async () => {
    await open('notes', { webhook_secret: SECRET });
    const body = ' {"n": 12345678901234567890, "a":1.0 } ';
    await postSigned(body, json);
    expect(Buffer.from(host.event().body).toString()).toBe(body);
  });
});

describe('the key of a conversation', () => {
  test.each([
    ['a member of the body', 'body:ticket.id', '{"ticket":{"id":17}}', {}, '/17'],
    ['a header', 'header:X-Room', '{}', { 'x-room': 'green' }, '/green'],
    ['a member that is not there', 'body:ticket.id', '{"ticket":3}', {}, ''],
    ['a member that is an object', 'body:ticket', '{"ticket":{}}', {}, ''],
    ['a header that is not there', 'header:x-room', '{}', {}, ''],
  ] as [string, string, string, Record<string, string>, string][])(
    'is %s',
    async (_, key, body, headers, end) => {
      await open('tickets', { webhook_secret: SECRET, key });
      await postSigned(body, { ...json, ...headers });
      expect(host.event().key).toBe(`conversation/http/tickets${end}`);
    },
  );

  test('is short and plain, whatever a sender writes', async () => {
    await open('tickets', { webhook_secret: SECRET, key: 'body:id' });
    for (const id of ['x'.repeat(5000), 'a\nb']) {
      await postSigned(JSON.stringify({ id }), json);
      expect(host.event().key).toMatch(/^conversation\/http\/tickets\/[0-9a-f]{64}$/);
    }
  });
});

describe('respond: sync', () => {
  const config = { webhook_secret: SECRET, respond: 'sync', respond_timeout_seconds: 5 } as const;

  async function ended(state: 'done' | 'dead' | 'ignored' | 'waiting', more: object) {
    await open('asks', config);
    const asked = postSigned('x', { 'idempotency-key': '1' });
    await expect.poll(() => host.store.events.length).toBe(1);
    await host.settle('http:asks/1', state, more);
    const response = await asked;
    return { status: response.status, body: await response.json() };
  }

  test('answers with what the handler says', async () => {
    expect(await ended('done', { answer: 'well' })).toEqual({
      status: 200,
      body: { id: 'http:asks/1', status: 'done', answer: 'well' },
    });
  });

  test('answers 502 when the delivery is dead', async () => {
    expect(await ended('dead', { note: 'the agent failed' })).toMatchObject({
      status: 502,
      body: { status: 'dead', note: 'the agent failed' },
    });
  });

  test('answers 200 when nobody takes it', async () => {
    expect(await ended('ignored', {})).toMatchObject({ status: 200, body: { status: 'ignored' } });
  });

  test('answers 202 at once when the delivery parks, with what it waits for', async () => {
    const until = Date.parse('2026-11-23T02:00:00Z');
    expect(await ended('waiting', { waitingFor: 'approval 1', until })).toEqual({
      status: 202,
      body: {
        id: 'http:asks/1',
        status: 'waiting',
        waiting_for: 'approval 1',
        until: '2026-11-23T02:00:00.000Z',
      },
    });
  });

  test('answers 202 when it takes longer', async () => {
    await open('asks', { ...config, respond_timeout_seconds: 0.05 });
    const response = await postSigned('x');
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 202,
      body: { status: 'accepted' },
    });
  });

  test('does not wait for a delivery that it has already', async () => {
    await open('asks', config);
    const first = postSigned('x', { 'idempotency-key': '1' });
    await expect.poll(() => host.store.events.length).toBe(1);
    const again = await postSigned('x', { 'idempotency-key': '1' });
    expect(await again.json()).toMatchObject({ status: 'duplicate' });
    await host.settle('http:asks/1', 'done');
    expect((await first).status).toBe(200);
  });

  test.each(['done', 'ignored'] as const)(
    'keeps no place among those who wait for a delivery that is %s',
    async (state) => {
      await open('asks', config);
      const first = postSigned('x', { 'idempotency-key': '1' });
      await expect.poll(() => host.store.events.length).toBe(1);
      await host.settle('http:asks/1', state);
      await first;
      const again = await postSigned('x', { 'idempotency-key': '1' });
      expect(await again.json()).toMatchObject({ status: 'duplicate' });
      expect(host.deliveryWaits.size).toBe(0);
    },
  );

  test('keeps no place among those who wait for what the store refused', async () => {
    await open('asks', config);
    host.store.fault = new UnavailableError('the store is full', 5);
    expect((await postSigned('x')).status).toBe(503);
    expect(host.deliveryWaits.size).toBe(0);
  });
});

describe('triggers that share a path', () => {
  test('get what their secret fits, and no more', async () => {
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
    const wrong = { method: 'PUT', body: 'x', headers: { 'x-hub-signature-256': hub('x', 'another') } };
    expect((await fetch(`${host.url}/hooks`, wrong)).status).toBe(401);
  });
});

describe('triggers that share a path and a secret', () => {
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

  test('keep their conversations apart, each by its own key', async () => {
    await command('status', '1');
    expect(host.event().key).toBe('conversation/http/a');
    const waiting = command('deploy', '2');
    await expect.poll(() => host.store.events.length).toBe(2);
    expect(host.event()).toMatchObject({ id: 'http:b/2', key: 'conversation/http/b/blue' });
    expect(adapter.read(host.event()).triggers).toEqual(['a', 'b']);
    await host.settle('http:b/2', 'done', { answer: 'deployed' });
    expect(await (await waiting).json()).toMatchObject({ answer: 'deployed' });
  });

  test('answer each as it says, and the first what nobody takes', async () => {
    expect((await command('status', '1')).status).toBe(202);
    expect((await command('unknown', '2')).status).toBe(202);
    expect(host.event().id).toBe('http:a/2');
  });
});

test('a trigger with a port has a listener of its own, where only its path is', async () => {
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

test('a trigger that takes the place of another of its name is there once, and its settings count', async () => {
  const before = await open('orders', { webhook_secret: SECRET, key: 'header:x-room' });
  await open('orders', { webhook_secret: SECRET, key: 'header:x-table' });
  const headers = { 'x-hub-signature-256': hub('x'), 'x-room': 'a', 'x-table': 'b' };
  await post('x', headers);
  expect(host.event().key).toBe('conversation/http/orders/b');
  expect(adapter.read(host.event()).triggers).toEqual(['orders']);
  await before.close();
  expect((await post('x', headers)).status).toBe(202);
});
