import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toolNames } from '../../../../../actors/agents/model-agent/tool-names.ts';

/** Few letters, so that names collide, and arbitrary strings. */
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('a', '_', '-', '.', '/', '1', 'ü'), minLength: 1, maxLength: 80 }),
  fc.string({ minLength: 1, maxLength: 100 }),
);
const tools = fc.uniqueArray(fc.record({ server: name, tool: name }), {
  selector: ({ server, tool }) => `${server}\0${tool}`,
  maxLength: 40,
});

test('every tool of an agent has a unique name that all providers accept', () => {
  fc.assert(
    fc.property(tools, (some) => {
      const names = toolNames(some, []);
      expect(names).toHaveLength(some.length);
      expect(new Set(names).size).toBe(some.length);
      for (const one of names) expect(one).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    }),
  );
});

test('the tool names of an agent do not depend on the order of the tools', () => {
  const shuffled = tools.chain((some) =>
    fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
  );
  fc.assert(
    fc.property(shuffled, ([some, others]) => {
      const names = toolNames(some, []);
      const namesOfOthers = toolNames(others, []);
      expect(others.map((one) => names[some.indexOf(one)])).toEqual(namesOfOthers);
    }),
  );
});

test('a tool keeps a unique name, unless providers reject it, or it looks like `server__tool` or ends like a digest', () => {
  fc.assert(
    fc.property(tools, (some) => {
      const names = toolNames(some, []);
      for (const [at, { tool }] of some.entries()) {
        const isAlone = some.filter((other) => other.tool === tool).length === 1;
        const isOwn = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(tool) && !/__|_[0-9a-f]{8}$/.test(tool);
        if (isAlone && isOwn) expect(names[at]).toBe(tool);
      }
    }),
  );
});

test('`server__tool` names only the tool `tool` of `server`, for any other tools, unless a longer server id fits too', () => {
  fc.assert(
    fc.property(tools, (some) => {
      // Each server also offers tools named like the full names of tools on other servers.
      const chosen = some.flatMap(({ server }) =>
        some.map((one) => ({ server, tool: `${one.server}__${one.tool}` })),
      );
      const all = [
        ...new Map([...some, ...chosen].map((one) => [`${one.server}\0${one.tool}`, one])).values(),
      ];
      const names = toolNames(all, []);
      const servers = new Set(all.map(({ server }) => server));
      for (const { server, tool } of all) {
        const full = `${server}__${tool}`;
        const isOfLongerId = [...servers].some(
          (one) => one.length > server.length && full.startsWith(`${one}__`),
        );
        const at = names.indexOf(full);
        if (at >= 0 && !isOfLongerId) expect(all[at]).toEqual({ server, tool });
      }
    }),
    { numRuns: 60 },
  );
});
