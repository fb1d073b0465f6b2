// Tools of servers that an agent brings along and of the catalog, at real processes and by the router that all clients use.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentToolBoxes } from '../../../../../actors/agents/model-agent/agent-tool-boxes.ts';
import type { CallOptions } from '../../../../../actors/agents/model-agent/tool-box.ts';
import type { Gateway } from '../../../../../actors/gateway/gateway.ts';
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

/** What the catalog and the agents of these tests say of servers; the agents' are no part of the catalog that is served. */
const written: Record<string, Record<string, unknown>> = {
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

let gateway: Gateway;
let boxes: AgentToolBoxes;
let entries: Awaited<ReturnType<typeof loadConfig>>['catalog']['servers'];

beforeAll(async () => {
  writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers: written }));
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
const own = (entry: string, more: Partial<AgentServer> = {}): AgentServer => ({
  name: entry,
  entry: entries[entry],
  tools: all,
  ...more,
});
const ofCatalog = (id: string, more: Partial<AgentServer> = {}): AgentServer => ({
  name: id,
  entry: undefined,
  tools: all,
  ...more,
});
const never = new AbortController().signal;
const options = (more: Partial<CallOptions> = {}): CallOptions => ({
  key: 'run/call',
  signal: never,
  timeoutMs: 10_000,
  trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ...more,
});
const hidden = () => [...gateway.mcp.agentServers.everyone()].map(({ id }) => id);
const pidOf = async (box: ReturnType<AgentToolBoxes['open']>, server: string) =>
  Number((await box.call({ server, tool: 'pid' }, {}, options())).text);

test('an agent sees the tools of its own servers and of the catalog, in the order in which it names them', async () => {
  const box = boxes.open('clerk', [ofCatalog('shop'), own('own')], []);
  const tools = (await box.list(never, 10_000)).map(({ server, tool }) => `${server}/${tool}`);
  const names = ['result', 'meta', 'pid', 'count', 'hang', 'crash'];
  // What the catalog denies, it denies to agents too.
  const ofShop = names.filter((name) => name !== 'crash');
  expect(tools).toEqual([...ofShop.map((name) => `shop/${name}`), ...names.map((name) => `own/${name}`)]);
  box.release();
});

