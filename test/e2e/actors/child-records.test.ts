// Records of child processes: a new gateway finds and ends the children of a killed gateway, and no other
// process.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordText } from '../../../actors/state/child-record.ts';
import { ChildRecords } from '../../../actors/state/child-records.ts';
import { isGroupRunning } from '../../../actors/state/process-group.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../../../actors/state/process-identity.ts';
import { bundle } from '../../fixtures/children/bundled.ts';
import { fixtures } from '../../fixtures/children/recorded-link.ts';

let stateDir: string;
const started: ChildProcess[] = [];
const groups: number[] = [];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const group of groups.splice(0)) if (isGroupRunning(group)) process.kill(-group, 'SIGKILL');
  rmSync(stateDir, { recursive: true });
});

/** Starts an owner process with a child. Returns the first line of the child, parsed. */
async function startOwner(
  ...child: string[]
): Promise<{ process: ChildProcess; firstLine: Record<string, number> }> {
  const [script = '', ...args] = child;
  const process_ = spawn(process.execPath, [bundle('owner.ts'), stateDir, join(fixtures, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(process_);
  const [line] = (await once(createInterface({ input: process_.stdout }), 'line')) as [string];
  const firstLine = JSON.parse(line) as Record<string, number>;
  groups.push(firstLine.child ?? 0);
  return { process: process_, firstLine };
}

async function killOwner(process: ChildProcess): Promise<void> {
  const exited = once(process, 'exit');
  process.kill('SIGKILL');
  await exited;
}

/** Starts a process that the gateway does not own, in a separate process group. */
async function startForeign(): Promise<ProcessIdentity> {
  const child = spawn(process.execPath, [join(fixtures, 'stubborn.mjs')], { detached: true, stdio: 'pipe' });
  started.push(child);
  await once(child.stdout, 'data');
  return identityOf(child.pid ?? 0);
}

/** The child records of this process, in the state folder of the test. */
function openRecords(warnings: string[] = []): ChildRecords {
  return new ChildRecords(stateDir, identityOf(process.pid), (message) => warnings.push(message));
}

function writeRecord(name: string, text: string): void {
  mkdirSync(join(stateDir, 'children'), { recursive: true });
  writeFileSync(join(stateDir, 'children', name), text);
}

function recordFiles(): string[] {
  return readdirSync(join(stateDir, 'children'));
}

/** The start time is invalid, so this identity matches no process. */
const deadOwner: ProcessIdentity = { pid: process.pid, startTime: 'boot/1' };

describe('records of child processes', () => {
  test('contain the identities of child and owner, until the child is removed from the records', async () => {
    const { pid } = await startForeign();
    const records = openRecords();
    records.add(pid, 'files');
    const [name = ''] = recordFiles();
    expect(JSON.parse(readFileSync(join(stateDir, 'children', name), 'utf8'))).toEqual({
      server: 'files',
      pid,
      start_time: identityOf(pid).startTime,
      group: pid,
      owner_pid: process.pid,
      owner_start_time: identityOf(process.pid).startTime,
    });
    records.remove(pid);
    records.remove(pid);
    expect(recordFiles()).toEqual([]);
  });

  test('let the next gateway kill the child of a killed gateway, even if the child ignores SIGTERM', async () => {
    const { process: gateway, firstLine } = await startOwner('stubborn.mjs');
    const child = identityOf(firstLine.child ?? 0);
    await killOwner(gateway);
    expect(isAlive(child)).toBe(true);
    const start = performance.now();
    expect(await openRecords().sweep()).toEqual([{ pid: child.pid, server: 'files', wasKilled: true }]);
    // The grace period is 1 s; the limit leaves time for a busy machine.
    expect(performance.now() - start).toBeLessThan(8000);
    expect(isAlive(child)).toBe(false);
    expect(recordFiles()).toEqual([]);
  });

  test('let the next gateway kill a grandchild whose launcher has exited', async () => {
    const { process: gateway, firstLine } = await startOwner('launcher.mjs', 'stay');
    const grandchild = identityOf(firstLine.grandchild ?? 0);
    const launcher = identityOf(firstLine.child ?? 0);
    await killOwner(gateway);
    // The launcher exits when its stdin closes.
    await expect.poll(() => isAlive(launcher), { timeout: 30_000 }).toBe(false);
    expect(isAlive(grandchild)).toBe(true);
    expect(await openRecords().sweep()).toEqual([{ pid: launcher.pid, server: 'files', wasKilled: true }]);
    expect(isAlive(grandchild)).toBe(false);
  });

  test('do not touch a child whose owner is alive', async () => {
    const { firstLine } = await startOwner('stubborn.mjs');
    expect(await openRecords().sweep()).toEqual([]);
    expect(isAlive(identityOf(firstLine.child ?? 0))).toBe(true);
    expect(recordFiles()).toHaveLength(1);
  });

  test('do not touch a foreign process that reuses the pid of a dead child', async () => {
    const foreign = await startForeign();
    const [boot = '', ticks = ''] = (foreign.startTime ?? '').split('/');
    const otherStartTimes = [`${boot}/${Number(ticks) - 1}`, `another-boot/${ticks}`, undefined];
    for (const [n, startTime] of otherStartTimes.entries())
      writeRecord(
        `${n}.json`,
        recordText({ child: { pid: foreign.pid, startTime }, server: 'x', owner: deadOwner }),
      );
    const warnings: string[] = [];
    expect(await openRecords(warnings).sweep()).toEqual([]);
    expect(isAlive(foreign)).toBe(true);
    expect(recordFiles()).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('cannot prove')]);
  });

  test('are removed with a warning if they are damaged, and no process receives a signal', async () => {
    const { startTime } = identityOf(process.pid);
    const record = { server: 'x', start_time: startTime, owner_pid: 4_194_304, owner_start_time: 'x/1' };
    const damaged = [
      '',
      'null',
      '{"pid":',
      '[]',
      JSON.stringify({ ...record, pid: 1, group: 1 }),
      JSON.stringify({ ...record, pid: 0, group: 0 }),
      JSON.stringify({ ...record, pid: -5, group: -5 }),
      JSON.stringify({ ...record, pid: 1e300, group: 1e300 }),
      JSON.stringify({ ...record, pid: 70, group: 71 }),
      JSON.stringify({ ...record, pid: '70', group: '70' }),
    ];
    for (const [n, text] of damaged.entries()) writeRecord(`${n}.json`, text);
    const warnings: string[] = [];
    expect(await openRecords(warnings).sweep()).toEqual([]);
    expect(warnings).toHaveLength(damaged.length);
    expect(recordFiles()).toEqual([]);
  });

  test('report an unusable state folder without stopping the gateway', async () => {
    const file = join(stateDir, 'file');
    writeFileSync(file, '');
    const warnings: string[] = [];
    const records = new ChildRecords(file, identityOf(process.pid), (message) => warnings.push(message));
    records.add(process.pid, 'files');
    expect(warnings).toEqual([expect.stringMatching(/^could not record process \d+ of server files/)]);
    expect(await records.sweep()).toEqual([]);
  });

  test('are removed, and orphaned processes killed, if two cleanups run at the same time', async () => {
    const gateways = await Promise.all([startOwner('stubborn.mjs'), startOwner('stubborn.mjs')]);
    for (const { process: gateway } of gateways) await killOwner(gateway);
    await Promise.all([openRecords().sweep(), openRecords().sweep()]);
    for (const { firstLine } of gateways) expect(isGroupRunning(firstLine.child ?? 0)).toBe(false);
    expect(recordFiles()).toEqual([]);
  });
});
