import { describe, expect, test } from 'vitest';
import type {
  Confinement,
  FolderEntry,
} from '../../../../tool-servers/filesystem/confinement/confinement.ts';
import { compileGlobs } from '../../../../tool-servers/filesystem/paths/glob.ts';
import { type VisitedFolder, Walk } from '../../../../tool-servers/filesystem/paths/walk.ts';
import { ToolError } from '../../../../tool-servers/tool-error.ts';

/** Simulated disk: folders by path; other folders are unreadable. */
function disk(folders: Record<string, FolderEntry[]>): Confinement {
  const list = async (path: string, limit: number) => {
    const entries = folders[path];
    if (entries === undefined) throw new ToolError(`no ${path}`);
    return { path, entries: entries.slice(0, limit), isTruncated: entries.length > limit };
  };
  return { list } as unknown as Confinement;
}

const directory = (name: string): FolderEntry => ({ name, kind: 'directory' });
const file = (name: string): FolderEntry => ({ name, kind: 'file' });
const link = (name: string): FolderEntry => ({ name, kind: 'symlink' });
const bounds = { maxEntries: 100, maxDepth: 10, maxMs: 10_000 };
const signal = new AbortController().signal;

async function pathsOfWalk(walk: Walk): Promise<string[]> {
  const folders: string[] = [];
  for await (const { path } of walk.folders('/s', signal)) folders.push(path);
  return folders;
}

describe('a directory walk', () => {
  test('proceeds level by level, without following links or entering excluded folders', async () => {
    const confinement = disk({
      '/s': [directory('a'), directory('b'), link('l'), directory('skip')],
      '/s/a': [directory('deep')],
      '/s/a/deep': [file('f')],
      '/s/b': [],
      '/s/l': [],
      '/s/skip': [],
    });
    const walk = new Walk(confinement, bounds, compileGlobs(['skip']));
    expect(await pathsOfWalk(walk)).toEqual(['/s', '/s/a', '/s/b', '/s/a/deep']);
    expect(walk.limits).toEqual([]);
    expect(walk.visitedCount).toBe(6);
  });

  test('skips unreadable folders and counts them', async () => {
    const confinement = disk({
      '/s': [directory('locked'), directory('gone'), directory('open')],
      '/s/open': [],
    });
    const walk = new Walk(confinement, bounds, compileGlobs([]));
    expect(await pathsOfWalk(walk)).toEqual(['/s', '/s/open']);
    expect(walk.limits).toEqual(['2 folders could not be read']);
  });

  test('fails if its start is unreadable', async () => {
    await expect(pathsOfWalk(new Walk(disk({}), bounds, compileGlobs([])))).rejects.toThrow('no /s');
  });

  test('stops at its limits of entries, depth and time, and names the limit', async () => {
    const confinement = disk({
      '/s': [directory('a'), file('b'), file('c')],
      '/s/a': [file('d'), file('e')],
    });
    const few = new Walk(confinement, { ...bounds, maxEntries: 4 }, compileGlobs([]));
    expect(await pathsOfWalk(few)).toEqual(['/s', '/s/a']);
    expect(few.visitedCount).toBe(4);
    expect(few.limits).toEqual(['the limit of 4 entries was reached']);
    const flat = new Walk(confinement, { ...bounds, maxDepth: 0 }, compileGlobs([]));
    expect(await pathsOfWalk(flat)).toEqual(['/s']);
    expect(flat.limits).toEqual(['folders deeper than 0 levels were skipped']);
    const late = new Walk(confinement, { ...bounds, maxMs: -1 }, compileGlobs([]));
    expect(await pathsOfWalk(late)).toEqual([]);
    expect(late.limits).toEqual(['the time limit of -0.001 seconds was reached']);
  });

  test('stops within a folder at its time limit, and yields to other work', async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => file(`n${index}`));
    const slow = () => {
      for (const end = performance.now() + 1; performance.now() < end; );
      return false;
    };
    const walk = new Walk(disk({ '/s': names }), { ...bounds, maxEntries: 200_000, maxMs: 600 }, slow);
    let rounds = 0;
    const others = setInterval(() => {
      rounds++;
    }, 1);
    const folders: VisitedFolder[] = [];
    for await (const folder of walk.folders('/s', signal)) folders.push(folder);
    clearInterval(others);
    expect(folders.map(({ isCut }) => isCut)).toEqual([true]);
    expect(walk.limits).toEqual(['the time limit of 0.6 seconds was reached']);
    expect(rounds).toBeGreaterThan(2);
  });

  test('that is cancelled ends even in the middle of a large folder', async () => {
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

  test('that is cancelled ends before the next folder', async () => {
    const cancelled = new AbortController();
    const walk = new Walk(disk({ '/s': [directory('a')], '/s/a': [] }), bounds, compileGlobs([]));
    const paths: string[] = [];
    const going = (async () => {
      for await (const { path } of walk.folders('/s', cancelled.signal)) {
        paths.push(path);
        cancelled.abort(new Error('enough'));
      }
    })();
    await expect(going).rejects.toThrow('enough');
    expect(paths).toEqual(['/s']);
  });
});
