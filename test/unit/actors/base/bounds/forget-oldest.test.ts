import { expect, it } from 'vitest';
import { forgetOldest } from '../../../../../actors/base/bounds/forget-oldest.ts';

it('beyond the bound what was put there first goes, and no more than has to', () => {
  const names = new Set(['a', 'b', 'c']);
  forgetOldest(names, 3);
  expect([...names]).toEqual(['a', 'b', 'c']);
  forgetOldest(names, 1);
  expect([...names]).toEqual(['c']);
});

it('what is put there anew counts as new', () => {
  const counts = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  counts.delete('a');
  counts.set('a', 2);
  forgetOldest(counts, 1);
  expect([...counts]).toEqual([['a', 2]]);
});
