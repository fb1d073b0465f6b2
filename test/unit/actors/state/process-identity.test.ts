import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { signalGroup } from '../../../../actors/state/process-group.ts';
import {
  identityOf,
  isAlive,
  isStartedSince,
  startTimeOf,
} from '../../../../actors/state/process-identity.ts';

describe('the identity of a process', () => {
  test('stays the same while the process lives, and differs for another process', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const exited = once(child, 'exit');
    const pid = child.pid ?? 0;
    const identity = identityOf(pid);
    expect(identity.startTime).toMatch(/^[0-9a-f-]{36}\/\d+$/);
    expect(startTimeOf(pid)).toBe(identity.startTime);
    expect(isAlive(identity)).toBe(true);
    expect(isAlive({ pid, startTime: startTimeOf(process.pid) })).toBe(false);
    expect(isStartedSince(pid, startTimeOf(process.pid) ?? '')).toBe(true);
    expect(isStartedSince(process.pid, identity.startTime ?? '')).toBe(false);
    expect(isStartedSince(pid, 'another-boot/0')).toBe(false);
    child.kill('SIGKILL');
    await exited;
    expect(isAlive(identity)).toBe(false);
    expect(startTimeOf(pid)).toBeUndefined();
  });

  test('is the pid alone if no start time is known', () => {
    expect(isAlive({ pid: process.pid, startTime: undefined })).toBe(true);
    expect(isAlive({ pid: 4_194_304, startTime: undefined })).toBe(false);
  });

  test('is parsed correctly for a program name with spaces and parentheses', async () => {
    const script = "process.title = 'a) S 1 (b c'; process.send(1); setInterval(() => {}, 1000)";
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const exited = once(child, 'exit');
    const before = startTimeOf(child.pid ?? 0);
    await once(child, 'message');
    expect(startTimeOf(child.pid ?? 0)).toBe(before);
    child.kill('SIGKILL');
    await exited;
  });
});

test('signalGroup rejects group numbers that would include all processes', () => {
  for (const group of [0, 1, -1, Number.NaN, 1.5])
    expect(() => signalGroup(group, 'SIGTERM')).toThrow(RangeError);
});
