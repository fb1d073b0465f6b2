// The MCP client inside the gateway process, for agents, flows and the library, with real servers. It uses
// the same router as HTTP clients. Legacy servers have sessions; modern servers are stateless (2026-07-28).

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HolderBudget } from '../../../../../actors/base/bounds/holder-budget.ts';
import { UnknownServerError } from '../../../../../actors/base/errors/errors.ts';
import type { GatewayRuntime } from '../../../../../actors/gateway/gateway.ts';
import { isCut } from '../../../../../actors/mcp/clients/cut-result.ts';
import { InProcessClient } from '../../../../../actors/mcp/clients/in-process-client.ts';
import type { ToolResult } from '../../../../../actors/mcp/clients/tool-request.ts';
import { loadConfig } from '../../../../../config/load-config.ts';
import { bootGateway } from '../../../../fixtures/gateway/boot-gateway.ts';

const script = (name: string) => resolve(import.meta.dirname, '../../../../fixtures/servers', name);
let folder = '';
let gateway: GatewayRuntime;
let client: InProcessClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'in-process-'));
  const servers = {
    files: { command: process.execPath, args: [script('echo.mjs')] },
    others: { command: process.execPath, args: [script('echo.mjs')] },
    odd: { command: process.execPath, args: [script('lists-from-file.mjs'), join(folder, 'odd.json')] },
    puppet: { command: process.execPath, args: [script('puppet.mjs')] },
    modern: { command: process.execPath, args: [script('modern-puppet.mjs')], era: 'modern' },
    tasks: { command: process.execPath, args: [script('tasks.mjs'), join(folder, 'tasks.log')] },
  };
  const odd = { 'tools/list': '{"tools":[null,5,{},{"name":7},{"name":"a","inputSchema":null}]}' };
  await writeFile(join(folder, 'odd.json'), JSON.stringify(odd));
  await writeFile(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
  const settings = {
    listen_addr: '127.0.0.1:0',
    catalog_path: './catalog.yaml',
    state_dir: './state',
    // A server does not answer list requests.
    list_timeout_seconds: 8,
  };
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(settings));
  const loaded = await loadConfig(join(folder, 'gateway.yaml'), {});
  gateway = await bootGateway({ ...loaded, state: 'none' });
  client = gateway.mcp.clients.inProcess;
});

afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
});

test('the in-process client lists all tools under prefixed names, and the tools of one server under their own names', async () => {
  const all = (await client.listTools())
    .map(({ name }) => name)
    .filter((name) => /^(files|others)__/.test(name));
  const own = (await client.listTools({ server: 'files' })).map(({ name }) => name);
  expect(own).toContain('echo');
  expect(all.length).toBe(2 * own.length);
  expect(all).toContain('files__echo');
});

test('the in-process client omits list elements that are not tools, and returns an empty list for an invalid list', async () => {
  const listed = () => client.listTools({ server: 'odd' });
  expect((await listed()).map(({ name }) => name)).toEqual(['a']);
  await writeFile(join(folder, 'odd.json'), JSON.stringify({ 'tools/list': '{"tools":{}}' }));
  expect(await listed()).toEqual([]);
});

test('the in-process client calls a tool of one server, or a merged tool by its prefixed name, and returns the result', async () => {
  const expected = { content: [{ type: 'text', text: '{"n":1}' }] };
  expect(await client.callTool('echo', { n: 1 }, { server: 'files' })).toMatchObject(expected);
  expect(await client.callTool('others__echo', { n: 1 })).toMatchObject(expected);
});

test('the in-process client rejects a call of an unknown tool or server', async () => {
  await expect(client.callTool('none', {}, { server: 'files' })).rejects.toThrow();
  await expect(client.callTool('echo', {}, { server: 'nowhere' })).rejects.toThrow(UnknownServerError);
});

test('the in-process client ends a call at its deadline or abort signal, and cancels it at the server', async () => {
  const slow = { ms: 600_000 };
  const late = client.callTool('wait', slow, { server: 'files', timeoutMs: 50 });
  await expect(late).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
  const controller = new AbortController();
  const result = client.callTool('wait', slow, { server: 'files', signal: controller.signal });
  setTimeout(() => controller.abort(new Error('not wanted')), 20);
  await expect(result).rejects.toThrow('not wanted');
  await expect(
    client.callTool('wait', slow, { server: 'files', signal: controller.signal }),
  ).rejects.toThrow();
  await expect.poll(() => gateway.mcp.clients.router.counts.in_flight).toBe(0);
  const { content } = await client.callTool('cancelled', {}, { server: 'files' });
  expect(JSON.stringify(content)).toMatch(/,/);
});

