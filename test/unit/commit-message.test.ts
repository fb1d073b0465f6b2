// The commit-msg hook: rules, and activation by `npm install`.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
const GOOD = 'inbox: drop claims of dead nodes';

/** Creates a repository with the hook and the activation script, but without build tools. */
function newRepository() {
  const folder = newFolder('hook-');
  const git = (...args: string[]) =>
    spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
      env,
    });
  git('init', '-q');
  mkdirSync(join(folder, 'scripts'));
  cpSync(join(root, 'scripts/hooks'), join(folder, 'scripts/hooks'), { recursive: true });
  for (const name of ['check-message.mjs', 'prepare.mjs'])
    cpSync(join(root, 'scripts', name), join(folder, 'scripts', name));
  const prepare = () =>
    spawnSync(process.execPath, ['scripts/prepare.mjs'], { cwd: folder, encoding: 'utf8' });
  const commit = (message: string) => git('commit', '-q', '--allow-empty', '-m', message);
  return { folder, git, prepare, commit };
}

test('the prepare script activates the commit hook, which accepts good messages and explains errors in bad ones', () => {
  const { prepare, commit, git } = newRepository();
  expect(commit('Anything goes before the installation.').status).toBe(0);
  expect(prepare().status).toBe(0);
  const bad: readonly [string, RegExp][] = [
    ['Mergers and acquisitions.', /"area: imperative"/],
    ['Drop claims of dead nodes', /"area: imperative"/],
    [`inbox: ${'drop claims '.repeat(7)}`, /has 90 characters, at most 72/],
    [`${GOOD}.`, /ends with a full stop/],
    [`${GOOD}\nand more`, /second line is not empty/],
    [`${GOOD}\n\n${'a reason '.repeat(10)}`, /wrap it at 72/],
  ];
  for (const [message, fault] of bad) {
    const { status, stderr } = commit(message);
    expect(status).toBe(1);
    expect(stderr).toMatch(fault);
  }
  const good = [
    GOOD,
    `${GOOD}\n\nA reason, wrapped.\nhttps://example.com/${'a'.repeat(80)}`,
    'src/http, docs/http-api.md: name the limit',
    'Revert "inbox: drop claims of dead nodes"',
    'fixup! inbox: drop claims of dead nodes',
  ];
  for (const message of good) expect(commit(message)).toMatchObject({ status: 0, stderr: '' });
  expect(git('log', '--format=%s').stdout.trim().split('\n')).toHaveLength(good.length + 1);
});

test('the prepare script keeps commit hooks configured by the user, and works outside a repository', () => {
  const { git, prepare, folder } = newRepository();
  git('config', '--local', 'core.hooksPath', 'mine');
  expect(prepare().status).toBe(0);
  expect(git('config', '--local', 'core.hooksPath').stdout.trim()).toBe('mine');
  const other = newRepository();
  writeFileSync(join(other.folder, '.git/hooks/pre-commit'), '');
  expect(other.prepare().status).toBe(0);
  expect(other.git('config', 'core.hooksPath').stdout).toBe('');
  const packed = newFolder('packed-');
  cpSync(join(folder, 'scripts/prepare.mjs'), join(packed, 'scripts/prepare.mjs'));
  expect(spawnSync(process.execPath, ['scripts/prepare.mjs'], { cwd: packed }).status).toBe(0);
});
