import { expect, it } from 'vitest';
import { PartsJournal } from '../../../../../actors/agents/parts/parts-journal.ts';

const open = (rows: readonly object[] = []) =>
  PartsJournal.open({
    kind: 'flow',
    name: 'f',
    context: {
      state: undefined,
      steps: async () => rows.map((row) => JSON.stringify(row)),
      checkpoint: async () => {},
    },
  });

it('PJL3 a row that is too long is refused, and none of those with it is taken', async () => {
  const journal = await open();
  const long = { kind: 'left', in: 'a', output: 'x'.repeat(1_000_001) };
  expect(() => journal.add({ kind: 'entered', in: 'a' }, long)).toThrow('too large to be kept');
  expect(journal.rows).toEqual([]);
});

it('PJL3 nothing more is begun in a journal that has too many rows, or too long ones', async () => {
  const many = await open(Array.from({ length: 8_001 }, () => ({ kind: 'entered', in: 'a' })));
  expect(() => many.checkRoom()).toThrow('flow f has done too much in one run');
  const large = await open(
    Array.from({ length: 40 }, () => ({ kind: 'left', in: 'a', output: 'x'.repeat(900_000) })),
  );
  expect(() => large.checkRoom()).toThrow('flow f has done too much in one run');
  expect(() => many.checkRoom()).toThrow(expect.objectContaining({ isFinal: true }));
});
