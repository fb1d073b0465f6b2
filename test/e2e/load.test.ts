// Crowds: sessions that are opened and forgotten, clients that leave in the middle, more calls than there is room for.
// Work is bounded, the surplus is told at once (A8), and what is left behind is cleared away.

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { fault, quick, signsOfBugs } from '../fixtures/fault-servers.ts';
import { type GatewayProcess, startGateway } from '../fixtures/gateway-process.ts';
import { callOnce, details, isAlive, json, RawSession, stats, until } from '../fixtures/raw-session.ts';
import { seeded } from '../fixtures/seeded.ts';

const MIB = 1024 * 1024;

/** Resident memory of the gateway, in bytes (proc(5), VmRSS). */
function memoryOf({ pid }: GatewayProcess): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
  return Number(kilobytes) * 1024;
}

/** Runs `count` jobs, a few at a time. */
async function crowd(count: number, atATime: number, job: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

describe('sessions that are opened and abandoned', () => {
  it('leave no session, no process and no memory, a thousand of them with a process of their own', async () => {
    const MAX = 8;
    const gateway = await startGateway({
      servers: {
        own: quick({ isolation: 'session', pool: { max: MAX } }),
        shared: quick(),
      },
      settings: { limits: { session_idle_seconds: 1 } },
    });
    const { url } = gateway;
    const pids = new Set<number>();
    let most = 0;
    const abandon = async (number: number) => {
      const isOwn = number % 2 === 0;
      const session = await RawSession.open(url, isOwn ? '/mcp/own' : '/mcp');
      if (!isOwn) await session.request('tools/list');
      const answer = await session.call(isOwn ? 'pid' : 'own__pid');
      // Beyond pool.max the session idle longest makes room; if all are in use, the newest is told.
      if (answer.status === 200) pids.add(Number(answer.text));
      else expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
      if (number % 50 === 0) most = Math.max(most, (await details(url, 'own')).pids.length);
    };
    await crowd(300, 4, abandon);
    const before = memoryOf(gateway);
    await crowd(1000, 4, abandon);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(MAX);
    expect(pids.size).toBeGreaterThan(900);
    await until('the end of all sessions', async () => (await stats(url)).sessions === 0);
    await until('the end of their processes', async () => (await details(url, 'own')).pids.length === 0);
    await until('the end of every process', () => [...pids].filter(isAlive).length === 0);
    expect(memoryOf(gateway) - before).toBeLessThan(40 * MIB);
    expect(gateway.text()).not.toMatch(signsOfBugs);
  }, 60_000);

  it('the session idle longest makes room at pool.max and is told by 404; one in use never does', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { isolation: 'session', pool: { max: 2 } }) },
    });
    const [first, second, third] = await Promise.all([
      RawSession.open(url, '/mcp/echo'),
      RawSession.open(url, '/mcp/echo'),
      RawSession.open(url, '/mcp/echo'),
    ]);
    await first.call('pid');
    await second.call('pid');
    const stream = await first.listen();
    expect((await third.call('pid')).status).toBe(200);
    // The first is older but listens, so the second had to go.
    expect((await second.call('pid')).status).toBe(404);
    expect((await first.call('pid')).status).toBe(200);
    const busy = third.call('wait', { ms: 400 });
    await until('the call', async () => (await details(url, 'echo')).in_flight === 1);
    const fourth = await RawSession.open(url, '/mcp/echo');
    const refused = await fourth.call('pid');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.error?.message).toMatch(/pool\.max/);
    expect((await busy).text).toBe('waited 400');
    expect((await fourth.call('pid')).status).toBe(200);
    stream.stop();
  });
});

