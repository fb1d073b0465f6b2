// Tool search in random catalogs: order, completeness and access of the results. Also call_tool with random
// arguments, which it forwards byte for byte.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolIndex } from '../../../../../../actors/mcp/clients/search/tool-index.ts';
import { ToolSearch } from '../../../../../../actors/mcp/clients/search/tool-search.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import {
  type DescribedTool,
  describedServer,
  describe as replaceTools,
} from '../../../../../fixtures/server/described-server.ts';
import { aggregateOf, type ListedServer } from '../../../../../fixtures/server/listed-server.ts';

const aggregateFrom = (servers: readonly ListedServer[]) =>
  aggregateOf(() => servers.map(({ asManaged }) => asManaged));
/** Parses JSON whose bytes are the characters of the text. */
const parse = (raw: string) => JSON.parse(Buffer.from(raw, 'latin1').toString('utf8'));

const word = fc.constantFrom(
  'read',
  'file',
  'create',
  'Issue',
  'the',
  'list',
  'a',
  'HTTP',
  'repo',
  'delete',
  'é',
);
const name = fc.oneof(
  fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_')),
  fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('')),
  fc.string({ unit: fc.constantFrom(...'ab_-.é'), maxLength: 5 }),
);
const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(' '));
const tool: fc.Arbitrary<DescribedTool> = fc.record({ name, description: text, title: text });
const id = fc.string({ unit: fc.constantFrom(...'ab_-.'), minLength: 1, maxLength: 4 });
const anyServers = fc
  .uniqueArray(fc.tuple(id, fc.array(tool, { maxLength: 8 })), {
    selector: ([serverId]) => serverId,
    maxLength: 5,
  })
  .map((entries) => entries.map(([serverId, tools]) => describedServer(serverId, tools)));

