// Identifies a process by pid, start time and boot, because pids are reused. Code that signals a process by a
// stored pid compares this identity first (A5, ARCHITECTURE.md).

import { readFileSync } from 'node:fs';
import { isZombie, type ProcessStat, statOf } from './process-stat.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** `BOOT_ID/TICKS`: boot and start time; undefined without /proc. Other files only compare it. */
  readonly startTime: string | undefined;
}

/** Id of the current boot of this machine; cached. */
let bootId: string | undefined;

/** Returns the start time as `BOOT_ID/TICKS`. For one pid, equal texts mean the same process. */
export function startTimeOf(pid: number): string | undefined {
  const stat = statOf(pid);
  return stat === undefined ? undefined : startTimeIn(stat);
}

/**
 * Returns the start time from the given stat, without a second read, which could find a different process.
 */
export function startTimeIn({ startTicks }: ProcessStat): string {
  bootId ??= readBootId();
  return `${bootId}/${startTicks}`;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid) };
}

/** Returns true if the process started in the same boot as `startTime`, and not earlier. */
export function isStartedSince(pid: number, startTime: string): boolean {
  const [actualBoot, actualTicks] = startTimeOf(pid)?.split('/') ?? [];
  const [boot, ticks] = startTime.split('/');
  return actualBoot !== undefined && actualBoot === boot && Number(actualTicks) >= Number(ticks);
}

/**
 * Returns true if the process runs; a zombie process does not. Without `startTime` only the pid is checked,
 * so true can also mean a later process with the same pid.
 */
export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const stat = statOf(pid);
  if (stat === undefined) return pidExists(pid);
  if (isZombie(stat)) return false;
  return startTime === undefined || startTime === startTimeIn(stat);
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
