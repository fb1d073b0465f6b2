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

/** Strings of few letters, so that ids and names collide. */
const collidingId = fc.oneof(
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
const anyServers = fc.dictionary(fc.oneof(collidingId, id), fc.uniqueArray(collidingTool, { maxLength: 6 }), {
  maxKeys: 6,
});

/** Tools by server. */
type ToolsByServer = Readonly<Record<string, readonly string[]>>;

/** Returns the tools by merged name, each as `SERVER\0TOOL`. Fails if two tools share a name. */
function namesIn(servers: ToolsByServer, order = Object.keys(servers)): ReadonlyMap<string, string> {
  const merged = new MergedNames(order);
  const found = new Map<string, string>();
  for (const server of order)
    for (const [tool, name] of merged.namesOf(server, servers[server] ?? [])) {
      expect(found.has(name)).toBe(false);
      found.set(name, `${server}\0${tool}`);
    }
  return found;
}

/** Adds tools that a hostile server named so that they collide with the tools of other servers. */
const withHostileNames = (servers: ToolsByServer): ToolsByServer => {
  const names = [...namesIn(servers).keys()];
  const namesWithoutServer = names.flatMap((name) =>
    Object.keys(servers).flatMap((server) =>
      name.startsWith(`${server}__`) ? [name.slice(server.length + 2)] : [],
    ),
  );
  return Object.fromEntries(
    Object.entries(servers).map(([server, tools]) => [
      server,
      [...new Set([...tools, ...names, ...namesWithoutServer])],
    ]),
  );
};

test('every merged tool name is valid for model APIs and refers to one tool', () => {
  fc.assert(
    fc.property(anyServers, (servers) => {
      for (const name of namesIn(withHostileNames(servers)).keys())
        expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
    { numRuns: 150 },
  );
});

test('`server__tool` names only `tool` of `server`, unless a longer server id is also a prefix or the name ends with a digest', () => {
  fc.assert(
    fc.property(anyServers, (servers) => {
      const all = withHostileNames(servers);
      const found = namesIn(all);
      for (const [server, tools] of Object.entries(all))
        for (const tool of tools) {
          const fullName = `${server}__${tool}`;
          const target = found.get(fullName);
          const fitsLongerId = Object.keys(all).some(
            (other) => other.length > server.length && fullName.startsWith(`${other}__`),
          );
          const endsWithDigest = /_[0-9a-f]{32}$/.test(fullName);
          if (!fitsLongerId && !endsWithDigest) expect([undefined, `${server}\0${tool}`]).toContain(target);
        }
    }),
    { numRuns: 150 },
  );
});

test('a merged tool name depends neither on the order of servers nor on the tools of other servers', () => {
  fc.assert(
    fc.property(anyServers, fc.nat(), (servers, index) => {
      const ids = Object.keys(servers);
      expect(namesIn(servers, [...ids].reverse())).toEqual(namesIn(servers));
      // All servers except one add hostile names. The names of the unchanged server remain.
      const unchangedId = ids[index % Math.max(ids.length, 1)] ?? '';
      const changed = { ...withHostileNames(servers), [unchangedId]: servers[unchangedId] ?? [] };
      const namesOfUnchanged = (all: ToolsByServer) =>
        [...namesIn(all)].filter(([, tool]) => tool.startsWith(`${unchangedId}\0`));
      if (ids.length > 0) expect(namesOfUnchanged(changed)).toEqual(namesOfUnchanged(servers));
    }),
    { numRuns: 150 },
  );
});

/** Returns true if some text for each `{…}` makes the template equal to the URI, by trying all texts. */
function matchesInModel(template: string, uri: string): boolean {
  const variable = /\{[^{}]*\}/.exec(template);
  if (variable === null) return template === uri;
  const head = template.slice(0, variable.index);
  if (!uri.startsWith(head)) return false;
  const rest = template.slice(variable.index + variable[0].length);
  for (let length = 0; length <= uri.length - head.length; length += 1) {
    if (matchesInModel(rest, uri.slice(head.length + length))) return true;
  }
  return false;
}

test('a URI template matches exactly the URIs that some replacement of its variables produces', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
  const anyTemplate = fc
    .array(fc.oneof(letters, fc.constantFrom('{x}', '{}', '{?a,b*}', '{', '}', '/')), { maxLength: 7 })
    .map((parts) => parts.join(''));
  const anyUri = fc.string({ unit: fc.constantFrom('a', 'b', 'a', 'b', '/', '{', '}'), maxLength: 9 });
  fc.assert(
    fc.property(anyTemplate, anyUri, fc.array(letters), (template, uri, replacements) => {
      expect(matchesTemplate(template, uri)).toBe(matchesInModel(template, uri));
      let index = 0;
      const expanded = template.replace(/\{[^{}]*\}/g, () => replacements[index++] ?? '');
      expect(matchesTemplate(template, expanded)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
