// Names of tools and patterns of resources: against models that are slow and plain.

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

/** Few letters, so that ids and names meet. */
const nearId = fc.oneof(
  fc.constantFrom('a', 'a_', 'a__b', 'a.b', 'a_b', '_', 'x'.repeat(64), `${'x'.repeat(63)}y`),
  fc.string({ unit: fc.constantFrom(...'ab_.'), minLength: 1, maxLength: 5 }),
);
const nearTool = fc.oneof(
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
const world = fc.dictionary(fc.oneof(nearId, id), fc.uniqueArray(nearTool, { maxLength: 6 }), { maxKeys: 6 });

type World = Readonly<Record<string, readonly string[]>>;

/** The tool that each name leads to. Fails for a name that two tools have. */
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

/** Adds tools chosen by a server with knowledge of the foreign names. */
const withChosen = (servers: World): World => {
  const names = [...namesIn(servers).keys()];
  const chosen = names.flatMap((name) =>
    Object.keys(servers).flatMap((one) => (name.startsWith(`${one}__`) ? [name.slice(one.length + 2)] : [])),
  );
  return Object.fromEntries(
    Object.entries(servers).map(([one, tools]) => [one, [...new Set([...tools, ...names, ...chosen])]]),
  );
};

test('every name is one that model APIs accept, and leads to one tool (TN1)', () => {
  fc.assert(
    fc.property(world, (servers) => {
      for (const name of namesIn(withChosen(servers)).keys()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
    { numRuns: 150 },
  );
});

test('`server__tool` leads to that tool of that server, or nowhere (TN1)', () => {
  fc.assert(
    fc.property(world, (servers) => {
      const all = withChosen(servers);
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

test('a name depends neither on the order of servers nor on the tools of other servers (TN2)', () => {
  fc.assert(
    fc.property(world, fc.nat(), (servers, at) => {
      const ids = Object.keys(servers);
      expect(namesIn(servers, [...ids].reverse())).toEqual(namesIn(servers));
      const kept = ids[at % Math.max(ids.length, 1)] ?? '';
      const others = { ...withChosen(servers), [kept]: servers[kept] ?? [] };
      const ofKept = (all: World) => [...namesIn(all)].filter(([, tool]) => tool.startsWith(`${kept}\0`));
      if (ids.length > 0) expect(ofKept(others)).toEqual(ofKept(servers));
    }),
    { numRuns: 150 },
  );
});

/** Whether `{…}` can be replaced by some text so that the template becomes the uri: by trying. */
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

test('a template matches what trying every replacement would match', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
  const template = fc
    .array(fc.oneof(letters, fc.constantFrom('{x}', '{}', '{?a,b*}', '{', '}', '/')), { maxLength: 7 })
    .map((parts) => parts.join(''));
  const uri = fc.string({ unit: fc.constantFrom('a', 'b', 'a', 'b', '/', '{', '}'), maxLength: 9 });
  fc.assert(
    fc.property(template, uri, fc.array(letters), (pattern, any, fillings) => {
      expect(matchesTemplate(pattern, any)).toBe(model(pattern, any));
      let at = 0;
      const made = pattern.replace(/\{[^{}]*\}/g, () => fillings[at++] ?? '');
      expect(matchesTemplate(pattern, made)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
