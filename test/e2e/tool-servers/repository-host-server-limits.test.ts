// Rate limits of the repository host: the server waits up to the permitted time and reports progress, refuses longer waits
// immediately, spaces searches to stay below the limit, and stops waiting when the client cancels. Server and host share a
// clock that runs twenty times as fast as real time.

import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { secondaryLimit } from '../../fixtures/rest-host/fault.ts';
import { HostClient, textOf } from '../../fixtures/rest-host/host-client.ts';
import { type Recorded, ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const SPEED = 20;
const SECOND_MS = 1000;
const where = { owner: 'ada', repo: 'tools' };

let host: ReplayHost;
let ada: HostClient;
/** Waits for five seconds at most. */
let hasty: HostClient;
/** Waits as long as it takes. */
let patient: HostClient;

beforeAll(async () => {
  host = await ReplayHost.start({ speed: SPEED });
  [ada, hasty, patient] = await Promise.all([
    HostClient.start({ host, token: 'token-of-ada-7Qm2' }),
    HostClient.start({ host, token: 'token-of-bob-7Qm2', args: ['--max-wait-seconds', '5'] }),
    HostClient.start({ host, token: 'token-of-eve-7Qm2', args: ['--max-wait-seconds', '600'] }),
  ]);
});

afterAll(async () => {
  for (const { faults, stderr } of [ada, hasty, patient]) expect([faults, stderr]).toEqual([[], '']);
  await Promise.all([ada, hasty, patient].map((client) => client.close()));
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

  test('is learnt from the last answer, so that the next question is not even refused', async () => {
    const opensAtMs = host.clock.nowMs() + 45 * SECOND_MS;
    host.limits.use('token-of-ada-7Qm2', 'core', 1, 45 * SECOND_MS);
    await ada.give('list_commits', where);
    await ada.give('list_commits', where);
    expect(statuses()).toEqual([200, 200]);
    expect(host.requests[1]?.atMs).toBeGreaterThanOrEqual(opensAtMs);
  });

  test('further away than a call may wait is an error at once, with the moment it ends', async () => {
    const kim = await HostClient.start({
      host,
      token: 'token-of-kim-7Qm2',
      args: ['--max-wait-seconds', '5'],
    });
    host.limits.use('token-of-kim-7Qm2', 'core', 0, 1800 * SECOND_MS);
    const asked = host.clock.nowMs();
    const told = await kim.refusal('list_commits', where);
    expect(host.clock.nowMs() - asked).toBeLessThan(300 * SECOND_MS);
    const until = Date.parse(/until (\S+Z)/.exec(told)?.[1] ?? '');
    expect(Math.abs(until - (asked + 1800 * SECOND_MS))).toBeLessThan(120 * SECOND_MS);
    expect(told).toMatch(/waits 5 s at most/);
    expect(statuses()).toEqual([403]);
    // What is known needs no second question.
    await kim.refusal('create_issue', { ...where, title: 'T' });
    expect(host.requests).toHaveLength(1);
    // Searches count apart.
    await kim.give('search_users', { query: 'ada' });
    await kim.close();
  });
});

describe('the secondary limit', () => {
  test.each([403, 429] as const)(
    'refused with %i and a time, a read is sent again after it',
    async (status) => {
      host.failNext(secondaryLimit(status, 7));
      await patient.give('list_commits', where);
      expect(statuses()).toEqual([status, 200]);
      expect(offsets(host.requests)[1]).toBeGreaterThanOrEqual(7);
    },
  );

  test('a write that was refused is done once, after the pause', async () => {
    host.failNext(secondaryLimit(429, 5));
    await patient.give('create_issue', { ...where, title: 'Once' });
    expect(statuses()).toEqual([429, 201]);
    expect(offsets(host.requests)[1]).toBeGreaterThanOrEqual(5);
  });

  test('concerns all that is asked, whatever it is about', async () => {
    host.failNext({ ...secondaryLimit(403, 10), when: /commits/ });
    let isWaiting = false;
    const first = patient.call('list_commits', where, { onprogress: () => (isWaiting = true) });
    await eventually('the wait', () => isWaiting);
    await Promise.all([
      first,
      patient.give('search_users', { query: 'ada' }),
      patient.give('list_issues', where),
    ]);
    const [, ...later] = offsets(host.requests);
    expect(later).toHaveLength(3);
    for (const seconds of later) expect(seconds).toBeGreaterThanOrEqual(10);
  });

  test('again and again refused ends in an error', async () => {
    host.failNext({ ...secondaryLimit(429, 1), times: 50 });
    expect(await patient.refusal('list_commits', where)).toMatch(/too many requests/);
    expect(host.requests.length).toBeLessThan(10);
  });

  test('a pause longer than the bound is an error at once', async () => {
    host.failNext(secondaryLimit(403, 90));
    expect(await hasty.refusal('list_issues', where)).toMatch(/asked for a pause until .*Z, in \d\d s/);
    expect(host.requests).toHaveLength(1);
  });
});

describe.concurrent('a minute', () => {
  /** A host of its own with a client that has time, since the others must not be in its way. */
  async function apart(
    work: (own: ReplayHost, client: HostClient) => Promise<void>,
    { maxWaitSeconds = 600, hasToken = true } = {},
  ): Promise<void> {
    const own = await ReplayHost.start({ speed: SPEED });
    // A second is 50 ms here. What a slow machine adds on the way must not count: the first request may come two seconds of
    // ours late, and the one that had to wait for its minute is still outside of this window, as it must be.
    for (const kind of ['search', 'code_search'] as const) own.limits.kinds[kind].windowMs = 15 * SECOND_MS;
    const args = ['--max-wait-seconds', String(maxWaitSeconds)];
    const client = await HostClient.start({
      host: own,
      args,
      ...(hasToken && { token: 'token-of-max-7Qm2' }),
    });
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

  test('has thirty searches of all kinds, and the next one waits: the host refuses none', () =>
    apart(async (own, client) => {
      const kinds = ['search_users', 'search_repositories', 'search_issues'];
      const held = new Set<number>();
      const found = await Promise.all(
        Array.from({ length: 31 }, (_, index) =>
          client.call(kinds[index % 3] ?? '', { query: 'ada' }, { onprogress: () => held.add(index) }),
        ),
      );
      expect(found.map(({ isError }) => isError)).not.toContain(true);
      expect(own.requests.map(({ status }) => status)).toEqual(Array.from({ length: 31 }, () => 200));
      expect(offsets(own.requests)[30]).toBeGreaterThanOrEqual(20);
      // The first thirty were not held back.
      expect(held.size).toBeLessThanOrEqual(1);
    }));

  test('has ten searches for who has no token', () =>
    apart(
      async (own, client) => {
        const found = await Promise.all(
          Array.from({ length: 11 }, () => client.call('search_users', { query: 'ada' })),
        );
        expect(found.map(({ isError }) => isError)).not.toContain(true);
        expect(own.requests.map(({ status }) => status)).toEqual(Array.from({ length: 11 }, () => 200));
      },
      { hasToken: false },
    ));

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

  test('has ten searches for code', () =>
    apart(async (own, client) => {
      const query = '1 repo:ada/tools';
      const found = await Promise.all(
        Array.from({ length: 11 }, () => client.call('search_code', { query })),
      );
      expect(found.map(({ isError }) => isError)).not.toContain(true);
      expect(own.requests.map(({ status }) => status)).toEqual(Array.from({ length: 11 }, () => 200));
      expect(offsets(own.requests)[10]).toBeGreaterThanOrEqual(20);
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

  test('is too long for who has only seconds: a search over the limit is not even sent', () =>
    apart(
      async (own, client) => {
        const answers = await Promise.all(
          Array.from({ length: 60 }, () => client.call('search_users', { query: 'ada' })),
        );
        const refused = answers.filter(({ isError }) => isError);
        for (const each of refused) expect(textOf(each)).toMatch(/search limit is used up until/);
        expect(refused.length).toBeGreaterThan(0);
        expect(own.requests.map(({ status }) => status)).toEqual(
          Array.from({ length: 60 - refused.length }, () => 200),
        );
      },
      { maxWaitSeconds: 5 },
    ));
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
