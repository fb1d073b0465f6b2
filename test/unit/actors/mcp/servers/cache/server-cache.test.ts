// What is known of servers, kept in files that several of them may share.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ServerCache } from '../../../../../../actors/mcp/servers/cache/server-cache.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'known-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Large enough that a write takes more than one turn. */
const instructions = 'x'.repeat(1_000_000);
const connection = {
  era: 'legacy',
  description: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {}, instructions },
} as unknown as Connection;

test('servers with equal entries keep one file between them, whole, although all write it at once', async () => {
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

test('a file that cannot be put in place leaves nothing behind, and one word about it', async () => {
  const problems: string[] = [];
  const known = new ServerCache(
    folder,
    () => {},
    (what) => problems.push(what),
  );
  const beside = async () =>
    (await readdir(join(folder, '..'))).filter((name) => join(folder, '..', name).startsWith(folder));
  await known.learn(connection, 100);
  expect(problems).toEqual([expect.stringContaining('could not be kept')]);
  expect(await beside()).toHaveLength(1);
});
