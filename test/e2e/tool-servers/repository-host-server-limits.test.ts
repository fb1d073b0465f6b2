// Rate limits of the repository host in the whole program. A wait reports progress, follows the clock of the
// host, delays neither other requests nor the exit, and stops when the client cancels. Server and host share
// a clock that runs twenty times as fast as real time. The rate itself is tested in
// test/unit/tool-servers/repository-host.

import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { secondaryLimit } from '../../fixtures/rest-host/fault.ts';
import { HostClient } from '../../fixtures/rest-host/host-client.ts';
import { type Recorded, ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const SPEED = 20;
const SECOND_MS = 1000;
const repository = { owner: 'ada', repo: 'tools' };

let host: ReplayHost;
let ada: HostClient;

beforeAll(async () => {
  host = await ReplayHost.start({ speed: SPEED });
  ada = await HostClient.start({ host, token: 'token-of-ada-7Qm2' });
});

afterAll(async () => {
  expect([ada.faults, ada.stderr]).toEqual([[], '']);
  await ada.close();
  await host.stop();
});

beforeEach(() => host.forget());

/** Seconds after the first request, by the clock of the host. */
function offsets(requests: readonly Recorded[]): number[] {
  const first = requests[0]?.atMs ?? 0;
  return requests.map(({ atMs }) => (atMs - first) / SECOND_MS);
}

const statuses = () => host.requests.map(({ status }) => status);

describe('the primary rate limit', () => {
  test('delays requests until it is reset, and the client is notified', async () => {
    // Two real seconds, which is longer than a request takes on a busy machine.
    const opensAtMs = host.clock.nowMs() + 45 * SECOND_MS;
    host.limits.use('token-of-ada-7Qm2', 'core', 0, 45 * SECOND_MS);
    const progress: string[] = [];
    const result = await ada.call('list_commits', repository, {
      onprogress: ({ message }) => progress.push(message ?? ''),
    });
    expect(result.isError).not.toBe(true);
    expect(statuses()).toEqual([403, 200]);
    expect(host.requests[1]?.atMs).toBeGreaterThanOrEqual(opensAtMs);
    expect(progress.length).toBeGreaterThan(1);
    expect(progress[0]).toMatch(/^Waiting \d+ s for the API rate limit of the host to reset/);
  });
});

describe.concurrent('the secondary rate limit', () => {
  /** Runs `work` with a separate host and client, so that it does not affect other tests. */
  async function apart(work: (own: ReplayHost, client: HostClient) => Promise<void>): Promise<void> {
    const own = await ReplayHost.start({ speed: SPEED });
    const args = ['--max-wait-seconds', '600'];
    const client = await HostClient.start({ host: own, args, token: 'token-of-max-7Qm2' });
    await work(own, client);
    expect([client.faults, client.stderr]).toEqual([[], '']);
    await client.close();
    await own.stop();
  }

  test('delays requests by one minute if the response names no retry time', () =>
    apart(async (own, client) => {
      own.failNext(secondaryLimit(403));
      await client.callTool('list_commits', repository);
      expect(own.requests.map(({ status }) => status)).toEqual([403, 200]);
      expect(offsets(own.requests)[1]).toBeGreaterThanOrEqual(59);
    }));

  test('is computed with the clock of the host, even if the local clock is hours off', () =>
    apart(async (own, client) => {
      for (const hours of [-5, 5]) {
        const now = own.clock.nowMs() + hours * 3600 * SECOND_MS;
        own.failNext({
          status: 403,
          headers: {
            date: new Date(now).toUTCString(),
            'x-ratelimit-remaining': '0',
            'x-ratelimit-reset': String(Math.ceil(now / SECOND_MS) + 8),
          },
          body: { message: 'API rate limit exceeded for user ID 1.' },
        });
        own.requests.length = 0;
        await client.callTool('list_issues', repository);
        expect(own.requests.map(({ status }) => status)).toEqual([403, 200]);
        expect(offsets(own.requests)[1]).toBeGreaterThanOrEqual(7);
      }
      own.failNext({
        ...secondaryLimit(429),
        // Far ahead: on a slow machine the response takes seconds of this clock.
        headers: { 'retry-after': new Date(own.clock.nowMs() + 20 * SECOND_MS).toUTCString() },
      });
      own.requests.length = 0;
      await client.callTool('list_issues', repository);
      expect(offsets(own.requests)[1]).toBeGreaterThanOrEqual(7);
    }));

  test('delays searches but not other requests', () =>
    apart(async (own, client) => {
      own.limits.use('token-of-max-7Qm2', 'search', 0, 500 * SECOND_MS);
      let count = 0;
      const cancel = new AbortController();
      setMaxListeners(0, cancel.signal);
      const searches = Array.from({ length: 80 }, () =>
        client.call('search_users', { query: 'ada' }, { signal: cancel.signal }).then(() => {
          count += 1;
        }),
      );
      await eventually('a refusal', () => own.requests.length > 0);
      await client.callTool('list_issues', repository);
      expect(count).toBe(0);
      cancel.abort();
      await Promise.allSettled(searches);
    }));
});

describe('a wait for a rate limit', () => {
  test('is aborted when the call is cancelled, and the request is never sent', async () => {
    host.limits.use('token-of-ada-7Qm2', 'core', 0, 40 * SECOND_MS);
    const cancel = new AbortController();
    const args = { ...repository, title: 'Never' };
    const call = ada.call('create_issue', args, { signal: cancel.signal, onprogress: () => cancel.abort() });
    await expect(call).rejects.toThrow();
    expect(statuses()).toEqual([403]);
    // These calls wait for the same time, and would be sent after the cancelled request.
    await ada.callTool('list_issues', repository);
    await ada.callTool('create_issue', { ...repository, title: 'Later' });
    const titles = host
      .requestsMatching(/^POST/)
      .map(({ body, status }) => [(body as { title: string }).title, status]);
    expect(titles).toEqual([
      ['Never', 403],
      ['Later', 201],
    ]);
  });

  test('does not delay the exit of the program, even if many calls wait', async () => {
    const args = ['--max-wait-seconds', '600'];
    const client = await HostClient.start({ host, token: 'token-of-eve-7Qm2', args });
    host.limits.use('token-of-eve-7Qm2', 'core', 0, 500 * SECOND_MS);
    const calls = Array.from({ length: 20 }, () =>
      client.call('list_issues', repository).catch(() => 'gone'),
    );
    await eventually('a refusal', () => host.requests.length > 0);
    const { pid } = client;
    await client.close();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['gone']));
    await eventually('the end of the process', () => !isAlive(pid));
    host.limits.use('token-of-eve-7Qm2', 'core', 5000, 1);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
