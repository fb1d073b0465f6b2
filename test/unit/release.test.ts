// `npm run release` in a small repository: checks, commit, tag and change log.

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const env = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

/**
 * Creates a repository with the release script and a change log. It has no `prepare` script, because there is
 * nothing to build.
 */
function newRepository(changes: string) {
  const folder = newFolder('release-');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8', env }).trim();
  cpSync(join(root, 'scripts/release.mjs'), join(folder, 'scripts/release.mjs'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'actor-gateway', version: '0.1.0' }));
  cpSync(join(root, '.gitignore'), join(folder, '.gitignore'));
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    `# Changelog\n\n## Unreleased\n${changes}\n## 0.1.0 (2026-11-29)\n\nFirst.\n`,
  );
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'all: begin');
  const release = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/release.mjs', ...args], { cwd: folder, encoding: 'utf8', env });
  return { folder, git, release };
}

test('a release dates the change log, sets the version, commits, tags and packs', () => {
  const { folder, git, release } = newRepository('\n### Added\n\n- A thing.\n');
  expect(release('0.2.0', '--dry-run').stdout).toBe('### Added\n\n- A thing.\n');
  expect(git('status', '--porcelain')).toBe('');
  const { status, stdout, stderr } = release('0.2.0', '--date', '2026-12-24');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('git push --follow-tags');
  expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-12-24)\n\n### Added\n\n- A thing.\n\n## 0.1.0 (2026-11-29)\n\nFirst.\n',
  );
  expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({ version: '0.2.0' });
  expect(git('log', '-1', '--format=%s')).toBe('release: set version 0.2.0');
  expect(git('tag', '--list', '--format=%(refname:short) %(contents)')).toBe(
    'v0.2.0 actor-gateway 0.2.0\n\n### Added\n\n- A thing.',
  );
  expect(readFileSync(join(folder, 'actor-gateway-0.2.0.tgz')).length).toBeGreaterThan(100);
  expect(git('status', '--porcelain')).toBe('');
});

test('a release is refused without changes, with a dirty tree, and for a version that exists', () => {
  const { folder, git, release } = newRepository('\n- A thing.\n');
  expect(release().status).toBe(2);
  expect(release('next')).toMatchObject({
    status: 1,
    stderr: 'release: next is not a version such as 0.2.0\n',
  });
  expect(release('0.0.9').stderr).toContain('lower than the present version 0.1.0');
  expect(release('0.2.0', '--date', 'soon').stderr).toContain('soon is not a date');
  expect(release('0.2.0', '--dryrun')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^release: /),
  });
  expect(release('0.1.0').stderr).toContain('already has a section 0.1.0');
  git('tag', 'v0.2.0');
  expect(release('0.2.0').stderr).toContain('the tag v0.2.0 exists already');
  writeFileSync(join(folder, 'new.txt'), '');
  expect(release('0.3.0').stderr).toContain('the working tree has changes');
  expect(newRepository('').release('0.2.0').stderr).toContain('no changes under "## Unreleased"');
});

test('the release script accepts 0.2.0 after 0.2.0-rc.1, but no lower version', () => {
  const { folder, git, release } = newRepository('\n- A thing.\n');
  expect(release('0.2.0-rc.1')).toMatchObject({ status: 0 });
  const path = join(folder, 'CHANGELOG.md');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace('## Unreleased\n', '## Unreleased\n\n- A repair.\n'));
  git('commit', '-q', '-a', '-m', 'all: repair');
  expect(release('0.2.0', '--dry-run')).toMatchObject({ status: 0, stdout: '- A repair.\n' });
  expect(release('0.2.0-rc.0').stderr).toContain('lower than the present version 0.2.0-rc.1');
});

test('a release that fails in npm leaves no changes', () => {
  const { git, release } = newRepository('\n- A thing.\n');
  // npm refuses the empty part between the dots.
  expect(release('0.2.0-a..b').stderr).toContain('release: nothing was released: ');
  expect([git('status', '--porcelain'), git('tag', '--list')]).toEqual(['', '']);
});
