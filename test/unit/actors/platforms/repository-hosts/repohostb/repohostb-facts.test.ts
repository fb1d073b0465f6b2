// How the events of the second repository host read: names, conversations, branches, words.

import { describe, expect, test } from 'vitest';
import { htmlMarks } from '../../../../../../actors/events/outbox/resend-mark.ts';
import { placeOf, repoContext, spokenIn } from '../../../../../../actors/platforms/repository-hosts/facts.ts';
import { isOfInterest } from '../../../../../../actors/platforms/repository-hosts/filter.ts';
import { repoHostBEvents } from '../../../../../../actors/platforms/repository-hosts/repohostb/facts.ts';
import type { RepoHostBTrigger } from '../../../../../../config/resources/triggers/trigger.ts';
import { repoHostBTrigger } from '../../../../../fixtures/automation/triggers.ts';
import {
  branchDeleted,
  build,
  deployment,
  emoji,
  everyKind,
  issueEvent,
  mergeRequest,
  milestone,
  noteOnCommit,
  noteOnIssue,
  noteOnRequest,
  noteOnSnippet,
  pipeline,
  push,
  release,
  SHA,
  tagPush,
} from '../../../../../fixtures/repositories/repohostb-payloads.ts';

function read(payload: unknown) {
  const facts = repoHostBEvents.facts('hook', payload);
  if (typeof facts !== 'object') throw new Error('the payload is none');
  return facts;
}

function isTaken(payload: unknown, config: Partial<RepoHostBTrigger['config']>): boolean {
  const facts = read(payload);
  const { names, repository: channel, sender: user, text } = facts;
  const inbound = { platform: 'repohostb', triggers: ['t'], context: {}, parameters: {}, payload };
  return isOfInterest(htmlMarks, repoHostBTrigger('t', config), {
    ...inbound,
    names,
    channel,
    user,
    text,
    facts,
  });
}

describe('the agent is told', () => {
  test('of a merge request', () => {
    expect(repoContext(read(mergeRequest()))).toEqual({
      'repo.event': 'merge_request',
      'repo.action': 'open',
      'repo.repo': 'acme/team/shop',
      'repo.branch': 'faster',
      'repo.ref': 'refs/heads/faster',
      'repo.sha': SHA,
      'repo.sender': 'alice',
      'repo.pr.number': 5,
      'repo.pr.title': 'Faster start',
    });
  });

  test('of an issue and of notes on one', () => {
    const common = { 'repo.repo': 'acme/team/shop', 'repo.sender': 'alice' };
    expect(repoContext(read(issueEvent()))).toEqual({
      ...common,
      'repo.event': 'issue',
      'repo.action': 'open',
    });
    expect(repoContext(read(noteOnIssue()))).toEqual({
      ...common,
      'repo.event': 'note',
      'repo.action': 'create',
    });
  });

  test('of pushes, with their user by the name that they have there', () => {
    expect(repoContext(read(push()))).toEqual({
      'repo.event': 'push',
      'repo.repo': 'acme/team/shop',
      'repo.branch': 'main',
      'repo.ref': 'refs/heads/main',
      'repo.sha': SHA,
      'repo.sender': 'alice',
    });
    expect(repoContext(read(tagPush()))).toMatchObject({ 'repo.ref': 'refs/tags/v1.0.0' });
    expect(repoContext(read(tagPush()))).not.toHaveProperty('repo.branch');
  });

  test('no commit of a branch that is gone', () => {
    expect(repoContext(read(branchDeleted()))).not.toHaveProperty('repo.sha');
    expect(repoContext(read(branchDeleted()))).toMatchObject({ 'repo.branch': 'main' });
  });

  test('the ids of senders, by which the host is asked', () => {
    expect(read(push({ senderId: 41 })).senderId).toBe('41');
    expect(read(noteOnIssue({ senderId: 42 })).senderId).toBe('42');
    expect(read(release()).senderId).toBeUndefined();
  });
});

