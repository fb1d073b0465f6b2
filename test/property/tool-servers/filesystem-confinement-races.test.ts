// The confinement of the filesystem server (a tool server for some folders), against a second process that
// swaps folders and links as fast as possible during calls: nothing outside the allowed folder is read or
// changed. In the first test, a program that only checks a path before its use reads outside. This proves
// that the swaps are fast enough.

import { type ChildProcess, spawn } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Confinement } from '../../../tool-servers/filesystem/confinement/confinement.ts';
import { openConfinement } from '../../../tool-servers/filesystem/confinement/open-confinement.ts';
import { pinByName } from '../../../tool-servers/filesystem/confinement/pin-by-name.ts';
import { ToolError } from '../../../tool-servers/tool-error.ts';
import { memoryFolder } from '../../fixtures/store/memory-folder.ts';

/** Minimum and maximum race duration. */
const RACE_MS = 900;
const RACE_DEADLINE_MS = 15_000;
/** Minimum number of accepted and of refused calls. */
const ENOUGH_CALLS = 50;
const CONCURRENT_CALLS = 6;
const SECRET = 'secret '.repeat(100);
const PUBLIC = 'public';

/**
 * Program that swaps two entries under the path `name`, until it is killed or the parent exits. The unused
 * entry is at `one` or `other`. An entry that a third process creates at a path is moved away.
 */
const SWAPPER = `
  const { renameSync } = require('node:fs');
  const [name, one, other] = process.argv.slice(1);
  process.stdin.on('end', () => process.exit()).resume();
  let intruders = 0;
  const rename = (from, to) => {
    for (;;)
      try {
        return renameSync(from, to);
      } catch (error) {
        if (!['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
        renameSync(to, to + '-intruder-' + intruders++);
      }
  };
  const swap = () => {
    for (let count = 0; count < 200; count++) {
      rename(name, one);
      rename(other, name);
      rename(name, other);
      rename(one, name);
    }
    setImmediate(swap);
  };
  process.stdout.write('swapping');
  swap();
`;

let root: string;
/** The allowed folder. */
let box: string;
/** The target of the swapped links, a folder that is not allowed. */
let outside: string;
let confinement: Confinement;
let swapper: ChildProcess | undefined;

beforeEach(async () => {
  root = memoryFolder('confinement-races-');
  box = join(root, 'box');
  outside = join(root, 'outside');
  for (const folder of [join(box, 'door', 'sub'), join(box, 'room'), join(outside, 'sub')])
    mkdirSync(folder, { recursive: true });
  for (const [folder, text] of [
    [join(box, 'door'), PUBLIC],
    [outside, SECRET],
  ] as const) {
    writeFileSync(join(folder, 'file'), text);
    writeFileSync(join(folder, 'sub', 'file'), text);
  }
  writeFileSync(join(outside, 'canary'), SECRET);
  confinement = await openConfinement([box]);
});

afterEach(async () => {
  await stopSwapper();
  await confinement.close();
  rmSync(root, { recursive: true, force: true });
});

async function stopSwapper(): Promise<void> {
  const last = swapper;
  swapper = undefined;
  if (last && last.exitCode === null && last.signalCode === null) {
    const ended = new Promise((resolve) => last.once('exit', resolve));
    last.kill('SIGKILL');
    await ended;
  }
}

