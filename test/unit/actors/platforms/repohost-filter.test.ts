// Text and branch names of untrusted users cannot hide an event from a trigger or block the process.

import { describe, expect, test } from 'vitest';
import { htmlMarks } from '../../../../actors/events/outbox/resend-mark.ts';
import { readRepoEvent } from '../../../../actors/platforms/repository-hosts/event.ts';
import { acceptsRepoEvent } from '../../../../actors/platforms/repository-hosts/filter.ts';
import { repoHostEvents } from '../../../../actors/platforms/repository-hosts/repohost/facts.ts';
import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import {
  type Example,
  repoExample,
  repoExamples,
  repoFork,
} from '../../../fixtures/automation/repo-payloads.ts';
import { repoHostTrigger } from '../../../fixtures/automation/triggers.ts';

function isAccepted(
  event: string,
  payload: unknown,
  config: Partial<RepoHostTrigger['config']> = {},
): boolean {
  const body = Buffer.from(JSON.stringify(payload));
  const meta = JSON.stringify({ triggers: ['reviews'], event, isForm: false });
  const stored = {
    id: 'repohost:reviews/1',
    key: 'k',
    meta,
    body,
    trace: '',
    seq: 1,
    at: 1,
    attempt: 1,
    crashes: 0,
  };
  const inbound = readRepoEvent(repoHostEvents, stored);
  return acceptsRepoEvent(htmlMarks, repoHostTrigger('reviews', config), inbound) === true;
}

describe('the mark of the gateway', () => {
  const markedText = `${htmlMarks.markFor('outbox:repohost:reviews/1/1')}\n\nhello`;

  test('in a comment makes triggers ignore the comment', () => {
    expect(
      isAccepted('issue_comment', {
        ...repoExample('issue_comment', 'created'),
        comment: { body: markedText },
      }),
    ).toBe(false);
  });

  test.each([
    ['pull_request', 'opened', 'pull_request'],
    ['issues', 'opened', 'issue'],
    ['pull_request_review', 'submitted', 'review'],
  ])('in the text of another kind of event does not hide the event: %s.%s', (event, action, member) => {
    const payload = repoExample(event, action);
    const part = { ...(payload[member] as object), body: markedText };
    expect(isAccepted(event, { ...payload, [member]: part })).toBe(true);
  });
});

describe('the branch of a pull request', () => {
  /** Published payloads of pull requests from `changes` to `master` in one repository. */
  const published = repoExamples.filter(({ payload }) => payload.pull_request !== undefined);
  /** Returns the payload with a head in the published fork, or in a deleted fork (null). */
  const fromFork = (payload: Example['payload'], repo: object | null, ref = 'changes') => {
    const pull = payload.pull_request as { head: object };
    return { ...payload, pull_request: { ...pull, head: { ...pull.head, ref, repo } } };
  };

  test('is tested with published examples of three events, and of a fork of the same repository', () => {
    expect(new Set(published.map(({ event }) => event))).toEqual(
      new Set(['pull_request', 'pull_request_review', 'pull_request_review_comment']),
    );
    expect(repoFork).toMatchObject({ fork: true, full_name: 'Octocoders/Hello-World' });
    for (const { payload } of published)
      expect(payload.repository).toMatchObject({ full_name: 'Codertocat/Hello-World' });
  });

  test('is the target branch, as in the workflows of the platform', () => {
    for (const { event, payload } of published) {
      expect(isAccepted(event, payload, { branches: ['master'] })).toBe(true);
      expect(isAccepted(event, payload, { branches: ['changes'] })).toBe(false);
    }
  });

  test('is the target branch even for a fork, regardless of the branch name in the fork', () => {
    for (const { event, payload } of published)
      for (const forkRepository of [repoFork, null]) {
        expect(isAccepted(event, fromFork(payload, forkRepository), { branches: ['master'] })).toBe(true);
        expect(isAccepted(event, fromFork(payload, forkRepository), { branches: ['changes'] })).toBe(false);
        expect(
          isAccepted(event, fromFork(payload, forkRepository, 'release/1'), { branches: ['release/*'] }),
        ).toBe(false);
      }
  });

  test('is the source branch in the facts for agents', () => {
    for (const { event, payload } of published)
      for (const of of [payload, fromFork(payload, repoFork)])
        expect(repoHostEvents.facts(event, of)?.ref).toBe('refs/heads/changes');
  });
});

describe('the branch of a workflow run', () => {
  const runs = repoExamples.filter(({ event }) => event === 'workflow_run');
  const isOfFork = ({ payload }: Example) => {
    const { head_repository } = payload.workflow_run as { head_repository: { full_name: string } };
    return head_repository.full_name !== (payload.repository as { full_name: string }).full_name;
  };

  test('matches if it belongs to the repository, and not if it belongs to a fork', () => {
    expect(runs.map(isOfFork)).toContain(true);
    expect(runs.map(isOfFork)).toContain(false);
    for (const run of runs)
      expect(isAccepted(run.event, run.payload, { branches: ['main', 'master'] })).toBe(!isOfFork(run));
  });

  test('is accepted by a trigger without branches', () => {
    for (const { event, payload } of runs) expect(isAccepted(event, payload)).toBe(true);
  });

  test('does not match if the fork was deleted', () => {
    const { payload } = runs[0] as Example;
    const run = { ...(payload.workflow_run as object), head_repository: null };
    expect(isAccepted('workflow_run', { ...payload, workflow_run: run }, { branches: ['main'] })).toBe(false);
  });
});

const base = { repository: { full_name: 'o/r' }, sender: { login: 'ann' } };
test.each([
  ['accepts the creation of the branch', 'create', { ref: 'main', ref_type: 'branch' }, true],
  ['rejects the creation of a tag', 'create', { ref: 'main', ref_type: 'tag' }, false],
  ['rejects a run on another branch', 'workflow_run', { workflow_run: { head_branch: 'x' } }, false],
  ['rejects a run without branch', 'workflow_run', { workflow_run: { head_branch: null } }, false],
  ['accepts a commit on several branches', 'status', { branches: [{ name: 'x' }, { name: 'main' }] }, true],
  ['accepts a release, which has no branch', 'release', { release: { tag_name: 'v1' } }, true],
])('a branch filter %s', (_, event, part, expected) => {
  expect(isAccepted(event, { ...base, ...part }, { branches: ['main'] })).toBe(expected);
});

test('only events of issues, comments, releases and statuses can have several branches or none', () => {
  const severalBranches = repoExamples.filter(({ event, payload }) => {
    const { branches } = repoHostEvents.facts(event, payload) ?? { branches: [] };
    return branches === undefined || branches.length > 1;
  });
  expect(new Set(severalBranches.map(({ event }) => event))).toEqual(
    new Set(['issues', 'issue_comment', 'release', 'status']),
  );
});
