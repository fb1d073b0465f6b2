// Names of tools for models: unique, accepted by all providers, independent of the order of the tools, and
// the tool's own name where possible.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toolNames } from '../../../../../actors/agents/model-agent/tool-names.ts';

/** Tool names that all providers accept. */
const ACCEPTED = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Strings of few letters, so that names collide, and arbitrary strings. */
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('a', '_', '-', '.', '/', '1', 'ü'), minLength: 1, maxLength: 80 }),
  fc.string({ minLength: 1, maxLength: 100 }),
);
/** Distinct tools of several servers. */
const anyTools = fc.uniqueArray(fc.record({ server: name, tool: name }), {
  selector: ({ server, tool }) => `${server}\0${tool}`,
  maxLength: 40,
});

// The second argument of `toolNames` lists servers without tools. They only affect names that contain a
// server.
test('every tool of an agent has a unique name that all providers accept', () => {
  fc.assert(
    fc.property(anyTools, (tools) => {
      const names = toolNames(tools, []);
      expect(names).toHaveLength(tools.length);
      expect(new Set(names).size).toBe(tools.length);
      for (const toolName of names) expect(toolName).toMatch(ACCEPTED);
    }),
  );
});

test('the tool names of an agent do not depend on the order of the tools', () => {
  const anyOrder = anyTools.chain((tools) =>
    fc.tuple(fc.constant(tools), fc.shuffledSubarray(tools, { minLength: tools.length })),
  );
  fc.assert(
    fc.property(anyOrder, ([tools, shuffled]) => {
      const names = toolNames(tools, []);
      expect(shuffled.map((one) => names[tools.indexOf(one)])).toEqual(toolNames(shuffled, []));
    }),
  );
});

test('a unique tool name stays unchanged, unless providers reject it, or it looks like a generated name', () => {
  fc.assert(
    fc.property(anyTools, (tools) => {
      const names = toolNames(tools, []);
      for (const [index, { tool }] of tools.entries()) {
        const isUnique = tools.filter((other) => other.tool === tool).length === 1;
        const isReserved = /__|_[0-9a-f]{8}$/.test(tool);
        if (isUnique && ACCEPTED.test(tool) && !isReserved) expect(names[index]).toBe(tool);
      }
    }),
  );
});

test('the name `server__tool` always means that tool of that server, unless a longer server id fits too', () => {
  fc.assert(
    fc.property(anyTools, (tools) => {
      // The servers also offer tools whose names are full names (`server__tool`) of tools on other servers.
      const impostors = tools.flatMap(({ server }) =>
        tools.map((one) => ({ server, tool: `${one.server}__${one.tool}` })),
      );
      // The map removes duplicates.
      const all = [
        ...new Map([...tools, ...impostors].map((one) => [`${one.server}\0${one.tool}`, one])).values(),
      ];
      const names = toolNames(all, []);
      const servers = new Set(all.map(({ server }) => server));
      for (const { server, tool } of all) {
        const fullName = `${server}__${tool}`;
        const fitsLongerId = [...servers].some(
          (id) => id.length > server.length && fullName.startsWith(`${id}__`),
        );
        const index = names.indexOf(fullName);
        if (index >= 0 && !fitsLongerId) expect(all[index]).toEqual({ server, tool });
      }
    }),
    { numRuns: 60 },
  );
});
