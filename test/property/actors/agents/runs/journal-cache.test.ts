// The cache of values computed from journals (the stored steps of runs). Between two reads, journals grow or
// start again from the first row.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JournalCache } from '../../../../../actors/agents/runs/journal-cache.ts';
import type { Step } from '../../../../../actors/store/run.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

const change = fc.oneof(
  fc.record({ kind: fc.constant('grow' as const), id: fc.constantFrom('a', 'b'), count: fc.nat(5) }),
  fc.record({ kind: fc.constantFrom('restart' as const, 'read' as const), id: fc.constantFrom('a', 'b') }),
);

/** Two journals. A read returns a page of up to two rows, so that one value needs several reads. */
class Journals {
  readonly steps = new Map<string, Step[]>([
    ['a', []],
    ['b', []],
  ]);
  #time = 0;

  grow(id: string, count: number): void {
    const journal = this.steps.get(id) ?? [];
    this.#time += 1;
    for (let row = 0; row < count; row += 1)
      journal.push({ n: journal.length + 1, at: this.#time, text: `${id}${journal.length}` });
  }

  restart(id: string): void {
    this.steps.set(id, []);
  }

  page = async (id: string, after = 0) => (this.steps.get(id) ?? []).slice(after, after + 2);
}

test('a cached value always equals the value of the current journal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
      const journals = new Journals();
      const cache = new JournalCache<Step[]>({
        store: { steps: journals.page },
        begin: () => [],
        add: (rows, step) => rows.push(step),
      });
      for (const each of changes) {
        if (each.kind === 'grow') journals.grow(each.id, each.count);
        else if (each.kind === 'restart') journals.restart(each.id);
        else {
          const both = await Promise.all([cache.read(each.id), cache.read(each.id)]);
          for (const rows of both) expect(rows).toEqual(journals.steps.get(each.id));
        }
      }
    }),
    { numRuns: runs(200) },
  );
});