describe('a search in any catalog', () => {
  test('returns a tool first for its name in the merged list, and near the top for its original name', () => {
    fc.assert(
      fc.property(anyServers, (servers) => {
        const aggregate = aggregateFrom(servers);
        const index = new ToolIndex(() => aggregate.tools());
        for (const listedTool of aggregate.tools().values()) {
          const [first] = index.find({ query: listedTool.name });
          expect(first?.tool.listing.name).toBe(listedTool.name);
          if (listedTool.key.trim() === '') continue;
          const hits = index.find({ query: listedTool.key });
          const position = hits.findIndex((hit) => hit.tool.listing.name === listedTool.name);
          expect(position).toBeGreaterThanOrEqual(0);
          // Before it are only tools of the same name in any case, and a tool with this merged name.
          for (const { tool: other } of hits.slice(0, position))
            expect([other.listing.name, other.listing.key.toLowerCase().trim()]).toSatisfy(
              ([mergedName, key]: [string, string]) =>
                mergedName === listedTool.key.trim() || key === listedTool.key.toLowerCase().trim(),
            );
        }
      }),
      { numRuns: 300 },
    );
  });

  test('returns the best matches first, each tool once, and no denied tool', () => {
    fc.assert(
      fc.property(anyServers, text, fc.array(name, { maxLength: 3 }), (servers, query, denied) => {
        for (const { entry } of servers) entry.tools.deny = denied.filter((pattern) => pattern !== '');
        const aggregate = aggregateFrom(servers);
        const search = new ToolSearch({ aggregate, tagsOf: () => [] });
        for (const requested of [query, '', ...denied]) {
          const envelope = callOf('find_tools', JSON.stringify({ query: requested, limit: 50 }));
          const answer = search.answer(envelope);
          const { tools } = 'rawResult' in answer ? parse(answer.rawResult).structuredContent : { tools: [] };
          const names: string[] = tools.map((hit: { name: string }) => hit.name);
          const scores: number[] = tools.map((hit: { score: number }) => hit.score);
          expect(new Set(names).size).toBe(names.length);
          expect(scores).toEqual([...scores].sort((a, b) => b - a));
          for (const hitName of names) {
            const target = aggregate.find('tools', hitName);
            expect(target !== undefined && aggregate.isAllowed(target.server, target.key)).toBe(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test('returns the same matches after tool changes as a newly built index', () => {
    /** Server index and the server's new tools. */
    const change = fc.tuple(fc.nat(4), fc.array(tool, { maxLength: 8 }));
    fc.assert(
      fc.property(anyServers, fc.array(change, { maxLength: 5 }), text, (servers, changes, query) => {
        const aggregate = aggregateFrom(servers);
        const index = new ToolIndex(() => aggregate.tools());
        const hitsIn = (searched: ToolIndex) =>
          searched.find({ query }).map((hit) => [hit.tool.listing.name, hit.tool.description, hit.score]);
        // Builds the index before the changes.
        hitsIn(index);
        for (const [serverIndex, tools] of changes) {
          const server = servers[serverIndex];
          if (server !== undefined) replaceTools(server, tools);
          const expected = hitsIn(new ToolIndex(() => aggregate.tools()));
          expect(hitsIn(index)).toEqual(expected);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Any JSON object in unusual notation: random spaces, big numbers, members that are or seem duplicate. */
const { json } = fc.letrec<{ json: string; value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.constantFrom(
      '12345678901234567890',
      '1.0',
      '-0',
      '1e400',
      '0.10',
      '"\\u0041"',
      '"}"',
      '"\\"arguments\\":1"',
    ),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
  ),
  object: fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'name',
          'arguments',
          'n\\u0061me',
          '_meta',
          'a',
          'é',
          '__proto__',
          'progressToken',
          '',
        ),
        tie('value'),
      ),
      { maxLength: 4 },
    )
    .map((members) => `{${members.map(([key, value]) => ` "${key}" :${value}`).join(',')} }`),
  json: tie('object'),
}));

const callOf = (tool: string, rawArguments: string) =>
  readClientMessage(
    Buffer.from(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${rawArguments}}}`,
    ),
  );

test('call_tool forwards any arguments and all other params byte for byte', () => {
  const server = describedServer('s', [{ name: 'tüll' }]);
  const aggregate = aggregateFrom([server]);
  const search = new ToolSearch({ aggregate, tagsOf: () => [] });
  const [listedTool = ''] = [...aggregate.tools().keys()];
  const parts = fc.record({
    inner: json,
    meta: json,
    isNameFirst: fc.boolean(),
    space: fc.constantFrom('', ' ', '\t '),
  });
  fc.assert(
    fc.property(parts, ({ inner, meta, isNameFirst, space }) => {
      // Only the routing members of `_meta` are read. These are tested separately.
      const rawMeta = meta.replaceAll('progressToken', 'other');
      const members = [`"name":${JSON.stringify(listedTool)}`, `"arguments":${space}${inner}`];
      if (!isNameFirst) members.reverse();
      const outer = `{${members.join(`${space},`)}}`;
      const params = [`"name"${space}:"call_tool"`, `"_meta":${rawMeta}`, `"arguments":${outer}`, '"x":1.0'];
      if (!isNameFirst) params.reverse();
      const message = (rawParams: readonly string[]) =>
        `{"id":1,"params":{${rawParams.join(`,${space}`)}},"method":"tools/call","jsonrpc":"2.0"}`;
      const envelope = readClientMessage(Buffer.from(message(params)));
      const call = search.target(envelope);
      expect(call?.target.server.id).toBe('s');
      // The name and arguments of the inner call replace the name and arguments of call_tool.
      const expected = params
        .map((member) => (member.startsWith('"name"') ? `"name"${space}:"tüll"` : member))
        .map((member) => (member === `"arguments":${outer}` ? `"arguments":${inner}` : member));
      expect(toBuffer(applyEdits(envelope.bytes, call?.edits ?? [])).toString()).toBe(message(expected));
    }),
    { numRuns: 500 },
  );
});

test('find_tools, describe_tool and call_tool return a call or a result, without an exception, for any arguments', () => {
  const search = new ToolSearch({
    aggregate: aggregateFrom([describedServer('s', [{ name: 't' }])]),
    tagsOf: () => [],
  });
  fc.assert(
    fc.property(
      fc.constantFrom('find_tools', 'describe_tool', 'call_tool'),
      json,
      (requested, rawArguments) => {
        const answer = search.answer(callOf(requested, rawArguments));
        if ('rawResult' in answer) expect(parse(answer.rawResult).content[0].text.length).toBeGreaterThan(0);
        // A call has edits of the name and of the arguments.
        else expect(answer.edits).toHaveLength(2);
      },
    ),
    { numRuns: 500 },
  );
});
