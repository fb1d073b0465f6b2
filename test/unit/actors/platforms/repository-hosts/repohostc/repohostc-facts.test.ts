// Facts of events from the third repository host.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  commandIn,
  conversationOf,
  type RepoFacts,
  repoContext,
} from '../../../../../../actors/platforms/repository-hosts/facts.ts';
import { repoHostCEvents } from '../../../../../../actors/platforms/repository-hosts/repohostc/facts.ts';
import { repoHostCEventNames } from '../../../../../../config/resources/repository-hosts/repohostc-events.ts';
import {
  appUser,
  hashOf,
  type PayloadValues,
  repoHostCPayload,
} from '../../../../../fixtures/repositories/repohostc-payloads.ts';

const keys = Object.entries(repoHostCEventNames.actions).flatMap(([word, actions]) =>
  actions.map((action) => `${word}:${action}`),
);

function factsOf(key: string, payload: unknown): RepoFacts {
  const facts = repoHostCEvents.facts(key, payload);
  if (typeof facts !== 'object') throw new Error(`${key} has no facts`);
  return facts;
}

const factsOfKey = (key: string, values?: PayloadValues) => factsOf(key, repoHostCPayload(key, values));

test.each(keys)(
  '%s has event and action, its names in both notations, its sender and its repository',
  (key) => {
    const [word, action] = key.split(':');
    const facts = factsOfKey(key, { sender: 'Ann' });
    expect(facts.names).toEqual([key, `${word}.${action}`, word]);
    expect(repoContext(facts)).toMatchObject({
      'repo.event': word,
      'repo.action': action,
      'repo.repo': 'acme/shop',
      'repo.sender': 'Ann',
    });
    expect(facts.senderId).toBe('{user-ann}');
  },
);

test('a pull request has its number, title, author, source and commit', () => {
  const facts = factsOfKey('pullrequest:created', {
    number: 7,
    title: 'Faster',
    source: { branch: 'faster' },
  });
  expect(repoContext(facts)).toEqual({
    'repo.event': 'pullrequest',
    'repo.action': 'created',
    'repo.repo': 'acme/shop',
    'repo.branch': 'faster',
    'repo.ref': 'refs/heads/faster',
    'repo.sha': hashOf(1).slice(-12),
    'repo.sender': 'ann',
    'repo.pr.number': 7,
    'repo.pr.title': 'Faster',
    'repo.pr.author': 'ann',
  });
});

test('an account without nickname has its display name', () => {
  const payload = { ...repoHostCPayload('pullrequest:approved'), actor: appUser('The reviews') };
  expect(factsOf('pullrequest:approved', payload)).toMatchObject({
    sender: 'The reviews',
    senderId: '{user-the reviews}',
  });
});

describe('the conversation', () => {
  test.each([
    ['pullrequest:created', 'acme/shop!5'],
    ['pullrequest:comment_created', 'acme/shop!5'],
    ['pullrequest:approved', 'acme/shop!5'],
    ['issue:created', 'acme/shop#5'],
    ['issue:comment_created', 'acme/shop#5'],
    ['repo:push', 'acme/shop@refs/heads/main'],
    ['repo:fork', 'acme/shop'],
  ])('of %s is %s', (key, place) => {
    expect(conversationOf(factsOfKey(key))).toBe(place);
  });
});

describe('a push', () => {
  const push = (...changes: NonNullable<PayloadValues['changes']>) => factsOfKey('repo:push', { changes });

  test('has the ref of its first change, and the branches of all', () => {
    const facts = push(
      { old: ['branch', 'main'], new: ['branch', 'main'] },
      { new: ['tag', 'v1'] },
      { new: ['branch', 'release/2'] },
    );
    expect(facts).toMatchObject({
      ref: 'refs/heads/main',
      sha: hashOf(1),
      branches: ['main', 'release/2'],
      text: undefined,
    });
  });

  test('that deletes a branch has the old name and no commit', () => {
    const facts = push({ old: ['branch', 'gone'], new: undefined });
    expect(facts).toMatchObject({ ref: 'refs/heads/gone', sha: undefined, branches: ['gone'] });
    expect(Object.keys(repoContext(facts))).not.toContain('repo.sha');
  });

  test.each(['tag', 'annotated_tag'] as const)('of a %s has no branch', (type) => {
    const facts = push({ new: [type, 'v1'] });
    expect(facts).toMatchObject({ ref: 'refs/tags/v1', branches: [] });
    expect(Object.keys(repoContext(facts))).not.toContain('repo.branch');
  });

  test('without changes has no branch', () => {
    expect(push()).toMatchObject({ ref: undefined, sha: undefined, branches: [] });
  });
});

describe('the branches', () => {
  test.each(['created', 'comment_created', 'approved', 'fulfilled'])(
    'of pullrequest:%s are the destination',
    (action) => {
      const values = { source: { branch: 'main' }, destination: 'next' };
      expect(factsOfKey(`pullrequest:${action}`, values).branches).toEqual(['next']);
    },
  );

  test('of a build status are those of its refname', () => {
    expect(factsOfKey('repo:commit_status_updated', { refname: 'main' })).toMatchObject({
      branches: ['main'],
      ref: 'refs/heads/main',
      sha: hashOf(1),
    });
    expect(factsOfKey('repo:commit_status_updated').branches).toEqual([]);
  });

  test.each([
    'issue:created',
    'issue:comment_created',
    'repo:fork',
    'repo:updated',
    'repo:commit_comment_created',
  ])('of %s are undefined', (key) => {
    expect(factsOfKey(key).branches).toBeUndefined();
  });
});

