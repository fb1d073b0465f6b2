import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import { CallTable } from '../../../../../../actors/mcp/servers/calls/call-table.ts';

const call = () => ({ id: 0 }) as Call;

/** Adds a call, ends the one at that place among those in flight, or asks for a number. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), id: fc.double() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), id: fc.nat(300) }) },
);

test('the table of calls finds each call by its id, and nothing by any other number (CB1)', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const table = new CallTable();
      const model = new Map<number, Call>();
      let lastId = 0;
      for (const one of steps) {
        if (one.do === 'add') {
          const added = call();
          table.add(added);
          expect(added.id).toBeGreaterThan(lastId);
          lastId = added.id;
          model.set(added.id, added);
        } else if (one.do === 'end') {
          const id = [...model.keys()][one.which % Math.max(1, model.size)] ?? -1;
          expect(table.delete(id)).toBe(model.delete(id));
          expect(table.delete(id)).toBe(false);
        } else {
          expect(table.get(one.id)).toBe(model.get(one.id));
        }
        expect(table.size).toBe(model.size);
        expect(table.all()).toEqual([...model.values()]);
      }
      for (const [id, known] of model) expect(table.get(id)).toBe(known);
    }),
  );
});

test('a call that stays for very long costs the others no more than the ids it is in the way of', () => {
  const table = new CallTable();
  const slow = call();
  table.add(slow);
  let last = 0;
  for (let round = 0; round < 10_000; round += 1) {
    const quick = call();
    table.add(quick);
    last = quick.id;
    table.delete(quick.id);
  }
  expect(table.get(slow.id)).toBe(slow);
  expect(table.all()).toEqual([slow]);
  expect(last).toBeLessThan(11_000);
});

test('ids beyond 32 bits still name one call each', () => {
  const table = new CallTable();
  const late = call();
  table.add(late);
  expect(table.get(late.id + 2 ** 32)).toBeUndefined();
  expect(table.get(late.id)).toBe(late);
});