describe('a conversation is', () => {
  test.each([
    ['a merge request', mergeRequest(), 'acme/team/shop!5'],
    ['a note on one', noteOnRequest(), 'acme/team/shop!5'],
    ['an issue', issueEvent(), 'acme/team/shop#5'],
    ['a task', issueEvent({}, 'work_item'), 'acme/team/shop#5'],
    ['a note on an issue', noteOnIssue(), 'acme/team/shop#5'],
    ['an emoji on an issue', emoji(), 'acme/team/shop#5'],
    ['the repository of a note on a commit', noteOnCommit(), 'acme/team/shop'],
    ['the repository of a note on a snippet', noteOnSnippet(), 'acme/team/shop'],
    ['a branch', push(), 'acme/team/shop@refs/heads/main'],
    ['a tag', tagPush(), 'acme/team/shop@refs/tags/v1.0.0'],
    ['the tag of a release', release(), 'acme/team/shop@refs/tags/v1.1'],
    ['the tag of a pipeline', pipeline({ ref: 'v2', tag: true }), 'acme/team/shop@refs/tags/v2'],
    ['the branch of a job', build({ ref: 'next' }), 'acme/team/shop@refs/heads/next'],
    [
      'that of a fork, for a pipeline of its merge request',
      pipeline({ isOfRequest: true, sourceProjectId: 99 }),
      'acme/team/shop@unknown:refs/heads/main',
    ],
    ['the repository of a milestone', milestone(), 'acme/team/shop'],
  ])('%s', (_, payload, place) => {
    expect(placeOf(read(payload))).toBe(place);
  });
});

describe('names of commands', () => {
  test.each([
    [mergeRequest({ action: 'approved' }), ['merge_request.approved', 'merge_request']],
    [mergeRequest({ action: undefined }), ['merge_request']],
    [pipeline({ action: 'failed' }), ['pipeline.failed', 'pipeline']],
    [build({ action: 'running' }), ['build.running', 'build']],
    [deployment(), ['deployment.success', 'deployment']],
    [release({ action: 'delete' }), ['release.delete', 'release']],
    [milestone({ action: 'close' }), ['milestone.close', 'milestone']],
    [noteOnIssue({ action: 'update' }), ['note.update', 'note']],
    [push(), ['push']],
  ])('are the event with its action, and the event: %#', (payload, names) => {
    expect(read(payload).names).toEqual(names);
  });
});

describe('branches', () => {
  const main = { branches: ['main'] };

  test.each([
    ['a merge request to it', mergeRequest({ source: 'faster', target: 'main' }), true],
    ['a merge request from it', mergeRequest({ source: 'main', target: 'next' }), false],
    ['a note on a merge request to it', noteOnRequest(), true],
    ['a note on a merge request to another', noteOnRequest({ target: 'next' }), false],
    ['a push', push(), true],
    ['a push to another', push({ ref: 'refs/heads/next' }), false],
    ['a tag', tagPush({ ref: 'refs/tags/main' }), false],
    ['a pipeline', pipeline(), true],
    ['a pipeline of a tag', pipeline({ ref: 'main', tag: true }), false],
    ['a pipeline of a merge request from here', pipeline({ isOfRequest: true }), true],
    ['a pipeline of a merge request of a fork', pipeline({ isOfRequest: true, sourceProjectId: 99 }), false],
    ['a job', build(), true],
    ['a job of a merge request', build({ ref: 'refs/merge-requests/5/head' }), false],
    ['a deployment that names it', deployment({ ref: 'main' }), true],
    ['a deployment of another', deployment({ ref: 'next' }), false],
    ['a deployment of none', deployment(), true],
    ['an issue', issueEvent(), true],
    ['a note on an issue', noteOnIssue(), true],
    ['a release', release(), true],
  ])('take or leave %s', (_, payload, expected) => {
    expect(isTaken(payload, main)).toBe(expected);
  });
});

