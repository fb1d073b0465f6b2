// Rate limits of the repository host in the whole program: a wait reports progress, follows the clock of the host, keeps no other
// request and no exit waiting, and ends when the client cancels. Server and host share a clock that runs twenty times as fast as
// real time. The pace itself is in test/unit/tool-servers/repository-host.

import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { secondaryLimit } from '../../fixtures/rest-host/fault.ts';
import { HostClient } from '../../fixtures/rest-host/host-client.ts';
import { type Recorded, ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const SPEED = 20;
const SECOND_MS = 1000;
const where = { owner: 'ada', repo: 'tools' };

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

/** How long after the first of them each came, in seconds of the host's. */
function offsets(requests: readonly Recorded[]): number[] {
  const first = requests[0]?.atMs ?? 0;
  return requests.map(({ atMs }) => (atMs - first) / SECOND_MS);
}

const statuses = () => host.requests.map(({ status }) => status);

describe('the primary limit', () => {
  test('is waited for until it opens again, and the client is told so', async () => {
    // Two seconds of ours: longer than a question takes, on a busy machine too.
    const opensAtMs = host.clock.nowMs() + 45 * SECOND_MS;
    host.limits.use('token-of-ada-7Qm2', 'core', 0, 45 * SECOND_MS);
    const told: string[] = [];
    const result = await ada.call('list_commits', where, {
      onprogress: ({ message }) => told.push(message ?? ''),
    });
    expect(result.isError).not.toBe(true);
    expect(statuses()).toEqual([403, 200]);
    expect(host.requests[1]?.atMs).toBeGreaterThanOrEqual(opensAtMs);
    expect(told.length).toBeGreaterThan(1);
    expect(told[0]).toMatch(/^Waiting \d+ s for the host's API limit/);
  });
});

describe.concurrent('a minute', () => {
  /** A host of its own with a client that has time, since the others must not be in its way. */
  async function apart(work: (own: ReplayHost, client: HostClient) => Promise<void>): Promise<void> {
    const own = await ReplayHost.start({ speed: SPEED });
    const args = ['--max-wait-seconds', '600'];
    const client = await HostClient.start({ host: own, args, token: 'token-of-max-7Qm2' });
    await work(own, client);
    expect([client.faults, client.stderr]).toEqual([[], '']);
    await client.close();
    await own.stop();
  }

  test('is what a refusal takes that names no time', () =>
    apart(async (own, client) => {
      own.failNext(secondaryLimit(403));
      await client.give('list_commits', where);
      expect(own.requests.map(({ status }) => status)).toEqual([403, 200]);
      expect(offsets(own.requests)[1]).toBeGreaterThanOrEqual(59);
    }));

  test('is counted by the clock of the host, wherever ours stands', () =>
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
        await client.give('list_issues', where);
        expect(own.requests.map(({ status }) => status)).toEqual([403, 200]);
        expect(offsets(own.requests)[1]).toBeGreaterThanOrEqual(7);
      }
      own.failNext({
        ...secondaryLimit(429),
        // Much later than what is asked of it: a slow machine takes seconds of this clock until the answer is there.
        headers: { 'retry-after': new Date(own.clock.nowMs() + 20 * SECOND_MS).toUTCString() },
      });
      own.requests.length = 0;
      await client.give('list_issues', where);
      expect(offsets(own.requests)[1]).toBeGreaterThanOrEqual(7);
    }));

  test('of waiting searches leaves the rest of the API open', () =>
    apart(async (own, client) => {
      own.limits.use('token-of-max-7Qm2', 'search', 0, 500 * SECOND_MS);
      let found = 0;
      const cancel = new AbortController();
      setMaxListeners(0, cancel.signal);
      const searches = Array.from({ length: 80 }, () =>
        client.call('search_users', { query: 'ada' }, { signal: cancel.signal }).then(() => {
          found += 1;
        }),
      );
      await eventually('a refusal', () => own.requests.length > 0);
      await client.give('list_issues', where);
      expect(found).toBe(0);
      cancel.abort();
      await Promise.allSettled(searches);
    }));
});

describe('a wait', () => {
  test('ends with its call: what was cancelled is never sent', async () => {
    host.limits.use('token-of-ada-7Qm2', 'core', 0, 40 * SECOND_MS);
    const cancel = new AbortController();
    const given = { ...where, title: 'Never' };
    const call = ada.call('create_issue', given, { signal: cancel.signal, onprogress: () => cancel.abort() });
    await expect(call).rejects.toThrow();
    expect(statuses()).toEqual([403]);
    // These wait for the same moment, and would come after it.
    await ada.give('list_issues', where);
    await ada.give('create_issue', { ...where, title: 'Later' });
    const titles = host.asked(/^POST/).map(({ body, status }) => [(body as { title: string }).title, status]);
    expect(titles).toEqual([
      ['Never', 403],
      ['Later', 201],
    ]);
  });

  test('of many calls does not keep the program from ending', async () => {
    const args = ['--max-wait-seconds', '600'];
    const client = await HostClient.start({ host, token: 'token-of-eve-7Qm2', args });
    host.limits.use('token-of-eve-7Qm2', 'core', 0, 500 * SECOND_MS);
    const calls = Array.from({ length: 20 }, () => client.call('list_issues', where).catch(() => 'gone'));
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