/** Starts a process that swaps the entries at the paths `name` and `other`. `one` is a free path. */
async function startSwapper(name: string, one: string, other: string): Promise<void> {
  await stopSwapper();
  const child = spawn(process.execPath, ['-e', SWAPPER, name, one, other], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  swapper = child;
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

/** Swaps a folder and a link to the outside at the path `door`. */
async function swapDoor(): Promise<void> {
  symlinkSync(outside, join(box, 'other'));
  await startSwapper(join(box, 'door'), join(box, 'one'), join(box, 'other'));
}

/** Returns everything outside, with all metadata except the access time. */
function readOutside(): unknown[] {
  return ['', ...readdirSync(outside, { recursive: true, encoding: 'utf8' })].sort().map((name) => {
    const path = join(outside, name);
    const { ino, mode, size, nlink, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
    return { name, ino, mode, size, nlink, mtimeNs, ctimeNs };
  });
}

/** Makes concurrent calls until the minimum duration and number of calls are reached. */
async function race(calls: readonly ((count: number) => Promise<void>)[]): Promise<void> {
  const counters = { done: 0, refused: 0 };
  let callCount = 0;
  const startedAt = performance.now();
  const isOver = () => {
    const elapsedMs = performance.now() - startedAt;
    const hasEnoughCalls = Math.min(counters.done, counters.refused) >= ENOUGH_CALLS;
    return elapsedMs > RACE_DEADLINE_MS || (elapsedMs > RACE_MS && hasEnoughCalls);
  };
  const callRepeatedly = async () => {
    while (!isOver()) {
      callCount++;
      try {
        await calls[callCount % calls.length]?.(callCount);
        counters.done++;
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        expect(error.message).not.toContain(outside);
        expect(error.message).not.toContain('/proc/');
        counters.refused++;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_CALLS }, callRepeatedly));
  // The test would prove nothing if the swapper had exited.
  expect(swapper?.exitCode).toBeNull();
  expect(counters.done).toBeGreaterThanOrEqual(ENOUGH_CALLS);
  expect(counters.refused).toBeGreaterThanOrEqual(ENOUGH_CALLS);
}

/**
 * Returns calls of all tools on paths through `door`. They check their results; the test checks the effects.
 */
function callsThrough(door: string): ((count: number) => Promise<void>)[] {
  const readText = async (path: string) => {
    const text = await confinement.read(path, async ({ handle }) => await handle.readFile('utf8'));
    expect(text).not.toContain('secret');
  };
  return [
    () => readText(`${door}/file`),
    () => readText(`${door}/sub/file`),
    async () => {
      const { entries } = await confinement.list(door, 10_000);
      expect(entries.map(({ name }) => name)).not.toContain('canary');
    },
    async () => {
      const { sizeBytes, kind } = await confinement.facts(`${door}/file`);
      if (kind === 'file') expect(sizeBytes).toBeLessThan(SECRET.length);
    },
    async () => {
      await confinement.write(`${door}/file`, PUBLIC);
    },
    async (count) => {
      await confinement.write(`${door}/new-${count % 10}`, PUBLIC);
    },
    async () => {
      await confinement.change(`${door}/file`, 100_000, (before) => {
        expect(before.toString()).not.toContain('secret');
        return Buffer.from(`${PUBLIC}${Math.random()}`);
      });
    },
    async (count) => {
      await confinement.makeDirectory(`${door}/made-${count}/deep`);
    },
    async (count) => {
      await confinement.makeDirectory(`room/folder-${count}`);
      await confinement.move(`room/folder-${count}`, `${door}/folder-${count}`);
    },
    async (count) => {
      await confinement.write(`room/file-${count}`, PUBLIC);
      await confinement.move(`room/file-${count}`, `${door}/moved-${count}`);
    },
    async (count) => {
      await confinement.move(`${door}/canary`, `room/canary-${count}`);
    },
    async (count) => {
      await confinement.move(`${door}/sub`, `room/sub-${count}`);
      await confinement.move(`room/sub-${count}`, `${door}/sub`);
    },
  ];
}

describe('while another process swaps a folder for a link to the outside', () => {
  test('check-then-use code reads and writes outside (control)', async () => {
    await swapDoor();
    const checkPath = async (path: string) => {
      const real = await realpath(path);
      if (!real.startsWith(`${box}/`)) throw new ToolError('outside');
      return path;
    };
    /** Operations that return true if they escaped. */
    const naiveOperations = {
      read: async () =>
        (await readFile(await checkPath(join(box, 'door', 'file')), 'utf8')).includes('secret'),
      write: async () => {
        const path = join(box, 'door', 'planted');
        await checkPath(dirname(path));
        await writeFile(path, 'x');
        return readdirSync(outside).includes('planted');
      },
      mkdir: async () => {
        await mkdir(join(await checkPath(join(box, 'door')), 'made'));
        return readdirSync(outside).includes('made');
      },
      rename: async () => {
        await rename(join(await checkPath(join(box, 'door')), 'canary'), join(box, 'stolen'));
        return readdirSync(box).includes('stolen');
      },
    };
    for (const [name, attempt] of Object.entries(naiveOperations)) {
      const deadline = performance.now() + RACE_DEADLINE_MS;
      let hasEscaped = false;
      while (!hasEscaped && performance.now() < deadline) hasEscaped = await attempt().catch(() => false);
      expect(hasEscaped, name).toBe(true);
    }
  });

  test('tools read and change nothing outside through the link', async () => {
    const before = readOutside();
    await swapDoor();
    await race(callsThrough('door'));
    expect(readOutside()).toEqual(before);
  });

  test("tools read and change nothing in subfolders of the link's target", async () => {
    const before = readOutside();
    await swapDoor();
    await race(callsThrough('door/sub'));
    expect(readOutside()).toEqual(before);
  });
});

test('a file swapped for a link to an outside file never yields the outside file', async () => {
  const before = readOutside();
  const path = join(box, 'file');
  writeFileSync(path, PUBLIC);
  symlinkSync(join(outside, 'file'), join(box, 'other'));
  await startSwapper(path, join(box, 'one'), join(box, 'other'));
  await race(callsThrough('.'));
  expect(readOutside()).toEqual(before);
});

test('a link that alternates between inside and outside leads only inside', async () => {
  const before = readOutside();
  mkdirSync(join(box, 'ground'));
  writeFileSync(join(box, 'ground', 'file'), PUBLIC);
  rmSync(join(box, 'door'), { recursive: true });
  symlinkSync('ground', join(box, 'door'));
  await swapDoor();
  await race(callsThrough('door'));
  expect(readOutside()).toEqual(before);
});

test('if the allowed folder itself is swapped for a link to the outside, no tool follows the link', async () => {
  const before = readOutside();
  symlinkSync(outside, join(root, 'other'));
  await startSwapper(box, join(root, 'one'), join(root, 'other'));
  await race(callsThrough('door'));
  await stopSwapper();
  expect(readOutside()).toEqual(before);
});

test('nothing outside the allowed folder is read on a system without /proc either', async () => {
  // Without /proc, the confinement pins a folder by its name.
  const byName = await openConfinement([box], pinByName);
  await swapDoor();
  const readText = async (path: string) => {
    const text = await byName.read(path, async ({ handle }) => await handle.readFile('utf8'));
    expect(text).toBe(PUBLIC);
  };
  await race([
    () => readText('door/file'),
    () => readText('door/sub/file'),
    async () => {
      expect((await byName.facts('door/file')).sizeBytes).toBe(PUBLIC.length);
    },
  ]);
});

test('a move never overwrites a concurrently created destination', async () => {
  let overwritten = 0;
  let moved = 0;
  for (let count = 0; count < 300; count++) {
    const destination = join(box, `taken-${count}`);
    writeFileSync(join(box, 'room', `file-${count}`), PUBLIC);
    const [move, creation] = await Promise.allSettled([
      confinement.move(`room/file-${count}`, `taken-${count}`),
      writeFile(destination, 'mine', { flag: 'wx' }),
    ]);
    if (move.status === 'fulfilled') moved++;
    if (creation.status === 'fulfilled' && readFileSync(destination, 'utf8') !== 'mine') overwritten++;
    expect(move.status === 'fulfilled' || creation.status === 'fulfilled').toBe(true);
  }
  expect(overwritten).toBe(0);
  // Some files were created before the move: the races were real.
  expect(moved).toBeLessThan(300);
});
