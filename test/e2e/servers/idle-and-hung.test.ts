// Servers that are not used, and servers that do not answer: the first stop by themselves, the second are ended, and
// neither delays anybody (A6).

import { describe, expect, it } from 'vitest';
import { latch } from '../../fixtures/clients/api-client.ts';
import {
  callOnce,
  details,
  isAlive,
  json,
  RawSession,
  rpc,
  startServer,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

describe.concurrent('idleness and health', () => {
  it('turns idle, then stops, whatever health pings go on, and starts again on a call', async () => {
    const { url } = await startGateway({
      servers: {
        echo: fault('echo', {
          idle_timeout_seconds: 2,
          health: { interval_seconds: 0.1, timeout_seconds: 5, failures: 3 },
        }),
      },
    });
    const seen: string[] = [];
    const pid = Number((await callOnce(url, 'echo', 'pid')).text);
    await until('the stop', async () => {
      const { state } = await details(url, 'echo');
      if (seen.at(-1) !== state) seen.push(state);
      return state === 'stopped';
    });
    expect(seen.filter((state) => state !== 'stopping')).toEqual(['running', 'idle', 'stopped']);
    expect(isAlive(pid)).toBe(false);
    const again = Number((await callOnce(url, 'echo', 'pid')).text);
    expect(again).not.toBe(pid);
    expect((await details(url, 'echo')).restarts).toBe(0);
  });

  it('calls keep a server from being idle, and an idle one runs again with the next call', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { idle_timeout_seconds: 2.4 }) } });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    await callOnce(url, 'echo', 'wait', { ms: 3000 });
    await until('idle', async () => (await details(url, 'echo')).state === 'idle');
    expect((await callOnce(url, 'echo', 'pid')).text).toBe(pid);
    expect((await details(url, 'echo')).state).toBe('running');
  });

  it('under session isolation ends each process by its own idle time, while others work on', async () => {
    const { url, text } = await startGateway({
      servers: { echo: fault('echo', { isolation: 'session', idle_timeout_seconds: 1 }) },
    });
    const [busy, single, wide] = [
      await RawSession.open(url, '/mcp/echo'),
      await RawSession.open(url, '/mcp/echo'),
      await RawSession.open(url, '/mcp'),
    ];
    await wide.request('tools/list');
    const busyPid = (await busy.call('pid')).text;
    let isOver = false;
    const working = (async () => {
      while (!isOver) await busy.call('wait', { ms: 50 });
    })();
    try {
      const [singlePid, widePid] = [(await single.call('pid')).text, (await wide.call('echo__pid')).text];
      await until(
        'the end of those that are idle',
        async () => (await details(url, 'echo')).pids.join() === busyPid,
      );
      await until('their last breath', () => ![singlePid, widePid].map(Number).some(isAlive));
      // At its own address the session ends with its process; at /mcp the next call starts a fresh one.
      expect((await single.call('pid')).status).toBe(404);
      const fresh = await wide.call('echo__pid');
      expect([fresh.status, fresh.text]).toEqual([200, expect.not.stringMatching(`^${widePid}$`)]);
      expect(text()).toMatch(/next call opens a new one/);
    } finally {
      isOver = true;
      await working;
    }
    expect((await busy.call('pid')).text).toBe(busyPid);
    expect(await details(url, 'echo')).toMatchObject({ state: 'running', restarts: 0 });
  });

  it('a session that listens keeps its process, and so does a call under way', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { isolation: 'session', idle_timeout_seconds: 1 }) },
    });
    const listening = await RawSession.open(url, '/mcp/echo');
    const calling = await RawSession.open(url, '/mcp/echo');
    const pid = (await listening.call('pid')).text;
    const stream = await listening.listen();
    expect((await calling.call('wait', { ms: 2500 })).text).toBe('waited 2500');
    expect((await listening.call('pid')).text).toBe(pid);
    stream.stop();
    await until('the end of all', async () => (await details(url, 'echo')).state === 'stopped');
    expect((await listening.call('pid')).status).toBe(404);
  });

  it('a frozen process under session isolation ends for its own session alone', async () => {
    const { url } = await startGateway({
      servers: {
        echo: fault('echo', {
          isolation: 'session',
          // Enough for the one that is not frozen, on a busy machine too.
          health: { interval_seconds: 0.2, timeout_seconds: 1.5, failures: 2 },
        }),
      },
    });
    const [frozen, other] = [
      await RawSession.open(url, '/mcp/echo'),
      await RawSession.open(url, '/mcp/echo'),
    ];
    const [pid, otherPid] = [(await frozen.call('pid')).text, (await other.call('pid')).text];
    process.kill(Number(pid), 'SIGSTOP');
    expect((await frozen.call('echo')).reason).toBe('ERR_CONNECTION_LOST');
    await until('the end of the process', () => !isAlive(Number(pid)));
    expect((await other.call('pid')).text).toBe(otherPid);
    expect((await details(url, 'echo')).restarts).toBe(0);
  });

  it('a frozen server is ended after so many missed pings, its calls fail, and the next one is answered', async () => {
    const { url, text } = await startGateway({
      servers: {
        echo: fault('echo', {
          health: { interval_seconds: 0.8, timeout_seconds: 0.8, failures: 3 },
          restart: { min_backoff_ms: 10 },
        }),
      },
    });
    const pid = Number((await callOnce(url, 'echo', 'pid')).text);
    process.kill(pid, 'SIGSTOP');
    const stoppedAt = performance.now();
    const caught = await callOnce(url, 'echo', 'echo', 1);
    expect(caught.status).toBe(502);
    expect(caught.error?.message).toMatch(/did not answer 3 health pings in a row/);
    // Three pings had to be missed, one after the other; the first may have been under way.
    expect(performance.now() - stoppedAt).toBeGreaterThan(2300);
    const next = await callOnce(url, 'echo', 'pid');
    expect(next.status).toBe(200);
    expect(Number(next.text)).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
    expect(text()).not.toMatch(signsOfBugs);
  });

  it('a few missed pings end nothing', async () => {
    const health = { interval_seconds: 0.2, timeout_seconds: 0.2, failures: 25 };
    const { url } = await startGateway({ servers: { echo: fault('echo', { health }) } });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    expect((await callOnce(url, 'echo', 'freeze', { ms: 1000 })).status).toBe(200);
    expect((await callOnce(url, 'echo', 'pid')).text).toBe(pid);
  });
});

