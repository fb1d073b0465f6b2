// Tools of agent servers and catalog servers, with real processes and the router of all clients.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentToolBoxes } from '../../../../../actors/agents/model-agent/agent-tool-boxes.ts';
import type { CallOptions } from '../../../../../actors/agents/model-agent/tool-box.ts';
import type { GatewayRuntime } from '../../../../../actors/gateway/gateway.ts';
import { loadConfig } from '../../../../../config/load-config.ts';
import type { AgentServer } from '../../../../../config/resources/agents/model-runtime.ts';
import { toolBoxesOf } from '../../../../fixtures/agents/tool-boxes.ts';
import { bootGateway } from '../../../../fixtures/gateway/boot-gateway.ts';
import { fault } from '../../../../fixtures/server/fault-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'agent-tools-'));
const starts = (name: string) => join(folder, `${name}.starts`);
const startsOf = (name: string) =>
  existsSync(starts(name)) ? readFileSync(starts(name), 'utf8').trim().split('\n').map(Number) : [];
const described = (name: string, more: object = {}) =>
  fault('described', { env: { STARTS: starts(name) }, ...more });

/** Servers of the catalog and of agents. Clients see only the catalog. */
const serverSettings: Record<string, Record<string, unknown>> = {
  shop: described('shop', { tools: { deny: ['crash'] } }),
  off: { ...described('off'), enabled: false },
  own: described('own'),
  changed: described('changed', { args: [...(described('changed').args as string[]), 'other'] }),
  brief: described('brief', { idle_timeout_seconds: 0.2 }),
  broken: fault('exits-at-once', { restart: { intensity: 1, min_backoff_ms: 1, park_seconds: 60 } }),
  deaf: fault('hangs-at-initialize', { request_timeout_seconds: 0.3 }),
  silent: fault('hangs-at-initialize'),
  narrow: described('narrow', { pool: { in_flight: 1, waiting: 1 } }),
};
const inCatalog = ['shop', 'off'];

let gateway: GatewayRuntime;
let boxes: AgentToolBoxes;
let entries: Awaited<ReturnType<typeof loadConfig>>['catalog']['servers'];

beforeAll(async () => {
  writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers: serverSettings }));
  const settings = { listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', state_dir: './state' };
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(settings));
  const loaded = await loadConfig(join(folder, 'gateway.yaml'), {});
  entries = loaded.catalog.servers;
  const servers = Object.fromEntries(inCatalog.flatMap((id) => (entries[id] ? [[id, entries[id]]] : [])));
  gateway = await bootGateway({ ...loaded, catalog: { servers } });
  boxes = toolBoxesOf(gateway);
});

afterAll(async () => {
  boxes.servers.close();
  await gateway.stop();
  rmSync(folder, { recursive: true });
});

const all = { allow: ['*'], deny: [] };
const ownServer = (entry: string, more: Partial<AgentServer> = {}): AgentServer => ({
  name: entry,
  entry: entries[entry],
  tools: all,
  ...more,
});
const catalogServer = (id: string, more: Partial<AgentServer> = {}): AgentServer => ({
  name: id,
  entry: undefined,
  tools: all,
  ...more,
});
const neverAborted = new AbortController().signal;
const options = (more: Partial<CallOptions> = {}): CallOptions => ({
  key: 'run/call',
  signal: neverAborted,
  timeoutMs: 10_000,
  trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ...more,
});
const hidden = () => [...gateway.mcp.agentServers.everyone()].map(({ id }) => id);
const pidOf = async (box: ReturnType<AgentToolBoxes['open']>, server: string) =>
  Number((await box.call({ server, tool: 'pid' }, {}, options())).text);

test('an agent sees the tools of its own servers and of the catalog, in the configured order', async () => {
  const box = boxes.open('clerk', [catalogServer('shop'), ownServer('own')], []);
  const tools = (await box.list(neverAborted, 10_000)).map(({ server, tool }) => `${server}/${tool}`);
  const names = ['result', 'meta', 'pid', 'count', 'hang', 'crash'];
  // `crash` is denied by the catalog.
  const ofShop = names.filter((name) => name !== 'crash');
  expect(tools).toEqual([...ofShop.map((name) => `shop/${name}`), ...names.map((name) => `own/${name}`)]);
  box.release();
});

