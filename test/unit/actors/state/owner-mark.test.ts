// Marks (an environment variable) of child processes, and the scan that finds marked processes.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { scanMarkedProcesses } from '../../../../actors/state/marked-processes.ts';
import {
  isOrphaned,
  MARK_VARIABLE,
  markOfFolder,
  newMark,
  parseMarks,
} from '../../../../actors/state/owner-mark.ts';
import { isAlive } from '../../../../actors/state/process-identity.ts';
import { terminateMarked } from '../../../../actors/state/terminate-marked.ts';

const folder = markOfFolder('/srv/state');
const childPids: number[] = [];
afterAll(() => {
  for (const pid of childPids) if (isAlive({ pid, startTime: undefined })) process.kill(pid, 'SIGKILL');
});

/** Starts a process with this mark, after `bytesBefore` bytes in the environment. */
async function startMarkedProcess(mark: string, bytesBefore = 0): Promise<number> {
  const ready = "process.stdout.write('ready'); setInterval(() => {}, 1000);";
  const before = { A: 'x'.repeat(bytesBefore) };
  const child = spawn(process.execPath, ['-e', ready], {
    env: bytesBefore === 0 ? { [MARK_VARIABLE]: mark } : { ...before, [MARK_VARIABLE]: mark, Z: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const { pid = 0 } = child;
  childPids.push(pid);
  await once(child.stdout, 'data');
  return pid;
}

describe.skipIf(process.platform !== 'linux')('the mark of a child process', () => {
  test('names folder, owner and server, and is unique', () => {
    const texts = [newMark(folder, 'a.b-c_d'), newMark(folder, 'a.b-c_d')].map((text) => text ?? '');
    const [first, second] = texts.map((text) => parseMarks(text));
    expect(first).toEqual([
      expect.objectContaining({
        folder,
        server: 'a.b-c_d',
        owner: expect.objectContaining({ pid: process.pid }),
      }),
    ]);
    expect(first?.[0]?.token).not.toBe(second?.[0]?.token);
    expect(isOrphaned(first?.[0] as never, folder)).toBe(false);
  });

  test('of a nested gateway precedes the marks of the outer gateways, and the total length is limited', () => {
    let mark = '';
    const tokens: string[] = [];
    for (let depth = 0; depth < 100; depth += 1) {
      mark = newMark(folder, 's'.repeat(64), mark) ?? '';
      tokens.unshift(parseMarks(mark)[0]?.token ?? '');
      expect(mark.length).toBeLessThan(2_500);
    }
    const found = parseMarks(mark).map(({ token }) => token);
    expect(found.length).toBeGreaterThan(5);
    expect(found).toEqual(tokens.slice(0, found.length));
  });

  test('shows an orphan only if its owner is dead, and in the same state folder and pid namespace', () => {
    const [mark] = parseMarks(newMark(folder, 'files') ?? '');
    if (mark === undefined) throw new Error('no mark');
    const dead = { ...mark, owner: { pid: mark.owner.pid, startTime: 'another-boot/1' } };
    expect(isOrphaned(dead, folder)).toBe(true);
    expect(isOrphaned(dead, markOfFolder('/srv/other'))).toBe(false);
    expect(isOrphaned({ ...dead, namespace: '1' }, folder)).toBe(false);
  });

  test('is parsed from any text without an error, and only if it is complete', () => {
    const real = newMark(folder, 'files') ?? '';
    fc.assert(
      fc.property(fc.string(), fc.nat(real.length), (noise, cut) => {
        parseMarks(noise);
        expect(parseMarks(`${noise} ${real}`).at(-1)?.server).toBe('files');
        const part = parseMarks(real.slice(0, cut));
        if (part.length > 0) expect(real).toContain(part[0]?.token);
      }),
    );
  });
});

describe.skipIf(process.platform !== 'linux')('a scan for marked processes', () => {
  test('finds the mark anywhere among the environment variables; only selected processes are terminated', async () => {
    const marks = [1, 2, 3].map(() => newMark(folder, 'files') ?? '');
    const tokens = marks.map((mark) => parseMarks(mark)[0]?.token ?? '');
    const [first = '', second = '', third = ''] = marks;
    // The third mark is split between two chunks that the scan reads.
    const pids = await Promise.all([
      startMarkedProcess(first),
      startMarkedProcess(second, 100_000),
      startMarkedProcess(third, 65_536 - 20),
    ]);
    const found = await scanMarkedProcesses();
    expect(tokens.map((token) => found.ofChild(token).map(({ pid }) => pid))).toEqual(
      pids.map((pid) => [pid]),
    );
    const ended = await terminateMarked((all) => all.ofChild(tokens[1] ?? ''));
    expect(ended.map(({ process: { pid }, wasKilled }) => [pid, wasKilled])).toEqual([[pids[1], false]]);
    expect(pids.map((pid) => isAlive({ pid, startTime: undefined }))).toEqual([true, false, true]);
  });

  test('is shared: a thousand concurrent requests cause two scans, and each gets a scan that starts after it', async () => {
    const scans = Array.from({ length: 1000 }, () => scanMarkedProcesses());
    expect(new Set(scans).size).toBe(2);
    const mark = newMark(folder, 'files') ?? '';
    const pid = await startMarkedProcess(mark);
    await Promise.all(scans);
    const found = await scanMarkedProcesses();
    expect(found.ofChild(parseMarks(mark)[0]?.token ?? '').map((each) => each.pid)).toEqual([pid]);
  });

  test('finds all marked processes even if the gateway gets little processor time', async () => {
    const mark = newMark(folder, 'busy') ?? '';
    const pid = await startMarkedProcess(mark);
    const endsAt = performance.now() + 3_200;
    const burn = () => {
      const until = performance.now() + 800;
      while (performance.now() < until);
      if (performance.now() < endsAt) setImmediate(burn);
    };
    setImmediate(burn);
    const { processes } = await scanMarkedProcesses();
    expect(processes.map((found) => found.pid)).toContain(pid);
  });
});
