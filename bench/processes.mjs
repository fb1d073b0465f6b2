// Every process the benchmark starts, so that none outlives it: each is the leader of a group of its own, and what is
// left of the group is killed with it. What they write goes to a file, since reading it would cost the processor that
// is measured.

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const clockTicksPerSecond = 100;
const running = new Set();

/**
 * Starts a process in a folder, with its output in `output.log` there; `owner` is another user, as `{ uid, gid }`.
 * @returns {{ pid: number, child: import('node:child_process').ChildProcess, log: () => string,
 *   exited: Promise<number | null>, stop: () => Promise<void>, cpuSeconds: () => number, rssBytes: () => number }}
 */
export function startProcess(
  folder,
  command,
  args,
  { env = {}, hasChannel = false, hasPipes = false, deadlineMs = 6000, owner = {} } = {},
) {
  const path = join(folder, 'output.log');
  const output = openSync(path, 'a');
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    ...owner,
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
      const isOver = await Promise.race([exited.then(() => true), sleep(deadlineMs, false, { ref: false })]);
      if (isOver) return;
      kill(pid);
      await exited;
    },
  };
}

/** Polls until `look` gives something, or throws with the process's output when it ends or the deadline passes. */
export async function until(started, what, look, deadlineMs = 20_000) {
  let isOver = false;
  started.exited.then(() => {
    isOver = true;
  });
  const end = Date.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (isOver || Date.now() > end)
      throw new Error(`${what}: ${isOver ? 'the process ended' : 'nothing came in time'}\n${started.log()}`);
    await sleep(10);
  }
}

/** Kills whatever is left, at once. For the end of the run, however it comes. */
export function killAll() {
  for (const pid of running) kill(pid);
}

function kill(pid) {
  if (!running.delete(pid)) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of the group.
  }
}

/** Processor time of a process so far, user and system; steps of 10 ms. */
export function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
}

export function rssBytes(pid) {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]) * 1024;
}
