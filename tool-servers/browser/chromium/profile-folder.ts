// Each browser run has a new folder for its profile, home and temporary files. This isolates sessions.
//
//   <temporary folder>/actor-gateway-browser-<machine>-<pid>-XXXXXX   owned by this process, traversable
//     ├─ profile      owned by the browser's user, private
//     └─ artifacts    owned by this process
//
// 1. The browser's files are removed as the browser's user. Root never walks them, because a compromised
//    browser may control the tree.
// 2. Each start removes the folders of crashed processes. It skips folders from other machines or containers
//    in the same temporary folder, because it cannot see their processes.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { BrowserUser } from './browser-user.ts';

const machine = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const PREFIX = `actor-gateway-browser-${machine}-`;
const MAX_STALE = 64;
const REMOVAL_MS = 10_000;
const MAX_ATTEMPTS = 5;
const RETRY_MS = 100;

export interface ProfileFolder {
  readonly profile: string;
  readonly artifacts: string;
  remove(): Promise<void>;
}

/** Creates a folder, after removing folders of crashed processes. */
export async function createProfileFolder(user: BrowserUser | undefined): Promise<ProfileFolder> {
  // Root's temporary folder may be inaccessible to other users.
  const parent = user === undefined ? tmpdir() : '/tmp';
  await removeStale(parent, user);
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  const profile = join(folder, 'profile');
  const artifacts = join(folder, 'artifacts');
  await mkdir(artifacts, { mode: 0o700 });
  await mkdir(profile, { mode: 0o700 });
  if (user !== undefined) {
    await chown(profile, user.uid, user.gid);
    await chmod(folder, 0o711);
  }
  return { profile, artifacts, remove: () => removeFolder(folder, user) };
}

async function removeFolder(folder: string, user: BrowserUser | undefined): Promise<void> {
  const profile = join(folder, 'profile');
  // A leftover browser process may still write to the folder: retry.
  for (let attempt = 1; user !== undefined && existsSync(profile); attempt++) {
    if (attempt > MAX_ATTEMPTS) return;
    if (attempt > 1) await delay(RETRY_MS);
    const [command, ...options] = user.prefix;
    const removal = promisify(execFile)(command, [...options, '--', 'rm', '-rf', '--', profile], {
      timeout: REMOVAL_MS,
    });
    // rm cannot remove the profile folder itself, because its parent belongs to this process.
    await removal.catch(() => {});
    await rmdir(profile).catch(() => {});
  }
  await rm(folder, { recursive: true, force: true, maxRetries: MAX_ATTEMPTS, retryDelay: RETRY_MS });
}

async function removeStale(parent: string, user: BrowserUser | undefined): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX)).slice(0, MAX_STALE);
  for (const name of names) {
    const pid = Number(/^\d+(?=-)/.exec(name.slice(PREFIX.length))?.[0]);
    if (!Number.isInteger(pid) || isAlive(pid)) continue;
    const folder = join(parent, name);
    try {
      const stat = await lstat(folder);
      // Skips folders that other users created under this name.
      if (stat.isDirectory() && stat.uid === process.getuid?.()) await removeFolder(folder, user);
    } catch {
      // Removed by another process, or not removable. A stale folder does not prevent the start.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
