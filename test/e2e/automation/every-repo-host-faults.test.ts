// Fault tolerance for every repository host: refusals, cut connections, hanging requests, pauses, kill -9 and
// reloads. Every comment appears once, or the record shows the reason. Each test runs for every host, in a
// separate setup (test/fixtures/repositories/repo-host-cases.ts). Features without faults:
// every-repo-host.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { Refusal } from '../../fixtures/repositories/fake-repo-api.ts';
import type { HostEvent } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';
import { type HostCase, type MoreSpec, RepoHostCases } from '../../fixtures/repositories/repo-host-cases.ts';

const noSpec = (): MoreSpec => ({});
const hostCases = new RepoHostCases({
  pauses: () => ({ retry: { attempts: 1 } }),
  fails: noSpec,
  refused: noSpec,
  cut: noSpec,
  late: noSpec,
  hangs: noSpec,
  done: noSpec,
  asked: noSpec,
  before: noSpec,
  stored: noSpec,
  reloaded: noSpec,
});

beforeAll(() => hostCases.start());
afterAll(() => hostCases.stop());

const comment: HostEvent = { kind: 'request comment', text: 'why?' };
const ANSWER = 'heard: why?';

/** Refuses the next requests that would write a comment. */
const refuse = ({ host }: HostCase, refusal: Refusal) => host.api.refuse(host.posting, refusal);

describe.concurrent.each(Object.keys(localRepoHosts))('%s', (name) => {
  test('the gateway sends no request during the pause that the repository host requested, and counts no failed attempt', async () => {
    const hostCase = hostCases.of(name, 'pauses');
    // Exceeds the pause of the gateway between two writes with the same token.
    refuse(hostCase, { status: 429, headers: { 'retry-after': '4' } });
    await hostCase.deliver(comment);
    await hostCase.expectComments(comment, ANSWER);
    expect(await hostCase.expectOutboxRow({ state: 'done', attempts: 1 })).toMatchObject({ crashes: 0 });
    const [first = 0, second = 0, ...others] = hostCase.host.commentRequests().map(({ at }) => at);
    expect(second - first).toBeGreaterThan(3_990);
    expect(others).toEqual([]);
  });

  test('after a server error of the repository host, the gateway looks for the comment before writing it again', async () => {
    const hostCase = hostCases.of(name, 'fails');
    refuse(hostCase, { status: 503 });
    await hostCase.deliver(comment);
    await hostCase.expectComments(comment, ANSWER);
    await hostCase.expectOutboxRow({ state: 'done', attempts: 2 });
    const [first, second, ...others] = hostCase.host.commentRequests();
    expect(others).toEqual([]);
    const { requests } = hostCase.host.api;
    const between = requests.slice(requests.indexOf(first!) + 1, requests.indexOf(second!));
    expect(between.map(({ method }) => method)).toContain('GET');
  });

  test.each([
    ['cut', { status: 0, isCut: true }],
    ['late', { status: 502, isStored: true }],
  ] as const)(
    'finds a comment with a lost response (%s) and does not write it again',
    async (label, refusal) => {
      const hostCase = hostCases.of(name, label);
      refuse(hostCase, refusal);
      await hostCase.deliver(comment);
      await hostCase.expectOutboxRow({ state: 'done', attempts: 2 });
      expect(hostCase.comments(comment)).toEqual([ANSWER]);
      expect(hostCase.host.commentRequests()).toHaveLength(1);
    },
  );

  test('a comment that the host refuses permanently is dead after one request; its event is done, and a replay writes it', async () => {
    const hostCase = hostCases.of(name, 'refused');
    refuse(hostCase, { status: 403 });
    await hostCase.deliver(comment, 'refused');
    const { id } = await hostCase.expectOutboxRow({
      state: 'dead',
      attempts: 1,
      note: expect.stringContaining('403'),
    });
    expect(hostCase.host.commentRequests()).toHaveLength(1);
    expect(await hostCase.record('refused')).toMatchObject({ state: 'done' });
    await hostCases.api(`/deliveries/${encodeURIComponent(id)}/replay`, {});
    await hostCase.expectComments(comment, ANSWER);
    expect(hostCase.agentRequests()).toHaveLength(1);
  });

  test('a comment request times out and is retried if the repository host does not respond', async () => {
    const hostCase = hostCases.of(name, 'hangs');
    const requestHangs = refuse(hostCase, { status: 0, isSilent: true });
    await hostCase.deliver(comment);
    await requestHangs;
    const startedAt = performance.now();
    await hostCase.expectComments(comment, ANSWER);
    expect(performance.now() - startedAt).toBeGreaterThan(5_000);
    await hostCase.expectOutboxRow({ state: 'done', attempts: 2 });
  });
});

test('after kill -9 between any two steps, one comment is written, and a repeated agent request has the same key', async () => {
  await waitUntilIdle(hostCases.gateway);
  await hostCases.everywhere('done', async (hostCase) => {
    await hostCase.deliver(comment, 'done');
    await hostCase.expectOutboxRow({ state: 'done' });
  });
  await hostCases.everywhere('asked', async (hostCase) => {
    const { answer } = hostCase;
    hostCase.answer = (request, count) => (count === 1 ? new Promise(() => {}) : answer(request, count));
    await hostCase.deliver(comment);
    await eventually(() => expect(hostCase.agentRequests()).toHaveLength(1));
  });
  for (const [name, isCut] of [
    ['before', false],
    ['stored', true],
  ] as const)
    await hostCases.everywhere(name, async (hostCase) => {
      const requestHangs = refuse(hostCase, { status: 0, isSilent: true, isCut });
      await hostCase.deliver(comment);
      await requestHangs;
    });
  await hostCases.kill();
  for (const name of ['asked', 'before', 'stored'] as const)
    await hostCases.everywhere(name, async (hostCase) => {
      await hostCase.expectComments(comment, ANSWER);
      await hostCase.expectOutboxRow({ state: 'done' });
      const keys = hostCase.agentRequests().map(({ headers }) => headers['idempotency-key']);
      expect(keys).toEqual(name === 'asked' ? [keys[0], keys[0]] : [keys[0]]);
    });
  await hostCases.everywhere('stored', async ({ host }) => expect(host.commentRequests()).toHaveLength(1));
  await hostCases.everywhere('done', async (hostCase) => {
    expect(await hostCase.send(comment, 'done')).toBe(200);
    await waitUntilIdle(hostCases.gateway);
    expect(hostCase.comments(comment)).toEqual([ANSWER]);
    expect(hostCase.agentRequests()).toHaveLength(1);
  });
});

test('a comment is written under the new trigger name if a reload renames the trigger before the comment is sent', async () => {
  await hostCases.everywhere('reloaded', async (hostCase) => {
    // Exceeds the reload time on a busy machine.
    const refusals = refuse(hostCase, { status: 429, headers: { 'retry-after': '8' } });
    await hostCase.deliver(comment);
    await refusals;
    await hostCase.expectOutboxRow({ deferrals: 1 });
  });
  await hostCases.rename();
  await hostCases.everywhere('reloaded', async (hostCase) => {
    await hostCase.expectComments(comment, ANSWER);
    await hostCase.expectOutboxRow({ state: 'done', trigger: `${hostCase.name}-renamed` });
  });
});

test('no secret was in the log, in a record or in a request to the agent', async () => {
  const texts = await hostCases.allVisibleTexts();
  for (const secret of hostCases.secrets) expect(texts).not.toContain(secret);
});
