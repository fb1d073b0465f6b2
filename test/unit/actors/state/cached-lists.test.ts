// List files in the state folder: kept, marked as unused, and removed.

import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CachedListFiles, RETENTION_MS } from '../../../../actors/state/cached-lists.ts';

const HOUR_MS = 3_600_000;
const [mine, old, young] = ['00000000000000aa', '00000000000000bb', '00000000000000cc'] as const;

let folder = '';
let warnings: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cached-lists-'));
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true }));

const sweep = (used: () => ReadonlySet<string>) =>
  new CachedListFiles(folder, used, (warning) => warnings.push(warning)).sweep();
const using = (...hashes: string[]) => sweep(() => new Set(hashes));

async function write(name: string, ageMs: number): Promise<string> {
  const path = join(folder, 'lists', name);
  await mkdir(join(folder, 'lists'), { recursive: true });
  await writeFile(path, '{}');
  const oldTime = new Date(Date.now() - ageMs);
  await utimes(path, oldTime, oldTime);
  return path;
}

const ageOf = async (path: string) => Date.now() - (await stat(path)).mtimeMs;

test('the cleanup of cached list files keeps and marks the files in use, and removes files unused for long', async () => {
  const own = await write(`${mine}.json`, 2 * RETENTION_MS);
  await write(`${old}.json`, RETENTION_MS + HOUR_MS);
  const others = await write(`${young}.json`, RETENTION_MS - HOUR_MS);
  expect(await using(mine)).toBe(1);
  expect((await readdir(join(folder, 'lists'))).sort()).toEqual([`${mine}.json`, `${young}.json`]);
  expect(await ageOf(own)).toBeLessThan(HOUR_MS);
  expect(await ageOf(others)).toBeGreaterThan(RETENTION_MS - 2 * HOUR_MS);
  expect(warnings).toEqual([]);
});

test('the cleanup keeps a cached list file that another gateway with the same folder uses', async () => {
  await write(`${mine}.json`, RETENTION_MS - HOUR_MS);
  await write(`${old}.json`, RETENTION_MS - HOUR_MS);
  await using(old);
  // Simulates a gateway that has run for a while when the second gateway starts.
  for (const hash of [mine, old]) {
    const path = join(folder, 'lists', `${hash}.json`);
    const oldTime = new Date((await stat(path)).mtimeMs - 2 * HOUR_MS);
    await utimes(path, oldTime, oldTime);
  }
  expect(await using(young)).toBe(1);
  expect(await readdir(join(folder, 'lists'))).toEqual([`${old}.json`]);
});

test('a catalog entry that a reload restores during the cleanup keeps its cached list file', async () => {
  await write(`${old}.json`, 2 * RETENTION_MS);
  let checks = 0;
  const used = () => {
    checks += 1;
    return new Set(checks === 1 ? [] : [old]);
  };
  expect(await sweep(used)).toBe(0);
  expect(await readdir(join(folder, 'lists'))).toEqual([`${old}.json`]);
});

test('the cleanup removes an incomplete list file of a killed gateway, but not a list file being written', async () => {
  await write(`${mine}.json.0f0f-left.tmp`, 2 * HOUR_MS);
  await write(`${mine}.json.0f0f-now.tmp`, 1_000);
  expect(await using(mine)).toBe(1);
  expect(await readdir(join(folder, 'lists'))).toEqual([`${mine}.json.0f0f-now.tmp`]);
});

test('the cleanup of cached list files never removes files with another name format', async () => {
  const names = ['notes.txt', 'short.json', `${old}.json.bak`, `x${old}.json`].sort();
  for (const name of names) await write(name, 10 * RETENTION_MS);
  expect(await using()).toBe(0);
  expect((await readdir(join(folder, 'lists'))).sort()).toEqual(names);
});

test('the cleanup of cached list files ignores a missing folder, and reports an unreadable folder once', async () => {
  expect(await using()).toBe(0);
  expect(warnings).toEqual([]);
  await writeFile(join(folder, 'lists'), 'a file');
  expect(await using()).toBe(0);
  expect(warnings).toEqual([expect.stringMatching(/^could not sweep .*: ENOTDIR/)]);
});
