import { describe, expect, test } from 'vitest';
import type { Confinement, Entry } from '../../../../tool-servers/filesystem/confinement/confinement.ts';
import { compileGlobs } from '../../../../tool-servers/filesystem/paths/glob.ts';
import { Walk, type WalkedFolder } from '../../../../tool-servers/filesystem/paths/walk.ts';
import { ToolError } from '../../../../tool-servers/tool-error.ts';

/** Folders by path; a folder that is not there cannot be read. */
function disk(folders: Record<string, Entry[]>): Confinement {
  const list = async (path: string, limit: number) => {
    const entries = folders[path];
    if (entries === undefined) throw new ToolError(`no ${path}`);
    return { path, entries: entries.slice(0, limit), isTruncated: entries.length > limit };
  };
  return { list } as unknown as Confinement;
}

const directory = (name: string): Entry => ({ name, kind: 'directory' });
const file = (name: string): Entry => ({ name, kind: 'file' });
const link = (name: string): Entry => ({ name, kind: 'symlink' });
const bounds = { maxEntries: 100, maxDepth: 10, maxMs: 10_000 };
const signal = new AbortController().signal;

async function walked(walk: Walk): Promise<string[]> {
  const folders: string[] = [];
  for await (const { path } of walk.folders('/s', signal)) folders.push(path);
  return folders;
}

describe('a walk', () => {
  test('goes level by level, into no link and into nothing excluded', async () => {
    const confinement = disk({
      '/s': [directory('a'), directory('b'), link('l'), directory('skip')],
      '/s/a': [directory('deep')],
      '/s/a/deep': [file('f')],
      '/s/b': [],
      '/s/l': [],
      '/s/skip': [],
    });
    const walk = new Walk(confinement, bounds, compileGlobs(['skip']));
    expect(await walked(walk)).toEqual(['/s', '/s/a', '/s/b', '/s/a/deep']);
    expect(walk.limits).toEqual([]);
    expect(walk.visited).toBe(6);
  });

  test('passes folders that cannot be read, and says how many', async () => {
    const confinement = disk({
      '/s': [directory('locked'), directory('gone'), directory('open')],
      '/s/open': [],
    });
    const walk = new Walk(confinement, bounds, compileGlobs([]));
    expect(await walked(walk)).toEqual(['/s', '/s/open']);
    expect(walk.limits).toEqual(['2 folders could not be read']);
  });

  test('fails where its start cannot be read', async () => {
    await expect(walked(new Walk(disk({}), bounds, compileGlobs([])))).rejects.toThrow('no /s');
  });

  test('stops at its number of entries, its depth and its time, and says which', async () => {
    const confinement = disk({
      '/s': [directory('a'), file('b'), file('c')],
      '/s/a': [file('d'), file('e')],
    });
    const few = new Walk(confinement, { ...bounds, maxEntries: 4 }, compileGlobs([]));
    expect(await walked(few)).toEqual(['/s', '/s/a']);
    expect(few.visited).toBe(4);
    expect(few.limits).toEqual(['4 entries were looked at']);
    const flat = new Walk(confinement, { ...bounds, maxDepth: 0 }, compileGlobs([]));
    expect(await walked(flat)).toEqual(['/s']);
    expect(flat.limits).toEqual(['folders are deeper than 0']);
    const late = new Walk(confinement, { ...bounds, maxMs: -1 }, compileGlobs([]));
    expect(await walked(late)).toEqual([]);
    expect(late.limits).toEqual(['-0.001 seconds were over']);
  });

  test('stops in the middle of a folder when its time is over, and lets others run meanwhile', async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => file(`n${index}`));
    const slow = () => {
      for (const end = performance.now() + 1; performance.now() < end; );
      return false;
    };
    const walk = new Walk(disk({ '/s': names }), { ...bounds, maxEntries: 200_000, maxMs: 600 }, slow);
    let turns = 0;
    const others = setInterval(() => {
      turns++;
    }, 1);
    const folders: WalkedFolder[] = [];
    for await (const folder of walk.folders('/s', signal)) folders.push(folder);
    clearInterval(others);
    expect(folders.map(({ isCut }) => isCut)).toEqual([true]);
    expect(walk.limits).toEqual(['0.6 seconds were over']);
    expect(turns).toBeGreaterThan(2);
  });

  test('ends in the middle of a folder when it is cancelled', async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => file(`n${index}`));
    const cancelled = new AbortController();
    const slow = () => {
      for (const end = performance.now() + 1; performance.now() < end; );
      return true;
    };
    const walk = new Walk(disk({}), bounds, compileGlobs([]));
    const selecting = walk.select('', names, slow, cancelled.signal);
    setTimeout(() => cancelled.abort(new Error('enough')), 5);
    await expect(selecting).rejects.toThrow('enough');
  });

  test('ends when it is cancelled', async () => {
    const cancelled = new AbortController();
    const walk = new Walk(disk({ '/s': [directory('a')], '/s/a': [] }), bounds, compileGlobs([]));
    const seen: string[] = [];
    const going = (async () => {
      for await (const { path } of walk.folders('/s', cancelled.signal)) {
        seen.push(path);
        cancelled.abort(new Error('enough'));
      }
    })();
    await expect(going).rejects.toThrow('enough');
    expect(seen).toEqual(['/s']);
  });
});
