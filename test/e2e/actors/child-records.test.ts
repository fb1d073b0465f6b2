// A gateway that is killed leaves children behind; the next one must find them, and nobody else.

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
import { bundled } from '../../fixtures/children/bundled.ts';
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

/** Starts an owner with a child; gives what the child said first. */
async function startOwner(
  ...child: string[]
): Promise<{ process: ChildProcess; said: Record<string, number> }> {
  const [script = '', ...args] = child;
  const process_ = spawn(process.execPath, [bundled('owner.ts'), stateDir, join(fixtures, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(process_);
  const [line] = (await once(createInterface({ input: process_.stdout }), 'line')) as [string];
  const said = JSON.parse(line) as Record<string, number>;
  groups.push(said.child ?? 0);
  return { process: process_, said };
}

async function killOwner(process: ChildProcess): Promise<void> {
  const exited = once(process, 'exit');
  process.kill('SIGKILL');
  await exited;
}

/** A process of its own group that has nothing to do with us. */
async function startForeign(): Promise<ProcessIdentity> {
  const child = spawn(process.execPath, [join(fixtures, 'stubborn.mjs')], { detached: true, stdio: 'pipe' });
  started.push(child);
  await once(child.stdout, 'data');
  return identityOf(child.pid ?? 0);
}

function recordsOf(warnings: string[] = []): ChildRecords {
  return new ChildRecords(stateDir, identityOf(process.pid), (message) => warnings.push(message));
}

function write(name: string, text: string): void {
  mkdirSync(join(stateDir, 'children'), { recursive: true });
  writeFileSync(join(stateDir, 'children', name), text);
}

function files(): string[] {
  return readdirSync(join(stateDir, 'children'));
}

const deadOwner: ProcessIdentity = { pid: process.pid, startTime: 'boot/1' };

describe('the records of children', () => {
  test('hold a running child and are removed with it', async () => {
    const { pid } = await startForeign();
    const records = recordsOf();
    records.add(pid, 'files');
    const [name = ''] = files();
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
    expect(files()).toEqual([]);
  });

  test('the child of an owner that was killed is ended by the next gateway, though it ignores SIGTERM', async () => {
    const { process: gateway, said } = await startOwner('stubborn.mjs');
    const child = identityOf(said.child ?? 0);
    await killOwner(gateway);
    expect(isAlive(child)).toBe(true);
    const start = performance.now();
    expect(await recordsOf().sweep()).toEqual([{ pid: child.pid, server: 'files', wasKilled: true }]);
    // One grace of a second; a child that is asked without end would be asked for ever.
    expect(performance.now() - start).toBeLessThan(8000);
    expect(isAlive(child)).toBe(false);
    expect(files()).toEqual([]);
  });

  test('a grandchild whose launcher has gone is ended, too', async () => {
    const { process: gateway, said } = await startOwner('launcher.mjs', 'stay');
    const grandchild = identityOf(said.grandchild ?? 0);
    const launcher = identityOf(said.child ?? 0);
    await killOwner(gateway);
    // The launcher ends with its stdin.
    await expect.poll(() => isAlive(launcher), { timeout: 30_000 }).toBe(false);
    expect(isAlive(grandchild)).toBe(true);
    expect(await recordsOf().sweep()).toEqual([{ pid: launcher.pid, server: 'files', wasKilled: true }]);
    expect(isAlive(grandchild)).toBe(false);
  });

  test('a child whose owner lives is left alone', async () => {
    const { said } = await startOwner('stubborn.mjs');
    expect(await recordsOf().sweep()).toEqual([]);
    expect(isAlive(identityOf(said.child ?? 0))).toBe(true);
    expect(files()).toHaveLength(1);
  });

  test('a foreign process that has got the pid of a dead child is left alone', async () => {
    const foreign = await startForeign();
    const [boot = '', ticks = ''] = (foreign.startTime ?? '').split('/');
    const others = [`${boot}/${Number(ticks) - 1}`, `another-boot/${ticks}`, undefined];
    for (const [at, startTime] of others.entries())
      write(
        `${at}.json`,
        recordText({ child: { pid: foreign.pid, startTime }, server: 'x', owner: deadOwner }),
      );
    const warnings: string[] = [];
    expect(await recordsOf(warnings).sweep()).toEqual([]);
    expect(isAlive(foreign)).toBe(true);
    expect(files()).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('cannot prove')]);
  });

  test('damaged records are removed with a warning, and never lead to a signal', async () => {
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
    for (const [at, text] of damaged.entries()) write(`${at}.json`, text);
    const warnings: string[] = [];
    expect(await recordsOf(warnings).sweep()).toEqual([]);
    expect(warnings).toHaveLength(damaged.length);
    expect(files()).toEqual([]);
  });

  test('a state folder that cannot be used is told and stops nobody', async () => {
    const file = join(stateDir, 'file');
    writeFileSync(file, '');
    const warnings: string[] = [];
    const records = new ChildRecords(file, identityOf(process.pid), (message) => warnings.push(message));
    records.add(process.pid, 'files');
    expect(warnings).toEqual([expect.stringMatching(/^process \d+ of server files is not recorded/)]);
    expect(await records.sweep()).toEqual([]);
  });

  test('two sweeps at once end each child once between them, and both come to an end', async () => {
    const gateways = await Promise.all([startOwner('stubborn.mjs'), startOwner('stubborn.mjs')]);
    for (const { process: gateway } of gateways) await killOwner(gateway);
    await Promise.all([recordsOf().sweep(), recordsOf().sweep()]);
    for (const { said } of gateways) expect(isGroupRunning(said.child ?? 0)).toBe(false);
    expect(files()).toEqual([]);
  });
});
