// Ends processes that were found by their mark: TERM, KILL a second later, and another look for what they started
// meanwhile. They are signalled one by one, each only if it is the very process that carried the mark (A5).

import { setTimeout as sleep } from 'node:timers/promises';
import { type Marked, type MarkedProcess, markedProcesses } from './marked-processes.ts';
import { isOrphaned, markOfFolder } from './owner-mark.ts';
import { isAlive, startTimeOf } from './process-identity.ts';

const TERM_GRACE_MS = 1000;
const KILL_GRACE_MS = 1000;
const FIRST_POLL_MS = 5;
const LONGEST_POLL_MS = 100;
/** Of looks. What starts others faster than they are killed is not to hold up an end for ever. */
const ROUNDS = 3;

export interface SweptChild {
  readonly pid: number;
  readonly server: string;
  /** It did not end on TERM. */
  readonly wasKilled: boolean;
}

interface EndedProcess {
  readonly process: MarkedProcess;
  /** It did not end on TERM. */
  readonly wasKilled: boolean;
}

/**
 * Ends those of the marked processes that are `wanted`; takes about two seconds when one resists. Gives those that are gone.
 * After the first round, and where `hasGrace` is false, they are killed without TERM.
 */
export async function endMarked(
  wanted: (marked: Marked) => readonly MarkedProcess[],
  hasGrace = true,
): Promise<EndedProcess[]> {
  const ended: EndedProcess[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const found = wanted(await markedProcesses());
    if (found.length === 0) break;
    let left = found;
    if (hasGrace && round === 1) {
      left = await signalAll(found, 'SIGTERM', TERM_GRACE_MS);
      for (const process of found) if (!left.includes(process)) ended.push({ process, wasKilled: false });
    }
    const resisting = await signalAll(left, 'SIGKILL', KILL_GRACE_MS);
    for (const process of left) if (!resisting.includes(process)) ended.push({ process, wasKilled: true });
    // Nobody can do more about one that hangs in the kernel.
    if (resisting.length > 0) break;
  }
  return ended;
}

/**
 * Ends what dead gateways with this state folder have left behind, but for the process groups that somebody else ends.
 * Gives those that were ended, one process for each child that had been started.
 */
export async function sweepMarked(
  stateDir: string,
  exceptGroups: ReadonlySet<number>,
): Promise<SweptChild[]> {
  const folder = markOfFolder(stateDir);
  const orphanedMark = ({ marks }: MarkedProcess) => marks.find((mark) => isOrphaned(mark, folder));
  const ended = await endMarked(({ processes }) =>
    processes.filter((process) => !exceptGroups.has(process.group) && orphanedMark(process) !== undefined),
  );
  const swept = new Map<string, SweptChild>();
  for (const { process, wasKilled } of ended) {
    const mark = orphanedMark(process);
    if (mark === undefined) continue;
    const { pid, group } = process;
    if (pid === group || !swept.has(mark.token))
      swept.set(mark.token, { pid, server: mark.server, wasKilled });
  }
  return [...swept.values()];
}

/** Gives those that live on after the grace. */
async function signalAll(
  processes: readonly MarkedProcess[],
  signal: NodeJS.Signals,
  graceMs: number,
): Promise<readonly MarkedProcess[]> {
  for (const process of processes) signalOne(process, signal);
  const deadline = performance.now() + graceMs;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_POLL_MS)) {
    const left = processes.filter(isAlive);
    const leftMs = deadline - performance.now();
    if (left.length === 0 || leftMs <= 0) return left;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

function signalOne({ pid, startTime }: MarkedProcess, signal: NodeJS.Signals): void {
  if (pid < 2 || startTimeOf(pid) !== startTime) return;
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile, or not ours to signal.
  }
}