test.each([
  ['an error that is null', { error: null }, { code: 'ERR_UPSTREAM_PROTOCOL' }],
  ['an error that is a number', { error: 5 }, { code: -32603 }],
  ['a result that is null', { answer: 'null' }, { code: 'ERR_UPSTREAM_PROTOCOL' }],
  ['a result that is a number', { answer: '5' }, { code: 'ERR_UPSTREAM_PROTOCOL' }],
])(
  'the in-process client fails the call after the server sends %s, and the server keeps running',
  async (_, step, error) => {
    const call = (steps: readonly object[]) =>
      client.callTool('do', { steps }, { server: 'puppet', timeoutMs: 10_000 });
    await expect(call([step])).rejects.toMatchObject(error);
    expect(await call([{ answer: '{"content":[]}' }])).toMatchObject({ content: [] });
  },
);

interface ReceivedRequest {
  readonly params: { readonly _meta: Readonly<Record<string, unknown>>; readonly arguments: unknown };
}

/** Returns the last logged request with this method. */
async function lastAt(file: string, method: string): Promise<ReceivedRequest> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  return JSON.parse(lines.filter((line) => line.includes(`"${method}"`)).at(-1) ?? '') as ReceivedRequest;
}

test('the in-process client returns a result unchanged from servers with sessions and from stateless servers', async () => {
  const plain = { content: [{ type: 'text', text: 'ü' }], structuredContent: { n: 1 }, isError: true };
  const steps = [{ answer: JSON.stringify(plain) }];
  expect(await client.callTool('do', { steps }, { server: 'puppet' })).toEqual(plain);
  const results = [{ resultType: 'complete', ...plain }];
  const result = await client.callTool('do', { key: 'plain', results }, { server: 'modern' });
  expect(result).toEqual({ resultType: 'complete', ...plain });
});

test('the in-process client sends a call with modern metadata to a modern server only', async () => {
  const legacy = await client.callTool('plain', { text: 'ä\u2028' }, { server: 'tasks', key: 'k"1' });
  expect(JSON.parse(textOf(legacy))).toEqual({
    name: 'plain',
    arguments: { text: 'ä\u2028' },
    _meta: { progressToken: expect.any(Number), 'actor-gateway/key': 'k"1' },
  });
  await client.callTool('do', { key: 'meta', results: [{ content: [] }] }, { server: 'modern', key: 'k2' });
  const { heard } = JSON.parse(textOf(await client.callTool('heard', {}, { server: 'modern' }))) as {
    readonly heard: readonly string[];
  };
  const { params } = JSON.parse(
    heard.findLast((line) => line.includes('"key":"meta"')) ?? '',
  ) as ReceivedRequest;
  expect(params._meta).toMatchObject({
    progressToken: expect.any(Number),
    'actor-gateway/key': 'k2',
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { version: '0' },
  });
});

test('the in-process client sends a list request with modern metadata to a modern server only', async () => {
  const tools = await client.listTools({ server: 'tasks' });
  expect(tools.find(({ name }) => name === 'slow')).toEqual({
    name: 'slow',
    inputSchema: { type: 'object' },
  });
  expect((await lastAt(join(folder, 'tasks.log'), 'tools/list')).params).toEqual({});
  expect((await client.listTools({ server: 'modern' })).map(({ name }) => name)).toEqual(['do', 'heard']);
  const { heard } = JSON.parse(textOf(await client.callTool('heard', {}, { server: 'modern' }))) as {
    readonly heard: readonly string[];
  };
  const { params } = JSON.parse(
    heard.findLast((line) => line.includes('"tools/list"')) ?? '',
  ) as ReceivedRequest;
  expect(params).toEqual({
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': expect.objectContaining({ version: '0' }),
    },
  });
});

test('the in-process client calls a tool that requires a task as a task, and returns its progress and plain result', async () => {
  const reports: unknown[] = [];
  const onReport = (report: unknown) => reports.push(report);
  const result = await client.callTool('slow', { ms: 100 }, { server: 'tasks', onReport });
  expect(textOf(result)).not.toBe('');
  expect(reports.length).toBeGreaterThan(0);
  const { params } = await lastAt(join(folder, 'tasks.log'), 'tools/call');
  expect(params).toMatchObject({ task: { ttl: expect.any(Number) } });
});

test('the in-process client fails the call if a modern server requests input', async () => {
  const results = [{ resultType: 'input_required', inputRequests: {}, requestState: 's' }];
  const call = client.callTool('do', { key: 'asks', results }, { server: 'modern' });
  await expect(call).rejects.toMatchObject({ code: 'ERR_STOPPED' });
});

