// Failure notices with `on_failure: reply`: the requester is notified once, also across kill -9.

import { afterEach, beforeEach, expect, test } from 'vitest';
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

let repoHost: RepoRestHost;

beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
});
afterEach(() => repoHost.stop());

const comments = (number: number) =>
  (repoHost.comments.get(`Codertocat/Hello-World#${number}`) ?? []).map(({ body }) => body.split('\n\n')[1]);

function comment(url: string, number: number) {
  const payload = repoExample('issue_comment', 'created') as { readonly issue: object };
  const body = { ...payload, issue: { ...payload.issue, number } };
  return postRepoEvent(url, 'issue_comment', body, { id: `d${number}` });
}

async function stateOf(url: string, number: number) {
  const answer = await fetch(`${url}/deliveries/${encodeURIComponent(`repohost:reviews/d${number}`)}`);
  return ((await answer.json()) as { readonly state: string }).state;
}

test('a failed event and an event that waits for a paused trigger are reported to the sender once, despite kill -9', async () => {
  const program = await startAgent(({ body }) =>
    body.conversation.endsWith('#1') ? { status: 500, text: 'broken' } : { text: 'the answer' },
  );
  const config = { webhook_secret: SECRET, token: 'ghp_of_the_tests', api_url: repoHost.url };
  const retry = { attempts: 3, min_backoff_seconds: 0.2, max_backoff_seconds: 0.2 };
  const on_failure = 'reply';
  const gateway = await startAutomation({
    resources: [
      trigger('reviews', { type: 'RepoHost', config, retry, on_failure, default_agent: 'echo' }),
      httpAgent('echo', program.url),
    ],
  });
  expect((await comment(gateway.url, 1)).status).toBe(202);
  await eventually(async () => expect(await stateOf(gateway.url, 1)).toBe('retrying'));
  await gateway.stop('SIGKILL');
  const next = await startAutomation({ folder: gateway.folder });
  await eventually(async () => expect(await stateOf(next.url, 1)).toBe('dead'));
  await eventually(() => expect(comments(1)).toHaveLength(1));
  expect(comments(1)[0]).toMatch(/^Sorry, that failed/);

  const paused = (verb: string, url: string) => fetch(`${url}/triggers/reviews/${verb}`, { method: 'POST' });
  expect((await paused('pause', next.url)).ok).toBe(true);
  expect((await comment(next.url, 2)).status).toBe(202);
  await eventually(async () => expect(await stateOf(next.url, 2)).toBe('held'));
  await next.stop('SIGKILL');
  const last = await startAutomation({ folder: gateway.folder });
  await eventually(() => expect(comments(2)).toHaveLength(1));
  expect(comments(2)[0]).toMatch(/^This takes longer/);
  expect((await paused('resume', last.url)).ok).toBe(true);
  await eventually(() => expect(comments(2)).toHaveLength(2));
  expect(comments(2)[1]).toBe('the answer');
  expect(comments(1)).toHaveLength(1);
});
