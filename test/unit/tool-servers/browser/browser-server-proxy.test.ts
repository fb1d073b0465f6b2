// The proxy of the browser server, with sockets instead of a browser: forwarding, refusals, and connections
// only to the checked address.

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type FailedConnection,
  LoopbackProxy,
  type ProxyOptions,
} from '../../../../tool-servers/browser/network/loopback-proxy.ts';
import { peerUser } from '../../../../tool-servers/browser/network/peer-user.ts';
import { freePort } from '../../../fixtures/free-port.ts';
import { servePages, tcpCanary } from '../../../fixtures/tool-servers/browser-pages.ts';

const open: LoopbackProxy[] = [];
let failedConnections: FailedConnection[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((proxy) => proxy.close()));
  failedConnections = [];
});

async function startProxy(choices: Partial<ProxyOptions> = {}): Promise<LoopbackProxy> {
  const proxy = await LoopbackProxy.start({
    refusal: () => undefined,
    uid: undefined,
    onFailure: (trouble) => failedConnections.push(trouble),
    ...choices,
  });
  open.push(proxy);
  return proxy;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function requestThroughProxy(
  proxy: LoopbackProxy,
  url: string,
  headers = {},
  method = 'GET',
  body = '',
): Promise<Answer> {
  const asking = request({ host: '127.0.0.1', port: proxy.port, path: url, method, headers, agent: false });
  asking.end(body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(parts).toString() };
}

/** Opens a CONNECT tunnel. Returns the first response line; empty if the proxy disconnects. */
async function tunnel(proxy: LoopbackProxy, authority: string): Promise<{ socket: Socket; answer: string }> {
  const socket = connect(proxy.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  let output = '';
  socket.once('data', (data) => {
    output = data.toString();
  });
  await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return { socket, answer: output.split('\r\n')[0] ?? '' };
}

const toLoopback = async () => [{ address: '127.0.0.1', family: 4 }];

describe('requests through the proxy', () => {
  let echo: { port: number };
  beforeAll(async () => {
    echo = await servePages({
      '/echo': (incoming, response) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('end', () => {
          response.setHeader('set-cookie', ['a=1', 'b=2']);
          response.setHeader('x-hop', 'gone');
          response.setHeader('connection', 'x-hop');
          response.end(
            JSON.stringify({
              method: incoming.method,
              url: incoming.url,
              headers: incoming.headers,
              body: `${Buffer.concat(parts)}`,
            }),
          );
        });
      },
    });
  });

  test("reach the server with the page's host and port, without the proxy's headers", async () => {
    const proxy = await startProxy({ resolve: toLoopback });
    const { status, headers, body } = await requestThroughProxy(
      proxy,
      `http://name.test:${echo.port}/echo?a=b%20c`,
      { 'proxy-connection': 'keep-alive', 'proxy-authorization': 'Basic x', 'x-kept': 'yes', te: 'trailers' },
      'POST',
      'hello',
    );
    expect(status).toBe(200);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(headers['x-hop']).toBeUndefined();
    const echoed = JSON.parse(body);
    expect(echoed).toMatchObject({ method: 'POST', url: '/echo?a=b%20c', body: 'hello' });
    expect(echoed.headers).toMatchObject({ host: `name.test:${echo.port}`, 'x-kept': 'yes' });
    expect(echoed.headers['proxy-authorization']).toBeUndefined();
    expect(echoed.headers.te).toBeUndefined();
  });

  test('to refused addresses are not forwarded, and the reason is reported', async () => {
    const canary = await tcpCanary();
    const proxy = await startProxy({ refusal: () => 'a test address', resolve: toLoopback });
    const { status, body } = await requestThroughProxy(proxy, `http://name.test:${canary.port}/`);
    expect(status).toBe(403);
    expect(body).toContain('a test address');
    expect(failedConnections).toEqual([
      {
        authority: `name.test:${canary.port}`,
        reason: 'name.test is 127.0.0.1, a test address',
        isRefusal: true,
      },
    ]);
    expect(canary.traffic).toEqual([]);
  });

  test('to a closed port result in 502 with the reason', async () => {
    const proxy = await startProxy();
    const { status, body } = await requestThroughProxy(proxy, `http://127.0.0.1:${await freePort()}/`);
    expect(status).toBe(502);
    expect(body).toContain('the connection was refused');
    expect(failedConnections[0]).toMatchObject({ isRefusal: false });
  });

  test('result in 502 if the server switches protocols', async () => {
    const changing = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\nbytes'),
      );
    });
    changing.listen(0, '127.0.0.1');
    await once(changing, 'listening');
    const proxy = await startProxy();
    const { port } = changing.address() as AddressInfo;
    const { status, body } = await requestThroughProxy(proxy, `http://127.0.0.1:${port}/`);
    expect(status).toBe(502);
    expect(body).toContain('switched protocols without a request');
    await new Promise((resolve) => changing.close(resolve));
  });

  test('with a relative address, another scheme or the address of the proxy itself are refused', async () => {
    const proxy = await startProxy();
    for (const path of [
      '/echo',
      'ftp://127.0.0.1/x',
      'file:///etc/passwd',
      `http://127.0.0.1:${proxy.port}/`,
    ])
      expect((await requestThroughProxy(proxy, path)).status, path).toBe(403);
  });
});

