// Lists, trees and searches of the built filesystem server, with limits, progress and cancellation.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { FilesystemClient, testFolder } from '../../fixtures/tool-servers/filesystem-server.ts';

interface TreeEntry {
  name: string;
  type: string;
  children?: TreeEntry[];
  isPartial?: boolean;
}

let folder: string;
let large: string;
let server: FilesystemClient;

beforeAll(async () => {
  folder = testFolder();
  large = testFolder();
  for (const path of ['src/deep/er', 'node_modules/x/src', '.git', 'docs'])
    mkdirSync(join(folder, path), { recursive: true });
  for (const path of [
    'README.md',
    'src/main.ts',
    'src/main.test.ts',
    'src/deep/er/util.ts',
    'node_modules/x/src/index.ts',
    '.git/config',
    'docs/.hidden.md',
  ])
    writeFileSync(join(folder, path), path);
  symlinkSync('..', join(folder, 'src/loop'));
  symlinkSync('/etc', join(folder, 'out'));
  for (let outer = 0; outer < 25; outer++) {
    const inner = join(large, `folder ${String(outer).padStart(2, '0')}`);
    mkdirSync(inner);
    for (let count = 0; count < 100; count++) writeFileSync(join(inner, `file-${count}.txt`), '');
  }
  server = await FilesystemClient.start([folder, large]);
});

describe('list_directory', () => {
  test('marks files, folders and links, in order, and follows no link', async () => {
    const { text, structured } = await server.call('list_directory', { path: '.' });
    expect(text).toBe('[DIR] .git\n[FILE] README.md\n[DIR] docs\n[DIR] node_modules\n[LINK] out\n[DIR] src');
    expect(structured).toMatchObject({ path: folder, isComplete: true });
    expect(structured.entries).toContainEqual({ name: 'out', type: 'symlink' });
  });

  test('reports an empty folder, a path that is no folder, and a path outside the allowed folders', async () => {
    mkdirSync(join(folder, 'docs/empty'));
    expect((await server.call('list_directory', { path: 'docs/empty' })).text).toBe(
      'The directory is empty.',
    );
    expect(await server.refusal('list_directory', { path: 'README.md' })).toContain('README.md');
    expect(await server.refusal('list_directory', { path: 'out' })).not.toContain('passwd');
  });

  test('stops at the limit and explains how to find the rest', async () => {
    const many = join(large, 'many');
    mkdirSync(many);
    for (let count = 0; count < 2_001; count++) writeFileSync(join(many, `n${count}`), '');
    const { structured, content } = await server.call('list_directory', { path: many });
    expect(structured.entries).toHaveLength(2_000);
    expect(structured.isComplete).toBe(false);
    expect(content[1]?.text).toContain('search_files');
    const sized = await server.call('list_directory_with_sizes', { path: many });
    expect(sized.structured.entries).toHaveLength(1_000);
    expect(sized.structured.note).toContain('1000');
  });
});

describe('list_directory_with_sizes', () => {
  test('returns sizes and their sum, largest first on request', async () => {
    const { structured, text } = await server.call('list_directory_with_sizes', {
      path: 'src',
      sortBy: 'size',
    });
    expect((structured.entries as TreeEntry[]).map(({ name }) => name)).toEqual([
      'main.test.ts',
      'main.ts',
      'deep',
      'loop',
    ]);
    expect(structured.totalSize).toBe('src/main.test.ts'.length + 'src/main.ts'.length);
    expect(text).toContain('[FILE] main.test.ts (16 bytes, 2');
    expect(text).toContain('Total: 2 files, 1 directories, 27 bytes');
  });
});

describe('directory_tree', () => {
  test('returns the content as a tree, without excluded names, and follows no link', async () => {
    const excludePatterns = ['node_modules', '.git', 'docs/**'];
    const { structured, text } = await server.call('directory_tree', { path: '.', excludePatterns });
    const tree = [
      { name: 'README.md', type: 'file' },
      { name: 'out', type: 'symlink' },
      {
        name: 'src',
        type: 'directory',
        children: [
          {
            name: 'deep',
            type: 'directory',
            children: [{ name: 'er', type: 'directory', children: [{ name: 'util.ts', type: 'file' }] }],
          },
          { name: 'loop', type: 'symlink' },
          { name: 'main.test.ts', type: 'file' },
          { name: 'main.ts', type: 'file' },
        ],
      },
    ];
    expect(structured).toEqual({ entries: tree, isComplete: true });
    expect(JSON.parse(text)).toEqual(tree);
  });

  test('shows the upper levels first if it reaches the limit, and marks incomplete folders', async () => {
    const { structured } = await server.call('directory_tree', { path: large, excludePatterns: ['many'] });
    const entries = structured.entries as TreeEntry[];
    expect(entries).toHaveLength(25);
    expect(structured.isComplete).toBe(false);
    expect(structured.note).toContain('2000 entries');
    const shownCount = entries.reduce((sum, { children = [] }) => sum + 1 + children.length, 0);
    // The omitted folder was counted, too.
    expect(shownCount).toBe(1_999);
    expect(entries[0]?.isPartial).toBeUndefined();
    expect(entries.at(-1)).toMatchObject({ children: [], isPartial: true });
  });

  test('stops at the maximum depth with a notice', async () => {
    const deep = join(large, 'many', ...Array(40).fill('d'));
    mkdirSync(deep, { recursive: true });
    const path = join(large, 'many/d');
    const { structured } = await server.call('directory_tree', { path });
    expect(structured.isComplete).toBe(false);
    expect(structured.note).toContain('deeper than 32');
  });
});

