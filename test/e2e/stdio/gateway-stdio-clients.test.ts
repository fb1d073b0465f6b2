// Clients of the public SDKs that start gateway-stdio: with all servers (--config), one server (--server),
// and as a bridge to a running gateway and to a remote server (--url).

import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { beforeAll, describe, expect, test } from 'vitest';
import { isAlive, until } from '../../fixtures/clients/raw-session.ts';
import {
  everythingOverHttp,
  everythingOverStdio,
  type RemoteEverything,
} from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { configured, StdioClient, stdioFile } from '../../fixtures/gateway/stdio-gateway.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const KEY = 'key-of-the-desktop';
let gateway: GatewayProcess;
let remote: RemoteEverything;

const STEPS = 150;
const ROUNDS = 20;

beforeAll(async () => {
  remote = await everythingOverHttp();
  gateway = await startGateway({
    servers: { all: { ...everythingOverStdio(), isolation: 'session' }, burst: fault('burst') },
    settings: { api_key: KEY },
  });
});

const key = ['--header', `X-API-Key: \${DESKTOP_KEY}`];
const env = { DESKTOP_KEY: KEY };

interface StdioPath {
  readonly what: string;
  args(): string[];
  /** Prefix of tool names. */
  readonly prefix: string;
}

const paths: StdioPath[] = [
  {
    what: 'all servers of a catalog',
    args: () => configured({ servers: { all: everythingOverStdio(), burst: fault('burst') } }),
    prefix: 'all__',
  },
  {
    what: 'one server of a catalog',
    args: () => configured({ servers: { all: everythingOverStdio() } }, '--server', 'all'),
    prefix: '',
  },
  {
    what: 'a bridge to all servers of a gateway',
    args: () => ['--url', `${gateway.url}/mcp`, ...key],
    prefix: 'all__',
  },
  {
    what: 'a bridge to one server of a gateway',
    args: () => ['--url', `${gateway.url}/mcp/all`, ...key],
    prefix: '',
  },
  { what: 'a bridge to a remote server', args: () => ['--url', remote.url], prefix: '' },
];

describe.each(paths)('$what', ({ args, prefix }) => {
  const connect = () => StdioClient.connect(args(), { env });

  test('gateway-stdio lists tools, resources and prompts, and answers calls', async () => {
    const client = await connect();
    const { tools } = await client.request('tools/list');
    expect(tools.map(({ name }: { name: string }) => name)).toContain(`${prefix}echo`);
    expect((await client.request('resources/list')).resources.length).toBeGreaterThan(0);
    expect((await client.request('prompts/list')).prompts.length).toBeGreaterThan(0);
    expect(await client.call(`${prefix}echo`, { text: 'hö' })).toEqual({ text: 'hö' });
    await client.close();
  });

  test('gateway-stdio forwards server requests to the client, and the answers to the server', async () => {
    const client = await connect();
    await client.request('tools/list');
    expect(JSON.stringify(await client.call(`${prefix}sample`))).toContain('"sampled"');
    expect(JSON.stringify(await client.call(`${prefix}elicit`, { message: 'Who?' }))).toContain(
      'Ann on Who?',
    );
    await client.close();
  });

  test('gateway-stdio forwards the cancellation of a call to the server', async () => {
    const client = await connect();
    await client.request('tools/list');
    const stop = new AbortController();
    const call = client.client.callTool(
      { name: `${prefix}slow`, arguments: { steps: 10_000, ms: 5 } },
      undefined,
      { signal: stop.signal, onprogress: () => stop.abort('enough') },
    );
    await expect(call).rejects.toThrow('enough');
    await until('the cancellation at the server', async () => {
      const { cancelled } = await client.call(`${prefix}stats`);
      return cancelled.length === 1;
    });
    await client.close();
  });

  test('gateway-stdio forwards notifications of changed lists and subscribed resources', async () => {
    const client = await connect();
    await client.request('tools/list');
    await client.call(`${prefix}touch`, { name: 'fresh' });
    await until('the notice', () => client.count('notifications/tools/list_changed') > 0);
    await until('the new tool', async () => {
      const { tools } = await client.request('tools/list');
      return tools.some(({ name }: { name: string }) => name === `${prefix}fresh`);
    });
    const { resources } = await client.request('resources/list');
    const { uri } = resources[0];
    await client.request('resources/subscribe', { uri });
    await client.call(`${prefix}update`, { uri });
    await until('the update', () =>
      client.notes.find(
        ({ method, params }) => method === 'notifications/resources/updated' && params?.uri === uri,
      ),
    );
    await client.close();
  });
});

