// Ending a process group whose leader has exited and is reaped meanwhile. The process that inherits the
// leader may take seconds to reap it, while other processes of the group run on.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test, vi } from 'vitest';
import { recordText } from '../../../../actors/state/child-record.ts';
import { ChildRecords } from '../../../../actors/state/child-records.ts';
import { isGroupRunning } from '../../../../actors/state/process-group.ts';
import { identityOf } from '../../../../actors/state/process-identity.ts';
import { statOf } from '../../../../actors/state/process-stat.ts';

const read = vi.hoisted(() => ({ on: (_pid: number) => {} }));
vi.mock('../../../../actors/state/process-stat.ts', async (original) => {
  const actual = await original<typeof import('../../../../actors/state/process-stat.ts')>();
  const statOf = (pid: number) => {
    const stat = actual.statOf(pid);
    read.on(pid);
    return stat;
  };
  return { ...actual, statOf };
});

/**
 * Program that starts the leader of a group with a process that ignores SIGTERM. It reaps the leader on
 * SIGUSR1.
 */
const parent = `
  use POSIX;
  $| = 1;
  my $leader = fork();
  if ($leader == 0) {
    POSIX::setsid();
    $SIG{TERM} = 'IGNORE';
    if (fork() == 0) { close(STDOUT); sleep(60); exit; }
    print "$$\\n";
    sleep(60);
    exit;
  }
  $SIG{USR1} = sub { waitpid($leader, 0); };
  sleep(60) while 1;
`;

const stateDir = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const end of cleanups.splice(0)) end();
  rmSync(stateDir, { recursive: true });
});

async function startGroup() {
  const reaper = spawn('perl', ['-e', parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: reaper.stdout }), 'line')) as [string];
  const leader = identityOf(Number(line));
  cleanups.push(() => {
    reaper.kill('SIGKILL');
    if (isGroupRunning(leader.pid)) process.kill(-leader.pid, 'SIGKILL');
  });
  const reap = () => {
    reaper.kill('SIGUSR1');
    for (const until = performance.now() + 5_000; performance.now() < until; )
      try {
        process.kill(leader.pid, 0);
      } catch {
        return;
      }
    throw new Error(`process ${leader.pid} was not reaped`);
  };
  return { leader, reap };
}

test('a sweep ends an orphaned process group, even if its leader is reaped during the checks', async () => {
  const owner = spawn('true');
  const dead = { pid: owner.pid ?? 0, startTime: 'of/another' };
  await once(owner, 'exit');
  const groups = await Promise.all(Array.from({ length: 6 }, startGroup));
  mkdirSync(join(stateDir, 'children'));
  const reads = new Map(groups.map(({ leader, reap }, index) => [leader.pid, { left: index, reap }]));
  for (const { leader } of groups) {
    const text = recordText({ child: leader, server: 'stubborn', owner: dead });
    writeFileSync(join(stateDir, 'children', `${leader.pid}-a.json`), text);
    process.kill(leader.pid, 'SIGKILL');
    await vi.waitFor(() => expect(statOf(leader.pid)?.state).toBe('Z'), 5_000);
  }
  read.on = (pid) => {
    const of = reads.get(pid);
    if (of === undefined) return;
    of.left -= 1;
    if (of.left === 0) of.reap();
  };
  const warnings: string[] = [];
  const swept = await new ChildRecords(stateDir, identityOf(process.pid), (what) =>
    warnings.push(what),
  ).sweep();
  read.on = () => {};
  expect(warnings).toEqual([]);
  const pids = groups.map(({ leader }) => leader.pid);
  expect(swept.map(({ pid, wasKilled }) => [pid, wasKilled]).sort()).toEqual(
    pids.map((pid) => [pid, true]).sort(),
  );
  expect(pids.filter(isGroupRunning)).toEqual([]);
});
