import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toolNames } from '../../../../machines/agent-run/tool-names.ts';

/** Few letters, so that names meet; and whatever a server may say. */
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('a', '_', '-', '.', '/', '1', 'ü'), minLength: 1, maxLength: 80 }),
  fc.string({ minLength: 1, maxLength: 100 }),
);
const tools = fc.uniqueArray(fc.record({ server: name, tool: name }), {
  selector: ({ server, tool }) => `${server}\0${tool}`,
  maxLength: 40,
});

test('every tool has a name that all providers take, and no two have the same (TN1)', () => {
  fc.assert(
    fc.property(tools, (some) => {
      const names = toolNames(some);
      expect(names).toHaveLength(some.length);
      expect(new Set(names).size).toBe(some.length);
      for (const one of names) expect(one).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    }),
  );
});

test('the names do not depend on the order of the tools (TN2)', () => {
  const shuffled = tools.chain((some) =>
    fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
  );
  fc.assert(
    fc.property(shuffled, ([some, others]) => {
      const names = toolNames(some);
      const namesOfOthers = toolNames(others);
      expect(others.map((one) => names[some.indexOf(one)])).toEqual(namesOfOthers);
    }),
  );
});

test('a tool of which there is one keeps its own name, where that is one that all providers take', () => {
  fc.assert(
    fc.property(tools, (some) => {
      const names = toolNames(some);
      for (const [at, { tool }] of some.entries()) {
        const isAlone = some.filter((other) => other.tool === tool).length === 1;
        if (isAlone && /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(tool)) expect(names[at]).toBe(tool);
      }
    }),
  );
});
