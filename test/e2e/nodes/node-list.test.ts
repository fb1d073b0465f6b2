// Cluster nodes in the API, the terminal and the log, with real processes and a real database.

import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, writeResources } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { desk, startNodes } from '../../fixtures/nodes/node-group.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

const server = await sharedPostgres();

const nodesAt = async (url: string) => (await ask(`${url}/nodes`)).json;
const hash = expect.stringMatching(/^[0-9a-f]{12}$/);

test('all nodes list the same nodes: with different files, during a stop, and without the database', async () => {
  const folder = temporaryFolder();
  const resources = desk(folder);
  const [a, b, c] = await startNodes([
    { name: 'a', resources, settings: { api_key: 'one key', log_level: 'debug' } },
    { name: 'b', resources, settings: { api_key: 'one key' } },
    { name: 'c', resources, settings: { api_key: 'another' } },
  ]);
  if (a === undefined || b === undefined || c === undefined) throw new Error('three were to be started');
  const headers = { authorization: 'Bearer one key' };
  const ofC = { authorization: 'Bearer another' };
  const at = async (url: string, init = headers) => (await ask(`${url}/nodes`, { headers: init })).json;
  const all = () => Promise.all([at(a.url), at(b.url), at(c.url, ofC)]);

  // The list requires the key.
  expect((await ask(`${a.url}/nodes`)).status).toBe(401);
  await eventually(async () => expect((await at(a.url)).nodes).toHaveLength(3));
  const version = (await ask(`${a.url}/health`)).json.version;
  await eventually(async () => {
    const [first, ...others] = await all();
    expect(first.nodes.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c']);
    for (const node of first.nodes)
      expect(node).toEqual({
        name: node.name,
        state: 'running',
        epoch: expect.any(Number),
        version,
        config_hash: hash,
      });
    // Neither node-specific settings nor secrets affect the hash of the configuration.
    expect(new Set(first.nodes.map((node: { config_hash: string }) => node.config_hash)).size).toBe(1);
    for (const other of others) expect(other).toEqual(first);
  });
  const table = await runMain(['nodes', '--url', a.url], {
    env: { GATEWAY_API_KEY: 'one key' },
  });
  expect([table.code, table.stderr]).toEqual([0, '']);
  expect(table.stdout).toMatch(/^NODE +STATE +EPOCH +VERSION +CONFIGURATION\na +running/);
  expect(table.stdout).not.toContain('differ');
  const options = { env: { GATEWAY_API_KEY: 'another' } };
  const json = await runMain(['nodes', '--json', '--url', c.url], options);
  expect(JSON.parse(json.stdout)).toEqual(await at(b.url));

  // A reload added this trigger to a single node.
  writeResources(c.folder, desk(folder, 'desk', { key: 'body:other' }));
  expect((await ask(`${c.url}/admin/reload`, { method: 'POST', headers: ofC })).status).toBe(200);
  await eventually(async () => {
    const [first, second, third] = await all();
    const hashes = first.nodes.map((node: { config_hash: string }) => node.config_hash);
    expect(hashes[2]).not.toBe(hashes[0]);
    expect(hashes[1]).toBe(hashes[0]);
    expect([second, third]).toEqual([first, first]);
  });
  const differing = await runMain(['nodes', '--url', b.url], {
    env: { GATEWAY_API_KEY: 'one key' },
  });
  expect(differing.stdout.split('\n')).toContain('the nodes differ in their configuration');
  const top = await runMain(['top', '--once', '--url', b.url], {
    env: { GATEWAY_API_KEY: 'one key' },
  });
  expect(top.stdout).toContain('3 nodes: a, b, c; the nodes differ in their configuration');
  const logLines = (text: string) => b.logs().filter(({ msg }) => msg === text);
  await eventually(async () => expect(logLines('the nodes differ in their configuration')).toHaveLength(1));

  writeResources(c.folder, resources);
  expect((await ask(`${c.url}/admin/reload`, { method: 'POST', headers: ofC })).status).toBe(200);
  await eventually(async () =>
    expect(logLines('the nodes have the same configuration again')).toHaveLength(1),
  );
  expect(logLines('the nodes differ in their configuration')).toHaveLength(1);

  // A stopped node disappears immediately. A killed node disappears when the membership expires.
  await c.stop();
  await eventually(async () => expect((await at(a.url)).nodes).toHaveLength(2));
  await b.stop('SIGKILL');
  await eventually(async () => expect((await at(a.url)).nodes).toHaveLength(1));
  await server.kill();
  await eventually(async () => {
    const { nodes, stale_seconds } = await at(a.url);
    expect(nodes.map(({ name }: { name: string }) => name)).toEqual(['a']);
    expect(stale_seconds).toBeGreaterThan(0);
  });
  const stale = await runMain(['nodes', '--url', a.url], {
    env: { GATEWAY_API_KEY: 'one key' },
  });
  expect(stale.stdout).toContain('the database does not respond; showing the nodes of ');
  await server.start();
  await eventually(async () => expect(await at(a.url)).not.toHaveProperty('stale_seconds'));
  await a.stop();
});

test('a gateway without a shared store lists only itself', async () => {
  const gateway = await startGateway({ settings: { node: { name: 'alone' } } });
  const version = (await ask(`${gateway.url}/health`)).json.version;
  expect(await nodesAt(gateway.url)).toEqual({
    nodes: [{ name: 'alone', state: 'running', epoch: 0, version, config_hash: hash }],
  });
  const before = (await nodesAt(gateway.url)).nodes[0].config_hash;
  writeFileSync(join(gateway.folder, 'catalog.yaml'), 'servers: { x: { command: "true" } }');
  await ask(`${gateway.url}/admin/reload`, { method: 'POST' });
  expect((await nodesAt(gateway.url)).nodes[0].config_hash).not.toBe(before);
  const { stdout } = await runMain(['nodes', '--url', gateway.url]);
  expect(stdout).toMatch(/\nalone +running +0 /);
  const { stdout: top } = await runMain(['top', '--once', '--url', gateway.url]);
  expect(top).not.toContain('node');
  await gateway.stop();

  const other = await startGateway({});
  expect((await nodesAt(other.url)).nodes[0].name).toBe(hostname());
  await other.stop();
});
