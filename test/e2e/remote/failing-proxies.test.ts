// Forward proxies that refuse, do not respond, or are away. Errors of remote servers, models, key sets and
// the registry name the proxy and the remedy, without the password.

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { SignJWT } from 'jose';
import { afterAll, describe, test } from 'vitest';
import { agent, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { signingKey } from '../../fixtures/key-server.ts';

const API_KEY = 'the key of the gateway';
const ISSUER = 'https://issuer.test';
const PASSWORD = 's3cretpass';
const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

/** Starts a proxy that answers each connection with a text; undefined to keep it open. */
async function startProxy(answer: string | undefined): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      if (answer !== undefined) socket.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function variables(proxy: string): Record<string, string> {
  const url = `http://ada:${PASSWORD}@${proxy}`;
  return { http_proxy: url, HTTPS_PROXY: url, https_proxy: url, no_proxy: '', NO_PROXY: '' };
}

/** Starts two remote servers, and returns the errors and the log. */
async function serverErrors(proxy: string): Promise<Record<string, string>> {
  const entry = (url: string) => ({
    url,
    era: 'legacy',
    restart: { intensity: 0 },
    start_timeout_seconds: 12,
  });
  const gateway = await startGateway({
    servers: { plain: entry('http://plain.test:8080/mcp'), secure: entry('https://secure.test/mcp') },
    env: variables(proxy),
  });
  const start = async (id: string): Promise<string> =>
    (await ask(`${gateway.url}/servers/${id}/start`, { method: 'POST' })).json.message;
  const [plain, secure] = await Promise.all([start('plain'), start('secure')]);
  const log = JSON.stringify(gateway.logs());
  await gateway.stop();
  return { plain: plain ?? '', secure: secure ?? '', log };
}

/** Searches a registry with and without TLS. */
async function registryErrors(proxy: string): Promise<Record<string, string>> {
  const search = async (registry: string) =>
    (await runMain(['servers', 'search', 'shop', '--registry', registry], { env: variables(proxy) })).stderr;
  const [plain, secure] = await Promise.all([
    search('http://registry.test'),
    search('https://registry.test'),
  ]);
  return { 'plain registry': plain, 'secure registry': secure };
}

/** Sends a token whose keys are not available, and a request to a model. */
async function keyAndModelErrors(proxy: string): Promise<Record<string, string>> {
  const key = await signingKey('first');
  const gateway = await startAutomation({
    settings: {
      api_key: API_KEY,
      auth: { jwt: { issuer: ISSUER, audience: 'gateway', jwks_url: `${ISSUER}/keys` } },
      providers: { away: { base_url: 'https://models.test/v1' } },
    },
    resources: [agent('helper', { model: 'away:tiny', retries: 0 })],
    env: variables(proxy),
  });
  const token = await new SignJWT({ iss: ISSUER, aud: 'gateway', sub: 'alice' })
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .setExpirationTime('5m')
    .sign(key.privateKey);
  const run = async (bearer: string) =>
    ask(`${gateway.url}/agents/helper/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: '{"input":"hello"}',
    });
  const [keys] = await Promise.all([run(token), run(API_KEY)]);
  const logged = () => /the model away:tiny could not be reached[^"]*/.exec(JSON.stringify(gateway.logs()));
  await until('the failure of the model', () => logged() !== null);
  const log = JSON.stringify(gateway.logs());
  await gateway.stop();
  return { keys: keys.json.message, model: logged()?.[0] ?? '', 'automation log': log };
}

const refusal = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`;

describe.concurrent('a proxy', () => {
  test.for<readonly [string, string | undefined, RegExp]>([
    [
      'that refuses the credentials',
      refusal('407 Proxy Authentication Required'),
      /the proxy PROXY (refused the connection with|responded) 407 Proxy Authentication Required.*; check user name and password in HTTPS?_PROXY/,
    ],
    [
      'that cannot reach the host',
      refusal('502 Bad Gateway'),
      /the proxy PROXY (refused the connection with 502 Bad Gateway; if it is not needed for this server, add the host to NO_PROXY|responded 502 Bad Gateway)|responded with status 502/,
    ],
    ['that does not respond', undefined, /through the proxy PROXY/],
    ['that is away', 'away', /no connection through the proxy PROXY: ECONNREFUSED; check HTTPS?_PROXY/],
  ])(
    '%s is named in each error, without its password',
    { timeout: 60_000 },
    async ([, answer, message], { expect }) => {
      const proxy = answer === 'away' ? '127.0.0.1:9' : await startProxy(answer);
      const errors = Object.assign(
        {},
        ...(await Promise.all([serverErrors(proxy), registryErrors(proxy), keyAndModelErrors(proxy)])),
      ) as Record<string, string>;
      const expected = new RegExp(
        message.source.replaceAll('PROXY (', `${proxy} (`).replaceAll('proxy PROXY', `proxy ${proxy}`),
      );
      for (const [name, error] of Object.entries(errors)) {
        if (!name.endsWith('log')) expect.soft(error, name).toMatch(expected);
        expect.soft(error, name).not.toContain(PASSWORD);
        expect.soft(error, name).not.toContain(btoa(`ada:${PASSWORD}`));
      }
    },
  );
});
