// Access to the built gateway, for each HTTP engine: the key in both headers and the documented errors, Host
// and Origin checks on all routes, and CORS for allowed origins.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Ask,
  apiServer,
  ask,
  BOTH,
  call,
  EventReader,
  initialize,
  JSON_TYPE,
  message,
} from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';

const KEY = 'correct horse battery staple';
const json = { 'content-type': JSON_TYPE, accept: BOTH };
/** All routes except /health. */
const guardedRoutes: [string, string, Ask?][] = [
  ['GET', '/servers'],
  ['GET', '/servers/api'],
  ['POST', '/servers/api/start'],
  ['POST', '/servers/api/stop'],
  ['POST', '/mcp', { headers: json, body: message('ping') }],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
  ['POST', '/mcp/api', { headers: json, body: message('ping') }],
  ['GET', '/mcp/api'],
  ['POST', '/mcp/@part', { headers: json, body: message('ping') }],
  ['PUT', '/mcp'],
  ['POST', '/rpc', { headers: { ...json, 'x-mcp-server': 'api' }, body: call('echo') }],
  ['GET', '/stats'],
  ['POST', '/admin/reload'],
  ['GET', '/nothing'],
  ['HEAD', '/servers'],
  ['OPTIONS', '/servers'],
];
const everywhere = [['GET', '/health'] as [string, string, Ask?], ...guardedRoutes];

/** Expected body of refusals: a JSON-RPC error at MCP addresses, the documented text at plain routes. */
const refusal = (path: string, error: string, message: unknown, more: object = {}) =>
  /^\/mcp(\/|$)/.test(path)
    ? { jsonrpc: '2.0', id: null, error: { code: -32600, message } }
    : { error, message, ...more };

const with_ = (options: Ask | undefined, method: string, headers: Readonly<Record<string, string>>): Ask => ({
  ...options,
  method,
  headers: { ...options?.headers, ...headers },
});

