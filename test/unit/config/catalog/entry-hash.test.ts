import { describe, expect, test } from 'vitest';
import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../../../config/catalog/entry-hash.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

async function entryOf(text: string): Promise<ServerEntry> {
  const { loaded } = await folder.loadCatalog(`servers:\n  a: ${text}\n`);
  const entry = loaded?.catalog.servers.a;
  if (entry === undefined) throw new Error(`not an entry: ${text}`);
  return entry;
}

describe('the hash of a catalog entry', () => {
  test('is equal for an explicit default and an omitted value', async () => {
    const short = entryHash(await entryOf('{ command: x }'));
    expect(short).toMatch(/^[0-9a-f]{16}$/);
    expect(entryHash(await entryOf('{ pool: { max: 1 }, cwd: ".", command: x, isolation: shared }'))).toBe(
      short,
    );
  });

  test('differs with each field', async () => {
    const texts = [
      '{ command: x }',
      '{ command: y }',
      '{ command: x, args: [a, b] }',
      '{ command: x, args: [b, a] }',
      '{ command: x, args: ["a,b"] }',
      '{ command: x, env: { A: b } }',
      '{ command: x, env: { __proto__: b } }',
      '{ command: x, idle_timeout_seconds: 0 }',
      '{ command: x, enabled: false }',
      '{ command: x, inherit_env: true }',
      '{ command: x, inherit_env: ["true"] }',
      '{ url: "http://x" }',
      '{ url: "http://x", runtime: sse }',
    ];
    const hashes = new Set<string>();
    for (const text of texts) hashes.add(entryHash(await entryOf(text)));
    expect(hashes.size).toBe(texts.length);
  });

  test('does not depend on tags: a new tag restarts no server', async () => {
    expect(entryHash(await entryOf('{ command: x, tags: [files, local] }'))).toBe(
      entryHash(await entryOf('{ command: x }')),
    );
  });
});
