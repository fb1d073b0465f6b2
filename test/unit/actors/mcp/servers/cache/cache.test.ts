// Cached server descriptions and lists. Several servers may share a file.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ServerCache } from '../../../../../../actors/mcp/servers/cache/cache.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'known-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Large enough that a write takes several event loop iterations. */
const instructions = 'x'.repeat(1_000_000);
const connection = {
  era: 'legacy',
  description: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {}, instructions },
} as unknown as Connection;

test('servers with equal entries share one complete cache file, even if all write it at the same time', async () => {
  const problems: string[] = [];
  const make = () =>
    new ServerCache(
      join(folder, 'lists', 'shared.json'),
      () => {},
      (what) => problems.push(what),
    );
  await Promise.all(Array.from({ length: 8 }, () => make().learn(connection, 100)));
  expect(problems).toEqual([]);
  expect(await readdir(join(folder, 'lists'))).toEqual(['shared.json']);
  const later = make();
  await later.load();
  expect(later.description?.instructions).toBe(instructions);
});

test('a cache file that cannot be renamed leaves no temporary file, and is reported once', async () => {
  const problems: string[] = [];
  const cache = new ServerCache(
    folder,
    () => {},
    (what) => problems.push(what),
  );
  const filesOnDisk = async () =>
    (await readdir(join(folder, '..'))).filter((name) => join(folder, '..', name).startsWith(folder));
  await cache.learn(connection, 100);
  expect(problems).toEqual([expect.stringContaining('could not write the cached lists')]);
  expect(await filesOnDisk()).toHaveLength(1);
});