describe('the source of a pull request', () => {
  test.each([
    ['another repository', 'stranger/shop', 'stranger/shop'],
    ['a deleted fork', null, 'unknown'],
    ['the same repository', 'acme/shop', undefined],
  ])('is %s', (_, repository, sourceRepository) => {
    expect(factsOfKey('pullrequest:created', { source: { repository } }).sourceRepository).toBe(
      sourceRepository,
    );
  });
});

describe('the text', () => {
  test.each([
    ['pullrequest:created', 'A title\n\nSome words.'],
    ['pullrequest:updated', 'A title\n\nSome words.'],
    ['pullrequest:comment_created', 'Some words.'],
    ['pullrequest:comment_updated', 'Some words.'],
    ['issue:created', 'A title\n\nSome words.'],
    ['issue:updated', 'A title\n\nSome words.'],
    ['issue:comment_created', 'Some words.'],
    ['repo:commit_comment_created', 'Some words.'],
  ])('of %s is %j', (key, text) => {
    expect(factsOfKey(key).text).toBe(text);
  });

  test('of all other events is undefined', () => {
    const withoutText = keys.filter((key) => factsOfKey(key).text === undefined);
    expect(withoutText).toEqual([
      'pullrequest:approved',
      'pullrequest:unapproved',
      'pullrequest:changes_request_created',
      'pullrequest:changes_request_removed',
      'pullrequest:fulfilled',
      'pullrequest:rejected',
      'pullrequest:comment_deleted',
      'pullrequest:comment_resolved',
      'pullrequest:comment_reopened',
      'repo:push',
      'repo:fork',
      'repo:updated',
      'repo:transfer',
      'repo:imported',
      'repo:deleted',
      'repo:commit_status_created',
      'repo:commit_status_updated',
    ]);
  });

  test('is a command only in new comments, also on a line of a file', () => {
    const withCommand = keys.filter(
      (key) => commandIn(factsOfKey(key, { text: '/deploy staging' })) !== undefined,
    );
    expect(withCommand).toEqual([
      'pullrequest:comment_created',
      'repo:commit_comment_created',
      'issue:comment_created',
    ]);
    const inline = factsOfKey('pullrequest:comment_created', { text: '/deploy', isInline: true });
    expect(commandIn(inline)).toBe('/deploy');
  });

  test('may be a comment of the gateway itself only on pull requests', () => {
    expect(keys.filter((key) => factsOfKey(key).mayBeOwnComment)).toEqual(
      keys.filter((key) => key.startsWith('pullrequest:comment_')),
    );
  });
});

describe('a payload', () => {
  test.each([
    ['without a repository', {}],
    ['that is a string', 'text'],
    ['with a path as repository', { repository: { full_name: '../user' } }],
    ['with a repository of three parts', { repository: { full_name: 'a/b/c' } }],
  ])('%s has no facts', (_, payload) => {
    expect(repoHostCEvents.facts('repo:push', payload)).toBeUndefined();
  });

  test('with members of other types does not throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...keys), fc.json(), fc.json(), (key, one, other) => {
        const payload = {
          ...repoHostCPayload(key),
          pullrequest: JSON.parse(one),
          issue: JSON.parse(one),
          push: { changes: [JSON.parse(other), JSON.parse(one)] },
          comment: JSON.parse(other),
          actor: JSON.parse(one),
        };
        const facts = factsOf(key, payload);
        expect(repoContext(facts)).toMatchObject({ 'repo.repo': 'acme/shop' });
        expect(conversationOf(facts)).toMatch(/^acme\/shop/);
        commandIn(facts);
        return facts.branches === undefined || facts.branches.every((each) => typeof each === 'string');
      }),
    );
  });

  test('yields the same event facts if only the requested paths are read', () => {
    for (const key of keys) {
      const payload = repoHostCPayload(key, { refname: 'main', changes: [{ new: ['branch', 'x'] }] });
      const selected = Object.fromEntries(
        repoHostCEvents.paths(key).map((path) => [path, at(payload, path)]),
      );
      const rebuilt = {};
      for (const [path, value] of Object.entries(selected))
        if (value !== undefined) setAtPath(rebuilt, path, value);
      const [whole, part] = [factsOf(key, payload), factsOf(key, rebuilt)];
      expect(repoContext(part)).toEqual(repoContext(whole));
      for (const name of ['text', 'branches', 'item', 'senderId'] as const)
        expect([key, name, part[name]]).toEqual([key, name, whole[name]]);
    }
  });
});

type Members = Record<string, unknown>;

function at(payload: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Members | undefined)?.[name], payload);
}

function setAtPath(payload: Members, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let into = payload;
  for (const name of names) {
    const inner = (into[name] ?? {}) as Members;
    into[name] = inner;
    into = inner;
  }
  into[last] = value;
}

test('a line with four spaces of indentation is code and no command', () => {
  expect(commandIn(factsOfKey('pullrequest:comment_created', { text: '    /deploy' }))).toBeUndefined();
});
