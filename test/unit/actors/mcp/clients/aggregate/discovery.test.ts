// Discovery starts servers whose lists (of tools, prompts, resources) are unknown, because a client requests
// a merged list. A few start concurrently, and the list request waits up to a timeout.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Discovery, type ListingClient } from '../../../../../../actors/mcp/clients/aggregate/discovery.ts';
import { aggregateOf, ListedServer } from '../../../../../fixtures/server/listed-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const discoveryOf = (...servers: ListedServer[]) =>
  new Discovery(aggregateOf(() => servers.map(({ asManaged }) => asManaged)));

/** Server whose lists are known `ms` after the request. */
function slowServer(id: string, ms: number): ListedServer {
  const server = new ListedServer(id);
  server.onDemand = () => {
    server.enter('starting');
    setTimeout(() => {
      server.learn({ tools: ['t'] });
      server.enter('running');
    }, ms);
  };
  return server;
}

/** Returns the duration of `settle`, in milliseconds of the fake clock. */
async function settleMs(discovery: Discovery, timeoutMs: number): Promise<number> {
  const startedAt = performance.now();
  let endedAt: number | undefined;
  const settling = discovery.waitForLists(timeoutMs) ?? Promise.resolve();
  void settling.then(() => {
    endedAt = performance.now();
  });
  for (let i = 0; i < 100_000 && endedAt === undefined; i += 10) await vi.advanceTimersByTimeAsync(10);
  return (endedAt ?? Number.NaN) - startedAt;
}

test('discovery neither starts nor awaits a server whose lists are known', async () => {
  const server = new ListedServer('s', {});
  expect(await settleMs(discoveryOf(server), 4000)).toBeLessThan(20);
  expect(server.demands).toBe(0);
});

test('discovery waits for all servers if all start quickly', async () => {
  const servers = Array.from({ length: 5 }, (_, i) => slowServer(`s${i}`, 100));
  expect(await settleMs(discoveryOf(...servers), 4000)).toBeLessThan(150);
  for (const server of servers) expect(server.cache.isLearnt).toBe(true);
});

test('discovery starts eight servers at a time, each once', async () => {
  let together = 0;
  let maxCount = 0;
  const servers = Array.from({ length: 40 }, (_, i) => slowServer(`s${i}`, 100));
  for (const server of servers) {
    const start = server.onDemand;
    server.onDemand = () => {
      together += 1;
      maxCount = Math.max(maxCount, together);
      start();
      const forget = server.onState(() => {
        if (!server.isRunning) return;
        together -= 1;
        forget();
      });
    };
  }
  const discovery = discoveryOf(...servers);
  expect(await settleMs(discovery, 4000)).toBeLessThan(600);
  expect(maxCount).toBe(8);
  for (const server of servers) expect([server.demands, server.listeners]).toEqual([1, 0]);
});

test('a hanging server delays all list requests until the timeout of the first one, and later requests not at all', async () => {
  const [slow, quick] = [new ListedServer('slow'), slowServer('quick', 100)];
  const discovery = discoveryOf(slow, quick);
  const first = discovery.waitForLists(4000);
  await vi.advanceTimersByTimeAsync(3000);
  const second = discovery.waitForLists(4000);
  const endedServers: string[] = [];
  void first?.then(() => endedServers.push('first'));
  void second?.then(() => endedServers.push('second'));
  await vi.advanceTimersByTimeAsync(990);
  expect(endedServers).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(endedServers).toEqual(['first', 'second']);
  // Later requests do not wait for the hanging server.
  expect(await settleMs(discovery, 4000)).toBeLessThan(20);
  expect([slow.demands, quick.demands]).toEqual([1, 1]);
});

test('a failing server delays a list until its failure, and is retried later without a delay', async () => {
  const server = new ListedServer('s');
  server.onDemand = () => {
    server.enter('starting');
    setTimeout(() => server.enter('failed'), 50);
  };
  const discovery = discoveryOf(server);
  expect(await settleMs(discovery, 4000)).toBeLessThan(100);
  expect(await settleMs(discovery, 4000)).toBeLessThan(20);
  expect(server.demands).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  server.state = 'stopped';
  expect(await settleMs(discovery, 4000)).toBeLessThan(20);
  expect(server.demands).toBe(2);
  await vi.advanceTimersByTimeAsync(100);
  expect(server.listeners).toBe(0);
});