describe('CONNECT tunnels of the proxy', () => {
  test('carry bytes both ways', async () => {
    const echo = await servePages({ '/x': 'through' });
    const proxy = await startProxy({ resolve: toLoopback });
    const { socket, answer } = await tunnel(proxy, `name.test:${echo.port}`);
    expect(answer).toBe('HTTP/1.1 200 Connection Established');
    socket.write('GET /x HTTP/1.1\r\nHost: name.test\r\nConnection: close\r\n\r\n');
    let body = '';
    for await (const part of socket) body += part;
    expect(body).toContain('through');
  });

  test.each(['127.0.0.1', '[::1]', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433', '0x7f.1'])(
    'to %s are refused like any other request to a forbidden address',
    async (host) => {
      const canary = await tcpCanary();
      const proxy = await startProxy({ refusal: () => 'a test address' });
      const { socket, answer } = await tunnel(proxy, `${host}:${canary.port}`);
      socket.destroy();
      expect(answer).toBe('HTTP/1.1 403 Forbidden');
      expect(canary.traffic).toEqual([]);
    },
  );

  test('to invalid authorities and to blocked ports are refused', async () => {
    const proxy = await startProxy();
    for (const authority of [
      '',
      ':::',
      'a b:80',
      '127.0.0.1:25',
      '127.0.0.1:99999',
      `127.0.0.1:${proxy.port}`,
    ]) {
      const { socket, answer } = await tunnel(proxy, authority);
      socket.destroy();
      expect(answer, authority).not.toContain('200');
    }
  });
});

describe('a name with changing addresses', () => {
  test('is connected at its checked address, and checked again for the next connection', async () => {
    const good = await servePages({ '/': 'good' });
    const bad = await tcpCanary('127.0.0.2');
    let lookups = 0;
    const proxy = await startProxy({
      refusal: (address) => (address === '127.0.0.1' ? undefined : 'another test address'),
      // A second lookup for the same connection would return the forbidden address.
      resolve: async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    });
    expect(await requestThroughProxy(proxy, `http://rebind.test:${good.port}/`)).toMatchObject({
      status: 200,
      body: 'good',
    });
    expect(lookups).toBe(1);
    expect(await requestThroughProxy(proxy, `http://rebind.test:${bad.port}/`)).toMatchObject({
      status: 403,
    });
    expect(bad.traffic).toEqual([]);
  });
});

describe('the proxy', () => {
  test('serves only its own user', async () => {
    const pages = await servePages({ '/': 'page' });
    const own = process.getuid?.() ?? 0;
    const forUs = await startProxy({ uid: own });
    expect((await requestThroughProxy(forUs, `${pages.url}/`)).status).toBe(200);
    const forOthers = await startProxy({ uid: own + 1 });
    expect((await requestThroughProxy(forOthers, `${pages.url}/`)).status).toBe(403);
    const { socket, answer } = await tunnel(forOthers, `127.0.0.1:${pages.port}`);
    socket.destroy();
    expect(answer).toBe('HTTP/1.1 403 Forbidden');
    expect(pages.requests).toEqual(['GET /']);
  });

  test('gets the user of a connection from the kernel, and none for an unknown connection', async () => {
    const server = createServer(() => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    expect(await peerUser(port, socket.localPort ?? 0)).toBe(process.getuid?.());
    expect(await peerUser(port, 1)).toBeUndefined();
    socket.destroy();
    server.close();
  });

  test('ends every connection when it is closed', async () => {
    const canary = await tcpCanary();
    const proxy = await startProxy();
    const { port } = proxy;
    const { socket } = await tunnel(proxy, `127.0.0.1:${canary.port}`);
    const ended = once(socket, 'close');
    await proxy.close();
    open.length = 0;
    await ended;
    const late = connect(port, '127.0.0.1');
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
  });
});
