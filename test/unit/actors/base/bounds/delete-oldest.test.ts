import { expect, it } from 'vitest';
import { deleteOldest } from '../../../../../actors/base/bounds/delete-oldest.ts';

it('deleteOldest deletes the oldest entries above the limit, and no more', () => {
  const names = new Set(['a', 'b', 'c']);
  deleteOldest(names, 3);
  expect([...names]).toEqual(['a', 'b', 'c']);
  deleteOldest(names, 1);
  expect([...names]).toEqual(['c']);
});

it('deleteOldest counts an entry that was inserted again as new', () => {
  const counts = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  counts.delete('a');
  counts.set('a', 2);
  deleteOldest(counts, 1);
  expect([...counts]).toEqual([['a', 2]]);
});
