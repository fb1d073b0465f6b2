// Lifecycle script `prepare`: npm runs it after `npm install` in a checkout, and before `npm pack`. Activates
// the Git hooks and builds. Does nothing in an installation without development packages, which has no build
// tools.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

// Keeps hooks, or a hooks folder, that the user has configured. A package has no .git.
if (existsSync(resolve(root, '.git'))) {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? '';
  const folder = resolve(root, git('rev-parse', '--git-path', 'hooks'));
  const userHooks = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.sample')) : [];
  if (git('config', 'core.hooksPath') === '' && userHooks.length === 0)
    git('config', '--local', 'core.hooksPath', 'scripts/hooks');
}
if (existsSync(resolve(root, 'node_modules/esbuild'))) await import('./build.mjs');
