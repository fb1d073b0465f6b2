// Names of senders whose messages contain a phone number, a user id or both. Random messages and restarts,
// and concurrent messages. A map is the model: a sender's first alias is its name, and never changes.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SenderAliases } from '../../../../../actors/platforms/businessmessenger/sender-aliases.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

/** Id of the phone number of the business that receives the messages. */
const PHONE_NUMBER_ID = '100';
const person = fc.integer({ min: 0, max: 3 });
const anyStep = fc.oneof(
  { weight: 8, arbitrary: fc.record({ person, withNumber: fc.boolean(), withId: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant('restart' as const) },
);

/** Returns the message's sender. If it has no id, it has a number. */
function senderOf(person: number, withNumber: boolean, withId: boolean) {
  return {
    number: withNumber || !withId ? `1555${person}` : undefined,
    userId: withId ? `US.${person}` : undefined,
    name: undefined,
  };
}

test('the stored name for a user id or phone number never changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
      const store = new MemoryStore();
      // A small capacity, so that some entries are evicted.
      let aliases = new SenderAliases(store, 2);
      const nameByAlias = new Map<string, string>();
      for (const step of steps) {
        if (step === 'restart') {
          aliases = new SenderAliases(store, 2);
          continue;
        }
        const sender = senderOf(step.person, step.withNumber, step.withId);
        const ownAliases = [sender.userId, sender.number].filter((alias) => alias !== undefined);
        const storedName = ownAliases
          .map((alias) => nameByAlias.get(alias))
          .find((stored) => stored !== undefined);
        const name = await aliases.nameOf(PHONE_NUMBER_ID, sender);
        expect(name).toBe(storedName ?? ownAliases[0]);
        for (const alias of ownAliases) if (!nameByAlias.has(alias)) nameByAlias.set(alias, name);
      }
    }),
  );
});

test('concurrent messages of one sender get the same name', async () => {
  const store = new MemoryStore();
  // Two cluster nodes.
  const nodes = [new SenderAliases(store), new SenderAliases(store)];
  const sender = senderOf(1, true, true);
  const names = await Promise.all(
    [0, 1, 0, 1, 0].map((index) => nodes[index]?.nameOf(PHONE_NUMBER_ID, sender)),
  );
  expect(new Set(names)).toEqual(new Set(['US.1']));
});
