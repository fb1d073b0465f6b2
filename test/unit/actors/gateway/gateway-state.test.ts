// Files in the state folder that the gateway removes at start and when the catalog changes.

import { existsSync, statSync, utimesSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { GatewayRuntime } from '../../../../actors/gateway/gateway.ts';
import { RETENTION_MS } from '../../../../actors/state/cached-lists.ts';
import { entryHash } from '../../../../config/catalog/entry-hash.ts';
import { type LoadedConfig, loadConfig } from '../../../../config/load-config.ts';
import { bootGateway } from '../../../fixtures/gateway/boot-gateway.ts';

let folder = '';
let gateway: GatewayRuntime | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-state-'));
  await mkdir(join(folder, 'state', 'lists'), { recursive: true });
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await rm(folder, { recursive: true });
});

/** Loads a catalog of these servers. */
async function load(...ids: string[]): Promise<LoadedConfig> {
  const servers = Object.fromEntries(ids.map((id) => [id, { command: `/nowhere/${id}` }]));
  await writeFile(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
  await writeFile(
    join(folder, 'gateway.yaml'),
    JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', state_dir: './state' }),
  );
  return loadConfig(join(folder, 'gateway.yaml'), {});
}

async function start(loaded: LoadedConfig, state: 'own' | 'shared' | 'none'): Promise<GatewayRuntime> {
  gateway = await bootGateway({ ...loaded, state });
  return gateway;
}

/** Writes an old list file for a catalog entry. */
async function writeOld({ catalog }: LoadedConfig, id: string): Promise<string> {
  const entry = catalog.servers[id];
  if (entry === undefined) throw new Error(id);
  const path = join(folder, 'state', 'lists', `${entryHash(entry)}.json`);
  await writeFile(path, JSON.stringify({ format: 0 }));
  setOldTime(path);
  return path;
}

function setOldTime(path: string): void {
  const oldTime = new Date(Date.now() - 2 * RETENTION_MS);
  utimesSync(path, oldTime, oldTime);
}

const isMarked = (path: string) => Date.now() - statSync(path).mtimeMs < RETENTION_MS;

test.each(['own', 'shared'] as const)(
  'a gateway with the state folder %s removes list files unused for long, and keeps used files',
  async (state) => {
    const unusedFile = await writeOld(await load('gone'), 'gone');
    const loaded = await load('kept');
    const usedFile = await writeOld(loaded, 'kept');
    await start(loaded, state);
    await vi.waitFor(() => expect(existsSync(unusedFile)).toBe(false), { timeout: 10_000 });
    await vi.waitFor(() => expect(isMarked(usedFile)).toBe(true), { timeout: 10_000 });
  },
);

test('a gateway keeps the list file of a removed server for a while, and removes the file once it is old', async () => {
  const loaded = await load('kept', 'leaving');
  const leaving = await writeOld(loaded, 'leaving');
  const running = await start(loaded, 'own');
  await vi.waitFor(() => expect(isMarked(leaving)).toBe(true), { timeout: 10_000 });
  const next = await load('kept');
  const usedFile = await writeOld(next, 'kept');
  await running.reload(next.catalog, []);
  await vi.waitFor(() => expect(isMarked(usedFile)).toBe(true), { timeout: 10_000 });
  expect(existsSync(leaving)).toBe(true);
  setOldTime(leaving);
  await running.reload(next.catalog, []);
  await vi.waitFor(() => expect(existsSync(leaving)).toBe(false), { timeout: 10_000 });
});

test('a gateway without a state folder changes no files', async () => {
  const unusedFile = await writeOld(await load('gone'), 'gone');
  const loaded = await load('kept');
  const usedFile = await writeOld(loaded, 'kept');
  const running = await start(loaded, 'none');
  await running.reload(loaded.catalog, []);
  await running.stop();
  gateway = undefined;
  expect(existsSync(unusedFile)).toBe(true);
  expect(isMarked(usedFile)).toBe(false);
});
