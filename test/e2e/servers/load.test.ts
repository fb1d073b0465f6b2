// More than there is room for, and those that do not keep up: work is bounded everywhere, and the surplus is told at
// once (A8).

import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { MIB, residentBytes } from '../../fixtures/clients/crowd.ts';
import {
  callOnce,
  details,
  json,
  RawSession,
  type RpcAnswer,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

describe('readers and servers that do not keep up', () => {
  it('a client that reads nothing costs the gateway no more than a bounded buffer', async () => {
    const gateway = await startGateway({ servers: { echo: fault('echo') } });
    const { url, port } = gateway;
    const session = await RawSession.open(url, '/mcp/echo');
    await session.call('pid');
    const before = residentBytes(gateway.pid);
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
        most = Math.max(most, residentBytes(gateway.pid));
        return (await details(url, 'echo')).in_flight === 0;
      },
      60_000,
    );
    // The flood is 200 MB; kept are the connection's buffer and the session's ring.
    expect(most - before).toBeLessThan(120 * MIB);
    expect((await session.call('echo', { well: 1 })).text).toBe('{"well":1}');
    socket.destroy();
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  it('a server that reads nothing takes calls up to a bound; the surplus is told at once', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const pid = Number((await callOnce(url, 'echo', 'pid')).text);
    process.kill(pid, 'SIGSTOP');
    const argument = { label: 'x'.repeat(8 * MIB) };
    const statuses: number[] = [];
    const calls = Array.from({ length: 12 }, async () => {
      statuses.push((await callOnce(url, 'echo', 'wait', argument)).status);
    });
    // At once: it reads again only when somebody has been told.
    await until('the first that is told', () => statuses.length > 0);
    process.kill(pid, 'SIGCONT');
    await Promise.all(calls);
    expect(statuses[0]).toBe(503);
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
    const answers: RpcAnswer[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        answers.push(await callOnce(url, 'echo', 'wait', { ms: 500 }));
      }),
    );
    // Two at a time: the fifth has to wait for two rounds before its own.
    expect(performance.now() - startedAt).toBeGreaterThan(1490);
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(refused).toHaveLength(5);
    // At once: before any that is carried out has its answer.
    expect(answers.slice(0, 5)).toEqual(refused);
    for (const { headers, error } of refused) {
      expect(headers['retry-after']).toBe('1');
      expect(error?.message).toMatch(/2 calls in flight, 3 waiting/);
    }
  });

  it('on the whole gateway: limits.in_flight and limits.sessions', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo') },
      // One session, or one server, alone gets half.
      settings: { limits: { in_flight: 6, sessions: 2 } },
    });
    const session = await RawSession.open(url, '/mcp/echo');
    const busy = Array.from({ length: 3 }, () => session.call('wait', { ms: 1000 }));
    await until('three calls', async () => (await details(url, 'echo')).in_flight === 3);
    const refused = await session.call('pid');
    expect([refused.reason, refused.headers['retry-after']]).toEqual(['ERR_OVERLOADED', '1']);
    expect((await Promise.all(busy)).every(({ error }) => error === undefined)).toBe(true);
    const second = await RawSession.open(url, '/mcp');
    await expect(RawSession.open(url, '/mcp')).rejects.toThrow(/200.*limits\.sessions/s);
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
