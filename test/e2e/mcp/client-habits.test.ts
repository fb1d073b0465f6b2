// Requests that real clients send although no specification asks for them: a slash at the end of the address,
// a version header on `initialize`, and a search for OAuth. Real clients and raw requests, on both HTTP
// engines.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask, BOTH, introduction, JSON_TYPE, message } from '../../fixtures/clients/api-client.ts';
import { http as requestRaw } from '../../fixtures/clients/raw-session.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const KEY = 'correct horse battery staple';
const setup = { servers: { echo: fault('echo') }, settings: { profiles: { some: { servers: ['echo'] } } } };
const json = { 'content-type': JSON_TYPE, accept: BOTH };

describe.each(httpEnginesInTurn)('over %s', (http) => {
  let open: GatewayProcess;
  let guarded: GatewayProcess;

  beforeAll(async () => {
    [open, guarded] = await Promise.all([
      startGateway({ ...setup, http }),
      startGateway({ ...setup, http, settings: { api_key: KEY } }),
    ]);
  });

  test.each(['/mcp/', '/mcp/echo/', '/mcp/@some/'])(
    'a client lists tools at %s, although the path ends with a slash',
    async (path) => {
      const client = new Client({ name: 'slash', version: '1' });
      await client.connect(new StreamableHTTPClientTransport(new URL(path, open.url)));
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain(path === '/mcp/echo/' ? 'pid' : 'echo__pid');
      await client.close();
    },
  );

  test.each(['/mcp//', '/mcp/echo//', '/mcp/@/', '/servers/', '/rpc/', '/health/'])(
    'a request to the unknown path %s returns 404',
    async (path) => {
      const { status } = await requestRaw(open.url + path, {
        method: 'POST',
        headers: json,
        body: message('ping'),
      });
      expect(status).toBe(404);
    },
  );

  test.each([
    ['2025-11-25', '2025-11-25', '2025-11-25'],
    ['2027-01-01', '2027-01-01', '2025-11-25'],
    ['DRAFT-2026-v1', '2025-06-18', '2025-06-18'],
    ['2026-07-28', '2025-11-25', '2025-11-25'],
    ['nonsense', '2025-03-26', '2025-03-26'],
  ])(
    'initialize with MCP-Protocol-Version header %s and body version %s negotiates version %s',
    async (header, requested, agreed) => {
      for (const path of ['/mcp', '/mcp/echo']) {
        const body = message('initialize', introduction(requested));
        const headers = { ...json, 'mcp-protocol-version': header };
        const { status, body: text } = await requestRaw(open.url + path, { method: 'POST', headers, body });
        expect([path, status]).toEqual([path, 200]);
        expect(text.toString()).toContain(`"protocolVersion":"${agreed}"`);
      }
    },
  );

  test('an unknown version header is still refused in a session', async () => {
    const first = await ask(`${open.url}/mcp`, {
      method: 'POST',
      headers: json,
      body: message('initialize', introduction('2025-06-18')),
    });
    const session = { ...json, 'mcp-session-id': first.headers['mcp-session-id'] as string };
    const ping = (version: string) =>
      ask(`${open.url}/mcp`, {
        method: 'POST',
        headers: { ...session, 'mcp-protocol-version': version },
        body: message('ping'),
      });
    expect((await ping('1999-01-01')).status).toBe(400);
    expect((await ping('2025-06-18')).status).toBe(200);
  });

  test.each([
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-protected-resource/mcp/echo'],
    ['GET', '/mcp/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/.well-known/oauth-authorization-server/mcp'],
    ['GET', '/.well-known/openid-configuration'],
    ['GET', '/mcp/.well-known/openid-configuration'],
    ['HEAD', '/.well-known/openid-configuration'],
    ['POST', '/register'],
    ['POST', '/token'],
    ['GET', '/authorize'],
  ])(
    '%s %s returns 404 because the gateway has no OAuth server, with or without a key',
    async (method, path) => {
      for (const { url } of [open, guarded]) {
        const body = method === 'POST' ? { headers: { 'content-type': JSON_TYPE }, body: '{}' } : {};
        const answer = await requestRaw(url + path, { method, ...body });
        expect(answer.status).toBe(404);
        if (method !== 'HEAD') expect(answer.body.toString()).toContain('has no OAuth server');
      }
    },
  );

  test.each(['/servers', '/.well-known/mcp.json', '/registered', '/token/x'])(
    'a request to %s without the key returns 401',
    async (path) => {
      expect((await requestRaw(guarded.url + path)).status).toBe(401);
    },
  );

  test('a client without the key fails immediately', async () => {
    const client = new Client({ name: 'no-key', version: '1' });
    const connected = client.connect(new StreamableHTTPClientTransport(new URL('/mcp', guarded.url)));
    await expect(connected).rejects.toThrow(/API key required/);
  });
});
