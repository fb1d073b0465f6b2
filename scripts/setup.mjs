// Installs packages and builds, if necessary. `npm start` and `npm test` call it every time.
// `.npmrc` excludes the workspaces from a plain install. This script also installs tool-servers, and with
// --all test/real and bench.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const lockFile = join(root, 'package-lock.json');
const stampFile = join(root, 'node_modules', '.actor-gateway-setup');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`actor-gateway needs Node.js 20.19 or later; found ${process.version}`);
  process.exit(1);
}

const isAll = process.argv.includes('--all');
// The stamp includes the Node version, because native addons depend on it.
const plainStamp = createHash('sha256').update(readFileSync(lockFile)).update(process.version).digest('hex');
const fullStamp = `${plainStamp} all`;
const stamp = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
if (stamp !== fullStamp && (isAll || stamp !== plainStamp)) {
  say('installing packages (once, about a minute) …');
  const workspaces = [
    '--workspaces',
    '--include-workspace-root',
    ...(isAll ? [] : ['--workspace=tool-servers']),
  ];
  run(process.env.npm_execpath ?? 'npm', [
    'ci',
    ...workspaces,
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]);
  writeFileSync(stampFile, isAll ? fullStamp : plainStamp);
}

if (isStale()) {
  say('building …');
  run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
}

/** Returns true if a source file is newer than the build. The schemas are written last. */
function isStale() {
  const built = join(root, 'dist', 'schema', 'catalog.json');
  if (!existsSync(built)) return true;
  const builtAt = statSync(built).mtimeMs;
  // Includes folders: a folder's time changes when a file is removed.
  const sources = ['config', 'machines', 'actors', 'src', 'libs', 'tool-servers', 'scripts'].flatMap(
    (folder) => [
      join(root, folder),
      ...readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, name)),
    ],
  );
  return [...sources, join(root, 'package.json'), lockFile].some((file) => statSync(file).mtimeMs > builtAt);
}

/** Runs a command, and exits if it fails. npm's path may be a script, which Node runs. */
function run(command, args) {
  const isScript = /\.c?js$/.test(command);
  const result = spawnSync(isScript ? process.execPath : command, isScript ? [command, ...args] : args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    // npm passes its flags on to scripts; the install must not inherit `--omit=dev` from a production start.
    env: { ...process.env, npm_config_loglevel: 'error' },
  });
  if (result.status === 0) return;
  console.error(
    `setup failed: ${command} ${args.join(' ')} ${result.error?.message ?? `ended with ${result.status ?? result.signal}`}`,
  );
  process.exit(1);
}

function say(text) {
  console.error(text);
}
