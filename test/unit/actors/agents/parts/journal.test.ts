import { expect, it } from 'vitest';
import { PartsJournal } from '../../../../../actors/agents/parts/journal.ts';
import { parseStoredRow } from '../../../../../actors/agents/runs/stored-rows.ts';
import { realClock } from '../../../../fixtures/automation/contexts.ts';

const open = (rows: readonly object[] = []) =>
  PartsJournal.open({
    kind: 'flow',
    name: 'f',
    context: {
      state: undefined,
      clock: realClock,
      steps: async () => rows.map((row) => parseStoredRow(JSON.stringify(row))),
      checkpoint: async () => {},
    },
  });

it('a journal row that is too long is refused together with its batch', async () => {
  const journal = await open();
  const long = { kind: 'left', in: 'a', output: 'x'.repeat(1_000_001) };
  expect(() => journal.add({ kind: 'entered', in: 'a' }, long)).toThrow('is too large');
  expect(journal.rows).toEqual([]);
});

it('a journal with too many or too large rows accepts no new work', async () => {
  const many = await open(Array.from({ length: 8_001 }, () => ({ kind: 'entered', in: 'a' })));
  expect(() => many.checkCapacity()).toThrow('the journal of flow f is full');
  const large = await open(
    Array.from({ length: 40 }, () => ({ kind: 'left', in: 'a', output: 'x'.repeat(900_000) })),
  );
  expect(() => large.checkCapacity()).toThrow('the journal of flow f is full');
  expect(() => many.checkCapacity()).toThrow(expect.objectContaining({ isFinal: true }));
});