describe('repositories', () => {
  test.each([
    ['acme/*', false],
    ['acme/team/*', true],
    ['acme/**', true],
    ['ACME/Team/Shop', true],
    ['*', true],
    ['acme/team', false],
  ])('of groups in groups by %s: %s', (pattern, expected) => {
    expect(isTaken(push(), { repositories: [pattern] })).toBe(expected);
    expect(isTaken(push({ repository: 'acme/shop' }), { repositories: ['acme/*'] })).toBe(true);
  });

  test('do not matter for senders, whose case does not matter', () => {
    expect(isTaken(push({ sender: 'Alice' }), { ignore_senders: ['alice'] })).toBe(false);
  });
});

describe('words', () => {
  test('are those of what was opened, and of a note', () => {
    expect(read(mergeRequest()).text).toBe('Faster start\n\nIt starts twice as fast.');
    expect(read(issueEvent()).text).toBe('Faster start\n\nIt starts twice as fast.');
    expect(read(noteOnRequest()).text).toBe('Looks good to me.');
    expect(read(noteOnCommit()).text).toBe('Looks good to me.');
  });

  test('are said once more only where they were changed', () => {
    expect(read(mergeRequest({ action: 'update' })).text).toBeUndefined();
    const changed = {
      ...mergeRequest({ action: 'update' }),
      changes: { description: { previous: '', current: 'x' } },
    };
    expect(read(changed).text).toBe('Faster start\n\nIt starts twice as fast.');
    for (const action of ['close', 'merge', 'approved', 'reopen'])
      expect(read(mergeRequest({ action })).text).toBeUndefined();
  });

  test('of the host itself are nobody’s', () => {
    const note = noteOnRequest({ text: '/deploy' }) as { object_attributes: object };
    const ofSystem = read({ ...note, object_attributes: { ...note.object_attributes, system: true } });
    expect(ofSystem.text).toBeUndefined();
    expect(ofSystem.comment).toBeUndefined();
    expect(spokenIn(ofSystem)).toBeUndefined();
  });

  test('that are written just now may command; what is changed may not', () => {
    expect(spokenIn(read(noteOnRequest({ text: '/deploy staging' })))).toBe('/deploy');
    expect(spokenIn(read(noteOnIssue({ text: '/deploy staging', action: undefined })))).toBe('/deploy');
    expect(spokenIn(read(noteOnIssue({ text: '/deploy staging', action: 'update' })))).toBeUndefined();
    expect(spokenIn(read(mergeRequest({ title: '/deploy' })))).toBeUndefined();
  });

  test('with our mark are our own, in notes alone', () => {
    const text = `${htmlMarks.of('row')}\n\nan answer`;
    expect(isTaken(noteOnRequest({ text }), {})).toBe(false);
    expect(isTaken(issueEvent({ description: text }), {})).toBe(true);
  });
});

test('every path that is read is one that is looked for in large payloads', () => {
  // Whatever is not found by its path is left out there.
  const paths = repoHostBEvents.paths('hook');
  const kept = (value: unknown, path: string): unknown => {
    if (paths.includes(path)) return value;
    if (typeof value !== 'object' || value === null) return undefined;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        kept(member, path === '' ? name : `${path}.${name}`),
      ]),
    );
  };
  const all = [...Object.values(everyKind), noteOnIssue(), noteOnCommit(), pipeline({ isOfRequest: true })];
  for (const payload of all) {
    const [whole, found] = [read(payload), read(kept(payload, ''))];
    expect(repoContext(found)).toEqual(repoContext(whole));
    expect(placeOf(found)).toBe(placeOf(whole));
    expect([found.branches, found.home, found.text, found.comment, found.senderId]).toEqual([
      whole.branches,
      whole.home,
      whole.text,
      whole.comment,
      whole.senderId,
    ]);
  }
});

test('a line with four spaces before it is code, and no command', () => {
  expect(spokenIn(read(noteOnRequest({ text: '    /deploy' })))).toBeUndefined();
  expect(spokenIn(read(noteOnRequest({ text: ' \n  /deploy' })))).toBe('/deploy');
});
