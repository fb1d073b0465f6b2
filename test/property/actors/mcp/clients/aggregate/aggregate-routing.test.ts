// Routing at /mcp, where the lists of all servers are merged. For random catalogs (sets of servers) and both
// client eras (legacy: MCP with sessions, modern: without), each listed name or URI leads to its server,
// under the name that this server uses. The rest of the message is unchanged.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import type { RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import {
  type AggregateContext,
  routeToAny,
} from '../../../../../../actors/mcp/clients/routing/aggregate-router.ts';
import { KnownClients } from '../../../../../../actors/mcp/clients/routing/known-clients.ts';
import { ToolSearch } from '../../../../../../actors/mcp/clients/search/tool-search.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import type { ListKind } from '../../../../../../actors/mcp/servers/lists/lists.ts';
import { aggregateOf, ListedServer, type Listing } from '../../../../../fixtures/server/listed-server.ts';

type Era = 'legacy' | 'modern';

const eras = {
  knownEras: { legacy: true, modern: true },
  serverEraFor: (era: Era) => era,
};

function listedServer(id: string, listing: Listing): ListedServer {
  return Object.assign(new ListedServer(id, listing), { eras, handle: { isParked: false } });
}

/** Returns the target server and the forwarded text. Undefined if no target exists. */
function routeMessage(
  context: AggregateContext,
  text: string,
  era: Era,
): { server: string; text: string } | undefined {
  const envelope = readClientMessage(Buffer.from(text));
  const sent: RoutedRequest[] = [];
  const forwarder = {
    forward: (route: RoutedRequest) => sent.push(route),
  } as unknown as AggregateContext['forwarder'];
  const silent = { send: () => {}, finish: () => {}, drop: () => {} };
  const exchange = new ClientExchange('1', silent, { redact: String, onEnd: () => {} });
  const caller = { capabilities: {}, clientInfo: {}, logLevel: undefined };
  const request = { session: undefined, envelope, exchange, trace: undefined };
  routeToAny({ ...request, caller: era === 'legacy' ? undefined : caller }, { ...context, forwarder });
  const [route] = sent;
  if (route === undefined) return undefined;
  expect(sent).toHaveLength(1);
  return {
    server: route.server.id,
    text: toBuffer(applyEdits(envelope.bytes, route.edits ?? [])).toString(),
  };
}

// Ids and names contain underscores, because listed names are `SERVER__NAME`.
const arbId = fc.oneof(
  fc.constantFrom('a', 'a_', 'a__b', 'be.ta', 'é'.repeat(3), 'l'.repeat(63)),
  fc.stringMatching(/^[a-z][a-z_.]{0,5}$/),
);
const arbName = fc.oneof(
  fc.constantFrom(
    'b',
    'b__c',
    'x'.repeat(64),
    'x'.repeat(200),
    'toString',
    '',
    'call_tool',
    '"\\',
    '🎭',
    '\u2028',
  ),
  fc.string({ maxLength: 6 }),
);
const arbUri = fc.oneof(
  fc.constantFrom('x://1', 'x://2', 'file:///é', 'a:b', '__proto__'),
  fc.string({ minLength: 1, maxLength: 6 }),
);
const upToFive = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 5 });
const server = fc.record({
  id: arbId,
  tools: upToFive(arbName),
  prompts: upToFive(arbName),
  resources: upToFive(arbUri),
});
const arbCatalog = fc.uniqueArray(server, {
  selector: (one) => one.id,
  maxLength: 4,
});

/** Returns a JSON string in which some characters, selected by `seed`, are escapes. */
function encode(text: string, seed: number): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  let random = seed;
  return JSON.stringify(text).replace(/[A-Za-z0-9_]/g, (char, offset: number, whole: string) => {
    random = (random * 31 + 7) % 101;
    // A character that follows a backslash may be part of an escape, so it stays.
    return random % 4 === 0 && !whole.slice(0, offset).includes('\\') ? escaped(char) : char;
  });
}

/** Any arguments around the name, as JSON text. */
const arbJson = fc.json({ maxDepth: 2 });

test.each<Era>(['legacy', 'modern'])(
  "each merged name or URI in a request of a %s client reaches the right server under the server's own name",
  (era) => {
    fc.assert(
      fc.property(arbCatalog, arbJson, fc.nat(100), (catalog, args, seed) => {
        const servers = catalog.map(({ id, ...listing }) => listedServer(id, listing).asManaged);
        const aggregate = aggregateOf(() => servers);
        const search = new ToolSearch({ aggregate, tagsOf: () => [] });
        const context = {
          aggregate,
          views: { find: () => aggregate },
          known: new KnownClients(),
          discovery: { waitForLists: async () => {} },
        } as unknown as AggregateContext;
        const message = (method: string, before: string, nameJson: string, after: string) =>
          `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${before}${nameJson}${after}}}`;
        /**
         * Returns the request's target server. The server must receive `ownName` instead of `nameJson`.
         */
        const serverOf = (
          method: string,
          before: string,
          nameJson: string,
          ownName: string,
          after: string,
        ) => {
          const found = routeMessage(context, message(method, before, nameJson, after), era);
          expect(found?.text).toBe(message(method, before, ownName, after));
          return found?.server;
        };
        // No parser preserves the number `n`, so the remaining message must be forwarded as text.
        const tail = `,"arguments":${args},"n":12345678901234567890.0`;
        /** Server and original name by listed name. */
        const targets = { tools: new Map<string, string>(), prompts: new Map<string, string>() };
        for (const kind of ['tools', 'prompts'] as const) {
          const page = JSON.parse(aggregate.list(kind).raw.toString());
          for (const { name: listedName } of page[kind as ListKind]) {
            const target = aggregate.find(kind, listedName);
            const [nameJson, ownName] = [encode(listedName, seed), JSON.stringify(target?.key)];
            const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
            expect(serverOf(method, '"name":', nameJson, ownName, tail)).toBe(target?.server.id);
            targets[kind].set(listedName, `${target?.server.id}\0${target?.key}`);
            if (kind === 'prompts') {
              const [before, after] = [
                '"ref":{"type":"ref/prompt","name":',
                `,"x":${args}},"argument":{"name":"b"}`,
              ];
              expect(serverOf('completion/complete', before, nameJson, ownName, after)).toBe(
                target?.server.id,
              );
            } else {
              // The `call_tool` tool of the tool search calls the tool in its arguments.
              const found = routeMessage(
                { ...context, search },
                message(
                  'tools/call',
                  '"name":"call_tool","arguments":{"name":',
                  nameJson,
                  `,"arguments":{"x":${args}}}`,
                ),
                era,
              );
              expect(found?.server).toBe(target?.server.id);
              expect(found?.text).toBe(
                message('tools/call', '"name":', ownName, `,"arguments":{"x":${args}}`),
              );
            }
          }
          // All items of every server are present, once each.
          const expected = catalog.flatMap((one) =>
            [...new Set(one[kind])].map((key) => `${one.id}\0${key}`),
          );
          expect([...targets[kind].values()]).toEqual(expected);
        }
        // A URI is not renamed. The first server with the resource answers.
        for (const uri of new Set(catalog.flatMap(({ resources }) => resources))) {
          const first = catalog.find(({ resources }) => resources.includes(uri))?.id;
          const uriJson = encode(uri, seed);
          expect(serverOf('resources/read', '"uri":', uriJson, uriJson, tail)).toBe(first);
        }
      }),
      { numRuns: 200 },
    );
  },
);
