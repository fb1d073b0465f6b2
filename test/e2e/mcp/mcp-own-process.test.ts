// Stdio servers with isolation: session, which run one process per client session, from the first request
// until the session ends in any way. Nothing is left behind.

import { beforeAll, describe, expect, test } from 'vitest';
import { eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { callOnce, details, json, RawSession } from '../../fixtures/clients/raw-session.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;

beforeAll(async () => {
  const tools = ['echo', 'stats', 'exit', 'slow'];
  const own = { ...everythingOverStdio({ tools }), isolation: 'session' };
  gateway = await startGateway({
    servers: {
      own,
      second: own,
      fleeting: {
        ...everythingOverStdio({ name: 'fleeting', tools }),
        isolation: 'session',
        idle_timeout_seconds: 1.5,
      },
      narrow: { ...own, pool: { max: 2 } },
      started: own,
    },
  });
  // Caches all lists. No server runs afterwards.
  await Promise.all(
    ['own', 'second', 'fleeting', 'narrow', 'started'].map(async (id) => {
      expect((await json(`${gateway.url}/servers/${id}/start`, 'POST')).status).toBe(200);
      expect((await json(`${gateway.url}/servers/${id}/stop`, 'POST')).status).toBe(200);
    }),
  );
});

const open = (id: string) => RawSession.open(gateway.url, id === '' ? '/mcp' : `/mcp/${id}`);
const pids = async (id: string) => (await details(gateway.url, id)).pids;

async function pidOf(session: RawSession, tool = 'stats'): Promise<number> {
  return (JSON.parse((await session.call(tool)).text) as { pid: number }).pid;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const waitForEnd = (pid: number) => eventually(`the end of ${pid}`, () => !isAlive(pid));

async function remove(session: RawSession): Promise<void> {
  await fetch(session.address, { method: 'DELETE', headers: { 'mcp-session-id': session.id } });
}

describe('the process of a session', () => {
  test('starts at the first request that needs it, is exclusive, and stops with the session', async () => {
    const [ann, bob] = [await open('own'), await open('own')];
    await ann.request('tools/list');
    await ann.request('ping');
    expect(await pids('own')).toEqual([]);
    const [first, second] = [await pidOf(ann), await pidOf(bob)];
    expect(first).not.toBe(second);
    expect((await pids('own')).sort()).toEqual([first, second].sort());
    expect(await pidOf(ann)).toBe(first);
    await remove(ann);
    await waitForEnd(first);
    expect((await ann.call('echo')).status).toBe(404);
    expect(await pidOf(bob)).toBe(second);
    await remove(bob);
    await waitForEnd(second);
  });

  test('that crashes is replaced at /mcp/:id, and other sessions keep their processes', async () => {
    const [ann, bob] = [await open('own'), await open('own')];
    const [first, second] = [await pidOf(ann), await pidOf(bob)];
    const crash = await ann.call('exit');
    expect([crash.status, crash.reason]).toEqual([200, 'ERR_CONNECTION_LOST']);
    await waitForEnd(first);
    expect(await pidOf(ann)).not.toBe(first);
    expect(await pidOf(bob)).toBe(second);
    // A crash concerns the session only. The server has not failed.
    expect(await details(gateway.url, 'own')).toMatchObject({ state: 'running', restarts: 0 });
    await Promise.all([ann, bob].map(remove));
  });

  test('that crashes is replaced at /mcp, and the session continues', async () => {
    const [ann, bob] = [await open(''), await open('')];
    const [first, second, other] = [
      await pidOf(ann, 'own__stats'),
      await pidOf(bob, 'own__stats'),
      await pidOf(ann, 'second__stats'),
    ];
    expect(new Set([first, second, other]).size).toBe(3);
    expect((await ann.call('own__exit')).reason).toBe('ERR_CONNECTION_LOST');
    const fresh = await pidOf(ann, 'own__stats');
    expect(fresh).not.toBe(first);
    expect(await pidOf(ann, 'second__stats')).toBe(other);
    expect(await pidOf(bob, 'own__stats')).toBe(second);
    await Promise.all([ann, bob].map(remove));
    await Promise.all([fresh, second, other].map(waitForEnd));
  });

  test('stops after idle_timeout_seconds and is replaced by the next call, while processes in use keep running', async () => {
    const [idle, busy, everywhere] = [await open('fleeting'), await open('fleeting'), await open('')];
    const [idlePid, busyPid, firstPid] = [
      await pidOf(idle),
      await pidOf(busy),
      await pidOf(everywhere, 'fleeting__stats'),
    ];
    await eventually('the end of the idle ones', async () => {
      expect(await pidOf(busy)).toBe(busyPid);
      return !isAlive(idlePid) && !isAlive(firstPid);
    });
    const idleAgain = await pidOf(idle);
    expect(idleAgain).not.toBe(idlePid);
    const secondPid = await pidOf(everywhere, 'fleeting__stats');
    expect(secondPid).not.toBe(firstPid);
    expect(gateway.logs().some(({ server, why }) => server === 'fleeting' && why === 'idle')).toBe(true);
    // After the last session, the server itself stops.
    await eventually('sleep', async () => (await details(gateway.url, 'fleeting')).state === 'stopped');
    await Promise.all([busyPid, idleAgain, secondPid].map(waitForEnd));
  });

  test('keeps running while the client listens or a call is in flight', async () => {
    const listening = await open('fleeting');
    const pid = await pidOf(listening);
    const stream = await listening.listen();
    const calling = await open('fleeting');
    const answer = await calling.call('slow', { steps: 1, ms: 3000 });
    expect(answer.error).toBeUndefined();
    expect(isAlive(pid)).toBe(true);
    expect(await pidOf(listening)).toBe(pid);
    stream.stop();
    await waitForEnd(pid);
  });

  test('that is idle stops although the client listens at /mcp, unless it has subscribed to a resource', async () => {
    const [client, subscribed] = [await open(''), await open('')];
    const streams = [await client.listen(), await subscribed.listen()];
    const [pid, kept] = [await pidOf(client, 'fleeting__stats'), await pidOf(subscribed, 'fleeting__stats')];
    const { error } = await subscribed.request('resources/subscribe', { uri: 'fleeting://own' });
    expect(error).toBe(undefined);
    await waitForEnd(pid);
    expect(isAlive(kept)).toBe(true);
    for (const stream of streams) stream.stop();
    await waitForEnd(kept);
  });

  test('is stopped at pool.max if it has been idle longest; if all processes are in use, a new session gets an error', async () => {
    const [first, second] = [await open('narrow'), await open('narrow')];
    const [firstPid, secondPid] = [await pidOf(first), await pidOf(second)];
    expect(await pidOf(first)).toBe(firstPid);
    const third = await open('narrow');
    const thirdPid = await pidOf(third);
    await waitForEnd(secondPid);
    expect(await pidOf(first)).toBe(firstPid);
    // A stream and a call use both slots.
    const stream = await first.listen();
    const slow = third.call('slow', { steps: 1, ms: 2500 });
    await eventually('the call', async () => (await details(gateway.url, 'narrow')).in_flight === 1);
    const fourth = await open('narrow');
    const refusal = await fourth.call('echo');
    expect(refusal.reason).toBe('ERR_UNAVAILABLE');
    expect(refusal.headers['retry-after']).toBe('1');
    expect(refusal.error?.message).toContain('pool.max');
    expect((await slow).error).toBeUndefined();
    expect((await pids('narrow')).sort()).toEqual([firstPid, thirdPid].sort());
    expect((await fourth.call('echo')).error).toBeUndefined();
    await waitForEnd(thirdPid);
    stream.stop();
    await Promise.all([first, fourth].map(remove));
  });
});

describe('requests without a session', () => {
  test('share one process, which is not the process of a session', async () => {
    const ann = await open('own');
    const own = await pidOf(ann);
    const answers = await Promise.all(Array.from({ length: 8 }, () => callOnce(gateway.url, 'own', 'stats')));
    const shared = new Set(answers.map(({ text }) => (JSON.parse(text) as { pid: number }).pid));
    expect(shared.size).toBe(1);
    expect(shared.has(own)).toBe(false);
    await remove(ann);
  });

  test('use the server process that a manual start over the API has started', async () => {
    const started = await json<{ state: string; pids: number[] }>(
      `${gateway.url}/servers/started/start`,
      'POST',
    );
    expect(started.body.state).toBe('running');
    expect(started.body.pids).toHaveLength(1);
    const answer = await callOnce(gateway.url, 'started', 'stats');
    expect([(JSON.parse(answer.text) as { pid: number }).pid]).toEqual(started.body.pids);
    const again = await json<{ pids: number[] }>(`${gateway.url}/servers/started/start`, 'POST');
    expect(again.body.pids).toEqual(started.body.pids);
  });
});

describe('a client of the MCP SDK', () => {
  test('stops its processes by disconnecting', async () => {
    const client = await McpClient.connect(`${gateway.url}/mcp`);
    const [own, second] = [(await client.stats('own__stats')).pid, (await client.stats('second__stats')).pid];
    expect([isAlive(own), isAlive(second)]).toEqual([true, true]);
    await client.leave();
    await Promise.all([own, second].map(waitForEnd));
  });
});
