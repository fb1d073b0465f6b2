// How long a call may take (A2): its deadline, what moves it, and what everybody is told when it has passed.

import { describe, expect, it } from 'vitest';
import {
  callOnce,
  details,
  isAlive,
  RawSession,
  startServer,
  stats,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

/** A gateway whose one server runs: its start would take of the time of the first call. */
async function startWithin(times: object) {
  const gateway = await startGateway({ servers: { echo: fault('echo', { ...times }) } });
  await startServer(gateway.url, 'echo');
  return gateway;
}

const times = { request_timeout_seconds: 1, max_request_seconds: 4 };
/** More room between what comes in time and what does not. */
const wide = { request_timeout_seconds: 3 };

const cancelledOf = async (session: RawSession) =>
  JSON.parse((await session.call('cancelled')).text) as { label: string }[];

describe.concurrent('a call that is not answered', () => {
  it.each(['/mcp/echo', '/mcp', '/rpc'])(
    'at %s ends with a JSON-RPC error, and the server is told; only /rpc answers 504',
    async (path) => {
      const { url } = await startWithin(times);
      const session = await RawSession.open(url, path === '/rpc' ? '/mcp' : path);
      await session.request('tools/list');
      const name = path === '/mcp' ? 'echo__hang' : 'hang';
      const askedAt = performance.now();
      const answer =
        path === '/rpc'
          ? await callOnce(url, 'echo', 'hang', { label: 'lost' })
          : await session.call(name, { label: 'lost' }, { id: 'mine' });
      const ms = performance.now() - askedAt;
      expect(answer.status).toBe(path === '/rpc' ? 504 : 200);
      expect(String(answer.headers['content-type'])).toMatch(/^application\/json/);
      expect(answer.messages[0]?.id).toBe(path === '/rpc' ? 1 : 'mine');
      expect(answer.error).toMatchObject({ code: -32001, data: { server: 'echo' } });
      expect(answer.error?.message).toMatch(/timed out after [1-3](\.\d)? s.*request_timeout_seconds/);
      expect(ms).toBeGreaterThan(980);
      // The next limit is that of max_request_seconds.
      expect(ms).toBeLessThan(3900);
      const probe = await RawSession.open(url, '/mcp/echo');
      expect(await cancelledOf(probe)).toEqual([{ label: 'lost' }]);
      expect(await details(url, 'echo')).toMatchObject({ in_flight: 0, restarts: 0 });
    },
  );

  it('lives longer while it makes progress', async () => {
    const { url } = await startWithin(wide);
    const session = await RawSession.open(url, '/mcp/echo');
    const args = { steps: 9, every_ms: 500, label: 'long' };
    const answer = await session.call('count', args, { progressToken: 'p' });
    expect(answer.text).toBe('{"steps":9,"label":"long"}');
    expect(answer.messages).toHaveLength(10);
    // The same without asking for progress has only the plain time.
    expect((await session.call('count', args)).reason).toBe('ERR_DEADLINE');
  });

  it('ends at max_request_seconds whatever progress it makes, with the error on its stream', async () => {
    const { url } = await startWithin(times);
    const session = await RawSession.open(url, '/mcp/echo');
    const askedAt = performance.now();
    const args = { steps: 100, every_ms: 100, label: 'endless' };
    const answer = await session.call('count', args, { progressToken: 'p', id: 3 });
    const ms = performance.now() - askedAt;
    expect(ms).toBeGreaterThan(3900);
    // By itself it would end after ten seconds.
    expect(ms).toBeLessThan(9500);
    // Streaming had begun, so the status was sent long ago.
    expect(answer.status).toBe(200);
    expect(answer.messages.at(-1)).toMatchObject({ id: 3, error: { code: -32001 } });
    expect(answer.messages.length).toBeGreaterThan(5);
    expect(await cancelledOf(session)).toEqual([{ label: 'endless' }]);
  });

  it('ends while it waits for a server that starts slowly, and is never sent', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { request_timeout_seconds: 1, env: { START_MS: '2500' } }) },
    });
    const answer = await callOnce(url, 'echo', 'echo', { label: 'late' });
    expect(answer.status).toBe(504);
    expect(answer.error?.message).toMatch(/while waiting to be sent/);
    await until('the start', async () => (await details(url, 'echo')).state === 'running');
    expect((await callOnce(url, 'echo', 'calls')).text).toBe('1');
  });

  it('that is answered too late reaches nobody, not even the next call of the same id', async () => {
    const { url } = await startWithin(wide);
    const session = await RawSession.open(url, '/mcp/echo');
    expect((await session.call('wait', { ms: 3500 }, { id: 1 })).reason).toBe('ERR_DEADLINE');
    const next = await session.call('count', { steps: 1, every_ms: 1000, label: 'next' }, { id: 1 });
    expect(next.text).toBe('{"steps":1,"label":"next"}');
  });

  it('ends at once when its session is ended, and its process with it under session isolation', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { isolation: 'session' }) } });
    const session = await RawSession.open(url, '/mcp/echo');
    const pid = Number((await session.call('pid')).text);
    const hanging = session.call('hang', {}, { id: 9 });
    await until('the call', async () => (await details(url, 'echo')).in_flight === 1);
    expect(await session.end()).toBe(204);
    const answer = await hanging;
    expect([answer.status, answer.messages[0]?.id, answer.reason]).toEqual([200, 9, 'ERR_SESSION_GONE']);
    expect((await session.request('ping')).status).toBe(404);
    await until('the end of the process', () => !isAlive(pid));
    expect((await stats(url)).requests.in_flight).toBe(0);
  });

  it('does not delay others on the same process', async () => {
    const { url, text } = await startWithin(wide);
    const session = await RawSession.open(url, '/mcp/echo');
    let ended = 0;
    const hanging = Array.from({ length: 20 }, async () => {
      const answer = await session.call('hang');
      ended += 1;
      return answer;
    });
    for (let number = 0; number < 20; number += 1)
      expect((await session.call('echo', { number })).text).toBe(`{"number":${number}}`);
    expect(ended).toBe(0);
    for (const { status, reason } of await Promise.all(hanging))
      expect([status, reason]).toEqual([200, 'ERR_DEADLINE']);
    expect((await stats(url)).requests.in_flight).toBe(0);
    expect(text()).not.toMatch(signsOfBugs);
  });
});

