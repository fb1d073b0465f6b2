// What a stranger chooses in an event of a repository host, the words and the name of a branch, must neither hide the event
// from a trigger nor hold up the process.

import { describe, expect, test } from 'vitest';
import { htmlMarks } from '../../../../actors/events/outbox/resend-mark.ts';
import { readRepoEvent } from '../../../../actors/platforms/repository-hosts/event.ts';
import { takesRepoEvent } from '../../../../actors/platforms/repository-hosts/filter.ts';
import { repoHostEvents } from '../../../../actors/platforms/repository-hosts/repohost/facts.ts';
import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import {
  type Example,
  repoExample,
  repoExamples,
  repoFork,
} from '../../../fixtures/automation/repo-payloads.ts';
import { repoHostTrigger } from '../../../fixtures/automation/triggers.ts';

function isTaken(event: string, payload: unknown, config: Partial<RepoHostTrigger['config']> = {}): boolean {
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
  return takesRepoEvent(htmlMarks, repoHostTrigger('reviews', config), inbound) === true;
}

describe('the mark of our comments', () => {
  const marked = `${htmlMarks.of('outbox:repohost:reviews/1/1')}\n\nhello`;

  test('hides a comment', () => {
    expect(
      isTaken('issue_comment', { ...repoExample('issue_comment', 'created'), comment: { body: marked } }),
    ).toBe(false);
  });

  test.each([
    ['pull_request', 'opened', 'pull_request'],
    ['issues', 'opened', 'issue'],
    ['pull_request_review', 'submitted', 'review'],
  ])('does not hide what a stranger puts it into: %s.%s (HF2)', (event, action, member) => {
    const payload = repoExample(event, action);
    const part = { ...(payload[member] as object), body: marked };
    expect(isTaken(event, { ...payload, [member]: part })).toBe(true);
  });
});

describe('the branch of a pull request', () => {
  /** The published payloads are of pull requests from `changes` to `master` within one repository. */
  const published = repoExamples.filter(({ payload }) => payload.pull_request !== undefined);
  /** The same with a head in the fork that is published as another example, or in one that is gone. */
  const fromFork = (payload: Example['payload'], repo: object | null, ref = 'changes') => {
    const pull = payload.pull_request as { head: object };
    return { ...payload, pull_request: { ...pull, head: { ...pull.head, ref, repo } } };
  };

  test('is published with three events, and with a fork of the same repository', () => {
    expect(new Set(published.map(({ event }) => event))).toEqual(
      new Set(['pull_request', 'pull_request_review', 'pull_request_review_comment']),
    );
    expect(repoFork).toMatchObject({ fork: true, full_name: 'Octocoders/Hello-World' });
    for (const { payload } of published)
      expect(payload.repository).toMatchObject({ full_name: 'Codertocat/Hello-World' });
  });

  test('is the one it goes to, as in the workflows of the platform', () => {
    for (const { event, payload } of published) {
      expect(isTaken(event, payload, { branches: ['master'] })).toBe(true);
      expect(isTaken(event, payload, { branches: ['changes'] })).toBe(false);
    }
  });

  test('is the same for one of a fork, whatever its owner calls it there', () => {
    for (const { event, payload } of published)
      for (const home of [repoFork, null]) {
        expect(isTaken(event, fromFork(payload, home), { branches: ['master'] })).toBe(true);
        expect(isTaken(event, fromFork(payload, home), { branches: ['changes'] })).toBe(false);
        expect(isTaken(event, fromFork(payload, home, 'release/1'), { branches: ['release/*'] })).toBe(false);
      }
  });

  test('is its own where the agent is told of it', () => {
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

  test('counts where it is one of the repository’s, and not where it is one of a fork’s', () => {
    expect(runs.map(isOfFork)).toContain(true);
    expect(runs.map(isOfFork)).toContain(false);
    for (const run of runs)
      expect(isTaken(run.event, run.payload, { branches: ['main', 'master'] })).toBe(!isOfFork(run));
  });

  test('does not matter to a trigger without branches (HF1)', () => {
    for (const { event, payload } of runs) expect(isTaken(event, payload)).toBe(true);
  });

  test('is none where the fork is gone', () => {
    const { payload } = runs[0] as Example;
    const run = { ...(payload.workflow_run as object), head_repository: null };
    expect(isTaken('workflow_run', { ...payload, workflow_run: run }, { branches: ['main'] })).toBe(false);
  });
});

const base = { repository: { full_name: 'o/r' }, sender: { login: 'ann' } };
test.each([
  ['a branch made', 'create', { ref: 'main', ref_type: 'branch' }, true],
  ['a tag made', 'create', { ref: 'main', ref_type: 'tag' }, false],
  ['a run on another', 'workflow_run', { workflow_run: { head_branch: 'x' } }, false],
  ['a run on none', 'workflow_run', { workflow_run: { head_branch: null } }, false],
  ['a commit that is on it, too', 'status', { branches: [{ name: 'x' }, { name: 'main' }] }, true],
  ['a release, which has none', 'release', { release: { tag_name: 'v1' } }, true],
])('a branch and %s', (_, event, part, expected) => {
  expect(isTaken(event, { ...base, ...part }, { branches: ['main'] })).toBe(expected);
});

test('events of any branch are those that triggers for different branches may both take', () => {
  const several = repoExamples.filter(({ event, payload }) => {
    const { branches } = repoHostEvents.facts(event, payload) ?? { branches: [] };
    return branches === undefined || branches.length > 1;
  });
  expect(new Set(several.map(({ event }) => event))).toEqual(
    new Set(['issues', 'issue_comment', 'release', 'status']),
  );
});