describe('search_files', () => {
  const find = async (pattern: string, more: Record<string, unknown> = {}) => {
    const { structured } = await server.call('search_files', { path: '.', pattern, ...more });
    return (structured.matches as string[]).map((match) => match.slice(folder.length + 1));
  };

  test('matches names at any depth, and paths if the pattern has a slash', async () => {
    expect(await find('*.ts')).toEqual([
      'src/main.test.ts',
      'src/main.ts',
      'node_modules/x/src/index.ts',
      'src/deep/er/util.ts',
    ]);
    expect(await find('src/*.ts')).toEqual(['src/main.test.ts', 'src/main.ts']);
    expect(await find('**/er/*')).toEqual(['src/deep/er/util.ts']);
    expect(await find('*.md')).toEqual(['README.md', 'docs/.hidden.md']);
    expect(await find('src', { excludePatterns: ['node_modules'] })).toEqual(['src']);
    expect(await find('*.{md,test.ts}', { excludePatterns: ['docs/*'] })).toEqual([
      'README.md',
      'src/main.test.ts',
    ]);
  });

  test('finds links, and follows no link into a loop or outside the allowed folders', async () => {
    expect(await find('loop')).toEqual(['src/loop']);
    expect(await find('passwd')).toEqual([]);
  });

  test('suggests a pattern if a plain word finds nothing', async () => {
    const { text, content } = await server.call('search_files', { path: '.', pattern: 'util' });
    expect(text).toBe('No matches found');
    expect(content[1]?.text).toContain('"*util*"');
  });

  test('stops with a notice at the maximum number of matches', async () => {
    const { structured } = await server.call('search_files', { path: large, pattern: '*' });
    expect(structured.matches).toHaveLength(1_000);
    expect(structured).toMatchObject({ isComplete: false });
    expect(structured.note).toContain('1000 matches');
  });

  test('rejects patterns that are too long, too many or outside the folder', async () => {
    for (const pattern of ['x'.repeat(300), '../*', '/etc/*'])
      expect(await server.refusal('search_files', { path: '.', pattern })).not.toBe('');
    const refusal = (excludePatterns: readonly string[]) =>
      server.refusal('search_files', { path: '.', pattern: 'x', excludePatterns });
    expect(await refusal(Array(51).fill('x'))).toContain('50');
    expect(await refusal(Array(50).fill('x'.repeat(100)))).toContain('4096');
  });

  test('is not slowed down by a malicious pattern', async () => {
    writeFileSync(join(folder, 'docs', 'a'.repeat(250)), '');
    const start = performance.now();
    expect(await find(`${'*a'.repeat(100)}*b`)).toEqual([]);
    // Trying all splits of the name needs more time.
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  test('reports progress to a client that requests it', async () => {
    const progress: unknown[] = [];
    const options = { onprogress: (step: unknown) => progress.push(step) };
    const call = { name: 'search_files', arguments: { path: large, pattern: 'none*' } };
    await server.client.callTool(call, undefined, options);
    expect(progress[0]).toEqual({ progress: 26, message: '26 entries visited, 0 matches' });
  });

  test('returns a result below the message size limit even for very long names', async () => {
    const deep = testFolder();
    let path = deep;
    for (let level = 0; level < 14; level++) {
      path = join(path, '"'.repeat(250));
      mkdirSync(path);
    }
    for (let count = 0; count < 300; count++) writeFileSync(join(path, `${'"'.repeat(240)}${count}`), '');
    const own = await FilesystemClient.start([deep]);
    const answer = await own.call('search_files', { path: '.', pattern: '*"*' });
    expect(JSON.stringify(answer).length).toBeLessThan(4 * 1_024 ** 2);
    expect(answer.structured).toMatchObject({ isComplete: false });
    expect(String(answer.structured.note)).toMatch(/\d+ matches were reached/);
  });

  test('stops when the call is cancelled, and the server continues', async () => {
    const cancelled = new AbortController();
    const call = server.client.callTool(
      { name: 'search_files', arguments: { path: large, pattern: 'none*' } },
      undefined,
      { signal: cancelled.signal },
    );
    cancelled.abort();
    await expect(call).rejects.toThrow();
    expect(await find('README.md')).toEqual(['README.md']);
  });
});
