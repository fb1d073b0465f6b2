// Installs the packages in suites/ once: real clients, servers and conformance suites, which are too large
// for `npm test`. Returns immediately if they are installed; waits for a concurrent installation.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const folder = join(import.meta.dirname, 'suites');
const stampFile = join(folder, 'node_modules', '.actor-gateway-setup');
const lockFile = join(folder, '.installing.lock');
const waitMs = 300_000;

/** Installs the packages, if necessary. Rejects if npm fails. */
export async function installReal() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  const isDone = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted;
  if (isDone()) return;
  await lock();
  try {
    if (isDone()) return;
    console.error('installing real clients, servers and conformance suites (once, about 500 MB) …');
    npmCi();
    writeFileSync(stampFile, wanted);
  } finally {
    rmSync(lockFile, { force: true });
  }
}

async function lock() {
  const deadline = Date.now() + waitMs;
  while (Date.now() < deadline) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isAbandoned()) rmSync(lockFile, { force: true });
    else await pause(200);
  }
  throw new Error(`another process has been installing for ${waitMs / 1000} s; remove ${lockFile} if not`);
}

/**
 * Returns true if the process in the lock file has exited. An empty file belongs to a process that is
 * starting.
 */
function isAbandoned() {
  try {
    const pid = Number(readFileSync(lockFile, 'utf8'));
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function npmCi() {
  const npm = process.env.npm_execpath ?? 'npm';
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const isScript = /\.c?js$/.test(npm);
  const result = spawnSync(isScript ? process.execPath : npm, isScript ? [npm, ...args] : args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, npm_config_loglevel: 'error' },
  });
  if (result.status === 0) return;
  const reason = result.error?.message ?? `it ended with ${result.status ?? result.signal}`;
  throw new Error(`npm ci in test/real/suites failed: ${reason}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await installReal();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
