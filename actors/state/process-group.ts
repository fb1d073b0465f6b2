// Signals a local server together with its descendants, which share the process group of the first process
// (A5, ARCHITECTURE.md). Processes that left the group are found by their mark (terminate-marked.ts). Windows
// has no process groups: taskkill terminates the process tree; that code is untested.

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { membersOf } from './process-stat.ts';

const FIRST_POLL_MS = 5;
const LONGEST_POLL_MS = 200;

/** Signals all processes of the group. Returns false for an empty group. */
export function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP'): boolean {
  check(group);
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(group), '/T', '/F'], { stdio: 'ignore' }).on('error', () => {});
    return isGroupRunning(group);
  }
  return kill(-group, signal);
}

/**
 * Returns whether any process of the group runs. Zombie processes do not count: in a container without an
 * init process they are never reaped.
 */
export function isGroupRunning(group: number): boolean {
  check(group);
  if (process.platform === 'win32') return kill(group, 0);
  if (!kill(-group, 0)) return false;
  const members = membersOf(group);
  return members === undefined || members.length > 0;
}

/** Waits until the group is empty. Returns false after `withinMs`. */
export async function waitForGroupEnd(group: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_POLL_MS)) {
    if (!isGroupRunning(group)) return true;
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) return false;
    await sleep(Math.min(pauseMs, remainingMs));
  }
}

function kill(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    // EPERM: the process exists, but is inaccessible.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Rejects group 0, which means the gateway's own group, and group 1, since the target -1 means all processes.
 */
function check(group: number): void {
  if (!Number.isSafeInteger(group) || group < 2) throw new RangeError(`cannot signal process group ${group}`);
}
