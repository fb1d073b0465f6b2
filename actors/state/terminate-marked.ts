// Terminates marked processes (owner-mark.ts): sends TERM, sends KILL after a second, and scans again, up to
// ROUNDS times in total, for processes that they started in the meantime. Each process is signalled
// separately, and only if pid and start time match (A5, ARCHITECTURE.md).

import { setTimeout as sleep } from 'node:timers/promises';
import { type MarkedProcess, type MarkedProcesses, scanMarkedProcesses } from './marked-processes.ts';
import { isOrphaned, markOfFolder } from './owner-mark.ts';
import { isAlive, startTimeOf } from './process-identity.ts';

const TERM_GRACE_MS = 1000;
const KILL_GRACE_MS = 1000;
const FIRST_POLL_MS = 5;
const LONGEST_POLL_MS = 100;
/** Maximum number of scans, for programs that start processes faster than they are killed. */
const ROUNDS = 3;

export interface SweptChild {
  readonly pid: number;
  readonly server: string;
  /** True if the process ignored TERM. */
  readonly wasKilled: boolean;
}

interface EndedProcess {
  readonly process: MarkedProcess;
  /** True if the process ignored TERM. */
  readonly wasKilled: boolean;
}

/**
 * Terminates the marked processes that `select` returns, and returns them. Takes about two seconds if a
 * process resists. In later rounds, and without `hasGrace`, processes receive KILL immediately.
 */
export async function terminateMarked(
  select: (scan: MarkedProcesses) => readonly MarkedProcess[],
  hasGrace = true,
): Promise<EndedProcess[]> {
  const endedProcesses: EndedProcess[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const targets = select(await scanMarkedProcesses());
    if (targets.length === 0) break;
    let remaining = targets;
    if (hasGrace && round === 1) {
      remaining = await signalAll(targets, 'SIGTERM', TERM_GRACE_MS);
      for (const process of targets)
        if (!remaining.includes(process)) endedProcesses.push({ process, wasKilled: false });
    }
    const resisting = await signalAll(remaining, 'SIGKILL', KILL_GRACE_MS);
    for (const process of remaining)
      if (!resisting.includes(process)) endedProcesses.push({ process, wasKilled: true });
    // Processes that hang in the kernel cannot be killed.
    if (resisting.length > 0) break;
  }
  return endedProcesses;
}

/**
 * Terminates orphans: the marked processes of dead gateways that used the state folder. Skips the process
 * groups that the caller handles. Returns one process per server process (child of a gateway) with its
 * descendants, which all have the same mark.
 */
export async function sweepMarked(
  stateDir: string,
  exceptGroups: ReadonlySet<number>,
): Promise<SweptChild[]> {
  const folder = markOfFolder(stateDir);
  const orphanMarkOf = ({ marks }: MarkedProcess) => marks.find((mark) => isOrphaned(mark, folder));
  const endedProcesses = await terminateMarked(({ processes }) =>
    processes.filter((process) => !exceptGroups.has(process.group) && orphanMarkOf(process) !== undefined),
  );
  const swept = new Map<string, SweptChild>();
  for (const { process, wasKilled } of endedProcesses) {
    const mark = orphanMarkOf(process);
    if (mark === undefined) continue;
    const { pid, group } = process;
    // Prefers a process that leads its group: normally the child itself.
    if (pid === group || !swept.has(mark.token))
      swept.set(mark.token, { pid, server: mark.server, wasKilled });
  }
  return [...swept.values()];
}

/** Signals the processes. Returns the processes that still run after `graceMs`. */
async function signalAll(
  processes: readonly MarkedProcess[],
  signal: NodeJS.Signals,
  graceMs: number,
): Promise<readonly MarkedProcess[]> {
  for (const process of processes) signalOne(process, signal);
  const deadline = performance.now() + graceMs;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_POLL_MS)) {
    const remaining = processes.filter(isAlive);
    const remainingMs = deadline - performance.now();
    if (remaining.length === 0 || remainingMs <= 0) return remaining;
    await sleep(Math.min(pauseMs, remainingMs));
  }
}

function signalOne({ pid, startTime }: MarkedProcess, signal: NodeJS.Signals): void {
  if (pid < 2 || startTimeOf(pid) !== startTime) return;
  try {
    process.kill(pid, signal);
  } catch {
    // No access, or the process has exited.
  }
}
