// Clients that go without a word: sessions opened and forgotten, sockets dropped in the middle of a call. What they
// leave behind is cleared away, and nobody else notices (A6).

import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { crowd, MIB, residentBytes } from '../fixtures/crowd.ts';
import { fault, quick, signsOfBugs } from '../fixtures/fault-servers.ts';
import { startGateway } from '../fixtures/gateway-process.ts';
import { details, isAlive, RawSession, stats, until } from '../fixtures/raw-session.ts';
import { seeded } from '../fixtures/seeded.ts';

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
    const before = residentBytes(gateway.pid);
    await crowd(1000, 4, abandon);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(MAX);
    expect(pids.size).toBeGreaterThan(900);
    await until('the end of all sessions', async () => (await stats(url)).sessions === 0);
    await until('the end of their processes', async () => (await details(url, 'own')).pids.length === 0);
    await until('the end of every process', () => [...pids].filter(isAlive).length === 0);
    expect(residentBytes(gateway.pid) - before).toBeLessThan(40 * MIB);
    expect(gateway.text()).not.toMatch(signsOfBugs);
  }, 60_000);

  it('the session idle longest makes room at pool.max and is told by 404; one in use never does', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { isolation: 'session', pool: { max: 3 } }) },
    });
    const open = () => RawSession.open(url, '/mcp/echo');
    const [listener, older, newer, late] = [await open(), await open(), await open(), await open()];
    for (const session of [listener, older, newer]) expect((await session.call('pid')).status).toBe(200);
    const stream = await listener.listen();
    expect((await late.call('pid')).status).toBe(200);
    // The first is the oldest but listens, so the second had to go.
    expect((await older.call('pid')).status).toBe(404);
    expect((await listener.call('pid')).status).toBe(200);
    const busy = [newer, late].map((session) => session.call('wait', { ms: 500 }));
    await until('both calls', async () => (await details(url, 'echo')).in_flight === 2);
    const last = await open();
    const refused = await last.call('pid');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.error?.message).toMatch(/pool\.max/);
    for (const answer of await Promise.all(busy)) expect(answer.text).toBe('waited 500');
    expect((await last.call('pid')).status).toBe(200);
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
