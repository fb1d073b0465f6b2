// A gateway and its state folder: what it removes there when it starts and when its catalog changes.

import { existsSync, statSync, utimesSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Gateway } from '../../../../actors/gateway/gateway.ts';
import { KEPT_MS } from '../../../../actors/state/list-files.ts';
import { entryHash } from '../../../../config/catalog/entry-hash.ts';
import { type Loaded, loadConfig } from '../../../../config/load-config.ts';
import { bootGateway } from '../../../fixtures/gateway/boot-gateway.ts';

let folder = '';
let gateway: Gateway | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-state-'));
  await mkdir(join(folder, 'state', 'lists'), { recursive: true });
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await rm(folder, { recursive: true });
});

/** The catalog of these servers, none of which is ever started. */
async function load(...ids: string[]): Promise<Loaded> {
  const servers = Object.fromEntries(ids.map((id) => [id, { command: `/nowhere/${id}` }]));
  await writeFile(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
  await writeFile(
    join(folder, 'gateway.yaml'),
    JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', state_dir: './state' }),
  );
  return loadConfig(join(folder, 'gateway.yaml'), {});
}

async function start(loaded: Loaded, state: 'own' | 'shared' | 'none'): Promise<Gateway> {
  gateway = await bootGateway({ ...loaded, state });
  return gateway;
}

/** Writes the lists of an entry of the catalog, long ago. */
async function writeOld({ catalog }: Loaded, id: string): Promise<string> {
  const entry = catalog.servers[id];
  if (entry === undefined) throw new Error(id);
  const path = join(folder, 'state', 'lists', `${entryHash(entry)}.json`);
  await writeFile(path, JSON.stringify({ format: 0 }));
  makeOld(path);
  return path;
}

function makeOld(path: string): void {
  const then = new Date(Date.now() - 2 * KEPT_MS);
  utimesSync(path, then, then);
}

const isMarked = (path: string) => Date.now() - statSync(path).mtimeMs < KEPT_MS;

test.each(['own', 'shared'] as const)(
  'with the folder as %s, lists that no entry has used for long are gone after the start, and those in use stay',
  async (state) => {
    const gone = await writeOld(await load('gone'), 'gone');
    const loaded = await load('kept');
    const kept = await writeOld(loaded, 'kept');
    await start(loaded, state);
    await vi.waitFor(() => expect(existsSync(gone)).toBe(false), { timeout: 10_000 });
    await vi.waitFor(() => expect(isMarked(kept)).toBe(true), { timeout: 10_000 });
  },
);

test('lists of a server that a reload takes out stay for a while, and are gone once they are old', async () => {
  const loaded = await load('kept', 'leaving');
  const leaving = await writeOld(loaded, 'leaving');
  const running = await start(loaded, 'own');
  await vi.waitFor(() => expect(isMarked(leaving)).toBe(true), { timeout: 10_000 });
  const next = await load('kept');
  const kept = await writeOld(next, 'kept');
  await running.reload(next.catalog, []);
  await vi.waitFor(() => expect(isMarked(kept)).toBe(true), { timeout: 10_000 });
  expect(existsSync(leaving)).toBe(true);
  makeOld(leaving);
  await running.reload(next.catalog, []);
  await vi.waitFor(() => expect(existsSync(leaving)).toBe(false), { timeout: 10_000 });
});

test('a gateway that keeps nothing touches nothing', async () => {
  const gone = await writeOld(await load('gone'), 'gone');
  const loaded = await load('kept');
  const kept = await writeOld(loaded, 'kept');
  const running = await start(loaded, 'none');
  await running.reload(loaded.catalog, []);
  await running.stop();
  gateway = undefined;
  expect(existsSync(gone)).toBe(true);
  expect(isMarked(kept)).toBe(false);
});
