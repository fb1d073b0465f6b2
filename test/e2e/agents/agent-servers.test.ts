// Servers that belong to an agent, as real programs: no other client can use them, and they do not outlive
// the gateway.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentToolBoxes } from '../../../actors/agents/model-agent/agent-tool-boxes.ts';
import type { ToolBox } from '../../../actors/agents/model-agent/tool-box.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { loadConfig } from '../../../config/load-config.ts';
import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import { toolBoxesOf } from '../../fixtures/agents/tool-boxes.ts';
import { bundle } from '../../fixtures/children/bundled.ts';
import { isAlive, json, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import { bootGateway, bootServed } from '../../fixtures/gateway/boot-gateway.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { everythingServer, filesystemServer, guardedFolder } from '../../fixtures/server/real-servers.ts';
import { filesystemProgram } from '../../fixtures/tool-servers/filesystem-server.ts';

const { folder, file, outside } = guardedFolder();
const stateFolder = temporaryFolder();
const remainingPids = new Set<number>();
let gateway: GatewayRuntime;
let boxes: AgentToolBoxes;
let url: string;
let servers: readonly AgentServer[];

beforeAll(async () => {
  const config = writeConfiguration(temporaryFolder(), {
    servers: {
      catalogued: fault('echo'),
      ours: { command: process.execPath, args: [filesystemProgram, folder] },
      theirs: filesystemServer(folder),
      everything: everythingServer,
    },
  });
  const loaded = await loadConfig(config, {});
  const { catalogued, ...own } = loaded.catalog.servers;
  servers = asAgentServers(own);
  const catalog = { servers: catalogued === undefined ? {} : { catalogued } };
  ({ gateway, url } = await bootServed({ ...loaded, catalog, environment: process.env }));
  boxes = toolBoxesOf(gateway);
});

afterAll(async () => {
  boxes.servers.close();
  await gateway.stop();
  for (const pid of remainingPids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

function asAgentServers(entries: Readonly<Record<string, ServerEntry>>): readonly AgentServer[] {
  return Object.entries(entries).map(([name, entry]) => ({ name, entry, tools: entry.tools }));
}

const signal = new AbortController().signal;
const call = (box: ToolBox, server: string, tool: string, args: object = {}) =>
  box.call({ server, tool }, { ...args }, { key: 'run/call', signal, timeoutMs: 20_000, trace: '' });

const running = (id: string) =>
  [...gateway.mcp.agentServers.everyone()].filter((server) => server.id === id && server.isRunning);

test('an agent works with the file servers of this project and of third parties, and with the reference server', async () => {
  const box = boxes.open('clerk', servers, ['read_text_file', 'ours/*_file', 'everything/*']);
  const tools = await box.list(signal, 60_000);
  const of = (server: string) => tools.filter((tool) => tool.server === server).map(({ tool }) => tool);
  expect(of('theirs')).toEqual(['read_text_file']);
  expect(of('ours')).toContain('write_file');
  expect(of('everything').length).toBeGreaterThan(5);
  const sharedServerTool = tools.find(({ server, tool }) => server === 'ours' && tool === 'read_file');
  expect(sharedServerTool?.hints.isReadOnly).toBe(true);
  const path = join(folder, 'written.txt');
  expect(await call(box, 'ours', 'write_file', { path, content: 'by an agent' })).toMatchObject({
    isError: false,
  });
  expect(readFileSync(path, 'utf8')).toBe('by an agent');
  expect(await call(box, 'theirs', 'read_text_file', { path })).toEqual({
    text: 'by an agent',
    isError: false,
  });
  // Error texts of the servers, for the model.
  expect(await call(box, 'ours', 'read_file', { path: outside })).toMatchObject({ isError: true });
  expect((await call(box, 'theirs', 'read_text_file', { path: outside })).text).toMatch(/denied/i);
  expect((await call(box, 'ours', 'read_file', { wrong: file })).text).toMatch(/path/);
  expect((await call(box, 'everything', 'get-tiny-image')).text).toMatch(
    /\(image of type image\/png, \d+ bytes\)/,
  );
  expect(await call(box, 'everything', 'get-sum', { a: 2, b: 3 })).toMatchObject({ isError: false });
  box.release();
});

test('no HTTP request reaches the servers of an agent, under any name', async () => {
  const box = boxes.open('hidden', servers.slice(0, 1), []);
  await call(box, 'ours', 'read_file', { path: file });
  expect(running('hidden/ours')).toHaveLength(1);
  const { body: list } = await json<{ servers: { id: string }[] }>(`${url}/servers`);
  expect(list.servers.map(({ id }) => id)).toEqual(['catalogued']);
  const { body: stats } = await json<{ servers: object }>(`${url}/stats`);
  expect(Object.keys(stats.servers)).toEqual(['catalogued']);
  const session = await RawSession.open(url, '/mcp');
  const { text, body } = await session
    .request('tools/list')
    .then((answer) => ({ ...answer, text: answer.body.toString() }));
  expect(body.length).toBeGreaterThan(0);
  expect(text).toContain('catalogued__echo');
  expect(text).not.toMatch(/hidden|write_file/);
  for (const name of ['hidden/ours', 'hidden%2Fours', 'hidden%2fours', 'hidden%252Fours', 'ours', 'hidden'])
    for (const path of [`/mcp/${name}`, `/rpc/${name}`, `/servers/${name}`, `/servers/${name}/stop`]) {
      const method = path.startsWith('/servers') && !path.endsWith('stop') ? 'GET' : 'POST';
      const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const { status } = await fetch(`${url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...(method === 'POST' ? { body: request } : {}),
      });
      expect([path, status]).toEqual([path, 404]);
    }
  box.release();
});

test('a catalog reload does not change the servers of an agent', async () => {
  const box = boxes.open('kept', servers.slice(0, 1), []);
  await call(box, 'ours', 'read_file', { path: file });
  const before = running('kept/ours');
  expect(before).toHaveLength(1);
  await gateway.reload({ servers: {} }, []);
  expect(running('kept/ours')).toEqual(before);
  box.release();
});

describe.concurrent('no server of an agent outlives its gateway', () => {
  test.each([
    ['drained', (one: GatewayRuntime) => one.stop()],
    ['killed by itself', async (one: GatewayRuntime) => one.mcp.kill()],
  ])('if the gateway is %s, and the calls of the server end', async (_, end) => {
    const stubborn = fault('stubborn', { env: { GRANDCHILD: '1' } });
    const settings = { shutdown_seconds: 1 };
    const path = writeConfiguration(temporaryFolder(), {
      servers: { stubborn, echo: fault('echo') },
      settings,
    });
    const { catalog, ...loaded } = await loadConfig(path, {});
    const one = await bootGateway({ ...loaded, catalog: { servers: {} } });
    const own = toolBoxesOf(one);
    const box = own.open('clerk', asAgentServers(catalog.servers), []);
    const pids = JSON.parse((await call(box, 'stubborn', 'pids')).text) as number[];
    for (const pid of pids) remainingPids.add(pid);
    const hanging = call(box, 'echo', 'hang').catch((error: unknown) => error);
    const beganAt = performance.now();
    own.servers.close();
    await end(one);
    expect(await hanging).toMatchObject({ code: 'ERR_STOPPED' });
    await until('the end of its processes', async () => !pids.some(isAlive) || undefined);
    expect(performance.now() - beganAt).toBeLessThan(6_000);
    if (!one.life.isEnding) await one.stop();
  });

  test('if the gateway is killed and started again', async () => {
    const stubborn = fault('stubborn', { env: { GRANDCHILD: '1' } });
    const { config, catalog } = await loadConfig(
      writeConfiguration(stateFolder, { servers: { one: stubborn, other: stubborn } }),
      {},
    );
    const file = join(stateFolder, 'user.json');
    writeFileSync(file, JSON.stringify({ config, servers: asAgentServers(catalog.servers) }));
    const first = startUser(file);
    const left = (await first.said(2)).flatMap(({ pids }) => pids as number[]);
    for (const pid of left) remainingPids.add(pid);
    expect(left).toHaveLength(4);
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');
    expect(left.filter(isAlive)).toEqual(left);
    const second = startUser(file);
    const messages = await second.said(4);
    expect(left.filter(isAlive)).toEqual([]);
    const errors = messages.filter(({ message }) =>
      /orphaned process of an earlier gateway/.test(String(message)),
    );
    expect(new Set(errors.map(({ server }) => server))).toEqual(new Set(['clerk/one', 'clerk/other']));
    const fresh = messages.flatMap(({ pids }) => (pids as number[] | undefined) ?? []);
    for (const pid of fresh) remainingPids.add(pid);
    second.process.kill('SIGKILL');
    await once(second.process, 'exit');
  });
});

function startUser(file: string) {
  const process_: ChildProcess = spawn(process.execPath, [bundle('agent-tools-user.ts'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: Record<string, unknown>[] = [];
  const stdoutLines = createInterface({ input: process_.stdout as NodeJS.ReadableStream });
  stdoutLines.on('line', (line) => lines.push(JSON.parse(line)));
  return {
    process: process_,
    said: async (count: number) => {
      return until('its words', async () => (lines.length >= count ? lines : undefined));
    },
  };
}
