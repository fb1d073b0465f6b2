// Routing at /mcp: listed names and URIs of random catalogs lead to the right server and the original key,
// for both client eras. The rest of the message is unchanged.

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

function listed(id: string, listing: Listing): ListedServer {
  return Object.assign(new ListedServer(id, listing), { eras, handle: { isParked: false } });
}

/** Returns the target and the final text. Undefined if no target exists. */
function routeMessage(
  all: AggregateContext,
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
  routeToAny({ ...request, caller: era === 'legacy' ? undefined : caller }, { ...all, forwarder });
  const [route] = sent;
  if (route === undefined) return undefined;
  expect(sent).toHaveLength(1);
  return {
    server: route.server.id,
    text: toBuffer(applyEdits(envelope.bytes, route.edits ?? [])).toString(),
  };
}

const id = fc.oneof(
  fc.constantFrom('a', 'a_', 'a__b', 'be.ta', 'é'.repeat(3), 'l'.repeat(63)),
  fc.stringMatching(/^[a-z][a-z_.]{0,5}$/),
);
const name = fc.oneof(
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
const uri = fc.oneof(
  fc.constantFrom('x://1', 'x://2', 'file:///é', 'a:b', '__proto__'),
  fc.string({ minLength: 1, maxLength: 6 }),
);
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 5 });
const catalog = fc.uniqueArray(fc.record({ id, tools: few(name), prompts: few(name), resources: few(uri) }), {
  selector: (one) => one.id,
  maxLength: 4,
});

/** JSON string with some characters as escapes. */
function encode(text: string, seed: number): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  let at = seed;
  return JSON.stringify(text).replace(/[A-Za-z0-9_]/g, (char, offset: number, whole: string) => {
    at = (at * 31 + 7) % 101;
    // A character after a backslash already belongs to an escape.
    return at % 4 === 0 && !whole.slice(0, offset).includes('\\') ? escaped(char) : char;
  });
}

/** Any content around the name, including numbers that no parser preserves. */
const noise = fc.json({ maxDepth: 2 });

test.each<Era>(['legacy', 'modern'])(
  'each name leads to the right server and key, for a %s client',
  (era) => {
    fc.assert(
      fc.property(catalog, noise, fc.nat(100), (list, args, seed) => {
        const servers = list.map(({ id: one, ...listing }) => listed(one, listing).asManaged);
        const aggregate = aggregateOf(() => servers);
        const search = new ToolSearch({ aggregate, tagsOf: () => [] });
        const all = {
          aggregate,
          views: { find: () => aggregate },
          known: new KnownClients(),
          discovery: { waitForLists: async () => {} },
        } as unknown as AggregateContext;
        const message = (method: string, before: string, encodedName: string, after: string) =>
          `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${before}${encodedName}${after}}}`;
        const routeOf = (
          all_: AggregateContext,
          method: string,
          before: string,
          encodedName: string,
          own: string,
          after: string,
        ) => {
          const found = routeMessage(all_, message(method, before, encodedName, after), era);
          expect(found?.text).toBe(message(method, before, own, after));
          return found?.server;
        };
        const tail = `,"arguments":${args},"n":12345678901234567890.0`;
        const seen = { tools: new Map<string, string>(), prompts: new Map<string, string>() };
        for (const kind of ['tools', 'prompts'] as const) {
          const page = JSON.parse(aggregate.list(kind).raw.toString());
          for (const { name: listedName } of page[kind as ListKind]) {
            const target = aggregate.find(kind, listedName);
            const [encodedName, own] = [encode(listedName, seed), JSON.stringify(target?.key)];
            const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
            expect(routeOf(all, method, '"name":', encodedName, own, tail)).toBe(target?.server.id);
            seen[kind].set(listedName, `${target?.server.id}\0${target?.key}`);
            if (kind === 'prompts') {
              const [before, after] = [
                '"ref":{"type":"ref/prompt","name":',
                `,"x":${args}},"argument":{"name":"b"}`,
              ];
              expect(routeOf(all, 'completion/complete', before, encodedName, own, after)).toBe(
                target?.server.id,
              );
            } else {
              const found = routeMessage(
                { ...all, search },
                message(
                  'tools/call',
                  '"name":"call_tool","arguments":{"name":',
                  encodedName,
                  `,"arguments":{"x":${args}}}`,
                ),
                era,
              );
              expect(found?.server).toBe(target?.server.id);
              expect(found?.text).toBe(message('tools/call', '"name":', own, `,"arguments":{"x":${args}}`));
            }
          }
          // All items of every server are present, once each.
          const expected = list.flatMap((one) => [...new Set(one[kind])].map((key) => `${one.id}\0${key}`));
          expect([...seen[kind].values()]).toEqual(expected);
        }
        for (const one of new Set(list.flatMap(({ resources }) => resources))) {
          const first = list.find(({ resources }) => resources.includes(one))?.id;
          const encodedName = encode(one, seed);
          expect(routeOf(all, 'resources/read', '"uri":', encodedName, encodedName, tail)).toBe(first);
        }
      }),
      { numRuns: 200 },
    );
  },
);
