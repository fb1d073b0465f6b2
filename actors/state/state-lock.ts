// One gateway per state folder (A5). The lock is a file with the holder's identity; it counts only while that
// process lives, so kill -9 leaves nothing to clean up by hand.
// The files are numbered: gateway.lock.1, .2, … The one with the highest number decides, and it is never removed
// nor replaced by anybody but its holder, not even on release. To take over, a starter creates the next number,
// which only one can; then it looks again, because what it saw may be from the past: a number that was free only
// because it had been cleaned up is not the highest, and is given back.

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AlreadyHeldError, UnavailableError } from '../errors.ts';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';
import { createFile, isLeftUnfinished, replaceFile } from './small-file.ts';
import { inStateFolder, makeStateFolder } from './state-folder.ts';

const PREFIX = 'gateway.lock.';
/** Each further round means that somebody else made progress; so many can only be a fault of the file system. */
const MAX_ROUNDS = 1000;

export interface StateLock {
  readonly stateDir: string;
  /** This process, as the lock names it. */
  readonly owner: ProcessIdentity;
  /** Gives the folder free. Never rejects; a second call does nothing. */
  release(): Promise<void>;
}

interface Holder extends ProcessIdentity {
  readonly listenAddr: string;
}

/**
 * Locks the folder for this process, and creates it if need be. Rejects with AlreadyHeldError while another
 * living process holds it, and with StateFolderError when the folder cannot be used.
 */
export async function acquireStateLock(stateDir: string, what: { listenAddr: string }): Promise<StateLock> {
  makeStateFolder(stateDir);
  const owner = identityOf(process.pid);
  const path = inStateFolder(stateDir, () => take(stateDir, lockText({ ...owner, ...what })));
  let isReleased = false;
  return {
    stateDir,
    owner,
    release: async () => {
      if (isReleased) return;
      isReleased = true;
      try {
        replaceFile(path, lockText(undefined));
      } catch {
        // It ends with this process at the latest.
      }
    },
  };
}

function take(folder: string, text: string): string {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const highest = highestNumber(folder);
    const seen = lockPath(folder, highest);
    const holder = highest === 0 ? undefined : readHolder(seen);
    if (holder !== undefined && isAlive(holder)) throw alreadyHeld(folder, seen, holder);
    const own = lockPath(folder, highest + 1);
    if (!createFile(own, text)) continue;
    if (highestNumber(folder) === highest + 1) {
      removeOlder(folder, highest + 1);
      return own;
    }
    rmSync(own, { force: true });
  }
  throw new UnavailableError(`the lock in ${folder} could not be taken in ${MAX_ROUNDS} attempts`, 1);
}

function lockPath(folder: string, number: number): string {
  return join(folder, `${PREFIX}${number}`);
}

function lockNumber(name: string): number {
  return name.startsWith(PREFIX) && /^[1-9]\d{0,14}$/.test(name.slice(PREFIX.length))
    ? Number(name.slice(PREFIX.length))
    : 0;
}

function highestNumber(folder: string): number {
  return readdirSync(folder).reduce((highest, name) => Math.max(highest, lockNumber(name)), 0);
}

function removeOlder(folder: string, own: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const number = lockNumber(name);
    const isOlder = number > 0 && number < own;
    if (isOlder || (name.startsWith(PREFIX) && isLeftUnfinished(path))) rmSync(path, { force: true });
  }
}

function lockText(holder: Holder | undefined): string {
  const { pid, startTime, listenAddr } = holder ?? {};
  const text =
    holder === undefined ? { released: true } : { pid, start_time: startTime, listen_addr: listenAddr };
  return `${JSON.stringify(text)}\n`;
}

/** Undefined when the lock was released or removed, or is damaged: files are never seen half written, so only a
 * crash of the whole machine leaves such a one, and no holder survives that. */
function readHolder(path: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { pid, start_time, listen_addr } = JSON.parse(text) as Record<string, unknown>;
    if (!Number.isSafeInteger(pid) || Number(pid) < 1) return undefined;
    return {
      pid: Number(pid),
      startTime: typeof start_time === 'string' ? start_time : undefined,
      listenAddr: String(listen_addr),
    };
  } catch {
    return undefined;
  }
}

function alreadyHeld(folder: string, path: string, { pid, startTime, listenAddr }: Holder): AlreadyHeldError {
  const doubt = startTime === undefined ? `; if process ${pid} is no gateway, remove ${path}` : '';
  return new AlreadyHeldError(
    `the state folder ${folder} belongs to a running gateway (process ${pid}, listening on ${listenAddr}); ` +
      `stop that one, or give this one another \`state_dir\`${doubt}`,
  );
}
