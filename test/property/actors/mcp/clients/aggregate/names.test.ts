// Merged tool names and resource templates, compared with slow, simple models.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MergedNames } from '../../../../../../actors/mcp/clients/aggregate/tool-names.ts';
import { matchesTemplate } from '../../../../../../actors/mcp/clients/aggregate/uri-template.ts';

const id = fc.string({
  unit: fc.constantFrom(...'abcXYZ019._-'),
  minLength: 1,
  maxLength: 64,
});
const toolName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.string({ unit: fc.constantFrom(...'ab_-./é'), maxLength: 100 }),
);

/** Few letters, so that ids and names collide. */
const nearId = fc.oneof(
  fc.constantFrom('a', 'a_', 'a__b', 'a.b', 'a_b', '_', 'x'.repeat(64), `${'x'.repeat(63)}y`),
  fc.string({ unit: fc.constantFrom(...'ab_.'), minLength: 1, maxLength: 5 }),
);
const collidingTool = fc.oneof(
  fc.constantFrom(
    'b__c',
    'c',
    '_b',
    'read file',
    'read_file',
    'read_20260101',
    'x'.repeat(64),
    `${'x'.repeat(64)}y`,
  ),
  fc.string({ unit: fc.constantFrom(...'ab_./é'), maxLength: 5 }),
  toolName,
);
const world = fc.dictionary(fc.oneof(nearId, id), fc.uniqueArray(collidingTool, { maxLength: 6 }), {
  maxKeys: 6,
});

type World = Readonly<Record<string, readonly string[]>>;

/** Returns the tools by name. Fails if two tools have the same name. */
function namesIn(servers: World, order = Object.keys(servers)): ReadonlyMap<string, string> {
  const merged = new MergedNames(order);
  const found = new Map<string, string>();
  for (const server of order)
    for (const [tool, name] of merged.namesOf(server, servers[server] ?? [])) {
      expect(found.has(name)).toBe(false);
      found.set(name, `${server}\0${tool}`);
    }
  return found;
}

/** Adds tools with names that a hostile server chose to collide with the names of other servers. */
const withChosenNames = (servers: World): World => {
  const names = [...namesIn(servers).keys()];
  const chosen = names.flatMap((name) =>
    Object.keys(servers).flatMap((one) => (name.startsWith(`${one}__`) ? [name.slice(one.length + 2)] : [])),
  );
  return Object.fromEntries(
    Object.entries(servers).map(([one, tools]) => [one, [...new Set([...tools, ...names, ...chosen])]]),
  );
};

test('every merged tool name is valid for model APIs and refers to one tool', () => {
  fc.assert(
    fc.property(world, (servers) => {
      for (const name of namesIn(withChosenNames(servers)).keys())
        expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
    { numRuns: 150 },
  );
});

test('`server__tool` names only the tool `tool` of `server`, unless a longer server id fits or the name ends with a digest', () => {
  fc.assert(
    fc.property(world, (servers) => {
      const all = withChosenNames(servers);
      const found = namesIn(all);
      for (const [server, tools] of Object.entries(all))
        for (const tool of tools) {
          const leadsTo = found.get(`${server}__${tool}`);
          const isOfLongerId = Object.keys(all).some(
            (other) => other.length > server.length && `${server}__${tool}`.startsWith(`${other}__`),
          );
          const isLikeDigest = /_[0-9a-f]{32}$/.test(`${server}__${tool}`);
          if (!isOfLongerId && !isLikeDigest) expect([undefined, `${server}\0${tool}`]).toContain(leadsTo);
        }
    }),
    { numRuns: 150 },
  );
});

test('a merged tool name depends neither on the order of servers nor on the tools of other servers', () => {
  fc.assert(
    fc.property(world, fc.nat(), (servers, at) => {
      const ids = Object.keys(servers);
      expect(namesIn(servers, [...ids].reverse())).toEqual(namesIn(servers));
      const keptId = ids[at % Math.max(ids.length, 1)] ?? '';
      const others = { ...withChosenNames(servers), [keptId]: servers[keptId] ?? [] };
      const ofKept = (all: World) => [...namesIn(all)].filter(([, tool]) => tool.startsWith(`${keptId}\0`));
      if (ids.length > 0) expect(ofKept(others)).toEqual(ofKept(servers));
    }),
    { numRuns: 150 },
  );
});

/** Returns true if some text for each `{…}` makes the template equal to the URI, by trying all texts. */
function model(template: string, uri: string): boolean {
  const open = /\{[^{}]*\}/.exec(template);
  if (open === null) return template === uri;
  const head = template.slice(0, open.index);
  if (!uri.startsWith(head)) return false;
  const rest = template.slice(open.index + open[0].length);
  for (let length = 0; length <= uri.length - head.length; length += 1) {
    if (model(rest, uri.slice(head.length + length))) return true;
  }
  return false;
}

test('a URI template matches exactly the URIs that some replacement of its variables produces', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
  const template = fc
    .array(fc.oneof(letters, fc.constantFrom('{x}', '{}', '{?a,b*}', '{', '}', '/')), { maxLength: 7 })
    .map((parts) => parts.join(''));
  const uri = fc.string({ unit: fc.constantFrom('a', 'b', 'a', 'b', '/', '{', '}'), maxLength: 9 });
  fc.assert(
    fc.property(template, uri, fc.array(letters), (pattern, any, replacements) => {
      expect(matchesTemplate(pattern, any)).toBe(model(pattern, any));
      let at = 0;
      const expanded = pattern.replace(/\{[^{}]*\}/g, () => replacements[at++] ?? '');
      expect(matchesTemplate(pattern, expanded)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
