// Deadlines of calls: duration, extension by progress, and the notifications of client and server afterwards.

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

/** Starts a gateway with a running server, because the start would use the time of the first call. */
async function startWithin(times: object) {
  const gateway = await startGateway({ servers: { echo: fault('echo', { ...times }) } });
  await startServer(gateway.url, 'echo');
  return gateway;
}

const times = { request_timeout_seconds: 1, max_request_seconds: 4 };
/** Timeout of the tests with timed progress and answers: tolerates a delay of a second on a busy machine. */
const longerTimeout = { request_timeout_seconds: 3 };

const cancelledCallsOf = async (session: RawSession) =>
  JSON.parse((await session.call('cancelled')).text) as { label: string }[];

describe.concurrent('a call without an answer', () => {
  it.each(['/mcp/echo', '/mcp', '/rpc'])(
    'fails with a JSON-RPC error at %s, and the server is notified; only /rpc returns 504',
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
      // The next limit is max_request_seconds.
      expect(ms).toBeLessThan(3900);
      const probe = await RawSession.open(url, '/mcp/echo');
      expect(await cancelledCallsOf(probe)).toEqual([{ label: 'lost' }]);
      expect(await details(url, 'echo')).toMatchObject({ in_flight: 0, restarts: 0 });
    },
  );

  it('has a longer timeout while the server reports progress', async () => {
    const { url } = await startWithin(longerTimeout);
    const session = await RawSession.open(url, '/mcp/echo');
    const args = { steps: 9, every_ms: 500, label: 'long' };
    const answer = await session.call('count', args, { progressToken: 'p' });
    expect(answer.text).toBe('{"steps":9,"label":"long"}');
    expect(answer.messages).toHaveLength(10);
    // The same call has the normal time limit if the client does not request progress.
    expect((await session.call('count', args)).reason).toBe('ERR_DEADLINE');
  });

  it('fails at max_request_seconds despite progress, with the error on its stream', async () => {
    const { url } = await startWithin(times);
    const session = await RawSession.open(url, '/mcp/echo');
    const askedAt = performance.now();
    const args = { steps: 100, every_ms: 100, label: 'endless' };
    const answer = await session.call('count', args, { progressToken: 'p', id: 3 });
    const ms = performance.now() - askedAt;
    expect(ms).toBeGreaterThan(3900);
    // The call itself needs ten seconds.
    expect(ms).toBeLessThan(9500);
    // The stream had already started, so the status was already sent.
    expect(answer.status).toBe(200);
    expect(answer.messages.at(-1)).toMatchObject({ id: 3, error: { code: -32001 } });
    expect(answer.messages.length).toBeGreaterThan(5);
    expect(await cancelledCallsOf(session)).toEqual([{ label: 'endless' }]);
  });

  it('fails during a slow start of the server, and is never sent', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { request_timeout_seconds: 1, env: { START_MS: '2500' } }) },
    });
    const answer = await callOnce(url, 'echo', 'echo', { label: 'late' });
    expect(answer.status).toBe(504);
    expect(answer.error?.message).toMatch(/while waiting to be sent/);
    await until('the start', async () => (await details(url, 'echo')).state === 'running');
    expect((await callOnce(url, 'echo', 'calls')).text).toBe('1');
  });

  it('fails at its timeout, and its late answer does not reach the next call with the same id', async () => {
    const { url } = await startWithin(longerTimeout);
    const session = await RawSession.open(url, '/mcp/echo');
    expect((await session.call('wait', { ms: 3500 }, { id: 1 })).reason).toBe('ERR_DEADLINE');
    const next = await session.call('count', { steps: 1, every_ms: 1000, label: 'next' }, { id: 1 });
    expect(next.text).toBe('{"steps":1,"label":"next"}');
  });

  it('is cancelled immediately when the session ends, and under session isolation the process stops', async () => {
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

  it('does not delay other calls of the process', async () => {
    const { url, text } = await startWithin(longerTimeout);
    const session = await RawSession.open(url, '/mcp/echo');
    let count = 0;
    const hanging = Array.from({ length: 20 }, async () => {
      const answer = await session.call('hang');
      count += 1;
      return answer;
    });
    for (let number = 0; number < 20; number += 1)
      expect((await session.call('echo', { number })).text).toBe(`{"number":${number}}`);
    expect(count).toBe(0);
    for (const { status, reason } of await Promise.all(hanging))
      expect([status, reason]).toEqual([200, 'ERR_DEADLINE']);
    expect((await stats(url)).requests.in_flight).toBe(0);
    expect(text()).not.toMatch(signsOfBugs);
  });
});

describe.concurrent('a call cancelled by the client', () => {
  it('is cancelled at the server, under the id that the server knows, and gets no answer', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const session = await RawSession.open(url, '/mcp/echo');
    const other = await RawSession.open(url, '/mcp/echo');
    const slowCall = other.call('wait', { ms: 2500, label: 'kept' }, { id: 77 });
    const cancelledCall = session.call('hang', { label: 'given up' }, { id: 77 });
    await until('both', async () => (await details(url, 'echo')).in_flight === 2);
    // Unknown ids and ids of another type cancel nothing.
    await session.notify('notifications/cancelled', { requestId: 78 });
    await session.notify('notifications/cancelled', { requestId: '77' });
    expect((await details(url, 'echo')).in_flight).toBe(2);
    await session.notify('notifications/cancelled', { requestId: 77 });
    expect((await cancelledCall).messages).toEqual([]);
    expect((await slowCall).text).toBe('waited 2500');
    expect(await cancelledCallsOf(session)).toEqual([{ label: 'given up' }]);
  });

  it('during the start of the server is never sent', async () => {
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