describe.concurrent('servers that hang', () => {
  it('delay a list no longer than list_timeout_seconds, and what comes later is announced', async () => {
    const answers = latch();
    const gateway = await startGateway({
      servers: {
        good: fault('echo'),
        dead: { command: 'there-is-no-such-program' },
        silent: fault('hangs-at-initialize', { start_timeout_seconds: 20 }),
        listless: fault('hangs-at-list', { start_timeout_seconds: 20 }),
        late: fault('hangs-at-list', { env: { FIRST_LIST_AFTER: answers.path } }),
      },
      settings: { list_timeout_seconds: 2 },
    });
    const { url } = gateway;
    // What it has is known in time however slowly processes start.
    expect((await rpc(url, 'good', 'tools/list')).status).toBe(200);
    const session = await RawSession.open(url, '/mcp');
    const stream = await session.listen();
    const names = async () => {
      const { result } = await session.request('tools/list');
      return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    };
    const askedAt = performance.now();
    const first = await names();
    // The starts that hang have twenty seconds.
    expect(performance.now() - askedAt).toBeLessThan(10_000);
    expect(first).toContain('good__echo');
    expect(first.filter((name) => !name.startsWith('good__'))).toEqual([]);
    const againAt = performance.now();
    expect(await names()).toEqual(first);
    // The round is over: nobody waits for it again.
    expect(performance.now() - againAt).toBeLessThan(1800);
    const calledAt = performance.now();
    expect((await session.call('good__echo', { quick: 1 })).text).toBe('{"quick":1}');
    expect(performance.now() - calledAt).toBeLessThan(1800);
    answers.open();
    await until('the late tools', async () => (await names()).includes('late__late'));
    await until('the announcement', () =>
      stream.messages.some(({ method }) => method === 'notifications/tools/list_changed'),
    );
    expect(await names()).toEqual([...first, 'late__late']);
    stream.stop();
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  it('at tools/list: the server runs all the same once its start time is over, and takes calls', async () => {
    const { url } = await startGateway({
      servers: { listless: fault('hangs-at-list', { start_timeout_seconds: 3 }) },
    });
    const answer = await callOnce(url, 'listless', 'anything');
    expect(answer.text).toBe('alive');
    expect((await details(url, 'listless')).state).toBe('running');
  });

  it('a hanging stop of one server holds up no other', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo'), other: fault('echo') },
      settings: { shutdown_seconds: 2 },
    });
    await startServer(url, 'other');
    const hanging = callOnce(url, 'echo', 'hang');
    await until('the call', async () => (await details(url, 'echo')).in_flight === 1);
    const stopping = json<{ state: string }>(`${url}/servers/echo/stop`, 'POST');
    await until('stopping', async () => (await details(url, 'echo')).state === 'stopping');
    expect((await callOnce(url, 'other', 'echo', 1)).status).toBe(200);
    // A call that comes while the server stops is answered by the next process.
    const next = callOnce(url, 'echo', 'echo', { next: true });
    expect((await hanging).status).toBe(503);
    expect((await stopping).status).toBe(200);
    expect((await next).text).toBe('{"next":true}');
  });

  it('one that is switched off answers 503 and is not listed', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo', { enabled: false }), good: fault('echo') },
    });
    const answer = await callOnce(url, 'echo', 'pid');
    expect([answer.status, answer.error?.message]).toEqual([503, expect.stringContaining('enabled: false')]);
    expect((await json(`${url}/servers/echo/start`, 'POST')).status).toBe(503);
    const { result } = await (await RawSession.open(url, '/mcp')).request('tools/list');
    expect(JSON.stringify(result)).not.toContain('"echo__');
    expect((await rpc(url, 'good', 'tools/list')).status).toBe(200);
  });
});
