// One gateway per state folder (A5). The lock is a file with the holder's identity; it counts only while that
// process lives, so kill -9 leaves nothing to clean up by hand. How it is taken without a race between two
// starters: numbered-lock.ts.

import { AlreadyHeldError } from '../base/errors/errors.ts';
import { type LockText, lockSteps } from './numbered-lock.ts';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';
import { replaceFile } from './small-file.ts';
import { inStateFolder, makeStateFolder } from './state-folder-access.ts';

export interface StateLock {
  readonly stateDir: string;
  /** This process, as the lock names it. */
  readonly owner: ProcessIdentity;
  /** Gives the folder free. Never rejects; a second call does nothing. */
  release(): Promise<void>;
}

interface Holder extends ProcessIdentity {
  /** Undefined where there was no room to say it. */
  readonly listenAddr: string | undefined;
}

/**
 * Locks the folder for this process, and creates it if need be. Rejects with AlreadyHeldError while another
 * living process holds it, and with StateFolderError when the folder cannot be used.
 */
export async function acquireStateLock(stateDir: string, what: { listenAddr: string }): Promise<StateLock> {
  makeStateFolder(stateDir);
  const owner = identityOf(process.pid);
  const path = inStateFolder(stateDir, () => take(stateDir, lockText(owner, what.listenAddr)));
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

function take(folder: string, text: LockText): string {
  const steps = lockSteps(folder, text, (other) => {
    const holder = parseHolder(other);
    return holder !== undefined && isAlive(holder);
  });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  const { value } = step;
  if (value.isTaken) return value.path;
  throw alreadyHeld(folder, value.path, parseHolder(value.holder));
}

const RELEASED = '{"released":true}\n';

function lockText({ pid, startTime }: ProcessIdentity, listenAddr: string): LockText {
  const text = `${JSON.stringify({ pid, start_time: startTime, listen_addr: listenAddr })}\n`;
  return { text, short: `${pid} ${startTime ?? ''}`.trimEnd() };
}

/**
 * Undefined when the lock was released, or is damaged: files are never seen half written, so only a crash of the
 * whole machine leaves such a one, and no holder survives that.
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

function alreadyHeld(folder: string, path: string, holder: Holder | undefined): AlreadyHeldError {
  const doubt =
    holder?.startTime === undefined
      ? `if process ${holder?.pid} is no gateway`
      : 'if this folder is a copy of the one it uses';
  const where = holder?.listenAddr === undefined ? '' : `, listening on ${holder.listenAddr}`;
  return new AlreadyHeldError(
    `the state folder ${folder} belongs to a running gateway (process ${holder?.pid}${where}); ` +
      `stop that one, or give this one another \`state_dir\`; ${doubt}, remove ${path}`,
  );
}
