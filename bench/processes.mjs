// Starts the processes of the benchmark. Each is a process group leader. The group is killed at the end
// together with all children. Output goes to a file, because reading a pipe would use processor time during
// the measure.

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Unit of the times in /proc/PID/stat on Linux. */
const clockTicksPerSecond = 100;
/** Ids of the processes whose groups are not killed yet. */
const running = new Set();

/**
 * Starts a process in a folder; the output is written to `output.log` there. `hasPipes` connects stdin and
 * stdout to pipes instead. `hasChannel` opens an IPC channel. `user` is another user: `{ uid, gid }`.
 * @returns {{ pid: number, child: import('node:child_process').ChildProcess, log: () => string, exited:
 * Promise<number | null>, stop: () => Promise<void>, cpuSeconds: () => number, rssBytes: () => number }}
 */
export function startProcess(
  folder,
  command,
  args,
  { env = {}, hasChannel = false, hasPipes = false, stopTimeoutMs = 6000, user = {} } = {},
) {
  const path = join(folder, 'output.log');
  const output = openSync(path, 'a');
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    ...user,
    detached: true,
    stdio: [...(hasPipes ? ['pipe', 'pipe'] : ['ignore', output]), output, ...(hasChannel ? ['ipc'] : [])],
  });
  closeSync(output);
  child.channel?.unref();
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  const exited = new Promise((done) => {
    child.once('error', () => done(null));
    child.once('exit', (code) => {
      kill(pid);
      done(code);
    });
  });
  return {
    pid,
    child,
    exited,
    log: () => readFileSync(path, 'utf8'),
    cpuSeconds: () => cpuSeconds(pid),
    rssBytes: () => rssBytes(pid),
    async stop() {
      child.kill('SIGTERM');
      const hasExited = await Promise.race([
        exited.then(() => true),
        sleep(stopTimeoutMs, false, { ref: false }),
      ]);
      if (hasExited) return;
      kill(pid);
      await exited;
    },
  };
}

/**
 * Polls until `poll` returns a truthy value. Throws with the output if the process exits or the time
 * limit passes.
 */
export async function until(started, problem, poll, timeoutMs = 20_000) {
  let hasExited = false;
  started.exited.then(() => {
    hasExited = true;
  });
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const result = await poll();
    if (result) return result;
    if (hasExited || Date.now() > deadline)
      throw new Error(`${problem}: ${hasExited ? 'the process ended' : 'timed out'}\n${started.log()}`);
    await sleep(10);
  }
}

/** Kills all remaining processes immediately, when the run finishes. */
export function killAll() {
  for (const pid of running) kill(pid);
}

/** Kills the process group of `pid`, once. */
function kill(pid) {
  if (!running.delete(pid)) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already exited.
  }
}

/** Returns a process's processor time, user and system, with a resolution of 10 ms. */
export function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The fields after the program name, which may contain spaces: utime and stime (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
}

export function rssBytes(pid) {
  const result = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(result?.[1]) * 1024;
}
