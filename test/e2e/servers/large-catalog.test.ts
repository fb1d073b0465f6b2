// Reloads and lists of a large catalog: a thread loads it, and the gateway applies and lists it in slices, so
// it serves clients meanwhile. A preloaded script measures the processor time of the main thread between two
// turns of its event loop.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask } from '../../fixtures/clients/api-client.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const SERVERS = 1_000;
/** Longest turn. In one turn, parsing the catalog takes more than 300 ms, and removing it a second. */
const MAX_TURN_MS = 150;
const SECRET = 'a-token-in-the-catalog-4821';

const catalogOf = (changed: number) =>
  Object.fromEntries(
    Array.from({ length: SERVERS }, (_, n) => [
      `server-${n}`,
      { command: 'node', args: [`${n === changed ? 'changed' : n}`], env: { API_TOKEN: SECRET } },
    ]),
  );

/** `fault`: file that makes threads fail at their start. */
const probe = (file: string, fault: string) => `
  const { existsSync, readFileSync, writeFileSync } = require('node:fs');
  const { isMainThread } = require('node:worker_threads');
  if (!isMainThread && existsSync(${JSON.stringify(fault)})) throw new Error('no memory is left');
  const cpuMs = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ')[0]) / 1e6;
  let last = cpuMs();
  let longest = 0;
  if (isMainThread) setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5).unref();
  if (isMainThread) process.on('SIGUSR2', () => { longest = 0; });
  if (isMainThread) process.on('exit', () => writeFileSync(${JSON.stringify(file)}, String(longest)));`;

test('a large catalog is reloaded and listed without a stall, and its errors have positions', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'longest-turn');
  const fault = join(folder, 'fault');
  writeFileSync(join(folder, 'probe.cjs'), probe(file, fault));
  const env = { NODE_OPTIONS: `--require ${join(folder, 'probe.cjs')}` };
  const gateway = await startGateway({ folder, servers: catalogOf(-1), env });
  const reload = () => ask(`${gateway.url}/admin/reload`, { method: 'POST' });

  gateway.writeCatalog(catalogOf(7));
  process.kill(gateway.pid, 'SIGUSR2');
  const { status, json } = await reload();
  expect([status, json.changed, json.unchanged.length]).toEqual([200, ['server-7'], SERVERS - 1]);

  gateway.writeCatalog({ ...catalogOf(8), last: { comand: 'x' } });
  const refused = await reload();
  expect(refused.status).toBe(422);
  expect(refused.json.problems).toContainEqual(
    expect.stringMatching(/catalog\.yaml:1:\d+: servers\.last\.comand: unknown key/),
  );

  writeFileSync(fault, '');
  const failed = await reload();
  expect([failed.status, failed.json.problems]).toEqual([
    422,
    [
      expect.stringMatching(
        /gateway\.yaml:1:\d+: .*catalog_path: .*the thread that reads the file failed: no memory is left; reload again, or restart/,
      ),
    ],
  ]);
  rmSync(fault);

  const lists = Array.from({ length: 20 }, () =>
    ['servers', 'stats'].map((path) => ask(`${gateway.url}/${path}`)),
  );
  for (const { json: list } of await Promise.all(lists.flat()))
    expect(Object.keys(list.servers)).toHaveLength(SERVERS);

  gateway.writeCatalog({});
  expect((await reload()).json.removed).toHaveLength(SERVERS);
  expect(gateway.text()).not.toContain(SECRET);
  await gateway.stop();
  const longestMs = Number(readFileSync(file, 'utf8'));
  expect(longestMs).toBeGreaterThan(0);
  expect(longestMs).toBeLessThan(MAX_TURN_MS);
}, 120_000);
