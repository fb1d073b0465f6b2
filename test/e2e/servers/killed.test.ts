// A server that is killed repeatedly: all calls complete or fail; the server is back after one backoff, or is
// failed and shows the time of the next start; other servers are not affected.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  callOnce,
  details,
  isAlive,
  json,
  RawSession,
  stats,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { seeded } from '../../fixtures/seeded.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const startedPids = (file: string) => readFileSync(file, 'utf8').trim().split('\n').map(Number);

describe('a repeatedly killed server', () => {
  it('leaves no call under load unanswered and is back within one backoff, a hundred times', async () => {
    const KILLS = 100;
    const [starts, done] = ['starts', 'calls'].map((name) => join(temporaryFolder(), name)) as [
      string,
      string,
    ];
    const restart = { intensity: 1000, min_backoff_ms: 10, max_backoff_seconds: 0.03 };
    const gateway = await startGateway({
      servers: {
        echo: fault('echo', { env: { STARTS: starts, CALLS: done }, restart, request_timeout_seconds: 10 }),
        other: fault('echo'),
      },
    });
    const { url } = gateway;
    const random = seeded(20_260_731);
    const outcomes = { answered: 0, failed: 0 };
    const unexpectedAnswers: string[] = [];
    let isOver = false;
    const client = async (path: string, index: number) => {
      const session = await RawSession.open(url, path);
      if (path === '/mcp') await session.request('tools/list');
      const name = path === '/mcp' ? 'echo__count' : 'count';
      for (let number = 0; !isOver; number += 1) {
        const label = `${index}/${number}`;
        const answer = await session.call(name, { steps: 1, every_ms: 2, label }, { id: 1 });
        if (answer.text === `{"steps":1,"label":"${label}"}`) outcomes.answered += 1;
        else if (/terminated by SIGKILL|closed its standard/.test(answer.error?.message ?? ''))
          outcomes.failed += 1;
        else unexpectedAnswers.push(`${answer.status} ${answer.body.toString()}`);
      }
    };
    const clients = ['/mcp', '/mcp/echo', '/mcp'].map(client);
    const neighbour = await callOnce(url, 'other', 'pid');
    const backAfterMs: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const pid = await until('a process', async () => {
        const { state, pids } = await details(url, 'echo');
        return state === 'running' ? pids[0] : undefined;
      });
      await new Promise((resolve) => setTimeout(resolve, random() * 20));
      process.kill(pid, 'SIGKILL');
      const killedAt = performance.now();
      await until('an answer', async () => {
        const { text } = await callOnce(url, 'echo', 'pid');
        return text !== '' && text !== String(pid);
      });
      backAfterMs.push(performance.now() - killedAt);
    }
    isOver = true;
    await Promise.all(clients);
    expect(unexpectedAnswers).toEqual([]);
    expect(outcomes.answered).toBeGreaterThan(KILLS);
    expect(outcomes.failed).toBeGreaterThan(0);
    // The maximum backoff is 30 ms. Without it the tenth backoff would exceed this limit. The rest is
    // tolerance for a process start on a busy machine.
    expect(Math.max(...backAfterMs)).toBeLessThan(10_000);
    // A call that may have reached the server is never sent again.
    const labels = readFileSync(done, 'utf8').trim().split('\n');
    expect(new Set(labels).size).toBe(labels.length);
    expect(labels.length).toBeGreaterThanOrEqual(outcomes.answered);
    expect(startedPids(starts)).toHaveLength(KILLS + 1);
    expect(startedPids(starts).filter(isAlive)).toHaveLength(1);
    expect((await callOnce(url, 'other', 'pid')).text).toBe(neighbour.text);
    expect((await stats(url)).requests.in_flight).toBe(0);
    expect(await details(url, 'echo')).toMatchObject({ in_flight: 0, waiting: 0, restarts: KILLS });
    expect(gateway.text()).not.toMatch(signsOfBugs);
    expect(await gateway.stop()).toBe(0);
  }, 120_000);

  it('with the default restart limits fails under load, shows the time of the next start, and starts then', async () => {
    const restart = { min_backoff_ms: 10, max_backoff_seconds: 1, park_seconds: 6 };
    const { url, text } = await startGateway({
      servers: { echo: fault('echo', { restart }), other: fault('echo') },
    });
    const statuses = new Set<number>();
    let isParked = false;
    const client = async () => {
      while (!isParked) statuses.add((await callOnce(url, 'echo', 'echo')).status);
    };
    const clients = Array.from({ length: 4 }, client);
    const pids = new Set<number>();
    while (!isParked) {
      const { state, pids: now, next_retry_at } = await details(url, 'echo');
      const [pid] = now;
      // Backoffs are short here, so a longer pause means the failed state.
      isParked = state === 'failed' && Date.parse(next_retry_at ?? '') - Date.now() > 1500;
      if (state !== 'running' || pid === undefined || pids.has(pid)) continue;
      pids.add(pid);
      process.kill(pid, 'SIGKILL');
    }
    await Promise.all(clients);
    // The first process, and as many restarts as the default limits permit.
    expect(pids.size).toBe(6);
    expect([...statuses].filter((status) => ![200, 502, 503].includes(status))).toEqual([]);
    const failure = await details(url, 'echo');
    expect(failure).toMatchObject({ state: 'failed', waiting: 0, in_flight: 0, restarts: 5 });
    expect(failure.last_error).toMatchObject({ code: 'ERR_CONNECTION_LOST' });
    const leftMs = Date.parse(failure.next_retry_at ?? '') - Date.now();
    expect(leftMs).toBeGreaterThan(1000);
    expect(leftMs).toBeLessThanOrEqual(6000);
    // Immediately: a request that waited for the restart would get 200.
    const refusal = await callOnce(url, 'echo', 'pid');
    expect(refusal.status).toBe(503);
    expect(refusal.headers['retry-after']).toMatch(/^[1-6]$/);
    expect(refusal.error?.message).toMatch(/parked .*SIGKILL/);
    expect(refusal.error?.data).toMatchObject({ server: 'echo' });
    const session = await RawSession.open(url, '/mcp/echo');
    const inSession = await session.call('pid');
    expect([inSession.reason, inSession.headers['retry-after']]).toEqual([
      'ERR_UNAVAILABLE',
      expect.stringMatching(/^[1-6]$/),
    ]);
    expect((await callOnce(url, 'other', 'echo', { well: true })).text).toBe('{"well":true}');
    const back = await until('the end of the failed state', async () => {
      const answer = await session.call('echo', { back: true });
      return answer.error === undefined ? answer : undefined;
    });
    expect(back.text).toBe('{"back":true}');
    expect(await details(url, 'echo')).toMatchObject({ state: 'running', next_retry_at: null });
    expect(text()).toContain('server parked after too many failures');
    expect(text()).not.toMatch(signsOfBugs);
  });

  it('is started from the failed state by POST start immediately', async () => {
    const restart = { intensity: 0, min_backoff_ms: 10, park_seconds: 600 };
    const { url } = await startGateway({ servers: { echo: fault('echo', { restart }) } });
    await callOnce(url, 'echo', 'crash');
    await until('the park', async () => (await callOnce(url, 'echo', 'pid')).status === 503);
    const started = await json<{ state: string }>(`${url}/servers/echo/start`, 'POST');
    expect([started.status, started.body.state]).toEqual([200, 'running']);
    expect((await callOnce(url, 'echo', 'echo', 1)).status).toBe(200);
  });
});
