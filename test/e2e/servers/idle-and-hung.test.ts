// Idle and hanging servers: idle servers stop by themselves, hanging servers are stopped, and neither delays
// other servers.

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
  it('a server becomes idle, then stops despite health pings, and starts again on a call', async () => {
    const { url } = await startGateway({
      servers: {
        echo: fault('echo', {
          idle_timeout_seconds: 2,
          health: { interval_seconds: 0.1, timeout_seconds: 5, failures: 3 },
        }),
      },
    });
    const states: string[] = [];
    const pid = Number((await callOnce(url, 'echo', 'pid')).text);
    await until('the stop', async () => {
      const { state } = await details(url, 'echo');
      if (states.at(-1) !== state) states.push(state);
      return state === 'stopped';
    });
    expect(states.filter((state) => state !== 'stopping')).toEqual(['running', 'idle', 'stopped']);
    expect(isAlive(pid)).toBe(false);
    const newPid = Number((await callOnce(url, 'echo', 'pid')).text);
    expect(newPid).not.toBe(pid);
    expect((await details(url, 'echo')).restarts).toBe(0);
  });

  it('calls prevent idleness, and an idle server runs again with the next call', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { idle_timeout_seconds: 2.4 }) } });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    await callOnce(url, 'echo', 'wait', { ms: 3000 });
    await until('idle', async () => (await details(url, 'echo')).state === 'idle');
    expect((await callOnce(url, 'echo', 'pid')).text).toBe(pid);
    expect((await details(url, 'echo')).state).toBe('running');
  });

  it('session isolation stops each process after its own idle time', async () => {
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
        'the end of the idle ones',
        async () => (await details(url, 'echo')).pids.join() === busyPid,
      );
      await until('their last output', () => ![singlePid, widePid].map(Number).some(isAlive));
      const freshSingle = await single.call('pid');
      expect([freshSingle.status, freshSingle.text]).toEqual([
        200,
        expect.not.stringMatching(`^${singlePid}$`),
      ]);
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

  it('the process of a session keeps running while the client listens or a call is in flight', async () => {
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
    expect((await listening.call('pid')).text).not.toBe(pid);
  });

  it('with session isolation, a frozen process is replaced for its own session only', async () => {
    const { url } = await startGateway({
      servers: {
        echo: fault('echo', {
          isolation: 'session',
          // Enough for the process that is not frozen, on a busy machine.
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
    await until('the end of the process', () => !isAlive(Number(pid)));
    const fresh = await until('a new process', async () => Number((await frozen.call('pid')).text));
    expect(fresh).not.toBe(Number(pid));
    expect((await other.call('pid')).text).toBe(otherPid);
    expect((await details(url, 'echo')).restarts).toBe(0);
  });

  it('a frozen server without a call is stopped after the configured number of missed pings, and the next call is answered', async () => {
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
    await until('the end of the process', () => !isAlive(pid));
    // Three consecutive pings were missed, and another request. The first ping was possibly in progress.
    expect(performance.now() - stoppedAt).toBeGreaterThan(2300);
    expect((await details(url, 'echo')).last_error?.message).toMatch(
      /did not answer 3 health pings in a row/,
    );
    const next = await callOnce(url, 'echo', 'pid');
    expect(next.status).toBe(200);
    expect(Number(next.text)).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
    expect(text()).not.toMatch(signsOfBugs);
  });

  it('a call that blocks its server is limited by its own timeout, not by pings', async () => {
    const health = { interval_seconds: 0.2, timeout_seconds: 0.2, failures: 2 };
    const { url } = await startGateway({
      servers: { echo: fault('echo', { health, request_timeout_seconds: 3 }) },
    });
    const pid = Number((await callOnce(url, 'echo', 'pid')).text);
    const call = callOnce(url, 'echo', 'wait', { ms: 10 });
    process.kill(pid, 'SIGSTOP');
    const blocked = callOnce(url, 'echo', 'echo', 1);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, 'SIGCONT');
    expect([(await call).status, (await blocked).status]).toEqual([200, 200]);
    process.kill(pid, 'SIGSTOP');
    expect((await callOnce(url, 'echo', 'echo', 1)).error?.data).toMatchObject({ reason: 'ERR_DEADLINE' });
    await until('the end of the process', () => !isAlive(pid));
    expect((await callOnce(url, 'echo', 'pid')).status).toBe(200);
  });

  it('a server that has never answered a ping is not stopped for missed pings', async () => {
    const health = { interval_seconds: 0.2, timeout_seconds: 0.2, failures: 2 };
    const { url } = await startGateway({
      servers: { echo: fault('echo', { health, env: { NO_PONG: '1' } }) },
    });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect((await callOnce(url, 'echo', 'pid')).text).toBe(pid);
    expect(await details(url, 'echo')).toMatchObject({ restarts: 0 });
  });

  it('fewer missed pings than configured do not stop a server', async () => {
    const health = { interval_seconds: 0.2, timeout_seconds: 0.2, failures: 25 };
    const { url } = await startGateway({ servers: { echo: fault('echo', { health }) } });
    const pid = (await callOnce(url, 'echo', 'pid')).text;
    expect((await callOnce(url, 'echo', 'freeze', { ms: 1000 })).status).toBe(200);
    expect((await callOnce(url, 'echo', 'pid')).text).toBe(pid);
  });
});

describe.concurrent('hanging and disabled servers', () => {
  it('delay a list at most for list_timeout_seconds, and late lists are announced', async () => {
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
    // The tools of this server are listed in time, however slowly processes start.
    expect((await rpc(url, 'good', 'tools/list')).status).toBe(200);
    const session = await RawSession.open(url, '/mcp');
    const stream = await session.listen();
    const names = async () => {
      const { result } = await session.request('tools/list');
      return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    };
    const askedAt = performance.now();
    const first = await names();
    // The hanging starts have twenty seconds.
    expect(performance.now() - askedAt).toBeLessThan(10_000);
    expect(first).toContain('good__echo');
    expect(first.filter((name) => !name.startsWith('good__'))).toEqual([]);
    const againAt = performance.now();
    expect(await names()).toEqual(first);
    // No request after the timeout is delayed by the hanging server.
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

  it('that hang at tools/list still count as running after the start timeout and accept calls', async () => {
    const { url } = await startGateway({
      servers: { listless: fault('hangs-at-list', { start_timeout_seconds: 3 }) },
    });
    const answer = await callOnce(url, 'listless', 'anything');
    expect(answer.text).toBe('alive');
    expect((await details(url, 'listless')).state).toBe('running');
  });

  it('that hang during a stop delay no other server', async () => {
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
    // The next process answers calls that arrive during a stop.
    const next = callOnce(url, 'echo', 'echo', { next: true });
    expect((await hanging).status).toBe(503);
    expect((await stopping).status).toBe(200);
    expect((await next).text).toBe('{"next":true}');
  });

  it('with enabled: false return 503 and are not listed', async () => {
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
