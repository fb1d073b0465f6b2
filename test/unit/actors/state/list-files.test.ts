// Which files of lists are kept, marked and removed, on a real folder.

import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEPT_MS, ListFiles } from '../../../../actors/state/list-files.ts';

const HOUR_MS = 3_600_000;
const [mine, old, young] = ['00000000000000aa', '00000000000000bb', '00000000000000cc'] as const;

let folder = '';
let warnings: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'list-files-'));
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true }));

const sweep = (used: () => ReadonlySet<string>) =>
  new ListFiles(folder, used, (what) => warnings.push(what)).sweep();
const using = (...hashes: string[]) => sweep(() => new Set(hashes));

async function write(name: string, ageMs: number): Promise<string> {
  const path = join(folder, 'lists', name);
  await mkdir(join(folder, 'lists'), { recursive: true });
  await writeFile(path, '{}');
  const then = new Date(Date.now() - ageMs);
  await utimes(path, then, then);
  return path;
}

const ageOf = async (path: string) => Date.now() - (await stat(path)).mtimeMs;

test('what the catalog uses is kept and marked, what nobody has used for long is removed (LF1)', async () => {
  const own = await write(`${mine}.json`, 2 * KEPT_MS);
  await write(`${old}.json`, KEPT_MS + HOUR_MS);
  const others = await write(`${young}.json`, KEPT_MS - HOUR_MS);
  expect(await using(mine)).toBe(1);
  expect((await readdir(join(folder, 'lists'))).sort()).toEqual([`${mine}.json`, `${young}.json`]);
  expect(await ageOf(own)).toBeLessThan(HOUR_MS);
  expect(await ageOf(others)).toBeGreaterThan(KEPT_MS - 2 * HOUR_MS);
  expect(warnings).toEqual([]);
});

test('two gateways that share a folder keep what either of them uses', async () => {
  await write(`${mine}.json`, KEPT_MS - HOUR_MS);
  await write(`${old}.json`, KEPT_MS - HOUR_MS);
  await using(old);
  // As it will be when the first has been running for a while, and the other begins.
  for (const hash of [mine, old]) {
    const path = join(folder, 'lists', `${hash}.json`);
    const then = new Date((await stat(path)).mtimeMs - 2 * HOUR_MS);
    await utimes(path, then, then);
  }
  expect(await using(young)).toBe(1);
  expect(await readdir(join(folder, 'lists'))).toEqual([`${old}.json`]);
});

test('an entry that a reload brings back while the files are swept keeps its file', async () => {
  await write(`${old}.json`, 2 * KEPT_MS);
  let asked = 0;
  const used = () => {
    asked += 1;
    return new Set(asked === 1 ? [] : [old]);
  };
  expect(await sweep(used)).toBe(0);
  expect(await readdir(join(folder, 'lists'))).toEqual([`${old}.json`]);
});

test('what a killed gateway has left half written is removed, what is being written is not', async () => {
  await write(`${mine}.json.0f0f-left.tmp`, 2 * HOUR_MS);
  await write(`${mine}.json.0f0f-now.tmp`, 1_000);
  expect(await using(mine)).toBe(1);
  expect(await readdir(join(folder, 'lists'))).toEqual([`${mine}.json.0f0f-now.tmp`]);
});

test('what has another form is left alone, however old (LF3)', async () => {
  const names = ['notes.txt', 'short.json', `${old}.json.bak`, `x${old}.json`].sort();
  for (const name of names) await write(name, 10 * KEPT_MS);
  expect(await using()).toBe(0);
  expect((await readdir(join(folder, 'lists'))).sort()).toEqual(names);
});

test('a folder that is not there is no fault, and one that cannot be read is told once', async () => {
  expect(await using()).toBe(0);
  expect(warnings).toEqual([]);
  await writeFile(join(folder, 'lists'), 'a file');
  expect(await using()).toBe(0);
  expect(warnings).toEqual([expect.stringContaining('is not swept: ENOTDIR')]);
});
