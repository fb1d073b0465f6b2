// JSON Web Tokens as an alternative to the key, on routes and webhooks. For each HTTP engine, with the built
// program and an identity provider on a real socket.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import {
  apiServer,
  ask,
  call,
  eventually,
  initialize,
  message,
  post,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { KeyServer, type SigningKey, signingKey } from '../../fixtures/key-server.ts';

const KEY = 'correct horse battery staple';
const withKey = { 'x-api-key': KEY };

describe.each(httpEnginesInTurn)('a gateway that accepts tokens, on %s', (http) => {
  let provider: KeyServer;
  let key: SigningKey;
  let gateway: GatewayProcess;

  const bearer = async (claims: Readonly<Record<string, unknown>> = {}) => ({
    authorization: `Bearer ${await provider.token(key, claims)}`,
  });

  beforeAll(async () => {
    key = await signingKey('first');
    provider = await KeyServer.start([key]);
    const { url } = await startAgent();
    const jwt = { issuer: provider.issuer, audience: 'hooks', jwks_url: String(provider.jwksUrl) };
    const hook = (config: object) => ({ type: 'HTTP', config, default_agent: 'orders' });
    gateway = await startAutomation({
      http,
      env: { THE_KEY: KEY },
      settings: {
        api_key: `\${THE_KEY}`,
        log_level: 'debug',
        auth: { jwt: { issuer: provider.issuer, audience: 'gateway', claims: { scope: 'tools' } } },
      },
      servers: { api: apiServer() },
      resources: [
        trigger('orders', hook({ path: '/hooks/orders', scheme: 'jwt', jwt })),
        trigger('signed', hook({ path: '/hooks/signed', webhook_secret: SECRET })),
        trigger('ops', { type: 'Manual', config: {}, default_agent: 'orders' }),
        httpAgent('orders', url),
      ],
    });
  });
  beforeEach(() => {
    provider.keysHandler = undefined;
  });
  afterAll(() => provider[Symbol.asyncDispose]());

  test('a bearer token grants access like the API key, and its principal is in the log and in the records of runs', async () => {
    const alice = await bearer({ scope: 'tools' });
    expect((await ask(`${gateway.url}/servers`, { headers: alice })).status).toBe(200);
    const answer = await rpc(gateway.url, 'api', call('echo', { text: 'hello' }), {
      ...alice,
      'x-request-id': 'r-alice',
    });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('hello')]);
    await rpc(gateway.url, 'api', call('echo', {}), { ...withKey, 'x-request-id': 'r-key' });
    const waitForCallLine = (id: string) =>
      eventually('the call line', () => gateway.logs().find(({ request_id }) => request_id === id));
    expect(await waitForCallLine('r-alice')).toMatchObject({ msg: 'call', principal: 'token:alice' });
    expect(await waitForCallLine('r-key')).toMatchObject({ msg: 'call', principal: 'key:api_key' });
    const run = await post(`${gateway.url}/triggers/ops/run`, '{"text":"go","wait_seconds":20}', alice);
    expect(run.json).toMatchObject({ state: 'done' });
    const record = `${gateway.url}/deliveries/${encodeURIComponent(run.json.id)}`;
    expect((await ask(record, { headers: alice })).json).toMatchObject({ principal: 'token:alice' });
  });

  test('an invalid token gets 401 with the reason, and a wrong API key gets 403', async () => {
    const cases: [Record<string, string>, number, string][] = [
      [await bearer(), 401, 'the token lacks the required claim "scope"'],
      [await bearer({ scope: 'tools', aud: 'other' }), 401, 'the token is for another audience'],
      [await bearer({ scope: 'tools', exp: 1 }), 401, 'the token has expired'],
      [{ authorization: 'Bearer a.b.c' }, 401, 'the token is not a JSON Web Token'],
      [{ authorization: 'Bearer wrong' }, 403, 'Invalid API key'],
      [{ 'x-api-key': 'wrong' }, 403, 'Invalid API key'],
      [{}, 401, 'API key required'],
    ];
    for (const [headers, status, text] of cases) {
      const answer = await ask(`${gateway.url}/mcp`, { method: 'POST', headers, body: message('ping') });
      expect([answer.status, answer.json.error.message]).toEqual([status, text]);
      if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
    const [challenge] = [await ask(`${gateway.url}/servers`, { headers: { authorization: 'Bearer a.b.c' } })];
    expect(challenge.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(gateway.text()).not.toContain(key.jwk.x);
  });

  test('a session accepts any token of the principal that opened it, and is unknown to other principals', async () => {
    const address = `${gateway.url}/mcp/api`;
    const session = await initialize(address, '2025-11-25', await bearer({ scope: 'tools' }));
    const ping = async (headers: Record<string, string>) =>
      (await post(address, message('ping'), { ...session, ...headers })).status;
    expect(await ping(await bearer({ scope: 'tools', jti: 'a later token' }))).toBe(200);
    expect(await ping(await bearer({ scope: 'tools', sub: 'bob' }))).toBe(404);
    expect(await ping(withKey)).toBe(404);
    const bob = await bearer({ scope: 'tools', sub: 'bob' });
    const end = (headers: Record<string, string>) =>
      ask(address, { method: 'DELETE', headers: { ...session, ...headers } });
    expect((await end(bob)).status).toBe(404);
    const stream = await ask(address, { headers: { ...session, ...bob, accept: 'text/event-stream' } });
    expect(stream.status).toBe(404);
    expect((await end(await bearer({ scope: 'tools' }))).status).toBe(204);
  });

  test('the record of a webhook event names its sender, which a token or a signature proves', async () => {
    const headers = { ...(await bearer({ aud: 'hooks', sub: 'shop' })), 'idempotency-key': 'one' };
    const response = await post(`${gateway.url}/hooks/orders`, '{"text":"an order"}', headers);
    expect([response.status, response.json]).toEqual([202, { id: 'http:orders/one', status: 'accepted' }]);
    await postHook(gateway.url, '/hooks/signed', { text: 'signed' }, { 'idempotency-key': 'two' });
    for (const [id, principal] of [
      ['http:orders/one', 'token:shop'],
      ['http:signed/two', 'signature:webhook_secret'],
    ]) {
      const record = await ask(`${gateway.url}/deliveries/${encodeURIComponent(id ?? '')}`, {
        headers: withKey,
      });
      expect(record.json).toMatchObject({ principal });
    }
    const rejectedResponse = await post(`${gateway.url}/hooks/orders`, '{}', await bearer());
    expect([rejectedResponse.status, rejectedResponse.json.message]).toEqual([
      401,
      expect.stringContaining('for another audience'),
    ]);
    expect((await post(`${gateway.url}/hooks/orders`, '{}', withKey)).status).toBe(401);
  });
});

