// What a stranger chooses in an event of a repository host, the words and the name of a branch, must neither hide the event
// from a trigger nor hold up the process.

import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { commentBody } from '../../../../actors/sources/repohost/comment.ts';
import { readRepoEvent } from '../../../../actors/sources/repohost/repohost-event.ts';
import { takesRepoEvent } from '../../../../actors/sources/repohost/repohost-filter.ts';
import { wildcards } from '../../../../actors/sources/repohost/wildcard.ts';
import type { RepoHostTrigger } from '../../../../config/resources/trigger.ts';
import { repoExample } from '../../../fixtures/repo-payloads.ts';
import { repoHostTrigger } from '../../../fixtures/triggers.ts';

function isTaken(event: string, payload: unknown, config: Partial<RepoHostTrigger['config']> = {}): boolean {
  const body = Buffer.from(JSON.stringify(payload));
  const meta = JSON.stringify({ triggers: ['reviews'], event, isForm: false });
  const stored = { id: 'repohost:1', key: 'k', meta, body, trace: '', seq: 1, at: 1, attempt: 1 };
  return takesRepoEvent(repoHostTrigger('reviews', config), readRepoEvent(stored));
}

describe('the mark of our comments', () => {
  const marked = commentBody('hello', 'repohost:1/1');

  test('hides a comment', () => {
    expect(
      isTaken('issue_comment', { ...repoExample('issue_comment', 'created'), comment: { body: marked } }),
    ).toBe(false);
  });

  test.each([
    ['pull_request', 'opened', 'pull_request'],
    ['issues', 'opened', 'issue'],
    ['pull_request_review', 'submitted', 'review'],
  ])('does not hide what a stranger puts it into: %s.%s', (event, action, member) => {
    const payload = repoExample(event, action);
    const part = { ...(payload[member] as object), body: marked };
    expect(isTaken(event, { ...payload, [member]: part })).toBe(true);
  });
});

describe('the branch of a copy', () => {
  const base = { repository: { full_name: 'acme/site' }, sender: { login: 'mallory' } };
  const pull = (repo: object | null) => ({
    ...base,
    action: 'opened',
    pull_request: { number: 1, head: { ref: 'release/1', repo }, base: { ref: 'main' } },
  });
  const run = (head_repository: object) => ({
    ...base,
    workflow_run: { head_branch: 'main', head_repository },
  });
  const ours = { full_name: 'acme/site' };
  const theirs = { full_name: 'mallory/site' };

  test('is none of the repository’s, whatever its owner calls it', () => {
    const release = { branches: ['release/*'] };
    expect(isTaken('pull_request', pull(ours), release)).toBe(true);
    expect(isTaken('pull_request', pull(theirs), release)).toBe(false);
    expect(isTaken('pull_request', pull(null), release)).toBe(false);
    expect(isTaken('workflow_run', run(ours), { branches: ['main'] })).toBe(true);
    expect(isTaken('workflow_run', run(theirs), { branches: ['main'] })).toBe(false);
  });

  test('does not hide where it is to go', () => {
    expect(isTaken('pull_request', pull(theirs), { branches: ['main'] })).toBe(true);
  });
});

describe('wildcards', () => {
  test.each([
    ['release/*', 'release/1', true],
    ['release/*', 'release/1/2', false],
    ['release/**', 'release/1/2', true],
    ['**', 'a/b', true],
    ['**/fix', 'a/b/fix', true],
    ['**/fix', 'fix', true],
    ['v?', 'v1', true],
    ['v?', 'v/', false],
    ['v1.0', 'v1x0', false],
    ['c++', 'c++', true],
    ['main', 'xmain', false],
    ['*', '.github', true],
  ])('%s and %s', (pattern, name, expected) => {
    expect(wildcards([pattern])(name)).toBe(expected);
  });

  test('tell case apart unless they should not', () => {
    expect(wildcards(['My-Org/*'])('my-org/x')).toBe(false);
    expect(wildcards(['My-Org/*'], { isCaseless: true })('my-org/x')).toBe(true);
  });

  test('are quick, whatever the name', () => {
    const started = performance.now();
    expect(wildcards([`f${'*-'.repeat(60)}end`])(`f${'-'.repeat(240)}`)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  test('stand for what another matcher says they do', () => {
    const segment = fc.string({
      unit: fc.constantFrom('a', 'b', '.', '-', '*', '?'),
      minLength: 1,
      maxLength: 4,
    });
    const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((each) => each.join('/'));
    const pattern = path.filter((each) => !/\*\*/.test(each) && !/(^|\/)\.{1,2}(\/|$)/.test(each));
    const name = path
      .map((each) => each.replaceAll(/[*?]/g, 'a'))
      .filter((each) => !/(^|\/)\.{1,2}(\/|$)/.test(each));
    fc.assert(
      fc.property(pattern, name, (pattern, name) => {
        expect(wildcards([pattern])(name)).toBe(picomatch(pattern, { dot: true })(name));
      }),
    );
  });
});