test.each([
  ['up to the depth limit', 254, undefined],
  ['beyond the depth limit', 255, { code: -32700 }],
])('the in-process client sends or rejects arguments that are nested %s', async (_, levels, error) => {
  const args = { deep: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown };
  const called = client.callTool('plain', args, { server: 'tasks' });
  if (error === undefined) expect(JSON.parse(textOf(await called))).toMatchObject({ arguments: args });
  else await expect(called).rejects.toMatchObject(error);
});

test('calls of the in-process client are counted, limited and logged like calls of other clients', async () => {
  const before = { ...gateway.mcp.clients.router.counts };
  await client.callTool('echo', {}, { server: 'files' });
  await expect(client.callTool('none', {}, { server: 'files' })).rejects.toThrow();
  const { total, failed, in_flight } = gateway.mcp.clients.router.counts;
  expect([total - before.total, failed - before.failed, in_flight]).toEqual([2, 1, 0]);
  const server = gateway.mcp.servers.require('files');
  expect(server.slots.used).toBe(0);
  const waiting = client.callTool('wait', { ms: 600_000 }, { server: 'files', timeoutMs: 200 });
  expect(server.slots.used).toBe(1);
  await expect(waiting).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
  expect(server.slots.used).toBe(0);
});

function textOf({ content = [] }: ToolResult): string {
  return (content[0] as { readonly text: string } | undefined)?.text ?? '';
}

test('the in-process client replaces a result above its size limit by the beginning and a note, with one server and with all', async () => {
  const options = { maxResultBytes: 1_000_000 };
  for (const [name, server] of [
    ['big', 'files'],
    ['files__big', undefined],
  ] as const) {
    const small = await client.callTool(name, { bytes: 900_000 }, { ...options, server });
    expect(isCut(small)).toBe(false);
    const large = await client.callTool(name, { bytes: 3_000_000 }, { ...options, server });
    expect(isCut(large)).toBe(true);
    expect(JSON.stringify(large.content).length).toBeLessThan(100_000);
    expect(JSON.stringify(large.content)).toMatch(/the result has \d{7} bytes, at most 1000000 are read/);
  }
});

test.each([
  ['arrays', '[],'],
  ['members', '{"a":1},'],
])('a result with too many %s is cut before it is parsed', async (_, item) => {
  const size = 900_000;
  const answer = `{"content":[{"type":"text","text":"all"}],"structuredContent":{"list":[${item.repeat(size / item.length)}1]}}`;
  const options = { server: 'puppet', maxResultBytes: 1_000_000 };
  const result = await client.callTool('do', { steps: [{ answer }] }, options);
  expect(isCut(result)).toBe(true);
  expect(textOf(result)).toBe('all');
  expect(JSON.stringify(result.content)).toMatch(
    /the result has \d{6} bytes, and too many values: request less/,
  );
});

test('a result above the share of its run is cut with the reason, and results of other runs are not', async () => {
  const { router } = gateway.mcp.clients;
  const results = new HolderBudget(1_000_000);
  const host = { router, serverInfo: { name: 'x', version: '1' } };
  const own = new InProcessClient({ ...host, server: (id) => gateway.mcp.servers.require(id) }, results);
  const call = (trace: string, server: string | undefined, bytes = 200_000) =>
    own.callTool(
      server === undefined ? 'files__big' : 'big',
      { bytes },
      { server, trace, maxResultBytes: 900_000 },
    );
  const release = results.hold(500_000, 'greedy');
  for (const server of ['files', undefined]) {
    const cut = await call('greedy', server);
    expect(isCut(cut)).toBe(true);
    expect(JSON.stringify(cut.content)).toContain(
      'bytes, and too many results are in progress: request less',
    );
    expect(isCut(await call('other', server))).toBe(false);
    expect(isCut(await call('greedy', server, 10_000))).toBe(false);
  }
  release?.();
  expect(isCut(await call('greedy', 'files'))).toBe(false);
  // Everything was released.
  expect(results.hold(1_000_000, 'greedy')).toBeTypeOf('function');
});

test('large results that arrive together are parsed one at a time, with other work between them', async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  const results = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const result = await client.callTool('big', { bytes: 200_000 }, { server: 'files' });
      if (turns === 0) count();
      return [result, turns] as const;
    }),
  );
  isOver = true;
  const seen = results.map(([, at]) => at);
  expect(new Set(seen).size).toBeGreaterThan(10);
});