test('hanging servers delay the start of queued servers, but list requests no longer than the timeout', async () => {
  const hanging = Array.from({ length: 8 }, (_, i) => new ListedServer(`h${i}`));
  const last = slowServer('last', 10);
  const discovery = discoveryOf(...hanging, last);
  expect(await settleMs(discovery, 500)).toBeLessThan(530);
  expect(last.demands).toBe(0);
  hanging[0]?.enter('failed');
  await vi.advanceTimersByTimeAsync(20);
  expect(last.cache.isLearnt).toBe(true);
});

test('a server removed before its start delays no list', async () => {
  const removed = new ListedServer('gone');
  removed.onDemand = () => {};
  expect(await settleMs(discoveryOf(slowServer('quick', 50), removed), 4000)).toBeLessThan(80);
  expect(removed.listeners).toBe(0);
});

test('discovery checks lists that are equal for all clients once, and again only after a change', async () => {
  let checks = 0;
  const servers = Array.from({ length: 100 }, (_, n) => new ListedServer(`s${n}`, { tools: ['t'] }));
  for (const { entry } of servers)
    Object.defineProperty(entry, 'isolation', {
      get: () => {
        checks += 1;
        return 'shared';
      },
    });
  const discovery = discoveryOf(...servers);
  for (let n = 0; n < 10; n += 1) await discovery.waitForLists(1000);
  expect(checks).toBe(100);
  servers[0]?.learn({ tools: ['t', 'u'] });
  await discovery.waitForLists(1000);
  expect(checks).toBe(200);
});

describe('a server that may list more items for one client', () => {
  const client: ListingClient = {
    capabilities: { sampling: {} },
    era: 'legacy',
    withOwner: (_, visit) => visit(undefined),
  };
  const knownServer = () =>
    Object.assign(new ListedServer('s', { tools: ['t'] }), { mayShowMoreTo: () => true });

  test('is started by a list request of this client, which waits a few seconds', async () => {
    const server = knownServer();
    Object.assign(server.entry, { isolation: 'session' });
    const discovery = discoveryOf(server);
    let hasSettled = false;
    void discovery.waitForLists(25_000, client)?.then(() => {
      hasSettled = true;
    });
    expect(server.demands).toBe(1);
    await vi.advanceTimersByTimeAsync(3_900);
    expect(hasSettled).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(hasSettled).toBe(true);
  });

  test('is not started at gateway start, and delays no list of other clients', async () => {
    const server = knownServer();
    Object.assign(server.entry, { isolation: 'session' });
    const discovery = discoveryOf(server);
    discovery.learn(client);
    expect(server.demands).toBe(0);
    void discovery.waitForLists(25_000, client);
    expect(discovery.waitForLists(25_000)).toBeUndefined();
  });
});

test('discovery starts a server that failed before its lists were known, and no list request waits for it', () => {
  const server = Object.assign(new ListedServer('s'), { lastError: new Error('exit code 1') });
  const discovery = discoveryOf(server);
  expect(discovery.waitForLists(25_000)).toBeUndefined();
  expect(server.demands).toBe(1);
});

test('discovery stops waiting and starts no server when the gateway stops', async () => {
  const server = new ListedServer('s');
  const discovery = discoveryOf(server);
  const settleMs = discovery.waitForLists(25_000);
  discovery.close();
  await settleMs;
  expect(vi.getTimerCount()).toBe(0);
  const late = new ListedServer('late');
  const closed = discoveryOf(late);
  closed.close();
  expect(closed.waitForLists(25_000)).toBeUndefined();
  expect(late.demands).toBe(0);
});

test('discovery requests the missing lists of a running server every ten seconds, and no client waits for them', async () => {
  const server = new ListedServer('s');
  server.enter('running');
  const discovery = discoveryOf(server);
  await settleMs(discovery, 4000);
  expect([server.demands, server.listRequests]).toEqual([0, 1]);
  await settleMs(discovery, 4000);
  expect(server.listRequests).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  server.onListRequest = () => new Promise(() => {});
  expect(await settleMs(discovery, 4000)).toBeLessThan(20);
  expect([server.demands, server.listRequests]).toEqual([0, 2]);
});
