// A server that is killed again and again: every call ends (A2), the server is back after one backoff or parked and
// says until when (A8), and its neighbours notice nothing (A6).

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

describe('a server that is killed again and again', () => {
  it('under load ends every call, and is back within one backoff, a hundred times', async () => {
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
    const strange: string[] = [];
    let isOver = false;
    const client = async (path: string, who: number) => {
      const session = await RawSession.open(url, path);
      if (path === '/mcp') await session.request('tools/list');
      const name = path === '/mcp' ? 'echo__count' : 'count';
      for (let number = 0; !isOver; number += 1) {
        const label = `${who}/${number}`;
        const answer = await session.call(name, { steps: 1, every_ms: 2, label }, { id: 1 });
        if (answer.text === `{"steps":1,"label":"${label}"}`) outcomes.answered += 1;
        else if (/ended by SIGKILL|closed its standard/.test(answer.error?.message ?? ''))
          outcomes.failed += 1;
        else strange.push(`${answer.status} ${answer.body.toString()}`);
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
    expect(strange).toEqual([]);
    expect(outcomes.answered).toBeGreaterThan(KILLS);
    expect(outcomes.failed).toBeGreaterThan(0);
    // The backoff is 30 ms at most; one that grew without that limit would pass these seconds at the tenth kill. The
    // rest is the start of a process on a busy machine.
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

  it('with the default intensity is parked under load, says until when, and comes back after that', async () => {
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
      // A backoff lasts a moment here; a park is what lasts longer.
      isParked = state === 'failed' && Date.parse(next_retry_at ?? '') - Date.now() > 1500;
      if (state !== 'running' || pid === undefined || pids.has(pid)) continue;
      pids.add(pid);
      process.kill(pid, 'SIGKILL');
    }
    await Promise.all(clients);
    // The first life, and as many more as the default intensity gives.
    expect(pids.size).toBe(6);
    expect([...statuses].filter((status) => ![200, 502, 503].includes(status))).toEqual([]);
    const parked = await details(url, 'echo');
    expect(parked).toMatchObject({ state: 'failed', waiting: 0, in_flight: 0, restarts: 5 });
    expect(parked.last_error).toMatchObject({ code: 'ERR_CONNECTION_LOST' });
    const leftMs = Date.parse(parked.next_retry_at ?? '') - Date.now();
    expect(leftMs).toBeGreaterThan(1000);
    expect(leftMs).toBeLessThanOrEqual(6000);
    // At once: whoever waited for the end of the park would be answered with 200.
    const refused = await callOnce(url, 'echo', 'pid');
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toMatch(/^[1-6]$/);
    expect(refused.error?.message).toMatch(/parked .*SIGKILL/);
    expect(refused.error?.data).toMatchObject({ server: 'echo' });
    const session = await RawSession.open(url, '/mcp/echo');
    const inSession = await session.call('pid');
    expect([inSession.reason, inSession.headers['retry-after']]).toEqual([
      'ERR_UNAVAILABLE',
      expect.stringMatching(/^[1-6]$/),
    ]);
    expect((await callOnce(url, 'other', 'echo', { well: true })).text).toBe('{"well":true}');
    const back = await until('the end of the park', async () => {
      const answer = await session.call('echo', { back: true });
      return answer.error === undefined ? answer : undefined;
    });
    expect(back.text).toBe('{"back":true}');
    expect(await details(url, 'echo')).toMatchObject({ state: 'running', next_retry_at: null });
    expect(text()).toContain('server parked after too many failures');
    expect(text()).not.toMatch(signsOfBugs);
  });

  it('is woken from its park at once by POST start', async () => {
    const restart = { intensity: 0, min_backoff_ms: 10, park_seconds: 600 };
    const { url } = await startGateway({ servers: { echo: fault('echo', { restart }) } });
    await callOnce(url, 'echo', 'crash');
    await until('the park', async () => (await callOnce(url, 'echo', 'pid')).status === 503);
    const started = await json<{ state: string }>(`${url}/servers/echo/start`, 'POST');
    expect([started.status, started.body.state]).toEqual([200, 'running']);
    expect((await callOnce(url, 'echo', 'echo', 1)).status).toBe(200);
  });
});
