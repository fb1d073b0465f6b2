// Remote servers that are away for a while: they serve again as soon as they are back, although the server is
// parked after too many failures otherwise.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { callOnce, details } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { type Answerer, LocalServer } from '../../fixtures/remote/local-server.ts';
import { startSdkHttpServer, startSdkSseServer } from '../../fixtures/remote/sdk-server.ts';

const servers: LocalServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

async function started(server: Promise<LocalServer>): Promise<LocalServer> {
  servers.push(await server);
  return server;
}

/** Parks after two failures, for the rest of the test. */
const restart = { intensity: 1, min_backoff_ms: 20, park_seconds: 600 };

/** Calls until `isDone` accepts the answer, and returns the last one. */
async function callUntil(url: string, id: string, isDone: (text: string) => boolean): Promise<string> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const { body } = await callOnce(url, id, 'echo', { text: 'here' });
    const text = body.toString();
    if (isDone(text) || performance.now() > deadline) return text;
    await sleep(50);
  }
}

const isServed = (text: string) => text.includes('"text":"here"');
const isParked = (text: string) => text.includes('is parked');

async function gatewayTo(url: URL, runtime: 'http' | 'sse') {
  return startGateway({ servers: { far: { url: url.href, runtime, era: 'legacy', restart } } });
}

test.concurrent.each([
  ['sse', startSdkSseServer, '/sse'],
  ['http', startSdkHttpServer, '/mcp'],
] as const)(
  'a %s server that was down serves calls within seconds after it is back',
  async (runtime, start, path) => {
    const server = await started(start());
    const { port } = server;
    const gateway = await gatewayTo(server.url(path), runtime);
    expect(await callUntil(gateway.url, 'far', isServed)).toSatisfy(isServed);
    await server.close();
    await callUntil(gateway.url, 'far', (text) => text.includes('could not connect to'));
    await callUntil(gateway.url, 'far', (text) => runtime === 'http' || isParked(text));
    await new Promise<void>((resolve) => server.server.listen(port, '127.0.0.1', resolve));
    const backAt = performance.now();
    expect(await callUntil(gateway.url, 'far', isServed)).toSatisfy(isServed);
    // At most one second of park time.
    expect(performance.now() - backAt).toBeLessThan(5_000);
  },
);

test.concurrent.each([
  ['sse', startSdkSseServer, '/sse'],
  ['http', startSdkHttpServer, '/mcp'],
] as const)(
  'a %s server behind a proxy that is down when the gateway starts serves calls within seconds after it is back',
  async (runtime, start, path) => {
    const server = await started(start());
    const { answer } = server;
    const away: Answerer = ({ res }) => void res.writeHead(502).end('upstream is away');
    server.answer = away;
    const gateway = await gatewayTo(server.url(path), runtime);
    expect(await callUntil(gateway.url, 'far', isParked)).toContain('responded 502');
    server.answer = answer;
    const backAt = performance.now();
    expect(await callUntil(gateway.url, 'far', isServed)).toSatisfy(isServed);
    expect(performance.now() - backAt).toBeLessThan(5_000);
  },
);

test.concurrent('calls for a server that is down fail fast, with at most one connection attempt per second', async () => {
  const server = await started(startSdkSseServer());
  const attempts = () => server.requests.filter(({ line }) => line === 'GET /sse').length;
  server.answer = ({ res }) => void res.writeHead(503).end();
  const gateway = await gatewayTo(server.url('/sse'), 'sse');
  await callUntil(gateway.url, 'far', isParked);
  const before = attempts();
  const began = performance.now();
  while (performance.now() - began < 2_500)
    await Promise.all(Array.from({ length: 20 }, () => callOnce(gateway.url, 'far', 'echo')));
  expect(attempts() - before).toBeLessThanOrEqual((performance.now() - began) / 1000 + 1);
});

test.concurrent('a server that refuses the gateway with 401 is not retried before park_seconds have passed', async () => {
  const server = await started(LocalServer.start(({ res }) => void res.writeHead(401).end()));
  const gateway = await gatewayTo(server.url('/sse'), 'sse');
  await callUntil(gateway.url, 'far', isParked);
  const { next_retry_at } = await details(gateway.url, 'far');
  expect(Date.parse(next_retry_at ?? '') - Date.now()).toBeGreaterThan(500_000);
});