test('tools that the server or the agent does not allow are neither listed nor callable', async () => {
  const servers = [catalogServer('shop', { tools: { allow: ['*'], deny: ['h*'] } }), ownServer('own')];
  const box = boxes.open('clerk', servers, ['pid', 'shop/[mh]*']);
  const tools = (await box.list(neverAborted, 10_000)).map(({ server, tool }) => `${server}/${tool}`);
  expect(tools).toEqual(['shop/meta', 'shop/pid', 'own/pid']);
  for (const [server, tool] of [
    ['own', 'meta'],
    ['shop', 'hang'],
    ['nowhere', 'pid'],
  ] as const)
    await expect(box.call({ server, tool }, {}, options())).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
      isUnsent: true,
    });
  box.release();
});

test('a tool call carries its idempotency key, and the tool can report progress', async () => {
  for (const server of [ownServer('own'), catalogServer('shop')]) {
    const box = boxes.open('clerk', [server], []);
    const { text } = await box.call(
      { server: server.name, tool: 'meta' },
      {},
      options({ key: 'run-1/call-2' }),
    );
    expect(JSON.parse(text)).toMatchObject({ 'actor-gateway/key': 'run-1/call-2' });
    expect(text).not.toContain('io.modelcontextprotocol');
    const notices: string[] = [];
    const onProgress = (message: string) => notices.push(message);
    const answer = await box.call({ server: server.name, tool: 'count' }, {}, options({ onProgress }));
    expect([notices, answer]).toEqual([['half of it'], { text: 'all of it', isError: false }]);
    box.release();
  }
});

describe('the servers of an agent', () => {
  test('are in no list and at no address for MCP clients, which receive no events about them', async () => {
    const box = boxes.open('clerk', [ownServer('own')], []);
    await pidOf(box, 'own');
    expect(hidden()).toContain('clerk/own');
    expect(gateway.mcp.servers.all().map(({ id }) => id)).toEqual(inCatalog);
    expect(() => gateway.mcp.servers.require('clerk/own')).toThrow('no server');
    expect(
      [...gateway.mcp.clients.view.aggregate.tools().keys()].filter((name) => name.includes('own')),
    ).toEqual([]);
    expect(Object.keys(gateway.life.find('agent servers')?.getSnapshot().children ?? {})).toEqual(
      expect.arrayContaining([expect.stringMatching(/^(agent servers\/)?clerk\/own/)]),
    );
    box.release();
  });

  test('exist once per agent and entry; a changed entry gets a second server until the older runs end', async () => {
    const before = ownServer('own', { name: 'files' });
    const after = ownServer('changed', { name: 'files' });
    boxes.servers.setLoaded([{ name: 'ada', servers: [before] }]);
    const first = boxes.open('ada', [before], []);
    const second = boxes.open('ada', [before], []);
    const foreign = boxes.open('ben', [before], []);
    const pid = await pidOf(first, 'files');
    expect(await pidOf(second, 'files')).toBe(pid);
    expect(await pidOf(foreign, 'files')).not.toBe(pid);
    second.release();
    boxes.servers.setLoaded([{ name: 'ada', servers: [after] }]);
    const third = boxes.open('ada', [after], []);
    const newPid = await pidOf(third, 'files');
    expect(newPid).not.toBe(pid);
    expect(await pidOf(first, 'files')).toBe(pid);
    expect(hidden().filter((id) => id === 'ada/files')).toHaveLength(2);
    first.release();
    foreign.release();
    await expect.poll(hidden).not.toContain('ben/files');
    await expect.poll(() => hidden().filter((id) => id === 'ada/files')).toHaveLength(1);
    third.release();
    // The next run reuses the server.
    const fourth = boxes.open('ada', [after], []);
    expect(await pidOf(fourth, 'files')).toBe(newPid);
    // A run with the previous definition, for example after a restart, gets a new server.
    const older = boxes.open('ada', [before], []);
    expect(await pidOf(older, 'files')).not.toBe(pid);
    for (const box of [older, fourth]) box.release();
    boxes.servers.setLoaded([]);
    await expect.poll(() => hidden().filter((id) => id.startsWith('ada/'))).toEqual([]);
  });

  test('stop when they are idle and start with the next call', async () => {
    const box = boxes.open('clerk', [ownServer('brief')], []);
    const pid = await pidOf(box, 'brief');
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
    expect(await pidOf(box, 'brief')).not.toBe(pid);
    expect(startsOf('brief')).toHaveLength(2);
    box.release();
  });

  test('restart after a crash during a call, whose outcome is unknown', async () => {
    const box = boxes.open('clerk', [ownServer('own')], []);
    const pid = await pidOf(box, 'own');
    const hanging = box.call({ server: 'own', tool: 'hang' }, {}, options());
    setTimeout(() => process.kill(pid, 'SIGKILL'), 50);
    await expect(hanging).rejects.toMatchObject({ code: 'ERR_CONNECTION_LOST', isUnsent: false });
    expect(await pidOf(box, 'own')).not.toBe(pid);
    box.release();
  });
});

