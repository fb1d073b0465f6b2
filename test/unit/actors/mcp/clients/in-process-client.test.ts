// Tools of real servers, called in this process by the router that clients over HTTP use.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UnknownServerError } from '../../../../../actors/base/errors/errors.ts';
import type { Gateway } from '../../../../../actors/gateway/gateway.ts';
import type { InProcessClient } from '../../../../../actors/mcp/clients/in-process-client.ts';
import type { ToolResult } from '../../../../../actors/mcp/clients/tool-request.ts';
import { loadConfig } from '../../../../../config/load-config.ts';
import { bootGateway } from '../../../../fixtures/gateway/boot-gateway.ts';

const script = (name: string) => resolve(import.meta.dirname, '../../../../fixtures/servers', name);
let folder = '';
let gateway: Gateway;
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
    // One of the servers never lists.
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

test('a client in this process sees the tools of all servers under their names, and those of one', async () => {
  const all = (await client.listTools())
    .map(({ name }) => name)
    .filter((name) => /^(files|others)__/.test(name));
  const own = (await client.listTools({ server: 'files' })).map(({ name }) => name);
  expect(own).toContain('echo');
  expect(all.length).toBe(2 * own.length);
  expect(all).toContain('files__echo');
});

test('elements of a list that are no tools are left out, and a list that is none is empty', async () => {
  const listed = () => client.listTools({ server: 'odd' });
  expect((await listed()).map(({ name }) => name)).toEqual(['a']);
  await writeFile(join(folder, 'odd.json'), JSON.stringify({ 'tools/list': '{"tools":{}}' }));
  expect(await listed()).toEqual([]);
});

test('calls a tool of one server, or of all under its whole name, and is given what that said (IPC2)', async () => {
  const said = { content: [{ type: 'text', text: '{"n":1}' }] };
  expect(await client.callTool('echo', { n: 1 }, { server: 'files' })).toMatchObject(said);
  expect(await client.callTool('others__echo', { n: 1 })).toMatchObject(said);
});

test('a tool or a server that is not there is an error', async () => {
  await expect(client.callTool('none', {}, { server: 'files' })).rejects.toThrow();
  await expect(client.callTool('echo', {}, { server: 'nowhere' })).rejects.toThrow(UnknownServerError);
});

test('a call that takes too long, or is not wanted any more, is over at once, and cancelled at its server (IPC1)', async () => {
  const slow = { ms: 600_000 };
  const late = client.callTool('wait', slow, { server: 'files', timeoutMs: 50 });
  await expect(late).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
  const giving = new AbortController();
  const given = client.callTool('wait', slow, { server: 'files', signal: giving.signal });
  setTimeout(() => giving.abort(new Error('not wanted')), 20);
  await expect(given).rejects.toThrow('not wanted');
  await expect(client.callTool('wait', slow, { server: 'files', signal: giving.signal })).rejects.toThrow();
  await expect.poll(() => gateway.mcp.clients.router.counts.in_flight).toBe(0);
  const { content } = await client.callTool('cancelled', {}, { server: 'files' });
  expect(JSON.stringify(content)).toMatch(/,/);
});

test.each([
  ['an error that is null', { error: null }, { code: -32603 }],
  ['an error that is a number', { error: 5 }, { code: -32603 }],
  ['a result that is null', { answer: 'null' }, { code: 'ERR_UPSTREAM_PROTOCOL' }],
  ['a result that is a number', { answer: '5' }, { code: 'ERR_UPSTREAM_PROTOCOL' }],
])('%s fails the call, and its server goes on (IPC3)', async (_, step, error) => {
  const call = (steps: readonly object[]) =>
    client.callTool('do', { steps }, { server: 'puppet', timeoutMs: 10_000 });
  await expect(call([step])).rejects.toMatchObject(error);
  expect(await call([{ answer: '{"content":[]}' }])).toMatchObject({ content: [] });
});

interface Heard {
  readonly params: { readonly _meta: Readonly<Record<string, unknown>>; readonly arguments: unknown };
}

/** Returns the last request with this method that a puppet received. */
async function lastAt(file: string, method: string): Promise<Heard> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  return JSON.parse(lines.filter((line) => line.includes(`"${method}"`)).at(-1) ?? '') as Heard;
}

test('a result is given as its server gave it, to a server of either era', async () => {
  const plain = { content: [{ type: 'text', text: 'ü' }], structuredContent: { n: 1 }, isError: true };
  const steps = [{ answer: JSON.stringify(plain) }];
  expect(await client.callTool('do', { steps }, { server: 'puppet' })).toEqual(plain);
  const results = [{ resultType: 'complete', ...plain }];
  const given = await client.callTool('do', { key: 'plain', results }, { server: 'modern' });
  expect(given).toEqual({ resultType: 'complete', ...plain });
});

test('a legacy server receives a call without metadata of the modern era, and a modern one with it', async () => {
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
  const { params } = JSON.parse(heard.findLast((line) => line.includes('"key":"meta"')) ?? '') as Heard;
  expect(params._meta).toMatchObject({
    progressToken: expect.any(Number),
    'actor-gateway/key': 'k2',
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { version: '0' },
  });
});

test('a legacy server receives a request for its tools without metadata of the modern era, and a modern one with it', async () => {
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
  const { params } = JSON.parse(heard.findLast((line) => line.includes('"tools/list"')) ?? '') as Heard;
  expect(params).toEqual({
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': expect.objectContaining({ version: '0' }),
    },
  });
});

test('a tool that requires a task is called as one, with its progress and its plain result', async () => {
  const reports: unknown[] = [];
  const onReport = (report: unknown) => reports.push(report);
  const result = await client.callTool('slow', { ms: 100 }, { server: 'tasks', onReport });
  expect(textOf(result)).not.toBe('');
  expect(reports.length).toBeGreaterThan(0);
  const { params } = await lastAt(join(folder, 'tasks.log'), 'tools/call');
  expect(params).toMatchObject({ task: { ttl: expect.any(Number) } });
});

test('a modern server that asks its caller for input fails the call', async () => {
  const results = [{ resultType: 'input_required', inputRequests: {}, requestState: 's' }];
  const asked = client.callTool('do', { key: 'asks', results }, { server: 'modern' });
  await expect(asked).rejects.toMatchObject({ code: 'ERR_STOPPED' });
});

test.each([
  ['just deep enough', 254, undefined],
  ['too deep for any message', 255, { code: -32700 }],
])('arguments that are nested %s are sent, or refused', async (_, levels, error) => {
  const args = { deep: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown };
  const called = client.callTool('plain', args, { server: 'tasks' });
  if (error === undefined) expect(JSON.parse(textOf(await called))).toMatchObject({ arguments: args });
  else await expect(called).rejects.toMatchObject(error);
});

test('a call is counted and limited like that of any client, and shows its tool in the log', async () => {
  const before = { ...gateway.mcp.clients.router.counts };
  await client.callTool('echo', {}, { server: 'files' });
  await expect(client.callTool('none', {}, { server: 'files' })).rejects.toThrow();
  const { total, failed, in_flight } = gateway.mcp.clients.router.counts;
  expect([total - before.total, failed - before.failed, in_flight]).toEqual([2, 1, 0]);
  const server = gateway.mcp.servers.require('files');
  expect(server.places.held).toBe(0);
  const waiting = client.callTool('wait', { ms: 600_000 }, { server: 'files', timeoutMs: 200 });
  expect(server.places.held).toBe(1);
  await expect(waiting).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
  expect(server.places.held).toBe(0);
});

function textOf({ content = [] }: ToolResult): string {
  return (content[0] as { readonly text: string } | undefined)?.text ?? '';
}
