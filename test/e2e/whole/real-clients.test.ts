// Unmodified clients on all paths: HTTP, gateway-stdio, mcp-remote, and gateways behind gateways. Results
// must equal the results of a direct connection. Large clients are installed once by test/real/setup.mjs;
// this may take minutes.

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { type Answer, connectReal, type Kind, type Target } from '../../fixtures/clients/real-clients.ts';
import {
  expectLogReceived,
  expectQuestionsAnswered,
  expectUpdatesReceived,
  tourOfEverything,
  toursWithoutGateway,
} from '../../fixtures/clients/real-tour.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { configured, stdioFile } from '../../fixtures/gateway/stdio-gateway.ts';
import {
  everythingServer,
  filesystemServer,
  guardedFolder,
  inspect,
  mcpRemote,
} from '../../fixtures/server/real-servers.ts';
import { installReal } from '../../real/setup.mjs';

const INSTALL_MS = 300_000;

let reference: { session: Answer; shared: Answer };

beforeAll(async () => {
  await installReal();
  reference = await toursWithoutGateway();
}, INSTALL_MS);

const KEY = 'key-of-the-real';
const header = `X-API-Key: ${KEY}`;

describe('with one gateway and a key', () => {
  let gateway: GatewayProcess;
  let behind: GatewayProcess;
  const { folder } = guardedFolder();
  const servers = {
    everything: { ...everythingServer, isolation: 'session', forward_roots: true },
    files: { ...filesystemServer(folder) },
  };

  beforeAll(async () => {
    gateway = await startGateway({ servers, settings: { api_key: KEY } });
    const remote = (path: string) => ({
      url: `${gateway.url}${path}`,
      headers: { 'X-API-Key': KEY },
      // Detects the era, the generation of the MCP protocol: legacy or modern.
      era: 'auto',
      isolation: 'session',
      forward_roots: true,
    });
    // On the other HTTP engine, so that the clients test both engines.
    behind = await startGateway({
      http: 'node',
      servers: {
        far: remote('/mcp'),
        one: remote('/mcp/everything'),
        bridged: {
          ...mcpRemote(`${gateway.url}/mcp/everything`, [header]),
          isolation: 'session',
          forward_roots: true,
        },
      },
    });
  });

  const url = (path: string): Target => ({ url: `${gateway.url}${path}`, headers: { 'X-API-Key': KEY } });
  const program = (...args: string[]): Target => ({
    command: process.execPath,
    args: [stdioFile, ...args],
    env: { REAL_KEY: KEY },
  });
  const bridge = (path: string) =>
    program('--url', `${gateway.url}${path}`, '--header', `X-API-Key: \${REAL_KEY}`);

  interface ClientPath {
    readonly what: string;
    /** SDK version of the client, with the era (generation) of the MCP protocol for v2. */
    readonly kinds: readonly Kind[];
    /** Prefix of the names of tools on this path. */
    readonly prefix: string;
    /** The proxy reads progress and answer together, and may lose the last progress message. */
    readonly isLossy?: boolean;
    target(): Target;
  }

  const paths: ClientPath[] = [
    { what: 'over HTTP', kinds: ['v2 legacy', 'v2 auto'], prefix: '', target: () => url('/mcp/everything') },
    {
      what: 'over gateway-stdio with a configuration',
      kinds: ['v1', 'v2 auto'],
      prefix: 'everything__',
      target: () => program(...configured({ servers })),
    },
    {
      what: 'over gateway-stdio with one server of a configuration',
      kinds: ['v2 modern'],
      prefix: '',
      target: () => program(...configured({ servers }, '--server', 'everything')),
    },
    {
      what: 'over gateway-stdio with an address',
      kinds: ['v1', 'v2 legacy', 'v2 modern'],
      prefix: 'everything__',
      target: () => bridge('/mcp'),
    },
    {
      what: 'over mcp-remote',
      kinds: ['v1', 'v2 auto'],
      isLossy: true,
      prefix: 'everything__',
      target: () => mcpRemote(`${gateway.url}/mcp`, [header]),
    },
    {
      what: 'through a gateway before the gateway',
      kinds: ['v1', 'v2 modern'],
      prefix: 'far__everything__',
      target: () => ({ url: `${behind.url}/mcp` }),
    },
    {
      what: 'through a gateway before one server of the gateway',
      kinds: ['v1', 'v2 modern'],
      prefix: '',
      target: () => ({ url: `${behind.url}/mcp/one` }),
    },
    {
      what: 'through a gateway that has mcp-remote as a server',
      kinds: ['v1'],
      prefix: '',
      target: () => ({ url: `${behind.url}/mcp/bridged` }),
    },
  ];
  const cases = paths.flatMap(({ kinds, ...way }) => kinds.map((kind) => ({ kind, ...way })));

  test.each(cases)(
    'a client of $kind gets the same results as without a gateway, $what',
    async ({ kind, target, prefix, isLossy = false }) => {
      const client = await connectReal(kind, target());
      expect(client.era).toBe(kind === 'v1' || kind === 'v2 legacy' ? 'legacy' : 'modern');
      // Before the first call the lists are those for a client with no capabilities.
      await client.call(`${prefix}echo`, { message: 'hello' });
      await eventually('the tools that ask', async () => {
        const { tools } = await client.listTools();
        return tools.some(({ name }) => name === `${prefix}get-roots-list`);
      });
      const tour = await tourOfEverything({ client, prefix });
      expect(tour).toEqual({ ...reference.session, steps: isLossy ? tour.steps : [1, 2, 3, 4] });
      await expectQuestionsAnswered({ client, prefix });
      if (client.era === 'legacy') {
        await expectUpdatesReceived({ client, prefix });
        await expectLogReceived({ client, prefix });
      }
      await client.close();
    },
  );

  test('the MCP Inspector works over HTTP with the API key, and through gateway-stdio', {
    timeout: 240_000,
  }, async () => {
    const config = configured({ servers: { everything: { ...everythingServer, isolation: 'shared' } } });
    const overHttp = [`${gateway.url}/mcp`, '--transport', 'http', '--header', header];
    const overStdio = ['--config', await printedEntry(...config), '--server', 'actor-gateway'];
    const uri = 'demo://resource/dynamic/text/3';
    const asks: [method: string, args: string[], expected: object][] = [
      [
        'tools/list',
        [],
        { tools: expect.arrayContaining([expect.objectContaining({ name: 'everything__echo' })]) },
      ],
      [
        'tools/call',
        ['--tool-name', 'everything__get-sum', '--tool-arg', 'a=2.5', 'b=4'],
        { content: [{ type: 'text', text: 'The sum of 2.5 and 4 is 6.5.' }] },
      ],
      [
        'prompts/get',
        ['--prompt-name', 'everything__args-prompt', '--prompt-args', 'city=Rom'],
        { messages: [{ role: 'user', content: { type: 'text', text: "What's weather in Rom?" } }] },
      ],
      ['resources/read', ['--uri', uri], { contents: [{ uri, mimeType: 'text/plain' }] }],
      ['logging/setLevel', ['--log-level', 'debug'], {}],
    ];
    const withStdio = new Set(['tools/list', 'tools/call', 'logging/setLevel']);
    const runs = asks.flatMap(([method, args, expected]) =>
      [overHttp, ...(withStdio.has(method) ? [overStdio] : [])].map((path) => async () => {
        expect(await inspect(...path, '--method', method, ...args)).toMatchObject(expected);
      }),
    );
    // The Inspector is a large program with timeouts: eight in parallel are too many for a small machine.
    await runConcurrently(runs.length, 2, async (at) => await runs[at]?.());
    await expect(inspect(...overHttp.slice(0, 3), '--method', 'tools/list')).rejects.toThrow(
      /API key required/,
    );
  });

  describe('the entry that --print-config prints', () => {
    test.each(['v1', 'v2 modern'] as const)('starts the program for %s unchanged', async (kind) => {
      const file = await printedEntry(...configured({ servers: { files: filesystemServer(folder) } }));
      const { command, args } = entryIn(file);
      const client = await connectReal(kind, { command, args, isBare: true });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('files__read_text_file');
      await client.close();
    });

    test('connects a client to the gateway with the API key in its env', async () => {
      const headers = ['--header', `X-API-Key: ${KEY}`];
      const file = await printedEntry('--url', `${gateway.url}/mcp/files`, ...headers);
      const { command, args, env } = entryIn(file);
      expect(env).toEqual({ X_API_KEY: `\${X_API_KEY}` });
      const client = await connectReal('v1', { command, args, isBare: true, env: { X_API_KEY: KEY } });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('read_text_file');
      await client.close();
      await expect(connectReal('v1', { command, args, isBare: true, env })).rejects.toThrow(
        'Connection closed',
      );
    });
  });
});

function entryIn(file: string): Answer {
  return JSON.parse(readFileSync(file, 'utf8')).mcpServers['actor-gateway'];
}

/** File with the output of gateway-stdio --print-config. */
async function printedEntry(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [stdioFile, ...args, '--print-config']);
  const file = join(temporaryFolder(), 'desktop.json');
  writeFileSync(file, stdout);
  return file;
}
