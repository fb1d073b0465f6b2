// Senders identified by a number, an id or both, in random order, with restarts and concurrent messages.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SenderAliases } from '../../../../../actors/platforms/businessmessenger/sender-aliases.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const person = fc.integer({ min: 0, max: 3 });
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ person, withNumber: fc.boolean(), withId: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant('restart' as const) },
);

function senderOf(person: number, withNumber: boolean, withId: boolean) {
  return {
    number: withNumber || !withId ? `1555${person}` : undefined,
    userId: withId ? `US.${person}` : undefined,
    name: undefined,
  };
}

test('a stored mapping of an id or a number never changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const store = new MemoryStore();
      // A small capacity, so that some entries are evicted.
      let aliases = new SenderAliases(store, 2);
      const nameByAlias = new Map<string, string>();
      for (const each of steps) {
        if (each === 'restart') {
          aliases = new SenderAliases(store, 2);
          continue;
        }
        const sender = senderOf(each.person, each.withNumber, each.withId);
        const { number, userId } = sender;
        const own = [userId, number].filter((one) => one !== undefined);
        const expected = own.map((one) => nameByAlias.get(one)).find((one) => one !== undefined) ?? own[0];
        const name = await aliases.nameOf('100', sender);
        expect(name).toBe(expected);
        for (const one of own) if (!nameByAlias.has(one)) nameByAlias.set(one, name);
      }
    }),
  );
});

test('concurrent messages of one sender get the same name', async () => {
  const store = new MemoryStore();
  const several = [new SenderAliases(store), new SenderAliases(store)];
  const sender = senderOf(1, true, true);
  const names = await Promise.all([0, 1, 0, 1, 0].map((index) => several[index]?.nameOf('100', sender)));
  expect(new Set(names)).toEqual(new Set(['US.1']));
});
