// Identifies a process beyond its pid. Pids are used again, after a wrap and after a reboot; a pid with its start time
// and the boot it belongs to is not. Whoever ends a process by a pid from a file checks this first (A5).

import { readFileSync } from 'node:fs';
import { isZombie, type ProcessStat, statOf } from './process-stat.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; undefined where the system does not tell (no /proc). */
  readonly startTime: string | undefined;
}

let bootId: string | undefined;

/** When the process started, as opaque text that is equal only for the very same process. */
export function startTimeOf(pid: number): string | undefined {
  const stat = statOf(pid);
  return stat === undefined ? undefined : startTimeIn(stat);
}

/** The same of what has been read: whoever reads a second time may find nothing, or another process. */
export function startTimeIn({ startTicks }: ProcessStat): string {
  bootId ??= readBootId();
  return `${bootId}/${startTicks}`;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid) };
}

/** Whether the process started in the same boot as something that started at `startTime`, and not before it. */
export function isStartedSince(pid: number, startTime: string): boolean {
  const [ownBoot, ownTicks] = startTimeOf(pid)?.split('/') ?? [];
  const [boot, ticks] = startTime.split('/');
  return ownBoot !== undefined && ownBoot === boot && Number(ownTicks) >= Number(ticks);
}

/**
 * Whether that very process still runs; a zombie does not. Where no start time is known the pid alone decides,
 * so true may be wrong then, and false is always right.
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
