// The objects of the host that stands in for the real one, looked at by git itself: the same names, a sound repository, and
// diffs that git can apply.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { objectSha } from '../../../fixtures/rest-host/git/git-objects.ts';
import { commitsAhead, filesOf, logOf, mergeBase, merged } from '../../../fixtures/rest-host/git/history.ts';
import { changesBetween, diffText } from '../../../fixtures/rest-host/git/tree-diff.ts';
import type { Repository } from '../../../fixtures/rest-host/repository.ts';
import { World } from '../../../fixtures/rest-host/world.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rest-host-git-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function git(at: string, args: readonly string[], input = ''): string {
  return execFileSync('git', ['-c', 'core.quotePath=false', ...args], {
    cwd: at,
    input,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
  });
}

/** A repository on disk with the very objects and references. */
function exported({ objects, refs }: Repository, name: string): string {
  const at = join(folder, name);
  git(folder, ['init', '--quiet', '--initial-branch=main', at]);
  for (const [sha, { type, bytes }] of objects.all()) {
    const file = join(at, '.git/objects', sha.slice(0, 2), sha.slice(2));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, deflateSync(Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes])));
  }
  for (const [ref, sha] of refs) git(at, ['update-ref', ref, sha]);
  return at;
}

function sample(): Repository {
  const repository = new World().addRepository('ada/tools', {
    files: {
      'README.md': '# Tools\n',
      'a.txt': 'a\n',
      'a/inner.txt': 'beside a.txt\n',
      'a-b': 'sorts between\n',
      'deep/er/and/deeper': 'x',
      'ünï/日本 "quoted".md': 'wide\n',
      empty: '',
    },
  });
  repository.commit({
    files: { 'run.sh': '#!/bin/sh\n' },
    mode: '100755',
    message: 'A second one\n\nWith a body.',
  });
  repository.addEntry('link', {
    mode: '120000',
    sha: repository.objects.writeBlob(Buffer.from('README.md')),
  });
  repository.commit({ branch: 'main', files: { 'a-b': null } });
  return repository;
}

describe('the names of objects', () => {
  test.each([
    ['nothing', ''],
    ['a text', 'text\n'],
    ['wide letters', 'ünï 日本 🙂'],
    ['bytes', '\0binary\xff'],
    ['much', 'x'.repeat(100_000)],
  ])('of %j are those git gives', (content) => {
    expect(objectSha('blob', Buffer.from(content))).toBe(
      git(folder, ['hash-object', '--stdin'], content).trim(),
    );
  });

  test('of trees and commits are too: git finds the whole repository sound', () => {
    const repository = sample();
    const at = exported(repository, 'sound');
    expect(git(at, ['fsck', '--full', '--strict'])).toBe('');
    const listed = git(at, ['ls-tree', '-r', '-z', 'main']);
    const expected = [...repository.files()].map(([path, { mode, sha }]) => `${mode} blob ${sha}\t${path}`);
    expect(listed.split('\0').filter(Boolean).sort()).toEqual(expected.sort());
    const tree = git(at, ['ls-tree', '-z', 'main']);
    expect(git(at, ['mktree', '-z'], tree).trim()).toBe(repository.resolve('main')?.tree);
  });
});

describe('history', () => {
  test('is what git says of it: logs, where branches parted, what one has that the other has not', () => {
    const repository = sample();
    const { objects } = repository;
    repository.moveRef('refs/heads/topic', repository.head());
    for (const number of [1, 2, 3])
      repository.commit({ branch: 'topic', files: { [`t${number}`]: `${number}` } });
    repository.commit({ files: { m: 'm' } });
    const [main = '', topic = ''] = [repository.head(), repository.head('topic')];
    const both = merged(objects, main, topic) ?? new Map();
    const merge = repository.writeCommit(both, [main, topic], 'Merge topic');
    repository.moveRef('refs/heads/merged', merge);
    const at = exported(repository, 'history');
    const lines = (...args: string[]) => git(at, args).trim().split('\n');
    expect(logOf(objects, merge).map(({ sha }) => sha)).toEqual(lines('rev-list', '--date-order', 'merged'));
    expect(mergeBase(objects, main, topic)).toBe(git(at, ['merge-base', 'main', 'topic']).trim());
    expect(commitsAhead(objects, main, topic).map(({ sha }) => sha)).toEqual(
      lines('rev-list', '--reverse', 'main..topic'),
    );
    git(at, ['checkout', '--quiet', '-B', 'theirs', 'main']);
    git(at, ['-c', 'user.name=a', '-c', 'user.email=a', 'merge', '--quiet', '--no-edit', 'topic']);
    expect(repository.resolve(merge)?.tree).toBe(git(at, ['rev-parse', 'HEAD^{tree}']).trim());
    repository.commit({ branch: 'topic', files: { m: 'other' } });
    expect(merged(objects, main, repository.head('topic') ?? '')).toBeUndefined();
  });
});

describe('diffs', () => {
  test('can be applied by git, and lead to the very same tree', () => {
    const repository = sample();
    const { objects } = repository;
    const before = repository.head() ?? '';
    const long = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    repository.commit({
      branch: 'main',
      files: { 'long.txt': `${long.join('\n')}\n`, 'no-end': 'one\ntwo' },
    });
    const start = repository.head() ?? '';
    long[3] = 'changed';
    long.splice(40, 2, 'new', 'newer', 'newest');
    repository.commit({
      files: {
        'long.txt': `${long.join('\n')}\n`,
        'no-end': 'one\ntwo\nthree',
        'README.md': null,
        'readme with space.md': '# Tools\n',
        'ünï/日本 "quoted".md': 'wider\n',
        'fresh file.txt': 'fresh\n',
        empty: null,
        'other-empty': '',
        'a.txt': '',
      },
    });
    const at = exported(repository, 'diffs');
    for (const from of [before, start]) {
      const changes = changesBetween(objects, filesOf(objects, from), filesOf(objects, repository.head()));
      git(at, ['read-tree', from]);
      git(at, ['apply', '--cached', '--whitespace=nowarn'], diffText(changes));
      expect(git(at, ['write-tree']).trim()).toBe(repository.resolve('main')?.tree);
      const stat = git(at, ['diff', '--numstat', '-M100%', '-z', from, 'main']).split('\0').filter(Boolean);
      const plain = stat.filter((line) => /^\d+\t\d+\t./.test(line));
      const ours = changes
        .filter(({ status }) => status !== 'renamed')
        .map(({ path, additions, deletions }) => `${additions}\t${deletions}\t${path}`);
      expect(plain.sort()).toEqual(ours.sort());
    }
  });

  test('say of binary files only that they differ', () => {
    const repository = new World().addRepository('ada/bytes', { files: { 'b.bin': Buffer.from([0, 1, 2]) } });
    const before = repository.files();
    repository.commit({ files: { 'b.bin': Buffer.from([0, 1, 3]) } });
    const [change] = changesBetween(repository.objects, before, repository.files());
    expect(change).toMatchObject({ status: 'modified', additions: 0, deletions: 0 });
    expect(change?.patch).toBeUndefined();
    expect(diffText(change ? [change] : [])).toMatch(/\nBinary files a\/b\.bin and b\/b\.bin differ\n$/);
  });
});
