// Makes the project ready to run: installs its packages and builds it. Quick and silent when both are done already,
// so that `npm start` and `npm test` can call it every time. `.npmrc` excludes the workspaces from a plain install; this
// script adds tool-servers for `npm start`, and with --all also test/real and bench.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const lockFile = join(root, 'package-lock.json');
const stampFile = join(root, 'node_modules', '.actor-gateway-setup');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`actor-gateway needs Node.js 20.19 or newer; this is ${process.version}`);
  process.exit(1);
}

const isAll = process.argv.includes('--all');
// One addon may differ from one Node version to the next, so the stamp includes the version.
const state = createHash('sha256').update(readFileSync(lockFile)).update(process.version).digest('hex');
const stamp = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
if (stamp !== `${state} all` && (isAll || stamp !== state)) {
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
  writeFileSync(stampFile, isAll ? `${state} all` : state);
}

if (isStale()) {
  say('building …');
  run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
}

function isStale() {
  const built = join(root, 'dist', 'schema', 'catalog.json');
  if (!existsSync(built)) return true;
  const builtAt = statSync(built).mtimeMs;
  // With the folders: theirs is the time at which a file was taken away.
  const sources = ['config', 'machines', 'actors', 'src', 'libs', 'tool-servers', 'scripts'].flatMap(
    (room) => [
      join(root, room),
      ...readdirSync(join(root, room), { recursive: true }).map((name) => join(root, room, name)),
    ],
  );
  return [...sources, join(root, 'package.json'), lockFile].some((file) => statSync(file).mtimeMs > builtAt);
}

function run(command, args) {
  const isScript = /\.c?js$/.test(command);
  const result = spawnSync(isScript ? process.execPath : command, isScript ? [command, ...args] : args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    // npm hands its own flags on to scripts; an install must not inherit `--omit=dev` from a production start.
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
