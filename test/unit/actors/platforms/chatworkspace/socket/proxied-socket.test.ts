// Sockets of a platform through a forward proxy, with the proxy and the WebSocket server of other authors.

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Server as ProxyServer } from 'proxy-chain';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { webSocketWires } from '../../../../../../actors/platforms/chatworkspace/socket/ws-wires.ts';
import { tlsIdentity } from '../../../../../fixtures/remote/tls-identity.ts';

const LIMIT = { maxBytes: 1_000, maxRedeliveredBytes: 1_000, wasExceeded: false };
const server = createServer(tlsIdentity);
const sockets = new WebSocketServer({ server });
/** Destinations of the tunnels. */
const tunnels: string[] = [];
const proxy = new ProxyServer({
  host: '127.0.0.1',
  port: 0,
  prepareRequestFunction: ({ hostname, port, isHttp, username, password }) => {
    tunnels.push(`${isHttp ? 'request' : 'tunnel'} ${hostname}:${port}`);
    return {
      requestAuthentication: username !== 'ada' || password !== 'pass:word',
      // The proxy resolves every name to this machine.
      dnsLookup: ((_name: string, options: { all?: boolean }, done: (...result: unknown[]) => void) =>
        options.all
          ? done(null, [{ address: '127.0.0.1', family: 4 }])
          : done(null, '127.0.0.1', 4)) as never,
    };
  },
});

beforeAll(async () => {
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await proxy.listen();
});

afterAll(async () => {
  vi.unstubAllEnvs();
  sockets.close();
  server.close();
  await proxy.close(true);
});

beforeEach(() => {
  tunnels.length = 0;
  // The identity of the server is self-signed.
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  vi.stubEnv('NO_PROXY', '');
  useProxy('ada:pass%3Aword');
});

function useProxy(credentials: string): void {
  const url = `http://${credentials}@127.0.0.1:${proxy.port}`;
  for (const name of ['HTTPS_PROXY', 'https_proxy']) vi.stubEnv(name, url);
}

/** Sends a text. Resolves with the text from the server, or with the reason of the close. */
async function echoThrough(host: string): Promise<string> {
  const wires = await webSocketWires(LIMIT);
  return new Promise((resolve) => {
    const url = `wss://${host}:${(server.address() as AddressInfo).port}/link?ticket=secret`;
    const wire = wires.connect(url, {
      onText: (text) => {
        resolve(text);
        wire.close();
      },
      onOversized: () => {},
      onActivity: () => {},
      onClosed: resolve,
    });
    const timer = setInterval(() => {
      try {
        wire.send('hello');
        clearInterval(timer);
      } catch {}
    }, 10);
    setTimeout(() => clearInterval(timer), 5_000).unref();
  });
}

test('a socket opens a tunnel through the proxy', async () => {
  expect(await echoThrough('secure.test')).toBe('hello');
  expect(tunnels).toEqual([`tunnel secure.test:${(server.address() as AddressInfo).port}`]);
});

test('hosts in NO_PROXY and loopback addresses are connected directly', async () => {
  vi.stubEnv('NO_PROXY', '.test');
  expect(await echoThrough('secure.test')).toMatch(/ENOTFOUND|EAI_AGAIN/);
  expect(await echoThrough('127.0.0.1')).toBe('hello');
  expect(tunnels).toEqual([]);
});

test('the reason of a refused socket names the proxy and the remedy, without password and address', async () => {
  useProxy('ada:wrong');
  const reason = await echoThrough('secure.test');
  expect(reason).toBe(
    `the socket was closed: the proxy 127.0.0.1:${proxy.port} refused the connection with 407 Proxy Authentication Required; check user name and password in HTTPS_PROXY`,
  );
});
