// Abandoned sessions under session isolation: processes and memory are released, and sessions in use are
// kept.

import { describe, expect, it } from 'vitest';
import { MIB, residentBytes, runConcurrently } from '../../fixtures/clients/crowd.ts';
import { details, isAlive, RawSession, stats, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault, quick, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

describe('sessions that are opened and abandoned', () => {
  it('leave no session, no process and no memory behind, even if there are a thousand', async () => {
    const MAX = 8;
    const gateway = await startGateway({
      servers: {
        own: quick({ isolation: 'session', pool: { max: MAX } }),
        shared: quick(),
      },
      // Long enough that no session expires between two requests.
      settings: { limits: { session_idle_seconds: 4 } },
    });
    const { url } = gateway;
    const pids = new Set<number>();
    let maxCount = 0;
    const abandon = async (number: number) => {
      const isOwn = number % 2 === 0;
      const session = await RawSession.open(url, isOwn ? '/mcp/own' : '/mcp');
      if (!isOwn) await session.request('tools/list');
      const answer = await session.call(isOwn ? 'pid' : 'own__pid');
      // Above pool.max the session that has been idle longest is evicted. If all sessions are used, the
      // newest is rejected.
      if (answer.error === undefined) pids.add(Number(answer.text));
      else expect([answer.reason, answer.headers['retry-after']]).toEqual(['ERR_UNAVAILABLE', '1']);
      if (number % 50 === 0) maxCount = Math.max(maxCount, (await details(url, 'own')).pids.length);
    };
    // The first sessions create permanent objects, for as many concurrent sessions.
    await runConcurrently(300, 4, abandon);
    const before = residentBytes(gateway.pid);
    await runConcurrently(1000, 4, abandon);
    expect(maxCount).toBeGreaterThan(1);
    expect(maxCount).toBeLessThanOrEqual(MAX);
    expect(pids.size).toBeGreaterThan(900);
    await until('the end of all sessions', async () => (await stats(url)).sessions === 0);
    await until('the end of their processes', async () => (await details(url, 'own')).pids.length === 0);
    await until('the end of all processes', () => [...pids].filter(isAlive).length === 0);
    expect(residentBytes(gateway.pid) - before).toBeLessThan(40 * MIB);
    expect(gateway.text()).not.toMatch(signsOfBugs);
  }, 240_000);

  it('lose their process at pool.max, longest idle first unless in use, and continue with a new one', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { isolation: 'session', pool: { max: 3 } }) },
    });
    const open = () => RawSession.open(url, '/mcp/echo');
    const pidOf = async (session: RawSession) => Number((await session.call('pid')).text);
    const [listener, older, newer, late] = [await open(), await open(), await open(), await open()];
    const listenerPid = await pidOf(listener);
    const olderPid = await pidOf(older);
    const newerPid = await pidOf(newer);
    const stream = await listener.listen();
    const latePid = await pidOf(late);
    // The first session is older, but it listens, so the second lost its process.
    const pids = async () => (await details(url, 'echo')).pids.sort();
    expect(await pids()).toEqual([listenerPid, newerPid, latePid].sort());
    expect(await pidOf(listener)).toBe(listenerPid);
    const newPid = await pidOf(older);
    expect(newPid).not.toBe(olderPid);
    expect(await pids()).toEqual([listenerPid, latePid, newPid].sort());
    const busy = [older, late].map((session) => session.call('wait', { ms: 1500 }));
    await until('both calls', async () => (await details(url, 'echo')).in_flight === 2);
    const last = await open();
    const refusal = await last.call('pid');
    expect([refusal.reason, refusal.headers['retry-after']]).toEqual(['ERR_UNAVAILABLE', '1']);
    expect(refusal.error?.message).toMatch(/pool\.max/);
    for (const answer of await Promise.all(busy)) expect(answer.text).toBe('waited 1500');
    expect((await last.call('pid')).error).toBeUndefined();
    stream.stop();
  });
});
