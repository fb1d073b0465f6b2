// The table of open calls by their ids, compared with a Map. Calls are added, removed and looked up in random
// order.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import { CallTable } from '../../../../../../actors/mcp/servers/calls/table.ts';

const newCall = () => ({ id: 0 }) as Call;

/** `add` adds a call, `delete` removes the call at an index, `get` looks up a number. */
const arbStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), index: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get' as const), id: fc.double() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get' as const), id: fc.nat(300) }) },
);

test('the call table finds each open call by its id, and no call by another number', () => {
  fc.assert(
    fc.property(fc.array(arbStep, { maxLength: 400 }), (steps) => {
      const table = new CallTable();
      const model = new Map<number, Call>();
      let lastId = 0;
      for (const step of steps) {
        if (step.do === 'add') {
          const added = newCall();
          table.add(added);
          expect(added.id).toBeGreaterThan(lastId);
          lastId = added.id;
          model.set(added.id, added);
        } else if (step.do === 'delete') {
          const id = [...model.keys()][step.index % Math.max(1, model.size)] ?? -1;
          expect(table.delete(id)).toBe(model.delete(id));
          expect(table.delete(id)).toBe(false);
        } else {
          expect(table.get(step.id)).toBe(model.get(step.id));
        }
        expect(table.size).toBe(model.size);
        expect(table.all()).toEqual([...model.values()]);
      }
      for (const [id, expected] of model) expect(table.get(id)).toBe(expected);
    }),
  );
});

test('a long-running call blocks only the id that it uses', () => {
  const table = new CallTable();
  const slow = newCall();
  table.add(slow);
  let last = 0;
  for (let round = 0; round < 10_000; round += 1) {
    const quick = newCall();
    table.add(quick);
    last = quick.id;
    table.delete(quick.id);
  }
  expect(table.get(slow.id)).toBe(slow);
  expect(table.all()).toEqual([slow]);
  // The ids of 10,000 further calls are almost consecutive.
  expect(last).toBeLessThan(11_000);
});

test('the call table finds no call by its id plus 2^32', () => {
  // With bit operations, which use 32 bits, both numbers would be equal.
  const table = new CallTable();
  const added = newCall();
  table.add(added);
  expect(table.get(added.id + 2 ** 32)).toBeUndefined();
  expect(table.get(added.id)).toBe(added);
});
