import { expect, it } from 'vitest';
import { JournalCache } from '../../../../../actors/agents/runs/journal-cache.ts';

const ROW = `"${'x'.repeat(99_998)}"`;

function openCache(rowCount: number) {
  const rows = Array.from({ length: rowCount }, (_, index) => ({ n: index + 1, at: 1, text: ROW }));
  const parsed: number[] = [];
  const cache = new JournalCache<{ count: number }>({
    store: { steps: async (_, after = 0) => rows.slice(after, after + 20) },
    begin: () => ({ count: 0 }),
    add: (value, step) => {
      parsed.push(step.n);
      value.count += 1;
    },
  });
  return { cache, rows, parsed };
}

it('the rows of a journal are processed once, over all reads', async () => {
  const { cache, rows, parsed } = openCache(50);
  expect((await cache.read('r1')).count).toBe(50);
  rows.push({ n: 51, at: 2, text: ROW });
  expect((await cache.read('r1')).count).toBe(51);
  expect(parsed).toEqual(Array.from({ length: 51 }, (_, index) => index + 1));
});

it('other work runs between the slices of a large journal', async () => {
  const { cache, parsed } = openCache(140);
  const counts: number[] = [];
  const observe = () => {
    counts.push(parsed.length);
    if (parsed.length < 140) setImmediate(observe);
  };
  setImmediate(observe);
  await cache.read('r1');
  const longestSlice = Math.max(...counts.map((count, index) => count - (counts[index - 1] ?? 0)));
  expect(longestSlice).toBeLessThanOrEqual(4);
});

it('the journals above the size limit are dropped, the longest unread first', async () => {
  const { cache, parsed } = openCache(140);
  for (const id of ['a', 'b', 'c']) await cache.read(id);
  expect(parsed).toHaveLength(3 * 140);
  await cache.read('c');
  expect(parsed).toHaveLength(3 * 140);
  await cache.read('a');
  expect(parsed).toHaveLength(4 * 140);
});

it('the number of empty journals is limited', async () => {
  let begun = 0;
  const cache = new JournalCache<object>({
    store: { steps: async () => [] },
    begin: () => {
      begun += 1;
      return {};
    },
    add: () => {},
  });
  for (let run = 0; run < 40_000; run += 1) await cache.read(`r${run}`);
  await cache.read('r39999');
  expect(begun).toBe(40_000);
  await cache.read('r0');
  expect(begun).toBe(40_001);
});

it('a read after a failed one starts with the first row', async () => {
  const parsed: string[] = [];
  let isFailing = false;
  const cache = new JournalCache<string[]>({
    store: {
      steps: async () => {
        if (isFailing) throw new Error('the store is down');
        return [{ n: 1, at: 1, text: 'one' }];
      },
    },
    begin: () => [],
    add: (rows, { text }) => {
      rows.push(text);
      parsed.push(text);
    },
  });
  expect(await cache.read('r1')).toEqual(['one']);
  isFailing = true;
  await expect(cache.read('r1')).rejects.toThrow('the store is down');
  isFailing = false;
  expect(await cache.read('r1')).toEqual(['one']);
  expect(parsed).toEqual(['one', 'one']);
});
