// Tool search for any catalog, and call_tool for any arguments.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolIndex } from '../../../../../../actors/mcp/clients/search/tool-index.ts';
import { ToolSearch } from '../../../../../../actors/mcp/clients/search/tool-search.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { whole } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import {
  type DescribedTool,
  describedServer,
  describe as give,
} from '../../../../../fixtures/server/described-server.ts';
import { aggregateOf, type ListedServer } from '../../../../../fixtures/server/listed-server.ts';

const all = (servers: readonly ListedServer[]) =>
  aggregateOf(() => servers.map(({ asManaged }) => asManaged));
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
const catalog = fc
  .uniqueArray(fc.tuple(id, fc.array(tool, { maxLength: 8 })), { selector: ([one]) => one, maxLength: 5 })
  .map((list) => list.map(([one, tools]) => describedServer(one, tools)));

describe('a search in any catalog', () => {
  test('finds every tool first by the name clients see, and among the first by the name its server has', () => {
    fc.assert(
      fc.property(catalog, (servers) => {
        const aggregate = all(servers);
        const index = new ToolIndex(() => aggregate.tools());
        for (const shown of aggregate.tools().values()) {
          const [first] = index.find({ query: shown.name });
          expect(first?.tool.shown.name).toBe(shown.name);
          if (shown.key.trim() === '') continue;
          const hits = index.find({ query: shown.key });
          const at = hits.findIndex((hit) => hit.tool.shown.name === shown.name);
          expect(at).toBeGreaterThanOrEqual(0);
          // Before it are only tools of the same name, in whatever case, and the one that clients see by it.
          for (const { tool: other } of hits.slice(0, at))
            expect([other.shown.name, other.shown.key.toLowerCase().trim()]).toSatisfy(
              ([seen, key]: [string, string]) =>
                seen === shown.key.trim() || key === shown.key.toLowerCase().trim(),
            );
        }
      }),
      { numRuns: 300 },
    );
  });

  test('gives the best first, each tool once, and never one that is hidden (TI1)', () => {
    fc.assert(
      fc.property(catalog, text, fc.array(name, { maxLength: 3 }), (servers, query, denied) => {
        for (const { entry } of servers) entry.tools.deny = denied.filter((one) => one !== '');
        const aggregate = all(servers);
        const search = new ToolSearch({ aggregate, tagsOf: () => [] });
        for (const asked of [query, '', ...denied]) {
          const envelope = callOf('find_tools', JSON.stringify({ query: asked, limit: 50 }));
          const answer = search.answer(envelope);
          const { tools } = 'rawResult' in answer ? parse(answer.rawResult).structuredContent : { tools: [] };
          const names: string[] = tools.map((one: { name: string }) => one.name);
          const scores: number[] = tools.map((one: { score: number }) => one.score);
          expect(new Set(names).size).toBe(names.length);
          expect(scores).toEqual([...scores].sort((a, b) => b - a));
          for (const one of names) {
            const target = aggregate.find('tools', one);
            expect(target !== undefined && aggregate.isAllowed(target.server, target.key)).toBe(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test('finds after any changes what it finds when it is built anew (TI2)', () => {
    const change = fc.tuple(fc.nat(4), fc.array(tool, { maxLength: 8 }));
    fc.assert(
      fc.property(catalog, fc.array(change, { maxLength: 5 }), text, (servers, changes, query) => {
        const aggregate = all(servers);
        const index = new ToolIndex(() => aggregate.tools());
        const found = (one: ToolIndex) =>
          one.find({ query }).map((hit) => [hit.tool.shown.name, hit.tool.description, hit.score]);
        found(index);
        for (const [at, tools] of changes) {
          const server = servers[at];
          if (server !== undefined) give(server, tools);
          const fresh = found(new ToolIndex(() => aggregate.tools()));
          expect(found(index)).toEqual(fresh);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Any JSON as somebody may write it: odd spaces, big numbers, members that occur twice or only look it. */
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

test('call_tool hands on any arguments byte for byte, and whatever else is in params (T1)', () => {
  const server = describedServer('s', [{ name: 'tüll' }]);
  const aggregate = all([server]);
  const search = new ToolSearch({ aggregate, tagsOf: () => [] });
  const [shown = ''] = [...aggregate.tools().keys()];
  const parts = fc.record({
    inner: json,
    meta: json,
    isNameFirst: fc.boolean(),
    space: fc.constantFrom('', ' ', '\t '),
  });
  fc.assert(
    fc.property(parts, ({ inner, meta, isNameFirst, space }) => {
      // Of `_meta` only what decides about routing is read; that has tests of its own.
      const rawMeta = meta.replaceAll('progressToken', 'other');
      const own = [`"name":${JSON.stringify(shown)}`, `"arguments":${space}${inner}`];
      const outer = `{${(isNameFirst ? own : own.reverse()).join(`${space},`)}}`;
      const params = [`"name"${space}:"call_tool"`, `"_meta":${rawMeta}`, `"arguments":${outer}`, '"x":1.0'];
      if (!isNameFirst) params.reverse();
      const message = (members: readonly string[]) =>
        `{"id":1,"params":{${members.join(`,${space}`)}},"method":"tools/call","jsonrpc":"2.0"}`;
      const envelope = readClientMessage(Buffer.from(message(params)));
      const call = search.target(envelope);
      expect(call?.target.server.id).toBe('s');
      const expected = params
        .map((member) => (member.startsWith('"name"') ? `"name"${space}:"tüll"` : member))
        .map((member) => (member === `"arguments":${outer}` ? `"arguments":${inner}` : member));
      expect(whole(applyEdits(envelope.bytes, call?.edits ?? [])).toString()).toBe(message(expected));
    }),
    { numRuns: 500 },
  );
});

test('whatever the arguments, each of the three tools answers with a call or with a result', () => {
  const search = new ToolSearch({
    aggregate: all([describedServer('s', [{ name: 't' }])]),
    tagsOf: () => [],
  });
  fc.assert(
    fc.property(fc.constantFrom('find_tools', 'describe_tool', 'call_tool'), json, (asked, rawArguments) => {
      const answer = search.answer(callOf(asked, rawArguments));
      if ('rawResult' in answer) expect(parse(answer.rawResult).content[0].text.length).toBeGreaterThan(0);
      else expect(answer.edits).toHaveLength(2);
    }),
    { numRuns: 500 },
  );
});
