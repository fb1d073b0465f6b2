// Clients disconnect at any step. Their state is removed, and other clients are not affected.

import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { RawSession, stats, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { seeded } from '../../fixtures/seeded.ts';
import { fault, quick, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

describe('clients that disconnect', () => {
  it('at any step of a call, thousands of times, leave no call in flight, and later calls are answered', async () => {
    const DROPS = 3000;
    const gateway = await startGateway({
      servers: { echo: fault('echo'), own: quick({ isolation: 'session', pool: { max: 6 } }) },
      settings: { limits: { session_idle_seconds: 5 } },
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
    /**
     * Sends a whole request or a part, and disconnects: immediately, after a moment, or after the first
     * bytes.
     */
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
    await runConcurrently(DROPS, 24, drop);
    // A call counts as in flight until the server answers, also after the client has disconnected.
    await until('quiet', async () => {
      const { requests: all, servers: each } = await stats(url);
      return all.in_flight + (each.echo?.in_flight ?? 0) + (each.own?.in_flight ?? 0) === 0;
    });
    const { servers } = await stats(url);
    expect(servers.echo).toMatchObject({ in_flight: 0, waiting: 0, restarts: 0 });
    expect(servers.own).toMatchObject({ in_flight: 0, waiting: 0 });
    expect((await keeper.call('echo', { still: 'here' })).text).toBe('{"still":"here"}');
    expect((await any.call('echo__echo', { still: 'here' })).text).toBe('{"still":"here"}');
    expect(gateway.text()).not.toMatch(signsOfBugs);
    await until('the end of the sessions', async () => (await stats(url)).sessions === 0);
    expect(await gateway.stop()).toBe(0);
  }, 240_000);
});
