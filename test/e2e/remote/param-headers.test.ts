// The client of the public SDK v2 as a reference for tool schemas: the tools that it hides, and the headers
// that it sends.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect, test, vi } from 'vitest';
import { hasInvalidAnnotations } from '../../../actors/mcp/links/streamable-http/param-headers.ts';
import { annotatedSchema, faultySchemas, plainSchemas } from '../../fixtures/remote/annotated-schemas.ts';
import { answerJson, LocalServer, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { modernRequest } from '../../fixtures/remote/modern-server.ts';
import { checkGuarantees, modernLink } from '../../fixtures/remote/open-link.ts';

const servers: LocalServer[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  await checkGuarantees();
  // The SDK client leaves idle connections open, so they are closed here.
  for (const server of servers.splice(0)) await server.close();
});

/** Starts a server with one tool per schema that accepts any call. */
async function serveTools(tools: readonly (readonly [string, object])[]): Promise<LocalServer> {
  const results: Record<string, object> = {
    'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    'tools/list': { tools: tools.map(([name, inputSchema]) => ({ name, inputSchema })) },
    'tools/call': { content: [] },
  };
  const server = await LocalServer.start(({ res, body }) =>
    answerJson(
      res,
      result(body, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...results[methodOf(body)] }),
    ),
  );
  servers.push(server);
  return server;
}

async function withClient(server: LocalServer, use: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client(
    { name: 'judge', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new StreamableHTTPClientTransport(server.url()));
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

test('the gateway omits tools with invalid header annotations, exactly those that the SDK client omits', async () => {
  // The SDK client warns about omitted tools.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const all = [['annotated', annotatedSchema] as const, ...plainSchemas, ...faultySchemas].filter(
    // The SDK client lists only tools whose schema is of type object.
    ([, schema]) => 'type' in schema,
  );
  const server = await serveTools(all);
  await withClient(server, async (client) => {
    const { tools } = await client.listTools();
    const validTools = all.filter(([, schema]) => !hasInvalidAnnotations(schema));
    expect(tools.map(({ name }) => name)).toEqual(validTools.map(([name]) => name));
    expect(tools.length).toBeLessThan(all.length - 20);
  });
});

test.each([
  { region: 'us-west1', shard: 42, dry: true, to: { city: 'Zürich' }, query: 'x' },
  { region: ' padded ', shard: -7, dry: false, to: { city: '=?base64?literal?=' } },
  { region: '', to: { city: 'two words' } },
  { region: null, shard: 2 ** 60, to: [] },
  { region: 7, shard: 1.5, dry: 'yes' },
  {},
])('the gateway sends the same headers for %j as the SDK client', async (args) => {
  const server = await serveTools([['tool', annotatedSchema]]);
  await withClient(server, async (client) => {
    await client.listTools();
    await client.callTool({ name: 'tool', arguments: args });
  });
  const { link, recorder } = modernLink(server.url(), { inputSchemaOf: () => annotatedSchema });
  link.send(modernRequest(2, 'tools/call', { name: 'tool', arguments: args }), 2);
  await recorder.answer(2);
  const calls = server.requests.filter(({ headers }) => headers['mcp-method'] === 'tools/call');
  const [theirs, ours] = calls.map(({ headers }) =>
    Object.entries(headers)
      .filter(([name]) => name.startsWith('mcp-'))
      .toSorted(),
  );
  expect(ours).toEqual(theirs);
});