describe.each(httpEnginesInTurn)('a gateway with a key on %s', (http) => {
  let gateway: GatewayProcess;

  beforeAll(async () => {
    gateway = await startGateway({
      http,
      env: { THE_KEY: KEY },
      settings: { api_key: `\${THE_KEY}` },
      servers: { api: apiServer() },
    });
  });

  test.each(guardedRoutes)(
    '%s %s returns the documented 401 without a key',
    async (method, path, options) => {
      const answer = await ask(gateway.url + path, with_(options, method, {}));
      expect(answer.status).toBe(401);
      if (method !== 'HEAD')
        expect(answer.text).toBe(JSON.stringify(refusal(path, 'Unauthorized', 'API key required')));
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(answer.headers['content-type']).toBe('application/json');
    },
  );

  test.each(guardedRoutes)(
    '%s %s returns the documented 403 with a wrong key',
    async (method, path, options) => {
      for (const headers of [{ authorization: 'Bearer wrong' }, { 'x-api-key': 'wrong' }]) {
        const answer = await ask(
          gateway.url + path,
          with_(options, method, headers as Record<string, string>),
        );
        expect(answer.status).toBe(403);
        if (method !== 'HEAD')
          expect(answer.text).toBe(JSON.stringify(refusal(path, 'Forbidden', 'Invalid API key')));
      }
    },
  );

  test('GET /health needs no key', async () => {
    expect((await ask(`${gateway.url}/health`)).status).toBe(200);
    expect((await ask(`${gateway.url}/health`, { headers: { 'x-api-key': 'wrong' } })).status).toBe(200);
  });

  test.each([
    ['authorization', `Bearer ${KEY}`],
    ['authorization', `bearer ${KEY}`],
    ['x-api-key', KEY],
    ['X-API-Key', KEY],
  ])('the key is read from %s: %s', async (name, value) => {
    expect((await ask(`${gateway.url}/servers`, { headers: { [name]: value } })).status).toBe(200);
    const session = await initialize(`${gateway.url}/mcp`, '2025-11-25', { [name]: value });
    expect(session['mcp-session-id']).toBeTruthy();
  });

  test.each([
    `Basic ${Buffer.from(`user:${KEY}`).toString('base64')}`,
    KEY,
    `Token ${KEY}`,
    'Bearer',
    'Bearer ',
  ])('the authorization %j contains no key and returns 401', async (authorization) => {
    const answer = await ask(`${gateway.url}/servers`, { headers: { authorization } });
    expect([answer.status, answer.json?.message]).toEqual([401, 'API key required']);
  });

  test.each([KEY.slice(0, -1), `${KEY}x`, KEY.toUpperCase(), ` ${KEY} x`, KEY.replaceAll(' ', '  ')])(
    'the key %j is wrong',
    async (key) => {
      expect((await ask(`${gateway.url}/servers`, { headers: { 'x-api-key': key } })).status).toBe(403);
    },
  );

  test.each(['api_key', 'key', 'token', 'access_token', 'x-api-key', 'authorization'])(
    'a key in the query as %s is ignored',
    async (name) => {
      const query = new URLSearchParams({ [name]: KEY });
      expect((await ask(`${gateway.url}/servers?${query}`)).status).toBe(401);
      expect(gateway.text()).not.toContain(KEY);
    },
  );

  test('without a key no server is started and no body is read', async () => {
    const answer = await ask(`${gateway.url}/servers`, { headers: { 'x-api-key': KEY } });
    const before = answer.json.servers[0].requests;
    await ask(`${gateway.url}/rpc`, with_({ headers: { 'x-mcp-server': 'api' }, body: '{' }, 'POST', json));
    const after = (await ask(`${gateway.url}/servers`, { headers: { 'x-api-key': KEY } })).json;
    expect(after.servers[0].requests).toBe(before);
  });

  test('the key is compared in constant time by digests of equal length', () => {
    const code = readFileSync(resolve(import.meta.dirname, '../../../src/http/identification.ts'), 'utf8');
    expect(code).toMatch(/timingSafeEqual\(digest\(key\), this\.#digest\)/);
    expect(code).not.toMatch(/given === |startsWith|localeCompare/);
  });
});

describe.each(httpEnginesInTurn)('a loopback gateway on %s', (http) => {
  let gateway: GatewayProcess;
  const page = 'https://app.example.com';

  beforeAll(async () => {
    gateway = await startGateway({
      http,
      settings: {
        allowed_origins: [page, 'https://Upper.example.com:443'],
        allowed_hosts: ['gateway.lan', 'with.port:8443'],
      },
      servers: { api: apiServer() },
    });
  });

  test.each([
    'localhost',
    'localhost:PORT',
    'LOCALHOST',
    '127.0.0.1:PORT',
    '127.0.0.1:1',
    '[::1]',
    '[::1]:PORT',
    'gateway.lan',
    'Gateway.lan:80',
    'with.port:8443',
  ])('the Host %s is allowed', async (host) => {
    const headers = { host: host.replace('PORT', String(gateway.port)) };
    expect((await ask(`${gateway.url}/servers`, { headers })).status).toBe(200);
  });

  const evil = [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:PORT',
    'localhost@evil.example',
    'with.port',
    'with.port:80',
    '127.0.0.2',
    'localhost:x',
    '0.0.0.0',
  ];

  test.each(everywhere)(
    '%s %s returns 403 for a foreign Host, except /health',
    async (method, path, options) => {
      for (const host of evil) {
        const headers = { host: host.replace('PORT', String(gateway.port)) };
        const answer = await ask(gateway.url + path, with_(options, method, headers));
        if (path === '/health') {
          expect(answer.status).toBe(200);
          continue;
        }
        expect([host, answer.status]).toEqual([host, 403]);
        if (method !== 'HEAD')
          expect(answer.json).toEqual(
            refusal(path, 'Forbidden', expect.stringMatching(/Host.*allowed_hosts/), {
              request_id: answer.headers['x-request-id'],
            }),
          );
      }
    },
  );

  const foreign = [
    'https://evil.example',
    'null',
    'http://localhost',
    'http://localhost:1',
    'http://127.0.0.1:1',
    'file://',
    'http://evil.example:PORT',
    'http://localhost:PORT/',
    'http://localhost:PORT.evil.example',
    'https://app.example.com.evil.example',
    'https://app.example.com:8443',
    'http://app.example.com',
  ];

  test.each(everywhere)('%s %s returns 403 for a foreign Origin', async (method, path, options) => {
    for (const each of foreign) {
      const origin = each.replace('PORT', String(gateway.port));
      const answer = await ask(gateway.url + path, with_(options, method, { origin }));
      expect([origin, answer.status]).toEqual([origin, 403]);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      if (method !== 'HEAD')
        expect(answer.json).toEqual(
          refusal(path, 'Forbidden', expect.stringMatching(/Origin.*allowed_origins/), {
            request_id: answer.headers['x-request-id'],
          }),
        );
    }
  });

  test.each(['http://localhost:PORT', 'http://127.0.0.1:PORT', 'http://[::1]:PORT'])(
    'a page of the gateway itself, at %s, may call the API',
    async (own) => {
      const origin = own.replace('PORT', String(gateway.port));
      const answer = await ask(`${gateway.url}/servers`, { headers: { origin } });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, origin]);
    },
  );

  test.each([page, 'https://upper.example.com'])('CORS headers are in responses to %s', async (origin) => {
    for (const [method, path, given] of everywhere) {
      if (method === 'OPTIONS') continue;
      const answer = await ask(gateway.url + path, with_(given, method, { origin }));
      expect([path, answer.headers['access-control-allow-origin']]).toEqual([path, origin]);
      expect(answer.headers['access-control-expose-headers']).toMatch(/mcp-session-id/i);
      expect(answer.headers.vary).toMatch(/origin/i);
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test('an event stream for an allowed origin has CORS headers', async () => {
    const session = await initialize(`${gateway.url}/mcp`, '2025-11-25', { origin: page });
    const stream = new EventReader(`${gateway.url}/mcp`, { headers: { ...session, origin: page } });
    await stream.opened();
    expect(stream.headers['access-control-allow-origin']).toBe(page);
    expect(stream.headers['access-control-expose-headers']).toMatch(/mcp-session-id/i);
    stream.drop();
  });

  test('the preflight of an allowed origin returns 204 with the allowed headers, another origin gets 403', async () => {
    const preflight = (origin: string) =>
      ask(`${gateway.url}/mcp/api`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,mcp-session-id',
        },
      });
    const answer = await preflight(page);
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBe(page);
    expect(answer.headers['access-control-allow-methods']?.split(', ')).toEqual(
      expect.arrayContaining(['GET', 'POST', 'DELETE']),
    );
    const allowed = answer.headers['access-control-allow-headers']?.toLowerCase().split(', ');
    for (const name of [
      'authorization',
      'content-type',
      'x-api-key',
      'x-mcp-server',
      'mcp-session-id',
      'mcp-protocol-version',
      'last-event-id',
    ])
      expect(allowed).toContain(name);
    expect((await preflight('https://evil.example')).status).toBe(403);
  });

  test('a preflight needs no key, because browsers send none', async () => {
    const locked = await startGateway({
      http,
      settings: { allowed_origins: [page], api_key: 'some-key-1' },
      servers: {},
    });
    const headers = { origin: page, 'access-control-request-method': 'POST' };
    expect((await ask(`${locked.url}/mcp`, { method: 'OPTIONS', headers })).status).toBe(204);
    const refused = await ask(`${locked.url}/mcp`, { method: 'POST', headers: { origin: page } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, page]);
    await locked.stop();
  });
});