describe.concurrent('a call that its client cancels', () => {
  it('reaches the server under the right id, whatever its own was, and nothing comes back', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const session = await RawSession.open(url, '/mcp/echo');
    const other = await RawSession.open(url, '/mcp/echo');
    const kept = other.call('wait', { ms: 2500, label: 'kept' }, { id: 77 });
    const given = session.call('hang', { label: 'given up' }, { id: 77 });
    await until('both', async () => (await details(url, 'echo')).in_flight === 2);
    // An id that is not in flight, and one of another type, cancel nothing.
    await session.notify('notifications/cancelled', { requestId: 78 });
    await session.notify('notifications/cancelled', { requestId: '77' });
    expect((await details(url, 'echo')).in_flight).toBe(2);
    await session.notify('notifications/cancelled', { requestId: 77 });
    expect((await given).messages).toEqual([]);
    expect((await kept).text).toBe('waited 2500');
    expect(await cancelledOf(session)).toEqual([{ label: 'given up' }]);
  });

  it('while it waits for a start is never sent', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { env: { START_MS: '2000' } }) } });
    const session = await RawSession.open(url, '/mcp');
    const { result } = await session.request('tools/list');
    expect(JSON.stringify(result)).toContain('echo__echo');
    await callOnce(url, 'echo', 'pid');
    await fetch(`${url}/servers/echo/stop`, { method: 'POST' });
    const waiting = session.call('echo__echo', { a: 1 }, { id: 'w' });
    await until('the wait', async () => (await details(url, 'echo')).waiting === 1);
    await session.notify('notifications/cancelled', { requestId: 'w' });
    expect((await waiting).messages).toEqual([]);
    await until('the start', async () => (await details(url, 'echo')).state === 'running');
    expect((await callOnce(url, 'echo', 'calls')).text).toBe('1');
  });
});
