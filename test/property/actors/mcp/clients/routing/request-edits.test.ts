// Tool calls at /mcp with random members in random order, from clients and to servers of both eras (legacy:
// MCP with sessions, modern: without). The gateway edits the bytes of a call. The server receives the message
// that results from changing the parsed message. Crafted metadata never becomes arguments.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EraBridge } from '../../../../../../actors/mcp/clients/eras/bridge.ts';
import { readCaller } from '../../../../../../actors/mcp/clients/eras/modern-caller.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import { type RoutedRequest, routeTo } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { Forwarder } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import type { Era } from '../../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { rawJson, replaceSpan } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';
import { FakeManagedServer } from '../../../../../fixtures/server/fake-server.ts';

const PREFIX = 'io.modelcontextprotocol/';
/** Members of `_meta` in which a modern client describes itself. */
const callerMembers = [
  `${PREFIX}protocolVersion`,
  `${PREFIX}clientInfo`,
  `${PREFIX}clientCapabilities`,
] as const;
const eras = ['legacy', 'modern'] as const;

type Json = Record<string, unknown>;

const servers: Partial<Record<Era, FakeManagedServer>> = {};

beforeAll(async () => {
  for (const era of eras) {
    const pool = { max: 1, in_flight: 100_000, waiting: 9 };
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: {}, resultType: 'complete' };
    const managed = new FakeManagedServer(
      { era, isolation: 'shared', pool },
      { answers: { 'server/discover': discovered } },
    );
    servers[era] = managed;
    await managed.server.start();
    const { cache } = managed.server;
    // The tool `slow` must be called as a task.
    cache.lists = {
      tools: [{ key: 'slow', before: '{"name":', after: ',"execution":{"taskSupport":"required"}}' }],
    };
    const description = cache.descriptionIn(era);
    if (era === 'legacy' && description !== undefined)
      cache.setDescription(era, {
        ...description,
        capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      });
  }
});

afterAll(() => {
  for (const managed of Object.values(servers)) managed.actor.stop();
});

/** Returns the message that the server receives for a tool call at /mcp. */
function receivedMessage(text: string, client: Era, server: Era, tool: string): Json {
  const managed = servers[server] as FakeManagedServer;
  const envelope = readClientMessage(Buffer.from(text));
  const caller = client === 'modern' ? readCaller(envelope) : undefined;
  const silent = { send: () => {}, finish: () => {}, drop: () => {} };
  const exchange = new ClientExchange(envelope.rawId, silent, { redact: String, onEnd: () => {} });
  if (caller !== undefined) exchange.modernResult = { serverInfo: {}, isMethodKnown: true };
  const request = { session: undefined, caller, envelope, exchange, trace: undefined };
  const target = { server: managed.server, key: tool };
  const name = envelope.param('name');
  const edits = name === undefined ? [] : [replaceSpan(name, rawJson(tool))];
  const route: RoutedRequest = routeTo(request, managed.server, edits, target);
  new Forwarder(new InFlightLimiter(100_000), new EraBridge()).forward(route);
  const sent = managed.link.sent.at(-1);
  return sent?.message as Json;
}

/** Returns the expected message, by changing the parsed message. */
function expectedMessage(text: string, client: Era, server: Era, tool: string, id: unknown): Json {
  const message = JSON.parse(text) as Json;
  const params = message.params as Json;
  message.id = id;
  params.name = tool;
  // Modern clients create tasks on modern servers themselves.
  if (client === 'legacy' || server === 'legacy') delete params.task;
  const meta = params._meta as Json | undefined;
  if (meta?.progressToken !== undefined) meta.progressToken = id;
  if (server === 'legacy') {
    // A legacy server receives no members of the modern protocol.
    if (client === 'modern') for (const key of [...callerMembers, `${PREFIX}logLevel`]) delete meta?.[key];
    if (client === 'modern') for (const key of ['inputResponses', 'requestState']) delete params[key];
    // The gateway creates the task. Its lifetime is the longest wait for a result, plus a margin.
    if (tool === 'slow') params.task = { ttl: 660_000 };
    return message;
  }
  if (client === 'legacy') {
    const [version, info, capabilities] = callerMembers;
    const caller = { [version]: '2026-07-28', [info]: { name: 'unknown', version: '0' }, [capabilities]: {} };
    params._meta = { ...meta, ...caller };
    return message;
  }
  // The catalog does not permit this server to read the client's roots.
  const capabilities = meta?.[callerMembers[2]] as Json;
  delete capabilities.roots;
  return message;
}