test.each(httpEnginesInTurn)(
  'while the gateway fetches the signing keys, only requests with tokens are held, with their bodies (%s)',
  async (http) => {
    const key = await signingKey('first');
    await using provider = await KeyServer.start([key]);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    provider.keysHandler = (_, response) => {
      released.then(() => response.end(JSON.stringify({ keys: [key.jwk] })));
    };
    const jwt = { issuer: provider.issuer, audience: 'gateway', jwks_url: String(provider.jwksUrl) };
    const gateway = await startAutomation({
      http,
      env: { THE_KEY: KEY },
      settings: { api_key: `\${THE_KEY}`, auth: { jwt } },
      servers: { api: apiServer() },
      resources: [],
    });
    const headers = { authorization: `Bearer ${await provider.token(key)}` };
    const large = rpc(gateway.url, 'api', call('echo', { text: 'x'.repeat(500_000) }), headers);
    const unknown = ask(`${gateway.url}/nothing`, { headers });
    await eventually('the key request', () => provider.requestCounts.keys > 0);
    expect((await ask(`${gateway.url}/servers`, { headers: withKey })).status).toBe(200);
    expect((await ask(`${gateway.url}/health`)).status).toBe(200);
    expect((await ask(`${gateway.url}/servers`, { headers: withKey })).json.servers[0].requests).toBe(0);
    release();
    const answer = await large;
    expect([answer.status, answer.text.length > 500_000, (await unknown).status]).toEqual([200, true, 404]);
    expect(provider.requestCounts.keys).toBe(1);
  },
);

test('while the identity provider is unavailable, a request with a token gets a retry time, and the key still works', async () => {
  const key = await signingKey('first');
  await using provider = await KeyServer.start([key]);
  provider.keysHandler = (_, response) => response.writeHead(502).end();
  const jwt = { issuer: provider.issuer, audience: 'gateway', jwks_url: String(provider.jwksUrl) };
  const gateway = await startAutomation({
    env: { THE_KEY: KEY },
    settings: { api_key: `\${THE_KEY}`, auth: { jwt } },
    resources: [],
  });
  const headers = { authorization: `Bearer ${await provider.token(key)}` };
  const answer = await ask(`${gateway.url}/servers`, { headers });
  const why = expect.stringContaining('responded with 502');
  expect([answer.status, answer.json.message]).toEqual([503, why]);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  const atMcp = await post(`${gateway.url}/mcp`, message('ping'), headers);
  expect([atMcp.status, atMcp.json.error]).toEqual([503, { code: -32000, message: why }]);
  expect(Number(atMcp.headers['retry-after'])).toBeGreaterThan(0);
  expect((await ask(`${gateway.url}/servers`, { headers: withKey })).status).toBe(200);
  provider.keysHandler = undefined;
  await eventually('the next key request', async () => {
    const { status } = await ask(`${gateway.url}/servers`, { headers });
    return status === 200;
  });
});
