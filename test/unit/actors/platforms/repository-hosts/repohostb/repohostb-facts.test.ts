// Facts of events from the second repository host: names, conversations, branches and text.

import { describe, expect, test } from 'vitest';
import { htmlMarks } from '../../../../../../actors/events/outbox/resend-mark.ts';
import {
  commandIn,
  conversationOf,
  repoContext,
} from '../../../../../../actors/platforms/repository-hosts/facts.ts';
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
  if (typeof facts !== 'object') throw new Error('the payload is not an event');
  return facts;
}

function isAccepted(payload: unknown, config: Partial<RepoHostBTrigger['config']>): boolean {
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

describe('the context of a repository event', () => {
  test('contains a merge request', () => {
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

  test('contains an issue and its notes', () => {
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

  test('contains a push and its user name', () => {
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

  test('contains no commit of a deleted branch', () => {
    expect(repoContext(read(branchDeleted()))).not.toHaveProperty('repo.sha');
    expect(repoContext(read(branchDeleted()))).toMatchObject({ 'repo.branch': 'main' });
  });

  test('comes with the sender id, which permission checks need', () => {
    expect(read(push({ senderId: 41 })).senderId).toBe('41');
    expect(read(noteOnIssue({ senderId: 42 })).senderId).toBe('42');
    expect(read(release()).senderId).toBeUndefined();
  });
});

describe('the conversation of a repository event', () => {
  test.each([
    ['a merge request', mergeRequest(), 'acme/team/shop!5'],
    ['a note on a merge request', noteOnRequest(), 'acme/team/shop!5'],
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
      'the fork, for a pipeline of its merge request',
      pipeline({ isOfRequest: true, sourceProjectId: 99 }),
      'acme/team/shop@unknown:refs/heads/main',
    ],
    ['the repository of a milestone', milestone(), 'acme/team/shop'],
  ])('is that of %s', (_, payload, place) => {
    expect(conversationOf(read(payload))).toBe(place);
  });
});

describe('the command names of a repository event', () => {
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
  ])('consist of the event with its action, and the event: %#', (payload, names) => {
    expect(read(payload).names).toEqual(names);
  });
});

describe('a branch filter', () => {
  const main = { branches: ['main'] };

  test.each([
    ['a merge request to the branch', mergeRequest({ source: 'faster', target: 'main' }), true],
    ['a merge request from the branch', mergeRequest({ source: 'main', target: 'next' }), false],
    ['a note on a merge request to the branch', noteOnRequest(), true],
    ['a note on a merge request to another branch', noteOnRequest({ target: 'next' }), false],
    ['a push', push(), true],
    ['a push to another branch', push({ ref: 'refs/heads/next' }), false],
    ['a tag', tagPush({ ref: 'refs/tags/main' }), false],
    ['a pipeline', pipeline(), true],
    ['a pipeline of a tag', pipeline({ ref: 'main', tag: true }), false],
    ['a pipeline of a merge request in the repository', pipeline({ isOfRequest: true }), true],
    [
      'a pipeline of a merge request from a fork',
      pipeline({ isOfRequest: true, sourceProjectId: 99 }),
      false,
    ],
    ['a job', build(), true],
    ['a job of a merge request', build({ ref: 'refs/merge-requests/5/head' }), false],
    ['a deployment of the branch', deployment({ ref: 'main' }), true],
    ['a deployment of another branch', deployment({ ref: 'next' }), false],
    ['a deployment without branch', deployment(), true],
    ['an issue', issueEvent(), true],
    ['a note on an issue', noteOnIssue(), true],
    ['a release', release(), true],
  ])('accepts exactly events of its branch, or without a branch: %s', (_, payload, expected) => {
    expect(isAccepted(payload, main)).toBe(expected);
  });
});

describe('a repository filter', () => {
  test.each([
    ['acme/*', false],
    ['acme/team/*', true],
    ['acme/**', true],
    ['ACME/Team/Shop', true],
    ['*', true],
    ['acme/team', false],
  ])('matches a repository in nested groups by the pattern %s: %s', (pattern, expected) => {
    expect(isAccepted(push(), { repositories: [pattern] })).toBe(expected);
    expect(isAccepted(push({ repository: 'acme/shop' }), { repositories: ['acme/*'] })).toBe(true);
  });

  test('is separate from ignore_senders, which matches case-insensitively', () => {
    expect(isAccepted(push({ sender: 'Alice' }), { ignore_senders: ['alice'] })).toBe(false);
  });
});

describe('the text of a repository event', () => {
  test('is that of the opened merge request or issue, or of the note', () => {
    expect(read(mergeRequest()).text).toBe('Faster start\n\nIt starts twice as fast.');
    expect(read(issueEvent()).text).toBe('Faster start\n\nIt starts twice as fast.');
    expect(read(noteOnRequest()).text).toBe('Looks good to me.');
    expect(read(noteOnCommit()).text).toBe('Looks good to me.');
  });

  test('is empty if an update of the merge request did not change it', () => {
    expect(read(mergeRequest({ action: 'update' })).text).toBeUndefined();
    const changed = {
      ...mergeRequest({ action: 'update' }),
      changes: { description: { previous: '', current: 'x' } },
    };
    expect(read(changed).text).toBe('Faster start\n\nIt starts twice as fast.');
    for (const action of ['close', 'merge', 'approved', 'reopen'])
      expect(read(mergeRequest({ action })).text).toBeUndefined();
  });

  test('is ignored if it is a system note', () => {
    const note = noteOnRequest({ text: '/deploy' }) as { object_attributes: object };
    const systemNote = read({ ...note, object_attributes: { ...note.object_attributes, system: true } });
    expect(systemNote.text).toBeUndefined();
    expect(systemNote.comment).toBeUndefined();
    expect(commandIn(systemNote)).toBeUndefined();
  });

  test('may be a command in a new note, but not in an edited one', () => {
    expect(commandIn(read(noteOnRequest({ text: '/deploy staging' })))).toBe('/deploy');
    expect(commandIn(read(noteOnIssue({ text: '/deploy staging', action: undefined })))).toBe('/deploy');
    expect(commandIn(read(noteOnIssue({ text: '/deploy staging', action: 'update' })))).toBeUndefined();
    expect(commandIn(read(mergeRequest({ title: '/deploy' })))).toBeUndefined();
  });

  test('with the hidden mark of the gateway counts as its own only in notes', () => {
    const text = `${htmlMarks.markFor('row')}\n\nan answer`;
    expect(isAccepted(noteOnRequest({ text }), {})).toBe(false);
    expect(isAccepted(issueEvent({ description: text }), {})).toBe(true);
  });
});

test('each JSON path that is read from a repository event is also extracted from large payloads', () => {
  // Other paths of large payloads are not read.
  const paths = repoHostBEvents.paths('hook');
  const selectPaths = (value: unknown, path: string): unknown => {
    if (paths.includes(path)) return value;
    if (typeof value !== 'object' || value === null) return undefined;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        selectPaths(member, path === '' ? name : `${path}.${name}`),
      ]),
    );
  };
  const all = [...Object.values(everyKind), noteOnIssue(), noteOnCommit(), pipeline({ isOfRequest: true })];
  for (const payload of all) {
    const [whole, found] = [read(payload), read(selectPaths(payload, ''))];
    expect(repoContext(found)).toEqual(repoContext(whole));
    expect(conversationOf(found)).toBe(conversationOf(whole));
    expect([found.branches, found.sourceRepository, found.text, found.comment, found.senderId]).toEqual([
      whole.branches,
      whole.sourceRepository,
      whole.text,
      whole.comment,
      whole.senderId,
    ]);
  }
});

test('a line with four spaces of indentation is code and no command', () => {
  expect(commandIn(read(noteOnRequest({ text: '    /deploy' })))).toBeUndefined();
  expect(commandIn(read(noteOnRequest({ text: ' \n  /deploy' })))).toBe('/deploy');
});