describe('clients that drop their sockets', () => {
  it('at every step of a call, thousands of times, leave nothing in flight and break nothing', async () => {
    const DROPS = 3000;
    const gateway = await startGateway({
      servers: { echo: fault('echo'), own: quick({ isolation: 'session', pool: { max: 6 } }) },
      settings: { limits: { session_idle_seconds: 2 } },
    });
    const { url, port } = gateway;
    const random = seeded(4_711);
    const keeper = await RawSession.open(url, '/mcp/echo');
    const any = await RawSession.open(url, '/mcp');
    await any.request('tools/list');
    const message = (method: string, params: unknown) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const call = (name: string, args: unknown) =>
      message('tools/call', { name, arguments: args, _meta: { progressToken: 1 } });
    const initialize = message('initialize', { protocolVersion: '2025-06-18', capabilities: {} });
    const post = (path: string, body: string, session = '') =>
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n` +
      `Accept: application/json, text/event-stream\r\nX-MCP-Server: echo\r\n` +
      `${session === '' ? '' : `Mcp-Session-Id: ${session}\r\n`}Content-Length: ${body.length}\r\n\r\n${body}`;
    const requests = [
      () => post('/mcp/echo', call('echo', { a: 1 }), keeper.id),
      () => post('/mcp/echo', call('count', { steps: 4, every_ms: 2 }), keeper.id),
      () => post('/mcp/echo', call('big', { bytes: 300_000 }), keeper.id),
      () => post('/mcp', call('echo__wait', { ms: 20 }), any.id),
      () => post('/mcp/echo', message('tools/list', {}), keeper.id),
      () => post('/rpc', call('wait', { ms: 10 })),
      () => post('/mcp/own', initialize),
      () => post('/mcp', initialize),
      () => post('/servers/own/start', ''),
      () =>
        `GET /mcp/echo HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${keeper.id}\r\n\r\n`,
      () => `GET /stats HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
    ];
    /** Sends some of a request or all of it, waits for nothing, a moment, or the first bytes, and is gone. */
    const drop = () =>
      new Promise<void>((done) => {
        const text = requests[Math.floor(random() * requests.length)]?.() ?? '';
        const isWhole = random() < 0.7;
        const part = isWhole ? text : text.slice(0, Math.floor(random() * text.length));
        const patience = random();
        const leave = () => (random() < 0.5 ? socket.resetAndDestroy() : socket.destroy());
        const socket = connect({ port, host: '127.0.0.1' }, () => {
          socket.write(part);
          if (patience < 0.25) leave();
          else if (patience < 0.7) setTimeout(leave, random() * 25);
          else {
            socket.once('data', leave);
            setTimeout(leave, 100);
          }
        });
        socket.on('error', () => {});
        socket.on('close', () => done());
      });
    await crowd(DROPS, 24, drop);
    await until('quiet', async () => (await stats(url)).requests.in_flight === 0);
    const { servers } = await stats(url);
    expect(servers.echo).toMatchObject({ in_flight: 0, waiting: 0, restarts: 0 });
    expect(servers.own).toMatchObject({ in_flight: 0, waiting: 0 });
    expect((await keeper.call('echo', { still: 'here' })).text).toBe('{"still":"here"}');
    expect((await any.call('echo__echo', { still: 'here' })).text).toBe('{"still":"here"}');
    expect(gateway.text()).not.toMatch(signsOfBugs);
    await until('the end of the sessions', async () => (await stats(url)).sessions === 0);
    expect(await gateway.stop()).toBe(0);
  }, 60_000);
});

