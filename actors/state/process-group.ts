// Ends a local server together with everything it started: they share the process group that its first process
// leads (A5). What has left the group on purpose (a daemon with a session of its own) is followed by its mark: end-marked.ts.
// On Windows there are no groups: taskkill ends the tree instead, without asking first. That path is untested.

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { membersOf } from './process-stat.ts';

const FIRST_POLL_MS = 5;
const LONGEST_POLL_MS = 200;

/** Sends a signal to every process of the group. False when the group is empty. */
export function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  check(group);
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(group), '/T', '/F'], { stdio: 'ignore' }).on('error', () => {});
    return isGroupRunning(group);
  }
  return kill(-group, signal);
}

/** Whether a process of the group still runs. Zombies nobody reaps (a container without an init) do not count. */
export function isGroupRunning(group: number): boolean {
  check(group);
  if (process.platform === 'win32') return kill(group, 0);
  if (!kill(-group, 0)) return false;
  const members = membersOf(group);
  return members === undefined || members.length > 0;
}

/** Waits until the group is empty, for at most `withinMs`. False when it is not. */
export async function isGroupGone(group: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_POLL_MS)) {
    if (!isGroupRunning(group)) return true;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

function kill(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    // EPERM: somebody is there, and not ours to signal.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** To kill group 0 is to kill ourselves, and group 1 (as -1) means every process there is. */
function check(group: number): void {
  if (!Number.isSafeInteger(group) || group < 2)
    throw new RangeError(`${group} is not a process group to signal`);
}
