// The folder of one run of the browser: its profile, its home, its temporary files. It is new at each start, so that no
// session sees anything of another, and gone after it.
//
//   <temporary folder>/actor-gateway-browser-<machine>-<pid>-XXXXXX   ours; others may pass through
//     ├─ profile      of the user the browser runs as, for that user alone
//     └─ artifacts    ours
//
// 1. What the browser wrote is removed as the user it ran as: root never walks a tree that a page may have got hold of.
// 2. Folders whose program was killed are removed at the next start. A folder of another machine or container that
//    shares the temporary folder is left alone: its process cannot be seen from here.

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

/** Makes a new folder, after removing those of programs that are gone. */
export async function makeProfileFolder(user: BrowserUser | undefined): Promise<ProfileFolder> {
  // The temporary folder of root may be closed to everybody else.
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
  // What is left of the browser may write a last file while its folder is emptied.
  for (let attempt = 1; user !== undefined && existsSync(profile); attempt++) {
    if (attempt > MAX_ATTEMPTS) return;
    if (attempt > 1) await delay(RETRY_MS);
    const [command, ...options] = user.prefix;
    const emptied = promisify(execFile)(command, [...options, '--', 'rm', '-rf', '--', profile], {
      timeout: REMOVAL_MS,
    });
    // Fails at the folder itself, which stands in ours; if it is empty it can go.
    await emptied.catch(() => {});
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
      // A folder that somebody else made under our name is none of ours.
      if (stat.isDirectory() && stat.uid === process.getuid?.()) await removeFolder(folder, user);
    } catch {
      // Somebody else was quicker, or it stays: a stale folder is no reason not to start.
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