describe('isUnsent is true for a call', () => {
  test.each([
    ['to a server that is not in the catalog', () => catalogServer('nowhere'), 'ERR_UNKNOWN_SERVER'],
    ['to a disabled server', () => catalogServer('off'), 'ERR_UNAVAILABLE'],
    ['to a server that cannot start', () => ownServer('broken'), 'ERR_UNAVAILABLE'],
    ['to a server that does not start in time', () => ownServer('deaf'), 'ERR_DEADLINE'],
  ])('%s', async (_, server, code) => {
    const from = server();
    const box = boxes.open('clerk', [from], []);
    const call = box.call({ server: from.name, tool: 'pid' }, {}, options());
    await expect(call).rejects.toMatchObject({ code, isUnsent: true });
    box.release();
  });

  test('that finds no free slot, immediately or within its timeout; isUnsent is false for a sent call', async () => {
    const box = boxes.open('clerk', [ownServer('narrow')], []);
    await pidOf(box, 'narrow');
    const call = (more: Partial<CallOptions>) =>
      box.call({ server: 'narrow', tool: 'hang' }, {}, options(more));
    const giveUp = new AbortController();
    const pendingCall = call({ timeoutMs: 400 });
    const waiting = call({ timeoutMs: 200 });
    const refused = call({ signal: giveUp.signal });
    await expect(refused).rejects.toMatchObject({ code: 'ERR_OVERLOADED', isUnsent: true });
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_DEADLINE', isUnsent: true });
    await expect(pendingCall).rejects.toMatchObject({ code: 'ERR_DEADLINE', isUnsent: false });
    box.release();
  });

  test('of a run that has ended', async () => {
    const box = boxes.open('clerk', [ownServer('own')], []);
    box.release();
    await expect(pidOf(box, 'own')).rejects.toMatchObject({ code: 'ERR_STOPPED', isUnsent: true });
  });
});

test('listing the tools of an agent fails while one of its servers is unavailable', async () => {
  const box = boxes.open('clerk', [ownServer('own'), ownServer('broken')], []);
  await expect(box.list(neverAborted, 10_000)).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  box.release();
});

test('an agent receives the error of a server unchanged', async () => {
  const box = boxes.open('clerk', [ownServer('own')], []);
  const refused = box.call({ server: 'own', tool: 'other' }, {}, options());
  await expect(refused).rejects.toMatchObject({ code: -32602, message: 'no tool other' });
  box.release();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('the error for a server that does not start in time contains its name and state', async () => {
  const box = boxes.open('clerk', [ownServer('own'), ownServer('silent')], []);
  await expect(box.list(neverAborted, 200)).rejects.toMatchObject({
    code: 'ERR_DEADLINE',
    message: expect.stringMatching(
      /^tools\/list at server clerk\/silent took more than 200 ms: the server is starting/,
    ),
  });
  box.release();
});
