// Remote servers and `fetch` behind a forward proxy, with the proxy of another author. The proxy resolves
// every name to this machine.

import { writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { Server as ProxyServer } from 'proxy-chain';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask, call, rpc } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { signingKey } from '../../fixtures/key-server.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { type SdkHttpServer, startSdkHttpServer } from '../../fixtures/remote/sdk-server.ts';
import { tlsIdentity } from '../../fixtures/remote/tls-identity.ts';

/** Destinations of the requests at the proxy. */
const proxied: string[] = [];
let proxy: ProxyServer;
let plain: SdkHttpServer;
let secure: SdkHttpServer;
let gateway: GatewayProcess;
const folder = temporaryFolder();
const authority = join(folder, 'authority.pem');

beforeAll(async () => {
  proxy = new ProxyServer({
    host: '127.0.0.1',
    port: 0,
    prepareRequestFunction: ({ hostname, port, isHttp, username, password }) => {
      proxied.push(`${isHttp ? 'request' : 'tunnel'} ${hostname}:${port}`);
      return {
        requestAuthentication: username !== 'ada' || password !== 'pass:word',
        dnsLookup: ((_name: string, options: { all?: boolean }, done: (...result: unknown[]) => void) =>
          options.all
            ? done(null, [{ address: '127.0.0.1', family: 4 }])
            : done(null, '127.0.0.1', 4)) as never,
      };
    },
  });
  await proxy.listen();
  plain = await startSdkHttpServer();
  secure = await startSdkHttpServer({ makeServer: () => createTlsServer(tlsIdentity) });
  writeFileSync(authority, tlsIdentity.cert);
  gateway = await startGateway({
    folder,
    servers: {
      plain: { url: `http://plain.test:${plain.port}/mcp` },
      secure: { url: `https://secure.test:${secure.port}/mcp` },
      local: { url: `http://127.0.0.1:${plain.port}/mcp` },
      excepted: { url: `http://a.direct.test:${plain.port}/mcp`, restart: { intensity: 0 } },
    },
    env: {
      ...proxyVariables('ada:pass%3Aword@'),
      NO_PROXY: 'other.test, .direct.test',
      NODE_EXTRA_CA_CERTS: authority,
    },
  });
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([proxy.close(true), plain.close(), secure.close()]);
});

/** Variables of the environment that name the proxy. */
function proxyVariables(credentials: string): Record<string, string> {
  const url = `http://${credentials}127.0.0.1:${(proxy.server.address() as AddressInfo).port}`;
  return { no_proxy: '', ...lowerAndUpper(url) };
}

const lowerAndUpper = (url: string) => ({ http_proxy: url, HTTPS_PROXY: url, https_proxy: url });

const echo = async (server: string) =>
  (await rpc(gateway.url, server, call('echo', { text: server }))).json.result?.content[0].text;

test('the proxy forwards requests to a server without TLS, and opens a tunnel to a server with TLS', async () => {
  expect(await Promise.all([echo('plain'), echo('secure')])).toEqual(['plain', 'secure']);
  expect(new Set(proxied)).toEqual(
    new Set([`request plain.test:${plain.port}`, `tunnel secure.test:${secure.port}`]),
  );
  const headers = [...plain.requests, ...secure.requests].map(({ headers }) => Object.keys(headers));
  expect(headers.flat()).not.toContain('proxy-authorization');
});

test('a large body reaches a server through the proxy unchanged', async () => {
  const text = 'å'.repeat(300_000);
  for (const server of ['plain', 'secure']) {
    const { json } = await rpc(gateway.url, server, call('echo', { text }));
    expect(json.result.content[0].text === text).toBe(true);
  }
});

test('loopback addresses and hosts in NO_PROXY are requested directly', async () => {
  const before = proxied.length;
  expect(await echo('local')).toBe('local');
  // The name does not exist outside the proxy.
  const { json } = await ask(`${gateway.url}/servers/excepted/start`, { method: 'POST' });
  expect(json.message).toContain('a.direct.test');
  expect(proxied.slice(before).filter((each) => !/plain|secure/.test(each))).toEqual([]);
});

test('`fetch` uses the proxy as well, for example for the registry', async () => {
  const before = proxied.length;
  const env = { ...proxyVariables('ada:pass%3Aword@'), NODE_EXTRA_CA_CERTS: authority };
  for (const url of [`http://fetch.test:${plain.port}`, `https://secure.test:${secure.port}`])
    await runMain(['servers', 'search', 'shop', '--registry', url], { env });
  expect(proxied.slice(before)).toEqual([
    `request fetch.test:${plain.port}`,
    `tunnel secure.test:${secure.port}`,
  ]);
  expect(secure.requests.at(-1)?.line).toMatch(/^GET .*search=shop/);
});

test('requests to a model, and for the keys of an identity provider, go through the proxy', async () => {
  const models = await ModelServer.start();
  models.reply({ text: 'Through the proxy.' });
  const key = await signingKey('first');
  const provider = createTlsServer(tlsIdentity, (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [key.jwk] }));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const { port } = provider.address() as AddressInfo;
  const issuer = `https://secure.test:${port}`;
  const modelPort = new URL(models.url).port;
  const before = proxied.length;
  const other = await startAutomation({
    settings: {
      api_key: 'the key of the gateway',
      auth: { jwt: { issuer, audience: 'gateway', jwks_url: `${issuer}/keys` } },
      providers: { away: { base_url: `http://models.test:${modelPort}/v1` } },
    },
    resources: [agent('helper', { model: 'away:tiny', retries: 0 })],
    env: { ...proxyVariables('ada:pass%3Aword@'), NODE_EXTRA_CA_CERTS: authority },
  });
  const token = await new SignJWT({ iss: issuer, aud: 'gateway', sub: 'alice' })
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .setExpirationTime('5m')
    .sign(key.privateKey);
  const { json } = await ask(`${other.url}/agents/helper/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"input":"hello","wait_seconds":20}',
  });
  expect(json).toMatchObject({ state: 'done', answer: 'Through the proxy.' });
  expect(proxied.slice(before)).toEqual([`tunnel secure.test:${port}`, `request models.test:${modelPort}`]);
  expect(Object.keys(models.requests[0]?.headers ?? {})).not.toContain('proxy-authorization');
  await other.stop();
  provider.closeAllConnections();
  provider.close();
});

test('the error of a proxy that refuses the credentials names the proxy and the remedy, but not the password', async () => {
  const other = await startGateway({
    servers: { secure: { url: `https://secure.test:${secure.port}/mcp`, restart: { intensity: 0 } } },
    env: proxyVariables('ada:wrong@'),
  });
  const { json } = await ask(`${other.url}/servers/secure/start`, { method: 'POST' });
  expect(json.message).toMatch(/the proxy 127\.0\.0\.1:\d+ refused the connection with 407 .*HTTPS_PROXY/);
  expect(JSON.stringify([json, other.logs()])).not.toContain('ada:wrong');
  await other.stop();
});

test('an unusable proxy variable prevents the start, with the name of the variable', async () => {
  const { code, stderr } = await runMain(['servers', '--url', gateway.url], {
    env: { ...lowerAndUpper(''), HTTPS_PROXY: 'socks5://ada:secret@proxy.test' },
  });
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('HTTPS_PROXY must be the URL of an HTTP proxy'),
  ]);
  expect(stderr).not.toContain('secret');
});
