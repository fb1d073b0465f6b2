// Installs the compared gateways and Probot from npm, once. Returns immediately if they are installed.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const stampFile = join(folder, 'node_modules', '.actor-gateway-setup');

/** Installs the packages. Throws with the error of npm if the installation fails. */
export function installPeers() {
  const expected = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === expected) return;
  // npm sets this variable for scripts; the value may be npm's JavaScript file, which Node runs.
  const npm = process.env.npm_execpath ?? 'npm';
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const isScript = /\.c?js$/.test(npm);
  const { status, signal, error } = spawnSync(
    isScript ? process.execPath : npm,
    isScript ? [npm, ...args] : args,
    { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  if (status !== 0)
    throw new Error(`npm ci in bench/peers failed: ${error?.message ?? `it ended with ${status ?? signal}`}`);
  writeFileSync(stampFile, expected);
}
