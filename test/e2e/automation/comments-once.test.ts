// A comment that may have been written before is looked for before it is written: over a stop, and when it is replayed. What
// the host refuses because it was asked too much waits, with everything else of the same token.

import { afterAll, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postRepoEvent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { repoExample } from '../../fixtures/automation/repo-payloads.ts';
import { RepoRestHost } from '../../fixtures/repositories/repo-rest-host.ts';

const PLACE = 'Codertocat/Hello-World#1';
const POST = /^POST .*\/comments$/;

const hosts: RepoRestHost[] = [];
afterAll(() => Promise.all(hosts.map((host) => host.stop())));

/** A gateway, and the host that it writes comments to. */
async function start(attempts: number) {
  const rest = await new RepoRestHost().start();
  hosts.push(rest);
  const program = await startAgent(() => ({ text: 'the answer' }));
  const config = { webhook_secret: SECRET, token: 'ghp_of_the_tests', api_url: rest.url };
  const retry = { attempts, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 };
  const gateway = await startAutomation({
    resources: [
      trigger('reviews', { type: 'RepoHost', config, retry, default_agent: 'echo' }),
      httpAgent('echo', program.url),
    ],
  });
  return { gateway, rest, posted: () => (rest.comments.get(PLACE) ?? []).length };
}

async function rows(url: string) {
  const answer = await fetch(`${url}/deliveries?conversation=outbox/`);
  const { deliveries } = (await answer.json()) as {
    deliveries: { id: string; state: string; attempts: number; deferrals: number }[];
  };
  return deliveries;
}

const comment = (url: string) =>
  postRepoEvent(url, 'issue_comment', repoExample('issue_comment', 'created'), { id: 'd1' });

test.concurrent('a comment that was written as the gateway stopped is not written again by the next', async () => {
  const { gateway, rest, posted } = await start(3);
  rest.refuse(POST, { status: 0, isCut: true, isSilent: true });
  expect((await comment(gateway.url)).status).toBe(202);
  await eventually(() => expect(posted()).toBe(1));
  await gateway.stop();
  const next = await startAutomation({ folder: gateway.folder });
  await eventually(async () => expect(await rows(next.url)).toMatchObject([{ state: 'done' }]));
  expect(posted()).toBe(1);
});

test.concurrent('a dead comment whose answer was lost is not written again when it is replayed', async () => {
  const { gateway, rest, posted } = await start(1);
  rest.refuse(POST, { status: 0, isCut: true });
  expect((await comment(gateway.url)).status).toBe(202);
  await eventually(async () => expect(await rows(gateway.url)).toMatchObject([{ state: 'dead' }]));
  const [row] = await rows(gateway.url);
  const path = `${gateway.url}/deliveries/${encodeURIComponent(row?.id ?? '')}/replay`;
  expect((await fetch(path, { method: 'POST' })).ok).toBe(true);
  await eventually(async () => expect(await rows(gateway.url)).toMatchObject([{ state: 'done' }]));
  expect(posted()).toBe(1);
});

test.concurrent('a host that asks for a pause three times under three attempts has used up none of them', async () => {
  const { gateway, rest, posted } = await start(3);
  for (const status of [429, 503, 429]) rest.refuse(POST, { status, headers: { 'retry-after': '0' } });
  expect((await comment(gateway.url)).status).toBe(202);
  await eventually(async () =>
    expect(await rows(gateway.url)).toMatchObject([{ state: 'done', attempts: 1 }]),
  );
  const [row] = await rows(gateway.url);
  const answer = await fetch(`${gateway.url}/deliveries/${encodeURIComponent(row?.id ?? '')}`);
  expect(await answer.json()).toMatchObject({ receipt: '1', failures: [] });
  expect(row?.deferrals).toBeGreaterThanOrEqual(3);
  expect(posted()).toBe(1);
});

test.concurrent('a pause of the host is one for the token: nothing leaves meanwhile, no attempt is used up, nothing dies', async () => {
  const { gateway, rest } = await start(1);
  rest.limitedUntil = performance.now() + 4_000;
  const payload = repoExample('issue_comment', 'created') as { readonly issue: object };
  for (const number of [1, 2, 3])
    await postRepoEvent(gateway.url, 'issue_comment', { ...payload, issue: { ...payload.issue, number } });
  await eventually(() => expect(rest.askedFor('POST', /comments$/)).toHaveLength(1));
  await eventually(async () =>
    expect((await rows(gateway.url)).map(({ state }) => state)).toEqual(['done', 'done', 'done']),
  );
  expect(rest.askedFor('POST', /comments$/).length).toBeLessThanOrEqual(4);
  expect(rest.askedFor('GET', /comments$/)).toHaveLength(0);
  expect((await rows(gateway.url)).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
});