describe('progress that a server writes together with its answer', () => {
  const targets = [
    { what: 'in the same process', args: () => configured({ servers: { burst: fault('burst') } }) },
    { what: 'over a bridge', args: () => ['--url', `${gateway.url}/mcp`, ...key] },
  ];

  test.each(targets)('reaches a client of SDK v1 without loss, $what', async ({ args }) => {
    const { client } = await StdioClient.connect(args(), { env });
    await client.listTools();
    const steps: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let count = 0;
      await client.callTool({ name: 'burst__burst', arguments: { steps: STEPS } }, undefined, {
        onprogress: () => {
          count += 1;
        },
      });
      steps.push(count);
    }
    expect(steps).toEqual(Array(ROUNDS).fill(STEPS));
  });

  test.each(targets)('reaches a client of SDK v2 without loss, $what', async ({ args }) => {
    const client = new ModernClient({ name: 'v2', version: '1' });
    await client.connect(
      new ModernTransport({
        command: process.execPath,
        args: [stdioFile, ...args()],
        env: { ...(process.env as Record<string, string>), ...env },
        stderr: 'ignore',
      }),
    );
    await client.listTools();
    const steps: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let count = 0;
      await client.callTool(
        { name: 'burst__burst', arguments: { steps: STEPS } },
        {
          onprogress: () => {
            count += 1;
          },
        },
      );
      steps.push(count);
    }
    await client.close();
    expect(steps).toEqual(Array(ROUNDS).fill(STEPS));
  });
});

describe('a client of MCP 2026-07-28 (without sessions)', () => {
  const connect = async (args: readonly string[]) => {
    const client = new ModernClient(
      { name: 'modern', version: '1' },
      { versionNegotiation: { mode: 'auto' } },
    );
    const transport = new ModernTransport({
      command: process.execPath,
      args: [stdioFile, ...args],
      env: { ...(process.env as Record<string, string>), ...env },
      stderr: 'ignore',
    });
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    return client;
  };

  test.each(paths)('is served without a session: $what', async ({ args, prefix }) => {
    const client = await connect(args());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain(`${prefix}echo`);
    const { content } = await client.callTool({ name: `${prefix}echo`, arguments: { text: 'hö' } });
    expect(content).toMatchObject([{ text: '{"text":"hö"}' }]);
    const stop = new AbortController();
    const call = client.callTool(
      { name: `${prefix}slow`, arguments: { steps: 10_000, ms: 5 } },
      { signal: stop.signal, onprogress: () => stop.abort('enough') },
    );
    await expect(call).rejects.toThrow();
    await until('the cancellation at the server', async () => {
      const answer = await client.callTool({ name: `${prefix}stats`, arguments: {} });
      return JSON.stringify(answer.content).includes('\\"cancelled\\":[\\"');
    });
    await client.close();
  });

  // This client loses messages that it reads together with the answer. On a slow machine this may affect a
  // burst.
  test('gets progress that a server writes together with its answer', async () => {
    const client = await connect(configured({ servers: { burst: fault('burst') } }));
    await client.listTools();
    const steps: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let count = 0;
      const onprogress = () => {
        count += 1;
      };
      await client.callTool({ name: 'burst__burst', arguments: { steps: STEPS } }, { onprogress });
      steps.push(count);
    }
    await client.close();
    expect(steps.filter((count) => count === STEPS).length, `${steps}`).toBeGreaterThanOrEqual(ROUNDS - 1);
  });
});

describe('a server that fails while the MCP client stays connected to gateway-stdio', () => {
  test('is available for a later call if its process has crashed', async () => {
    const client = await StdioClient.connect(
      configured(
        { servers: { echo: fault('echo', { restart: { min_backoff_ms: 10 } }) } },
        '--server',
        'echo',
      ),
    );
    const pid = await client.call('pid');
    await expect(client.call('crash')).rejects.toThrow();
    const next = await until('another process', () => client.call('pid').catch(() => undefined));
    expect(next).not.toBe(pid);
    await client.close();
    await until('its end', () => !isAlive(next));
  });

  test('is available for a later call if it is remote and has lost its sessions', async () => {
    const own = await everythingOverHttp();
    const client = await StdioClient.connect(['--url', own.url]);
    expect(await client.call('echo', { text: 'a' })).toEqual({ text: 'a' });
    await own.loseSessions();
    await until('an answer', async () => {
      const answer = await client.call('echo', { text: 'b' }).catch(() => undefined);
      return answer?.text === 'b';
    });
    await client.close();
  });
});

test('gateway-stdio --url reports that the remote gateway rejected the API key, without showing the key', async () => {
  const connecting = StdioClient.connect([
    '--url',
    `${gateway.url}/mcp`,
    '--header',
    'X-API-Key: wrong-secret',
  ]);
  const error = await connecting.then(
    () => undefined,
    (reason: Error) => reason,
  );
  expect(error?.message).toMatch(/403/);
  expect(error?.message).not.toContain('wrong-secret');
});