const gap = fc.constantFrom('', ' ', '  ');
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value));

/**
 * Generates an object with a random subset, order and spacing of members. The members in `always` are
 * present.
 */
function objectOf(
  members: Readonly<Record<string, fc.Arbitrary<string>>>,
  always: readonly string[],
): fc.Arbitrary<string> {
  const arbMembers = Object.entries(members).map(([key, value]) =>
    fc.record({
      key: fc.constant(key),
      value,
      isPresent: always.includes(key) ? fc.constant(true) : fc.boolean(),
      rank: fc.nat(),
    }),
  );
  return fc.tuple(gap, ...arbMembers).map(([space, ...candidates]) => {
    const texts = candidates
      .filter(({ isPresent }) => isPresent)
      .sort((a, b) => a.rank - b.rank)
      .map(({ key, value }) => `${JSON.stringify(key)}${space}:${space}${value}`);
    return `{${space}${texts.join(`${space},`)}${space}}`;
  });
}

const TASKS_EXTENSION = `${PREFIX}tasks`;
const extensions = objectOf({ [TASKS_EXTENSION]: json, [`${PREFIX}ui`]: json, other: json }, []);
const capabilities = objectOf(
  { extensions, roots: fc.constant('{}'), sampling: fc.constant('{}'), x: json },
  [],
);
/** Members of `_meta` for both eras. */
const commonMeta = { progressToken: fc.constantFrom('1', '"t"'), mine: json, 'a/b': json };

/** Generates the parameters of a client's tool call, as JSON text. */
function paramsOf(client: Era): fc.Arbitrary<string> {
  const meta =
    client === 'legacy'
      ? objectOf(commonMeta, [])
      : objectOf(
          {
            [callerMembers[0]]: fc.constant('"2026-07-28"'),
            [callerMembers[1]]: fc.constant('{"name":"c","version":"1"}'),
            [callerMembers[2]]: capabilities,
            [`${PREFIX}logLevel`]: fc.constant('"info"'),
            ...commonMeta,
          },
          callerMembers,
        );
  const retry = { inputResponses: json, requestState: fc.constant('"s"') };
  return objectOf(
    {
      name: fc.constant('"old__echo"'),
      arguments: json,
      _meta: meta,
      task: json,
      x: json,
      ...(client === 'modern' ? retry : {}),
    },
    client === 'modern' ? ['name', '_meta'] : ['name'],
  );
}

test.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  'the server receives the expected message from a %s client at a %s server',
  (client, server) => {
    fc.assert(
      fc.property(
        paramsOf(client),
        fc.constantFrom('echo', 'slow'),
        fc.boolean(),
        (params, tool, areLast) => {
          const head = '"jsonrpc":"2.0","id":"mine","method":"tools/call"';
          const text = areLast ? `{${head},"params":${params}}` : `{"params":${params},${head}}`;
          const message = receivedMessage(text, client, server, tool);
          expect(message).toEqual(expectedMessage(text, client, server, tool, message.id));
        },
      ),
      { numRuns: runs(1000) },
    );
  },
);

// Regression: the edits that remove the tasks extension and the capabilities around it overlapped, and
// members of `_meta` replaced a part of the arguments.
test('crafted metadata of any length in a call never becomes arguments', () => {
  for (let pad = 0; pad < 120; pad += 1) {
    const args = `{"path":"allowed","a":{"b":{"pad":"${'x'.repeat(pad)}"}}}`;
    const declared = `{"extensions":{"${TASKS_EXTENSION}":{},"k":1}}`;
    const meta = `{"${callerMembers[0]}":"2026-07-28","${callerMembers[1]}":{"name":"c","version":"1"},"${callerMembers[2]}":${declared},"path":"other"}`;
    const text = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"old__echo","arguments":${args},"_meta":${meta}}}`;
    const { params } = receivedMessage(text, 'modern', 'legacy', 'echo') as { params: Json };
    expect(params).toEqual({ name: 'echo', arguments: JSON.parse(args), _meta: { path: 'other' } });
  }
});
