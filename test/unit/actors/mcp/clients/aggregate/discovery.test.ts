// Learning of servers nothing is known of: together, a few at a time, and never longer than a client will wait (D1).

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Discovery, type ListingClient } from '../../../../../../actors/mcp/clients/aggregate/discovery.ts';
import { aggregateOf, ListedServer } from '../../../../../fixtures/server/listed-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const of = (...servers: ListedServer[]) =>
  new Discovery(aggregateOf(() => servers.map(({ asManaged }) => asManaged)));

/** A server that runs `ms` after it was asked for, and is known then. */
function takes(id: string, ms: number): ListedServer {
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

/** How long it takes to settle, in milliseconds of the test's clock. */
async function settled(discovery: Discovery, timeoutMs: number): Promise<number> {
  const startedAt = performance.now();
  let endedAt: number | undefined;
  const settling = discovery.settle(timeoutMs) ?? Promise.resolve();
  void settling.then(() => {
    endedAt = performance.now();
  });
  for (let i = 0; i < 100_000 && endedAt === undefined; i += 10) await vi.advanceTimersByTimeAsync(10);
  return (endedAt ?? Number.NaN) - startedAt;
}

test('who is known already is asked nothing, and nobody waits', async () => {
  const server = new ListedServer('s', {});
  expect(await settled(of(server), 4000)).toBeLessThan(20);
  expect(server.demands).toBe(0);
});

test('all are waited for when all are quick', async () => {
  const servers = Array.from({ length: 5 }, (_, i) => takes(`s${i}`, 100));
  expect(await settled(of(...servers), 4000)).toBeLessThan(150);
  for (const server of servers) expect(server.cache.isLearnt).toBe(true);
});

test('eight start at a time, each once', async () => {
  let together = 0;
  let most = 0;
  const servers = Array.from({ length: 40 }, (_, i) => takes(`s${i}`, 100));
  for (const server of servers) {
    const start = server.onDemand;
    server.onDemand = () => {
      together += 1;
      most = Math.max(most, together);
      start();
      const forget = server.onState(() => {
        if (!server.isRunning) return;
        together -= 1;
        forget();
      });
    };
  }
  const discovery = of(...servers);
  expect(await settled(discovery, 4000)).toBeLessThan(600);
  expect(most).toBe(8);
  for (const server of servers) expect([server.demands, server.listeners]).toEqual([1, 0]);
});

test('a server that hangs costs the waiting time, and the next list only what is left of it (D2)', async () => {
  const [slow, quick] = [new ListedServer('slow'), takes('quick', 100)];
  const discovery = of(slow, quick);
  const first = discovery.settle(4000);
  await vi.advanceTimersByTimeAsync(3000);
  const second = discovery.settle(4000);
  const ends: string[] = [];
  void first?.then(() => ends.push('first'));
  void second?.then(() => ends.push('second'));
  await vi.advanceTimersByTimeAsync(990);
  expect(ends).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(ends).toEqual(['first', 'second']);
  // From then on it costs nothing, although it still hangs.
  expect(await settled(discovery, 4000)).toBeLessThan(20);
  expect([slow.demands, quick.demands]).toEqual([1, 1]);
});

test('a server that fails costs no more than its failure, and is tried again later without anybody waiting', async () => {
  const server = new ListedServer('s');
  server.onDemand = () => {
    server.enter('starting');
    setTimeout(() => server.enter('failed'), 50);
  };
  const discovery = of(server);
  expect(await settled(discovery, 4000)).toBeLessThan(100);
  expect(await settled(discovery, 4000)).toBeLessThan(20);
  expect(server.demands).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  server.state = 'stopped';
  expect(await settled(discovery, 4000)).toBeLessThan(20);
  expect(server.demands).toBe(2);
  await vi.advanceTimersByTimeAsync(100);
  expect(server.listeners).toBe(0);
});

test('hanging servers hold up those behind them in the queue, but never a list', async () => {
  const hanging = Array.from({ length: 8 }, (_, i) => new ListedServer(`h${i}`));
  const last = takes('last', 10);
  const discovery = of(...hanging, last);
  expect(await settled(discovery, 500)).toBeLessThan(530);
  expect(last.demands).toBe(0);
  hanging[0]?.enter('failed');
  await vi.advanceTimersByTimeAsync(20);
  expect(last.cache.isLearnt).toBe(true);
});

test('a server that left the catalog before its turn holds up nobody', async () => {
  const gone = new ListedServer('gone');
  gone.onDemand = () => {};
  expect(await settled(of(takes('quick', 50), gone), 4000)).toBeLessThan(80);
  expect(gone.listeners).toBe(0);
});

test('who is known and lists the same for everybody is not looked at again until something changes', async () => {
  let looks = 0;
  const servers = Array.from({ length: 100 }, (_, n) => new ListedServer(`s${n}`, { tools: ['t'] }));
  for (const { entry } of servers)
    Object.defineProperty(entry, 'isolation', {
      get: () => {
        looks += 1;
        return 'shared';
      },
    });
  const discovery = of(...servers);
  for (let n = 0; n < 10; n += 1) await discovery.settle(1000);
  expect(looks).toBe(100);
  servers[0]?.learn({ tools: ['t', 'u'] });
  await discovery.settle(1000);
  expect(looks).toBe(200);
});

describe('a known server that may list more for whoever asks', () => {
  const client: ListingClient = {
    capabilities: { sampling: {} },
    era: 'legacy',
    as: (_, visit) => visit(undefined),
  };
  const known = () => Object.assign(new ListedServer('s', { tools: ['t'] }), { mayShowMoreTo: () => true });

  test('is started when that client lists, and is waited for a short while only (D3)', async () => {
    const server = known();
    Object.assign(server.entry, { isolation: 'session' });
    const discovery = of(server);
    let hasSettled = false;
    void discovery.settle(25_000, client)?.then(() => {
      hasSettled = true;
    });
    expect(server.demands).toBe(1);
    await vi.advanceTimersByTimeAsync(3_900);
    expect(hasSettled).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(hasSettled).toBe(true);
  });

  test('is not started by what learns at the start, and holds up no other client', async () => {
    const server = known();
    Object.assign(server.entry, { isolation: 'session' });
    const discovery = of(server);
    discovery.learn(client);
    expect(server.demands).toBe(0);
    void discovery.settle(25_000, client);
    expect(discovery.settle(25_000)).toBeUndefined();
  });
});

test('a server that failed before anybody listed is tried, and not waited for', () => {
  const server = Object.assign(new ListedServer('s'), { lastError: new Error('exit code 1') });
  const discovery = of(server);
  expect(discovery.settle(25_000)).toBeUndefined();
  expect(server.demands).toBe(1);
});

test('nobody waits any longer once the gateway stops, and nothing is begun', async () => {
  const server = new ListedServer('s');
  const discovery = of(server);
  const settled = discovery.settle(25_000);
  discovery.close();
  await settled;
  expect(vi.getTimerCount()).toBe(0);
  const late = new ListedServer('late');
  const closed = of(late);
  closed.close();
  expect(closed.settle(25_000)).toBeUndefined();
  expect(late.demands).toBe(0);
});

test('a server that runs without having given all its lists is asked for them, once in ten seconds, and nobody waits', async () => {
  const server = new ListedServer('s');
  server.enter('running');
  const discovery = of(server);
  await settled(discovery, 4000);
  expect([server.demands, server.asked]).toEqual([0, 1]);
  await settled(discovery, 4000);
  expect(server.asked).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  server.onAsked = () => new Promise(() => {});
  expect(await settled(discovery, 4000)).toBeLessThan(20);
  expect([server.demands, server.asked]).toEqual([0, 2]);
});
