// Overload and slow peers: all queues are limited, and rejected work is reported immediately.

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

describe('slow readers and servers', () => {
  it('a client that reads nothing uses only a limited buffer of the gateway', async () => {
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
    let maxCount = 0;
    await until(
      'its end',
      async () => {
        maxCount = Math.max(maxCount, residentBytes(gateway.pid));
        return (await details(url, 'echo')).in_flight === 0;
      },
      60_000,
    );
    // The flood is 200 MB. The gateway stores the buffers of connection and session.
    expect(maxCount - before).toBeLessThan(120 * MIB);
    expect((await session.call('echo', { well: 1 })).text).toBe('{"well":1}');
    socket.destroy();
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  it('calls for a server that reads nothing are queued up to a limit; further calls are rejected immediately', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const pid = Number((await callOnce(url, 'echo', 'pid')).text);
    process.kill(pid, 'SIGSTOP');
    const argument = { label: 'x'.repeat(8 * MIB) };
    const statuses: number[] = [];
    const calls = Array.from({ length: 12 }, async () => {
      statuses.push((await callOnce(url, 'echo', 'wait', argument)).status);
    });
    // Immediately, because the server resumes reading only when a call was rejected.
    await until('the first rejection', () => statuses.length > 0);
    process.kill(pid, 'SIGCONT');
    await Promise.all(calls);
    expect(statuses[0]).toBe(503);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect((await callOnce(url, 'echo', 'echo', { well: 1 })).text).toBe('{"well":1}');
    expect(await details(url, 'echo')).toMatchObject({ restarts: 0, in_flight: 0 });
  });
});

describe('calls above the limits', () => {
  it('of a server (in_flight and waiting) are rejected immediately with a retry time', async () => {
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
    // With two slots, the fifth call starts after two rounds.
    expect(performance.now() - startedAt).toBeGreaterThan(1490);
    const rejected = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(rejected).toHaveLength(5);
    // Before any running call is answered.
    expect(answers.slice(0, 5)).toEqual(rejected);
    for (const { headers, error } of rejected) {
      expect(headers['retry-after']).toBe('1');
      expect(error?.message).toMatch(/2 calls in flight, 3 waiting/);
    }
  });

  it('of the gateway (limits.in_flight) are rejected, and so are sessions above limits.sessions', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo') },
      // A session or server may use half.
      settings: { limits: { in_flight: 6, sessions: 2 } },
    });
    const session = await RawSession.open(url, '/mcp/echo');
    const busy = Array.from({ length: 3 }, () => session.call('wait', { ms: 1000 }));
    await until('three calls', async () => (await details(url, 'echo')).in_flight === 3);
    const refusal = await session.call('pid');
    expect([refusal.reason, refusal.headers['retry-after']]).toEqual(['ERR_OVERLOADED', '1']);
    expect((await Promise.all(busy)).every(({ error }) => error === undefined)).toBe(true);
    const listening = await session.listen();
    await expect(RawSession.open(url, '/mcp')).rejects.toThrow(/200.*limits\.sessions/s);
    listening.stop();
    await listening.ended;
    await until('a free place', () => RawSession.open(url, '/mcp').catch(() => false));
    expect((await json(`${url}/health`)).status).toBe(200);
  });

  it('use at most pool.max processes, and each session stays with one process', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { pool: { max: 2 } }) } });
    const sessions = await Promise.all(Array.from({ length: 6 }, () => RawSession.open(url, '/mcp/echo')));
    const usedPids = await Promise.all(
      sessions.map(async (session) => {
        const pids = new Set<string>();
        for (let round = 0; round < 5; round += 1) {
          const [pid] = await Promise.all([session.call('pid'), session.call('wait', { ms: 5 })]);
          pids.add(pid.text);
        }
        return [...pids];
      }),
    );
    expect(usedPids.every((pids) => pids.length === 1)).toBe(true);
    expect(new Set(usedPids.flat()).size).toBe(2);
    expect((await details(url, 'echo')).pids).toHaveLength(2);
  });

  it('are all served by the first process if the second process of the pool cannot be started', async () => {
    const { url, text } = await startGateway({
      servers: { echo: fault('echo-once', { pool: { max: 4 }, env: { LOCK: `lock-${process.pid}` } }) },
    });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    const long = callOnce(url, 'echo', 'wait', { ms: 1500 });
    await until('the call', async () => (await details(url, 'echo')).in_flight === 1);
    const answers = await Promise.all(Array.from({ length: 20 }, () => callOnce(url, 'echo', 'pid')));
    expect(answers.map((answer) => answer.text)).toEqual(answers.map(() => pid));
    expect((await long).text).toBe('waited 1500');
    // One or two attempts, not continuous attempts while calls wait.
    expect(text().split('could not open another connection').length - 1).toBeLessThanOrEqual(3);
    expect(await details(url, 'echo')).toMatchObject({ restarts: 0, state: 'running' });
  });
});
