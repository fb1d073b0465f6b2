// Clients of both public SDKs on a gateway in their own process, through its transport.

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

/** Both eras under one face; the types of the two SDKs are not each other's. */
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
    // It has no schema of a result before the options.
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

describe.each(Object.entries(clients))('a client %s', (_, connect) => {
  test('lists and calls tools of all servers, and of one', async () => {
    const all = await connect();
    const names = (await all.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['all__echo', 'asker__ask']));
    const called = await all.callTool({ name: 'all__echo', arguments: { message: 'hello' } });
    expect(textOf(called)).toContain('hello');
    const one = await connect('all');
    expect(textOf(await one.callTool({ name: 'echo', arguments: { message: 'you' } }))).toContain('you');
    await Promise.all([all.close(), one.close()]);
  });

  test('is told of progress before the answer, and what it gives up is cancelled (LT1)', async () => {
    const client = await connect('all');
    const name = 'slow';
    const seen: number[] = [];
    const done = await client.callTool({ name, arguments: { ms: 150, steps: 3 } }, undefined, {
      onprogress: ({ progress }) => void seen.push(progress),
    });
    expect({ seen, said: textOf(done) }).toEqual({
      seen: [1, 2, 3],
      said: expect.stringContaining('done'),
    });
    const given = new AbortController();
    const long = client.callTool({ name, arguments: { ms: 60_000, steps: 2 } }, undefined, {
      signal: given.signal,
    });
    setTimeout(() => given.abort(new Error('no longer wanted')), 50);
    await expect(long).rejects.toThrow();
    await expect.poll(() => mcp.clients.router.counts.in_flight).toBe(0);
    await client.close();
  });

  test('hears what is wrong with a request as an error, and nothing of a server that is not there', async () => {
    const client = await connect('all');
    await expect(client.callTool({ name: 'fail', arguments: {} })).rejects.toThrow('It is gone');
    await expect(client.callTool({ name: 'not-there', arguments: {} })).rejects.toThrow('no tool not-there');
    await client.close();
    await expect(connect('nobody')).rejects.toThrow('there is no server "nobody"');
  });
});

test('a client answers what a server asks it, and nothing of it is left once it has left (LT2)', async () => {
  const client = await clients['of SDK v1, with a session']('asker');
  const asked = await client.callTool({
    name: 'ask',
    arguments: { method: 'elicitation/create', word: 'really' },
  });
  expect(textOf(asked)).toContain('accept');
  const pending = client.callTool({ name: 'ask', arguments: { method: 'never/answered' } });
  const sessions = mcp.clients.sessions.size;
  await client.close();
  await expect(pending).rejects.toThrow();
  await expect.poll(() => mcp.clients.sessions.size).toBe(sessions - 1);
  await expect.poll(() => mcp.clients.router.counts.in_flight).toBe(0);
});

test('a session that the gateway has ended closes its client', async () => {
  const client = await clients['of SDK v1, with a session']();
  const closed = new Promise<void>((done) => {
    client.onclose = done;
  });
  mcp.clients.sessions.closeStreams();
  await closed;
  await expect(client.listTools()).rejects.toThrow(/closed|not connected/i);
});

test('a program calls a tool by itself, and is told what is wrong', async () => {
  expect(textOf(await gateway.call('all', 'echo', { message: 'plain' }))).toContain('plain');
  expect((await gateway.tools('all')).map(({ name }) => name)).toContain('echo');
  await expect(gateway.call('nobody', 'echo')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_SERVER' });
  expect(await gateway.call('all', 'refuse')).toMatchObject({ isError: true });
  const late = gateway.call('all', 'slow', { ms: 60_000 }, { timeoutMs: 100 });
  await expect(late).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
});

test('a program hears of a failure of the gateway, and the transport takes no other object', async () => {
  const other = await openGateway(join(folder, 'gateway.yaml'));
  const failed = new Promise((resolve) => other.whenFailed(resolve));
  coreOf(other).life.fail('store', new Error('the disk is gone'));
  expect(await failed).toMatchObject({ message: 'the disk is gone' });
  const { call, tools, whenFailed, stop } = gateway;
  expect(() => new GatewayTransport({ call, tools, whenFailed, stop })).toThrow('openGateway');
});
