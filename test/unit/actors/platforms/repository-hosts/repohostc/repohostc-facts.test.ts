// What events of the third repository host say.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  placeOf,
  type RepoFacts,
  repoContext,
  spokenIn,
} from '../../../../../../actors/platforms/repository-hosts/facts.ts';
import { repoHostCEvents } from '../../../../../../actors/platforms/repository-hosts/repohostc/facts.ts';
import { repoHostCEventNames } from '../../../../../../config/resources/repository-hosts/repohostc-events.ts';
import {
  appUser,
  hashOf,
  repoHostCPayload,
  type Said,
} from '../../../../../fixtures/repositories/repohostc-payloads.ts';

const keys = Object.entries(repoHostCEventNames.actions).flatMap(([word, actions]) =>
  actions.map((action) => `${word}:${action}`),
);

function factsOf(key: string, payload: unknown): RepoFacts {
  const facts = repoHostCEvents.facts(key, payload);
  if (typeof facts !== 'object') throw new Error(`${key} says nothing`);
  return facts;
}

const saidBy = (key: string, said?: Said) => factsOf(key, repoHostCPayload(key, said));

test.each(keys)(
  '%s has its two halves, its names in both spellings, its sender and its repository',
  (key) => {
    const [word, action] = key.split(':');
    const facts = saidBy(key, { sender: 'Ann' });
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
  const facts = saidBy('pullrequest:created', { number: 7, title: 'Faster', source: { branch: 'faster' } });
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

test('whoever has no nickname is known by the name that people see', () => {
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
    expect(placeOf(saidBy(key))).toBe(place);
  });
});

describe('a push', () => {
  const push = (...changes: NonNullable<Said['changes']>) => saidBy('repo:push', { changes });

  test('is told by its first change, and known by every branch in it', () => {
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

  test('that deletes a branch has its old name and no commit', () => {
    const facts = push({ old: ['branch', 'gone'], new: undefined });
    expect(facts).toMatchObject({ ref: 'refs/heads/gone', sha: undefined, branches: ['gone'] });
    expect(Object.keys(repoContext(facts))).not.toContain('repo.sha');
  });

  test.each(['tag', 'annotated_tag'] as const)('of a %s is of no branch', (type) => {
    const facts = push({ new: [type, 'v1'] });
    expect(facts).toMatchObject({ ref: 'refs/tags/v1', branches: [] });
    expect(Object.keys(repoContext(facts))).not.toContain('repo.branch');
  });

  test('without changes is of no branch', () => {
    expect(push()).toMatchObject({ ref: undefined, sha: undefined, branches: [] });
  });
});

describe('branches', () => {
  test.each(['created', 'comment_created', 'approved', 'fulfilled'])(
    'of pullrequest:%s are where it is to go',
    (action) => {
      const said = { source: { branch: 'main' }, destination: 'next' };
      expect(saidBy(`pullrequest:${action}`, said).branches).toEqual(['next']);
    },
  );

  test('of the state of a build are that for which it was made', () => {
    expect(saidBy('repo:commit_status_updated', { refname: 'main' })).toMatchObject({
      branches: ['main'],
      ref: 'refs/heads/main',
      sha: hashOf(1),
    });
    expect(saidBy('repo:commit_status_updated').branches).toEqual([]);
  });

  test.each([
    'issue:created',
    'issue:comment_created',
    'repo:fork',
    'repo:updated',
    'repo:commit_comment_created',
  ])('%s has none', (key) => {
    expect(saidBy(key).branches).toBeUndefined();
  });
});

describe('a branch of a fork', () => {
  test.each([
    ['another repository', 'stranger/shop', 'stranger/shop'],
    ['a fork that is gone', null, 'unknown'],
    ['this one', 'acme/shop', undefined],
  ])('is of %s', (_, repository, home) => {
    expect(saidBy('pullrequest:created', { source: { repository } }).home).toBe(home);
  });
});

describe('what was written', () => {
  test.each([
    ['pullrequest:created', 'A title\n\nSome words.'],
    ['pullrequest:updated', 'A title\n\nSome words.'],
    ['pullrequest:comment_created', 'Some words.'],
    ['pullrequest:comment_updated', 'Some words.'],
    ['issue:created', 'A title\n\nSome words.'],
    ['issue:updated', 'A title\n\nSome words.'],
    ['issue:comment_created', 'Some words.'],
    ['repo:commit_comment_created', 'Some words.'],
  ])('at %s is %j', (key, text) => {
    expect(saidBy(key).text).toBe(text);
  });

  test('is nothing at anything else', () => {
    const silent = keys.filter((key) => saidBy(key).text === undefined);
    expect(silent).toEqual([
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

  test('is a command where it is a new comment, on a line of a file too, and in no other words', () => {
    const spoken = keys.filter((key) => spokenIn(saidBy(key, { text: '/deploy staging' })) !== undefined);
    expect(spoken).toEqual([
      'pullrequest:comment_created',
      'repo:commit_comment_created',
      'issue:comment_created',
    ]);
    const inline = saidBy('pullrequest:comment_created', { text: '/deploy', isInline: true });
    expect(spokenIn(inline)).toBe('/deploy');
  });

  test('may be of ours in comments on pull requests alone', () => {
    expect(keys.filter((key) => saidBy(key).isOfAnswers)).toEqual(
      keys.filter((key) => key.startsWith('pullrequest:comment_')),
    );
  });
});

describe('a payload', () => {
  test.each([
    ['without a repository', {}],
    ['that is none', 'text'],
    ['of a repository that would lead elsewhere', { repository: { full_name: '../user' } }],
    ['of one with more parts', { repository: { full_name: 'a/b/c' } }],
  ])('%s says nothing', (_, payload) => {
    expect(repoHostCEvents.facts('repo:push', payload)).toBeUndefined();
  });

  test('whose members are of other kinds breaks nothing', () => {
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
        expect(placeOf(facts)).toMatch(/^acme\/shop/);
        spokenIn(facts);
        return facts.branches === undefined || facts.branches.every((each) => typeof each === 'string');
      }),
    );
  });

  test('has every member that facts are read from at one of the paths that are told', () => {
    for (const key of keys) {
      const payload = repoHostCPayload(key, { refname: 'main', changes: [{ new: ['branch', 'x'] }] });
      const kept = Object.fromEntries(repoHostCEvents.paths(key).map((path) => [path, at(payload, path)]));
      const rebuilt = {};
      for (const [path, value] of Object.entries(kept)) if (value !== undefined) put(rebuilt, path, value);
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

function put(payload: Members, path: string, value: unknown): void {
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

test('a line with four spaces before it is code, and no command', () => {
  expect(spokenIn(saidBy('pullrequest:comment_created', { text: '    /deploy' }))).toBeUndefined();
});
