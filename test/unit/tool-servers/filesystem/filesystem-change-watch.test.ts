import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ChangeWatch } from '../../../../tool-servers/filesystem/change-watch.ts';
import { eventually } from '../../../fixtures/clients/mcp-client.ts';

const NEVER_MS = 3_600_000;

let folder: string;
const watches: ChangeWatch[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'change-watch-'));
});

afterEach(async () => {
  for (const watch of watches.splice(0)) watch.close();
  await rm(folder, { recursive: true, force: true });
});

async function watching(sweepMs: number, name = 'a.txt', inFolder = folder) {
  const watch = new ChangeWatch(sweepMs);
  watches.push(watch);
  const counts = { looks: 0, changes: 0 };
  await watch.add('key', {
    folder: inFolder,
    name,
    fingerprint: async () => {
      counts.looks++;
      return readFile(join(inFolder, name), 'utf8').catch(() => 'gone');
    },
    onChange: () => {
      counts.changes++;
    },
  });
  return { watch, seen: counts };
}

describe('a file watch', () => {
  test('reports a write, a replacement by rename, a removal and a return', async () => {
    const file = join(folder, 'a.txt');
    await writeFile(file, '1');
    const { seen: counts } = await watching(NEVER_MS);
    await appendFile(file, '2');
    await eventually('the write', () => counts.changes === 1);
    await writeFile(join(folder, 'other'), '3');
    await rename(join(folder, 'other'), file);
    await eventually('the replacement', () => counts.changes === 2);
    await rm(file);
    await eventually('the removal', () => counts.changes === 3);
    await writeFile(file, '4');
    await eventually('the return', () => counts.changes === 4);
  });

  test('does not read the file when other files change', async () => {
    const { seen: counts } = await watching(NEVER_MS);
    expect(counts.looks).toBe(1);
    for (let count = 0; count < 20; count++) await writeFile(join(folder, `n${count}`), 'x');
    await writeFile(join(folder, 'a.txt'), 'x');
    await eventually('the change', () => counts.changes === 1);
    expect(counts.looks).toBe(2);
  });

  test('combines many quick changes into a few reports', async () => {
    const { seen: counts } = await watching(NEVER_MS);
    const start = performance.now();
    for (let count = 0; count < 200; count++) await writeFile(join(folder, 'a.txt'), String(count));
    await eventually('the changes', () => counts.changes > 0);
    const elapsedMs = performance.now() - start;
    expect(counts.changes).toBeLessThanOrEqual(Math.ceil(elapsedMs / 100));
  });

  test('finds missed changes by periodic checks, and then watches a folder that was replaced', async () => {
    const below = join(folder, 'below');
    await mkdir(below);
    await writeFile(join(below, 'a.txt'), 'old');
    const { seen: counts } = await watching(2_000, 'a.txt', below);
    await rename(below, join(folder, 'away'));
    await eventually('the loss', () => counts.changes === 1);
    await mkdir(below);
    await writeFile(join(below, 'a.txt'), 'new');
    await eventually('the new folder', () => counts.changes === 2);
    // The sweep has just run, so a report before the next sweep comes from the new watch.
    await writeFile(join(below, 'a.txt'), 'newer');
    await eventually('a change in it', () => counts.changes === 3, 1_600);
  });

  test('reports nothing after it was removed', async () => {
    const { watch, seen: counts } = await watching(20);
    expect(watch.has('key')).toBe(true);
    watch.remove('key');
    expect(watch.size).toBe(0);
    const { seen: other } = await watching(NEVER_MS);
    await writeFile(join(folder, 'a.txt'), 'x');
    await eventually('a report of another watch', () => other.changes === 1);
    expect(counts.changes).toBe(0);
  });

  test('for the names in a folder reads the folder only when a name is added or removed, not on writes', async () => {
    await writeFile(join(folder, 'a.txt'), '');
    const watch = new ChangeWatch(NEVER_MS);
    watches.push(watch);
    const counts = { looks: 0, changes: 0 };
    const readChanges = async () => {
      counts.looks++;
      return (await readdir(folder)).join('/');
    };
    const changed = () => {
      counts.changes++;
    };
    await watch.add('names', { folder, name: undefined, fingerprint: readChanges, onChange: changed });
    const { seen: written } = await watching(NEVER_MS);
    await appendFile(join(folder, 'a.txt'), 'x');
    await eventually('a report of the write', () => written.changes === 1);
    expect(counts.looks).toBe(1);
    await writeFile(join(folder, 'b.txt'), '');
    await eventually('the new name', () => counts.changes === 1);
    expect(counts.looks).toBe(2);
  });

  test('waits before it repeats a slow read', async () => {
    const watch = new ChangeWatch(NEVER_MS);
    watches.push(watch);
    const scans: { start: number; end: number }[] = [];
    const readChanges = async () => {
      const start = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 40));
      scans.push({ start, end: performance.now() });
      return String(scans.length);
    };
    await watch.add('slow', { folder, name: undefined, fingerprint: readChanges, onChange: () => {} });
    await writeFile(join(folder, 'b.txt'), '');
    await eventually('the second read', () => scans.length === 2);
    const [first, second] = scans;
    expect((second?.start ?? 0) - (first?.end ?? 0)).toBeGreaterThan(300);
  });

  test('checks a folder periodically if the folder cannot be watched', async () => {
    const missing = join(folder, 'missing');
    const { seen: counts } = await watching(20, 'a.txt', missing);
    await mkdir(missing);
    await writeFile(join(missing, 'a.txt'), 'x');
    await eventually('the file', () => counts.changes === 1);
  });
});
