// Reloads that overlap, arrive while the gateway starts, or find errors in catalog and resources, with the
// built program.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ChildRecords } from '../../../actors/state/child-records.ts';
import { identityOf } from '../../../actors/state/process-identity.ts';
import { httpAgent, startAutomation, trigger, writeResources } from '../../fixtures/automation/automation.ts';
import { apiServer, ask, call, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';

const reload = ({ url }: GatewayProcess) => ask(`${url}/admin/reload`, { method: 'POST' });
const idsOf = async ({ url }: GatewayProcess) =>
  (await ask(`${url}/servers`)).json.servers.map(({ id }: { id: string }) => id);

/** Returns true if a process has the file open. */
function hasOpen(pid: number, path: string): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === path;
    } catch {
      return false;
    }
  });
}

test('of two concurrent reloads the later one is applied last, and reports the changes since the first reload', async () => {
  const server = apiServer();
  const gateway = await startGateway({ servers: { first: server } });
  const catalog = join(gateway.folder, 'catalog.yaml');
  const padding = `# ${'x'.repeat(100)}\n`.repeat(35_000);
  writeFileSync(catalog, `${padding}${JSON.stringify({ servers: { slow: server } })}`);
  const next = join(gateway.folder, 'next.yaml');
  writeFileSync(next, JSON.stringify({ servers: { quick: server } }));
  let isOver = false;
  const slow = reload(gateway).finally(() => {
    isOver = true;
  });
  while (!isOver && !hasOpen(gateway.pid, catalog)) await new Promise((resolve) => setImmediate(resolve));
  renameSync(next, catalog);
  const others = await Promise.all(Array.from({ length: 20 }, () => reload(gateway)));
  expect((await slow).json).toEqual({ added: ['slow'], changed: [], removed: ['first'], unchanged: [] });
  // All later reloads share one run, or the first of them runs alone.
  const applied = { added: ['quick'], changed: [], removed: ['slow'], unchanged: [] };
  const nothing = { added: [], changed: [], removed: [], unchanged: ['quick'] };
  expect(others.map(({ json }) => json)).toContainEqual(applied);
  for (const { json } of others) expect([applied, nothing]).toContainEqual(json);
  expect(await idsOf(gateway)).toEqual(['quick']);
  expect((await rpc(gateway.url, 'quick', call('echo'))).status).toBe(200);
});

test('SIGHUP during the start reloads the catalog after the start, and the servers can be called', async () => {
  const folder = temporaryFolder();
  const state = join(folder, '.gateway');
  // A process of an earlier gateway ignores SIGTERM, so the start takes a second.
  const stubborn = spawn(
    process.execPath,
    ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); console.log('up')"],
    {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const exit = once(stubborn, 'close');
  await once(stubborn.stdout, 'data');
  const owner = spawn(process.execPath, ['-e', '']);
  const dead = identityOf(owner.pid ?? 0);
  await once(owner, 'close');
  new ChildRecords(state, dead).add(stubborn.pid ?? 0, 'it');
  const server = apiServer();
  const starting = startGateway({ folder, servers: { kept: server } });
  const pid = await eventually('the lock', () => {
    const lock = readdirSync(state).find((name) => /^gateway\.lock\.\d+$/.test(name));
    if (lock === undefined) return undefined;
    return Number(JSON.parse(readFileSync(join(state, lock), 'utf8')).pid);
  });
  writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers: { kept: server, added: server } }));
  process.kill(pid, 'SIGHUP');
  const gateway = await starting;
  const line = await eventually('the reload', () =>
    gateway.logs().find(({ msg }) => msg === 'catalog reloaded'),
  );
  expect(line).toMatchObject({ added: ['added'], unchanged: ['kept'] });
  for (const id of ['kept', 'added']) expect((await rpc(gateway.url, id, call('echo'))).status).toBe(200);
  const messages = gateway.logs().map(({ msg }) => msg);
  expect(messages.indexOf('catalog reloaded')).toBeGreaterThan(
    messages.indexOf('terminated an orphaned process of an earlier gateway'),
  );
  await exit;
});

test('a reload with errors in catalog and resources reports all errors and changes nothing, until the files are correct', async () => {
  const answers = httpAgent('answers', 'http://127.0.0.1:9/');
  const manualTrigger = (name: string) =>
    trigger(name, { type: 'Manual', config: {}, default_agent: 'answers' });
  const server = apiServer();
  const gateway = await startAutomation({
    resources: [answers, manualTrigger('one')],
    servers: { first: server },
  });
  writeResources(gateway.folder, [answers, manualTrigger('two'), trigger('bad', { type: 'Manul' })]);
  writeFileSync(join(gateway.folder, 'catalog.yaml'), '{ servers: { second: { comand: x } } }');
  const refusal = await reload(gateway);
  expect(refusal.status).toBe(422);
  expect(refusal.json.problems.join('\n')).toMatch(
    /catalog\.yaml:1:24: .*comand(?:.|\n)*bad\.yaml:1:\d+: .*Manual/,
  );
  expect(await idsOf(gateway)).toEqual(['first']);
  const names = async () =>
    (await ask(`${gateway.url}/triggers`)).json.triggers.map(({ name }: { name: string }) => name);
  expect(await names()).toEqual(['one']);
  writeResources(gateway.folder, [answers, manualTrigger('two')]);
  gateway.writeCatalog({ first: server, second: server });
  expect((await reload(gateway)).json).toEqual({
    added: ['second'],
    changed: [],
    removed: [],
    unchanged: ['first'],
    triggers: { added: ['two'], changed: [], removed: ['one'], unchanged: [] },
  });
  expect(await names()).toEqual(['two']);
});