test('what a server or an agent does not name is neither seen nor called (TB1)', async () => {
  const servers = [ofCatalog('shop', { tools: { allow: ['*'], deny: ['h*'] } }), own('own')];
  const box = boxes.open('clerk', servers, ['pid', 'shop/[mh]*']);
  const tools = (await box.list(never, 10_000)).map(({ server, tool }) => `${server}/${tool}`);
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

test('a call brings its key, and the tool may tell of its progress', async () => {
  for (const server of [own('own'), ofCatalog('shop')]) {
    const box = boxes.open('clerk', [server], []);
    const { text } = await box.call(
      { server: server.name, tool: 'meta' },
      {},
      options({ key: 'run-1/call-2' }),
    );
    expect(JSON.parse(text)).toMatchObject({ 'actor-gateway/key': 'run-1/call-2' });
    expect(text).not.toContain('io.modelcontextprotocol');
    const told: string[] = [];
    const onProgress = (message: string) => told.push(message);
    const answer = await box.call({ server: server.name, tool: 'count' }, {}, options({ onProgress }));
    expect([told, answer]).toEqual([['half of it'], { text: 'all of it', isError: false }]);
    box.release();
  }
});

describe('the servers of an agent', () => {
  test('are in no list and at no address, and no client hears of them', async () => {
    const box = boxes.open('clerk', [own('own')], []);
    await pidOf(box, 'own');
    expect(hidden()).toContain('clerk/own');
    expect(gateway.mcp.servers.all().map(({ id }) => id)).toEqual(inCatalog);
    expect(() => gateway.mcp.servers.require('clerk/own')).toThrow('there is no server');
    expect(
      [...gateway.mcp.clients.view.aggregate.tools().keys()].filter((name) => name.includes('own')),
    ).toEqual([]);
    expect(Object.keys(gateway.life.find('agent servers')?.getSnapshot().children ?? {})).toEqual(
      expect.arrayContaining([expect.stringMatching(/^(agent servers\/)?clerk\/own/)]),
    );
    box.release();
  });

  test('are one for each agent and entry; a changed one is another beside it until its runs have ended (HID1, HID2)', async () => {
    const before = own('own', { name: 'files' });
    const after = own('changed', { name: 'files' });
    boxes.servers.want([{ name: 'ada', servers: [before] }]);
    const first = boxes.open('ada', [before], []);
    const second = boxes.open('ada', [before], []);
    const foreign = boxes.open('ben', [before], []);
    const pid = await pidOf(first, 'files');
    expect(await pidOf(second, 'files')).toBe(pid);
    expect(await pidOf(foreign, 'files')).not.toBe(pid);
    second.release();
    boxes.servers.want([{ name: 'ada', servers: [after] }]);
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
    // It is loaded: the next run finds it as it is.
    const fourth = boxes.open('ada', [after], []);
    expect(await pidOf(fourth, 'files')).toBe(newPid);
    // A run of the older definition, as there is one after a restart, has its server anew.
    const older = boxes.open('ada', [before], []);
    expect(await pidOf(older, 'files')).not.toBe(pid);
    for (const box of [older, fourth]) box.release();
    boxes.servers.want([]);
    await expect.poll(() => hidden().filter((id) => id.startsWith('ada/'))).toEqual([]);
  });

  test('are stopped when they are idle, and started by the next call', async () => {
    const box = boxes.open('clerk', [own('brief')], []);
    const pid = await pidOf(box, 'brief');
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
    expect(await pidOf(box, 'brief')).not.toBe(pid);
    expect(startsOf('brief')).toHaveLength(2);
    box.release();
  });

  test('are started again after a death in a call, which may have been carried out', async () => {
    const box = boxes.open('clerk', [own('own')], []);
    const pid = await pidOf(box, 'own');
    const hanging = box.call({ server: 'own', tool: 'hang' }, {}, options());
    setTimeout(() => process.kill(pid, 'SIGKILL'), 50);
    await expect(hanging).rejects.toMatchObject({ code: 'ERR_CONNECTION_LOST', isUnsent: false });
    expect(await pidOf(box, 'own')).not.toBe(pid);
    box.release();
  });
});

describe('a call that was certainly never made says so (IPC4)', () => {
  test.each([
    ['of no server in the catalog', () => ofCatalog('nowhere'), 'ERR_UNKNOWN_SERVER'],
    ['of one that is switched off', () => ofCatalog('off'), 'ERR_UNAVAILABLE'],
    ['of one that cannot be started', () => own('broken'), 'ERR_UNAVAILABLE'],
    ['of one that does not come up in time', () => own('deaf'), 'ERR_DEADLINE'],
  ])('%s', async (_, server, code) => {
    const from = server();
    const box = boxes.open('clerk', [from], []);
    const call = box.call({ server: from.name, tool: 'pid' }, {}, options());
    await expect(call).rejects.toMatchObject({ code, isUnsent: true });
    box.release();
  });

  test('at a server with no place for it, or none in the time there is; one that was sent does not', async () => {
    const box = boxes.open('clerk', [own('narrow')], []);
    await pidOf(box, 'narrow');
    const call = (more: Partial<CallOptions>) =>
      box.call({ server: 'narrow', tool: 'hang' }, {}, options(more));
    const giveUp = new AbortController();
    const sent = call({ timeoutMs: 400 });
    const waiting = call({ timeoutMs: 200 });
    const refused = call({ signal: giveUp.signal });
    await expect(refused).rejects.toMatchObject({ code: 'ERR_OVERLOADED', isUnsent: true });
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_DEADLINE', isUnsent: true });
    await expect(sent).rejects.toMatchObject({ code: 'ERR_DEADLINE', isUnsent: false });
    box.release();
  });

  test('of a run that has ended', async () => {
    const box = boxes.open('clerk', [own('own')], []);
    box.release();
    await expect(pidOf(box, 'own')).rejects.toMatchObject({ code: 'ERR_STOPPED', isUnsent: true });
  });
});

test('no tools are listed while one of the servers cannot be asked (TB2)', async () => {
  const box = boxes.open('clerk', [own('own'), own('broken')], []);
  await expect(box.list(never, 10_000)).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  box.release();
});

test('what a server refuses is its own complaint', async () => {
  const box = boxes.open('clerk', [own('own')], []);
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

test('a server that does not come up in time is named, with what is the matter with it (TB2)', async () => {
  const box = boxes.open('clerk', [own('own'), own('silent')], []);
  await expect(box.list(never, 200)).rejects.toMatchObject({
    code: 'ERR_DEADLINE',
    message: expect.stringMatching(
      /^tools\/list at server clerk\/silent took more than 200 ms: the server is starting/,
    ),
  });
  box.release();
});
