// Clients of each public SDK and a gateway in the same process, connected by the transport of the library.

import { join } from 'node:path';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpSide } from '../../../actors/mcp/mcp-side.ts';
import { coreOf } from '../../../src/library/embedded-gateway.ts';
import type { Gateway } from '../../../src/library/gateway.ts';
import { GatewayTransport } from '../../../src/library/gateway-transport.ts';
import { openGateway } from '../../../src/library/open-gateway.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

let gateway: Gateway;
let mcp: McpSide;
const folder = temporaryFolder();
beforeAll(async () => {
  writeConfiguration(folder, {
    servers: { all: everythingOverStdio(), asker: { ...fault('asker'), isolation: 'session' } },
  });
  gateway = await openGateway(join(folder, 'gateway.yaml'));
  mcp = coreOf(gateway).mcp;
});
afterAll(() => gateway.stop());

const info = { name: 'embedded', version: '1' };
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text;

/** Common interface for the eras, because the SDK types differ. */
const clients = {
  'of SDK v1, with a session': async (server?: string) => {
    const client = new ClientV1(info, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: {} }));
    await client.connect(new GatewayTransport(gateway, server === undefined ? {} : { server }));
    return client;
  },
  'of SDK v2, in the modern era': async (server?: string) => {
    const client = new ClientV2(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new GatewayTransport(gateway, server === undefined ? {} : { server }));
    // This method has no parameter for a result schema before the options.
    const { callTool } = client;
    return Object.assign(client, {
      callTool: (
        params: Parameters<typeof callTool>[0],
        _?: unknown,
        options?: Parameters<typeof callTool>[1],
      ) => callTool.call(client, params, options),
    }) as unknown as ClientV1;
  },
};

describe.each(Object.entries(clients))('library clients: a client %s', (_, connect) => {
  test('an in-process MCP client lists and calls tools of all servers, or of one server', async () => {
    const all = await connect();
    const names = (await all.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['all__echo', 'asker__ask']));
    const called = await all.callTool({ name: 'all__echo', arguments: { message: 'hello' } });
    expect(textOf(called)).toContain('hello');
    const client = await connect('all');
    expect(textOf(await client.callTool({ name: 'echo', arguments: { message: 'you' } }))).toContain('you');
    await Promise.all([all.close(), client.close()]);
  });

  test('an in-process MCP client receives progress before the result, and can cancel a call', async () => {
    const client = await connect('all');
    const name = 'slow';
    const steps: number[] = [];
    const done = await client.callTool({ name, arguments: { ms: 150, steps: 3 } }, undefined, {
      onprogress: ({ progress }) => void steps.push(progress),
    });
    expect({ seen: steps, said: textOf(done) }).toEqual({
      seen: [1, 2, 3],
      said: expect.stringContaining('done'),
    });
    const abort = new AbortController();
    const long = client.callTool({ name, arguments: { ms: 60_000, steps: 2 } }, undefined, {
      signal: abort.signal,
    });
    setTimeout(() => abort.abort(new Error('no longer wanted')), 50);
    await expect(long).rejects.toThrow();
    await expect.poll(() => mcp.clients.router.counts.in_flight).toBe(0);
    await client.close();
  });

  test('an in-process MCP client receives an error for a failed request and for an unknown server', async () => {
    const client = await connect('all');
    await expect(client.callTool({ name: 'fail', arguments: {} })).rejects.toThrow('It is gone');
    await expect(client.callTool({ name: 'not-there', arguments: {} })).rejects.toThrow('no tool not-there');
    await client.close();
    await expect(connect('nobody')).rejects.toThrow('there is no server "nobody"');
  });
});

test('an in-process MCP client answers server requests, and its session and calls end when it closes', async () => {
  const client = await clients['of SDK v1, with a session']('asker');
  const result = await client.callTool({
    name: 'ask',
    arguments: { method: 'elicitation/create', word: 'really' },
  });
  expect(textOf(result)).toContain('accept');
  const pending = client.callTool({ name: 'ask', arguments: { method: 'never/answered' } });
  const sessions = mcp.clients.sessions.size;
  await client.close();
  await expect(pending).rejects.toThrow();
  await expect.poll(() => mcp.clients.sessions.size).toBe(sessions - 1);
  await expect.poll(() => mcp.clients.router.counts.in_flight).toBe(0);
});

test('a client is closed when the gateway ends its session', async () => {
  const client = await clients['of SDK v1, with a session']();
  const closed = new Promise<void>((done) => {
    client.onclose = done;
  });
  mcp.clients.sessions.closeStreams();
  await closed;
  await expect(client.listTools()).rejects.toThrow(/closed|not connected/i);
});

test('a program that embeds the gateway calls a tool directly, and gets errors', async () => {
  expect(textOf(await gateway.call('all', 'echo', { message: 'plain' }))).toContain('plain');
  expect((await gateway.tools('all')).map(({ name }) => name)).toContain('echo');
  await expect(gateway.call('nobody', 'echo')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_SERVER' });
  expect(await gateway.call('all', 'refuse')).toMatchObject({ isError: true });
  const late = gateway.call('all', 'slow', { ms: 60_000 }, { timeoutMs: 100 });
  await expect(late).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
});

test('a program that embeds the gateway is told of its failure; GatewayTransport accepts only an opened gateway', async () => {
  const other = await openGateway(join(folder, 'gateway.yaml'));
  const failed = new Promise((resolve) => other.whenFailed(resolve));
  coreOf(other).life.fail('store', new Error('the disk is gone'));
  expect(await failed).toMatchObject({ message: 'the disk is gone' });
  const { call, tools, whenFailed, stop } = gateway;
  expect(() => new GatewayTransport({ call, tools, whenFailed, stop })).toThrow('openGateway');
});
