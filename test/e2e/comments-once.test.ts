// A comment that may have been written before is looked for before it is written: over a stop, and when it is replayed.

import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postRepoEvent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../fixtures/automation.ts';
import { repoExample } from '../fixtures/repo-payloads.ts';
import { RepoRestHost } from '../fixtures/repo-rest-host.ts';

const PLACE = 'Codertocat/Hello-World#1';
const POST = /^POST .*\/comments$/;

let rest: RepoRestHost;

beforeEach(async () => {
  rest = await new RepoRestHost().start();
});
afterEach(() => rest.stop());

const posted = () => (rest.comments.get(PLACE) ?? []).length;

async function start(attempts: number) {
  const program = await startAgent(() => ({ text: 'the answer' }));
  const config = { webhook_secret: SECRET, token: 'ghp_of_the_tests', api_url: rest.url };
  const retry = { attempts, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 };
  return startAutomation({
    resources: [
      trigger('reviews', { type: 'RepoHost', config, retry, default_agent: 'echo' }),
      httpAgent('echo', program.url),
    ],
  });
}

async function rows(url: string) {
  const answer = await fetch(`${url}/deliveries?conversation=outbox/`);
  const { deliveries } = (await answer.json()) as { deliveries: { id: string; state: string }[] };
  return deliveries;
}

const comment = (url: string) =>
  postRepoEvent(url, 'issue_comment', repoExample('issue_comment', 'created'), { id: 'd1' });

test('a comment that was written as the gateway stopped is not written again by the next', async () => {
  const gateway = await start(3);
  rest.refuse(POST, { status: 0, isCut: true, isSilent: true });
  expect((await comment(gateway.url)).status).toBe(202);
  await eventually(() => expect(posted()).toBe(1));
  await gateway.stop();
  const next = await startAutomation({ folder: gateway.folder });
  await eventually(async () => expect(await rows(next.url)).toMatchObject([{ state: 'done' }]));
  expect(posted()).toBe(1);
});

test('a dead comment whose answer was lost is not written again when it is replayed', async () => {
  const gateway = await start(1);
  rest.refuse(POST, { status: 0, isCut: true });
  expect((await comment(gateway.url)).status).toBe(202);
  await eventually(async () => expect(await rows(gateway.url)).toMatchObject([{ state: 'dead' }]));
  const [row] = await rows(gateway.url);
  const path = `${gateway.url}/deliveries/${encodeURIComponent(row?.id ?? '')}/replay`;
  expect((await fetch(path, { method: 'POST' })).ok).toBe(true);
  await eventually(async () => expect(await rows(gateway.url)).toMatchObject([{ state: 'done' }]));
  expect(posted()).toBe(1);
});
