// Starts on demand: one start for many calls, no start before a request, and clear reasons for failures.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  callOnce,
  details,
  http,
  isAlive,
  json,
  RawSession,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const startedPids = (file: string) => readFileSync(file, 'utf8').trim().split('\n').map(Number);

describe('a server that cannot be started', () => {
  const hopeless = {
    missing: { command: 'there-is-no-such-program' },
    nowhere: fault('echo', { cwd: './no/such/folder' }),
    exits: fault('exits-at-once', { env: { TOKEN: 'hush-hush-4711' } }),
  };
  const restart = { intensity: 2, min_backoff_ms: 50, max_backoff_seconds: 1, park_seconds: 30 };
  const servers = Object.fromEntries(
    Object.entries(hopeless).map(([id, entry]) => [id, { ...entry, restart }]),
  );

  it.each([
    ['missing', /there-is-no-such-program.*(not found|PATH|does not exist)/i],
    ['nowhere', /no\/such\/folder/],
    ['exits', /exited with code 4/],
  ])('%s: POST start returns the reason immediately, with 502', async (id, why) => {
    const { url, text } = await startGateway({ servers });
    const askedAt = performance.now();
    const answer = await json<{ error: string; message: string; stderr?: string[] }>(
      `${url}/servers/${id}/start`,
      'POST',
    );
    // A wait for further attempts would last 30 s, as long as the failed state.
    expect(performance.now() - askedAt).toBeLessThan(15_000);
    expect(answer.status).toBe(502);
    expect(answer.body).toMatchObject({ error: 'Bad Gateway', message: expect.stringMatching(why) });
    if (id === 'exits') {
      expect(answer.body.stderr).toContain('reading the settings');
      expect(answer.body.stderr?.join('\n')).toMatch(/the key .+ was rejected by the API/);
    }
    expect(answer.text).not.toContain('hush-hush-4711');
    expect(text()).not.toContain('hush-hush-4711');
  });

  it.each(Object.keys(hopeless))(
    '%s: calls wait during the backoff, and fail with 503 in the failed state',
    async (id) => {
      const { url, text } = await startGateway({ servers });
      const calls = await Promise.all(Array.from({ length: 5 }, () => callOnce(url, id, 'any')));
      for (const { status, headers, error } of calls) {
        expect(status).toBe(503);
        expect(Number(headers['retry-after'])).toBeGreaterThan(20);
        expect(error?.message).toMatch(/parked/);
      }
      expect(await details(url, id)).toMatchObject({
        state: 'failed',
        waiting: 0,
        in_flight: 0,
        restarts: 2,
      });
      expect(text()).not.toMatch(/hush-hush-4711/);
      expect(text()).not.toMatch(signsOfBugs);
    },
  );

  it('and hangs: POST start returns 504 and leaves no process', async () => {
    const { url } = await startGateway({
      servers: { hangs: fault('hangs-at-initialize', { start_timeout_seconds: 1.5, restart }) },
    });
    const start = json(`${url}/servers/hangs/start`, 'POST');
    const pid = await until('the process', async () => (await details(url, 'hangs')).pids[0]);
    const { status, body } = await start;
    expect(status).toBe(504);
    expect(body.message).toMatch(/start_timeout_seconds/);
    await until('the end of the process', () => !isAlive(pid));
  });

  it('and prints a secret on stderr: the secret is neither in logs nor in responses', async () => {
    const { url, text } = await startGateway({
      servers: {
        echo: fault('echo', { env: { TOKEN: 'hush-hush-4711', SAY: 'my token is hush-hush-4711' } }),
      },
      settings: { log_level: 'trace' },
    });
    await callOnce(url, 'echo', 'say', { stderr: 'again: hush-hush-4711!' });
    const crashed = await callOnce(url, 'echo', 'crash');
    const response = await http(`${url}/servers/echo`);
    await until('the log line', () => text().includes('again: '));
    expect(crashed.body.toString() + response.body.toString() + text()).not.toContain('hush-hush');
  });
});

describe('starting on demand', () => {
  it('starts one process for 200 concurrent first calls', async () => {
    const starts = join(temporaryFolder(), 'starts');
    const { url } = await startGateway({
      servers: { echo: fault('echo', { env: { STARTS: starts, START_MS: '200' } }) },
    });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, number) => callOnce(url, 'echo', 'echo', { number })),
    );
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, number) => `{"number":${number}}`));
    expect(startedPids(starts)).toHaveLength(1);
    await json(`${url}/servers/echo/stop`, 'POST');
    await Promise.all(Array.from({ length: 200 }, () => callOnce(url, 'echo', 'pid')));
    expect(startedPids(starts)).toHaveLength(2);
  });

  it('starts none of 200 servers before a request, and then only the requested servers', async () => {
    const starts = join(temporaryFolder(), 'starts');
    const entry = fault('echo', { env: { STARTS: starts } });
    const ids = Array.from({ length: 200 }, (_, number) => `server-${number}`);
    const { url } = await startGateway({ servers: Object.fromEntries(ids.map((id) => [id, entry])) });
    const listed = await json<{ servers: { id: string; state: string; pids: number[] }[] }>(`${url}/servers`);
    expect(listed.body.servers.map(({ id }) => id)).toEqual(ids);
    expect(listed.body.servers.every(({ state, pids }) => state === 'stopped' && pids.length === 0)).toBe(
      true,
    );
    await RawSession.open(url, '/mcp');
    expect((await callOnce(url, 'server-123', 'echo', 1)).status).toBe(200);
    expect(startedPids(starts)).toHaveLength(1);
  });

  it('boots 600 servers quickly, and restarts any of them after a crash', async () => {
    const restart = { min_backoff_ms: 10, max_backoff_seconds: 1 };
    const servers = Object.fromEntries(
      Array.from({ length: 600 }, (_, number) => [`server-${number}`, fault('echo', { restart })]),
    );
    const startedAt = performance.now();
    const gateway = await startGateway({ servers });
    // Starting 600 processes needs more time on any machine.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    for (const id of ['server-0', 'server-599']) {
      expect((await callOnce(gateway.url, id, 'crash')).status).toBe(502);
      expect((await callOnce(gateway.url, id, 'echo', 1)).status).toBe(200);
      expect((await details(gateway.url, id)).restarts).toBe(1);
    }
    expect(await gateway.stop()).toBe(0);
  });
});