describe('readers and servers that do not keep up', () => {
  it('a client that reads nothing costs the gateway no more than a bounded buffer', async () => {
    const gateway = await startGateway({ servers: { echo: fault('echo') } });
    const { url, port } = gateway;
    const session = await RawSession.open(url, '/mcp/echo');
    await session.call('pid');
    const before = memoryOf(gateway);
    const params = {
      name: 'flood',
      arguments: { messages: 20_000, bytes: 10_000 },
      _meta: { progressToken: 1 },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.pause();
    socket.write(
      `POST /mcp/echo HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n` +
        `Accept: application/json, text/event-stream\r\nMcp-Session-Id: ${session.id}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until('the flood', async () => (await details(url, 'echo')).in_flight === 1);
    let most = 0;
    await until(
      'its end',
      async () => {
        most = Math.max(most, memoryOf(gateway));
        return (await details(url, 'echo')).in_flight === 0;
      },
      20_000,
    );
    // The flood is 200 MB; kept are the connection's buffer and the session's ring.
    expect(most - before).toBeLessThan(120 * MIB);
    expect((await session.call('echo', { well: 1 })).text).toBe('{"well":1}');
    socket.destroy();
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  it('a server that reads nothing takes calls up to a bound; the surplus is told at once', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    await callOnce(url, 'echo', 'pid');
    const frozen = callOnce(url, 'echo', 'freeze', { ms: 3000 });
    await until('the call', async () => (await details(url, 'echo')).in_flight === 1);
    const argument = { label: 'x'.repeat(8 * MIB) };
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => (await callOnce(url, 'echo', 'wait', argument)).status),
    );
    expect((await frozen).status).toBe(200);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect((await callOnce(url, 'echo', 'echo', { well: 1 })).text).toBe('{"well":1}');
    expect(await details(url, 'echo')).toMatchObject({ restarts: 0, in_flight: 0 });
  });
});

describe('more calls than there is room for', () => {
  it('on one server: in_flight are carried out, waiting wait, one more is told at once to come again', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { pool: { in_flight: 2, waiting: 3 } }), other: fault('echo') },
    });
    await callOnce(url, 'echo', 'pid');
    await callOnce(url, 'other', 'pid');
    const startedAt = performance.now();
    const took = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { status, headers, error } = await callOnce(url, 'echo', 'wait', { ms: 300 });
        return { status, headers, error, ms: performance.now() - startedAt };
      }),
    );
    const refused = took.filter(({ status }) => status === 503);
    expect(took.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(refused).toHaveLength(5);
    for (const { headers, error, ms } of refused) {
      expect(headers['retry-after']).toBe('1');
      expect(error?.message).toMatch(/2 calls in flight, 3 waiting/);
      expect(ms).toBeLessThan(290);
    }
    // Two at a time: the fifth has to wait for two rounds before its own.
    expect(Math.max(...took.map(({ ms }) => ms))).toBeGreaterThan(890);
  });

  it('on the whole gateway: limits.in_flight and limits.sessions', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo') },
      settings: { limits: { in_flight: 3, sessions: 2 } },
    });
    const session = await RawSession.open(url, '/mcp/echo');
    const busy = Array.from({ length: 3 }, () => session.call('wait', { ms: 300 }));
    await until('three calls', async () => (await details(url, 'echo')).in_flight === 3);
    const refused = await session.call('pid');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect((await Promise.all(busy)).every(({ status }) => status === 200)).toBe(true);
    const second = await RawSession.open(url, '/mcp');
    await expect(RawSession.open(url, '/mcp')).rejects.toThrow(/503.*limits\.sessions/s);
    await second.end();
    await RawSession.open(url, '/mcp');
    expect((await json(`${url}/health`)).status).toBe(200);
  });

  it('spreads over pool.max processes, a session sticking to one, and never starts one more', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { pool: { max: 2 } }) } });
    const sessions = await Promise.all(Array.from({ length: 6 }, () => RawSession.open(url, '/mcp/echo')));
    const used = await Promise.all(
      sessions.map(async (session) => {
        const pids = new Set<string>();
        for (let round = 0; round < 5; round += 1) {
          const [pid] = await Promise.all([session.call('pid'), session.call('wait', { ms: 5 })]);
          pids.add(pid.text);
        }
        return [...pids];
      }),
    );
    expect(used.every((pids) => pids.length === 1)).toBe(true);
    expect(new Set(used.flat()).size).toBe(2);
    expect((await details(url, 'echo')).pids).toHaveLength(2);
  });

  it('a pool whose second process cannot be started serves everybody with the first', async () => {
    const { url, text } = await startGateway({
      servers: { echo: fault('echo-once', { pool: { max: 4 }, env: { LOCK: `lock-${process.pid}` } }) },
    });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    const long = callOnce(url, 'echo', 'wait', { ms: 1500 });
    await until('the call', async () => (await details(url, 'echo')).in_flight === 1);
    const answers = await Promise.all(Array.from({ length: 20 }, () => callOnce(url, 'echo', 'pid')));
    expect(answers.map((answer) => answer.text)).toEqual(answers.map(() => pid));
    expect((await long).text).toBe('waited 1500');
    // One try, perhaps two: not one after the other for as long as somebody waits.
    expect(text().split('a further connection could not be opened').length - 1).toBeLessThanOrEqual(3);
    expect(await details(url, 'echo')).toMatchObject({ restarts: 0, state: 'running' });
  });
});
