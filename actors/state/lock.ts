// Lock of the state folder: only one gateway can use it (A5, ARCHITECTURE.md). The lock file names the
// lock's holder, a process; it is valid only while that process runs, so kill -9 requires no cleanup.
// numbered-lock.ts prevents races between two starting gateways.

import { AlreadyInUseError } from '../base/errors/errors.ts';
import { inStateFolder, makeStateFolder } from './folder-access.ts';
import { type LockText, lockSteps } from './numbered-lock.ts';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';
import { replaceFile } from './small-file.ts';

export interface StateLock {
  readonly stateDir: string;
  /** Identity of this process. */
  readonly owner: ProcessIdentity;
  /** Releases the folder. Never rejects; idempotent. */
  release(): Promise<void>;
}

interface Holder extends ProcessIdentity {
  /** Undefined for the short text, which is written if the disk is full. */
  readonly listenAddr: string | undefined;
}

/**
 * Locks the folder for this process, and creates it if missing. Rejects with AlreadyInUseError while a living
 * process holds it, and with StateFolderError if the folder cannot be used.
 */
export async function acquireStateLock(
  stateDir: string,
  options: { listenAddr: string },
): Promise<StateLock> {
  makeStateFolder(stateDir);
  const owner = identityOf(process.pid);
  const path = inStateFolder(stateDir, () => take(stateDir, lockText(owner, options.listenAddr)));
  let isReleased = false;
  return {
    stateDir,
    owner,
    release: async () => {
      if (isReleased) return;
      isReleased = true;
      try {
        replaceFile(path, RELEASED);
      } catch {
        // The lock expires with this process at the latest.
      }
    },
  };
}

/** Acquires the lock and returns the path of the lock file. Throws AlreadyInUseError. */
function take(folder: string, text: LockText): string {
  const steps = lockSteps(folder, text, (other) => {
    const holder = parseHolder(other);
    return holder !== undefined && isAlive(holder);
  });
  // Runs the generator to completion. It is a generator for tests, which interleave two processes' steps.
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  const { value } = step;
  if (value.isAcquired) return value.path;
  throw alreadyHeld(folder, value.path, parseHolder(value.holder));
}

const RELEASED = '{"released":true}\n';

function lockText({ pid, startTime }: ProcessIdentity, listenAddr: string): LockText {
  const text = `${JSON.stringify({ pid, start_time: startTime, listen_addr: listenAddr })}\n`;
  return { text, short: `${pid} ${startTime ?? ''}`.trimEnd() };
}

/**
 * Parses a lock; undefined if it was released or is damaged. Locks are written atomically, so only a crash of
 * the machine can damage one, which also ends the process that held it.
 */
function parseHolder(text: string): Holder | undefined {
  const [, shortPid, shortStart] = /^([1-9]\d{0,9})(?: (\S+))?$/.exec(text) ?? [];
  if (shortPid !== undefined) return { pid: Number(shortPid), startTime: shortStart, listenAddr: undefined };
  try {
    const { pid, start_time, listen_addr } = JSON.parse(text) as Record<string, unknown>;
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return undefined;
    const startTime = typeof start_time === 'string' ? start_time : undefined;
    return { pid, startTime, listenAddr: String(listen_addr) };
  } catch {
    return undefined;
  }
}

function alreadyHeld(folder: string, path: string, holder: Holder | undefined): AlreadyInUseError {
  const uncertainty =
    holder?.startTime === undefined
      ? `if process ${holder?.pid} is not a gateway`
      : 'if this folder is a copy of the one that gateway uses';
  const address = holder?.listenAddr === undefined ? '' : `, listening on ${holder.listenAddr}`;
  return new AlreadyInUseError(
    `the state folder ${folder} belongs to a running gateway (process ${holder?.pid}${address}); ` +
      `stop that gateway, or set another \`state_dir\`; ${uncertainty}, remove ${path}`,
  );
}
