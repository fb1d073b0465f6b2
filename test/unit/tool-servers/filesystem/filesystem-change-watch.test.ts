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
  const seen = { looks: 0, changes: 0 };
  await watch.add('key', {
    folder: inFolder,
    name,
    look: async () => {
      seen.looks++;
      return readFile(join(inFolder, name), 'utf8').catch(() => 'gone');
    },
    changed: () => {
      seen.changes++;
    },
  });
  return { watch, seen };
}

describe('a watch', () => {
  test('tells of a write, a replacement by a rename, a removal and a return', async () => {
    const file = join(folder, 'a.txt');
    await writeFile(file, '1');
    const { seen } = await watching(NEVER_MS);
    await appendFile(file, '2');
    await eventually('the write', () => seen.changes === 1);
    await writeFile(join(folder, 'other'), '3');
    await rename(join(folder, 'other'), file);
    await eventually('the replacement', () => seen.changes === 2);
    await rm(file);
    await eventually('the removal', () => seen.changes === 3);
    await writeFile(file, '4');
    await eventually('the return', () => seen.changes === 4);
  });

  test('costs no look at what happens to its neighbours', async () => {
    const { seen } = await watching(NEVER_MS);
    expect(seen.looks).toBe(1);
    for (let count = 0; count < 20; count++) await writeFile(join(folder, `n${count}`), 'x');
    await writeFile(join(folder, 'a.txt'), 'x');
    await eventually('the change', () => seen.changes === 1);
    expect(seen.looks).toBe(2);
  });

  test('tells of many changes at once only a few times', async () => {
    const { seen } = await watching(NEVER_MS);
    const start = performance.now();
    for (let count = 0; count < 200; count++) await writeFile(join(folder, 'a.txt'), String(count));
    await eventually('the changes', () => seen.changes > 0);
    const spent = performance.now() - start;
    expect(seen.changes).toBeLessThanOrEqual(Math.ceil(spent / 100));
  });

  test('finds by its sweep what it got no notice of, and watches the folder anew', async () => {
    const below = join(folder, 'below');
    await mkdir(below);
    await writeFile(join(below, 'a.txt'), 'old');
    const { seen } = await watching(2_000, 'a.txt', below);
    await rename(below, join(folder, 'away'));
    await eventually('the loss', () => seen.changes === 1);
    await mkdir(below);
    await writeFile(join(below, 'a.txt'), 'new');
    await eventually('the new folder', () => seen.changes === 2);
    // The sweep has just been: what comes sooner than the next one comes from the new watch.
    await writeFile(join(below, 'a.txt'), 'newer');
    await eventually('a change in it', () => seen.changes === 3, 1_600);
  });

  test('tells nothing after it was removed', async () => {
    const { watch, seen } = await watching(20);
    expect(watch.has('key')).toBe(true);
    watch.remove('key');
    expect(watch.size).toBe(0);
    const { seen: other } = await watching(NEVER_MS);
    await writeFile(join(folder, 'a.txt'), 'x');
    await eventually('another watch to tell', () => other.changes === 1);
    expect(seen.changes).toBe(0);
  });

  test('of the names in a folder looks when one comes or goes, and not at what is written', async () => {
    await writeFile(join(folder, 'a.txt'), '');
    const watch = new ChangeWatch(NEVER_MS);
    watches.push(watch);
    const seen = { looks: 0, changes: 0 };
    const look = async () => {
      seen.looks++;
      return (await readdir(folder)).join('/');
    };
    const changed = () => {
      seen.changes++;
    };
    await watch.add('names', { folder, name: undefined, look, changed });
    const { seen: written } = await watching(NEVER_MS);
    await appendFile(join(folder, 'a.txt'), 'x');
    await eventually('the write to be told', () => written.changes === 1);
    expect(seen.looks).toBe(1);
    await writeFile(join(folder, 'b.txt'), '');
    await eventually('the new name', () => seen.changes === 1);
    expect(seen.looks).toBe(2);
  });

  test('does not look again at once at what takes long to look at', async () => {
    const watch = new ChangeWatch(NEVER_MS);
    watches.push(watch);
    const looks: { start: number; end: number }[] = [];
    const look = async () => {
      const start = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 40));
      looks.push({ start, end: performance.now() });
      return String(looks.length);
    };
    await watch.add('slow', { folder, name: undefined, look, changed: () => {} });
    await writeFile(join(folder, 'b.txt'), '');
    await eventually('the second look', () => looks.length === 2);
    const [first, second] = looks;
    expect((second?.start ?? 0) - (first?.end ?? 0)).toBeGreaterThan(300);
  });

  test('a folder that cannot be watched is still swept', async () => {
    const missing = join(folder, 'missing');
    const { seen } = await watching(20, 'a.txt', missing);
    await mkdir(missing);
    await writeFile(join(missing, 'a.txt'), 'x');
    await eventually('the file', () => seen.changes === 1);
  });
});
