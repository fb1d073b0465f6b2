// Who sends a row of the outbox, whatever reload there was since it was made: the trigger that it names, another one of its account
// in its place, or nobody.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutboxWork } from '../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../actors/base/errors/log.ts';
import { WorkPlaces } from '../../../actors/events/inbox/work-places.ts';
import { Circuits } from '../../../actors/events/outbox/circuits.ts';
import type { Outbound } from '../../../actors/events/outbox/outbound.ts';
import { outboxRows } from '../../../actors/events/outbox/outbox-rows.ts';
import { type Adapter, accountOf } from '../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../actors/platforms/manual/adapter.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { httpTrigger, manualTrigger } from '../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../fixtures/store/memory-store.ts';

/** What its labels say stands for the fields of a real one. */
const arbTrigger = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    type: fc.constantFrom('Manual', 'Manual', 'Manual', 'HTTP'),
    account: fc.constantFrom('app', 'app', 'apps'),
    token: fc.constantFrom('one', 'one', 'two'),
  })
  .map(
    ({ name, type, ...labels }): Trigger => ({
      ...(type === 'HTTP' ? httpTrigger(name) : manualTrigger(name)),
      labels,
    }),
  );

const arbTriggers = fc.uniqueArray(arbTrigger, { maxLength: 4, selector: ({ name }) => name });

const arbMaker = fc.record({ account: fc.constantFrom('app', 'apps'), token: fc.constantFrom('one', 'two') });

async function sendersOf(maker: Trigger, triggers: readonly Trigger[], hasTokens: boolean) {
  const senders: Trigger[] = [];
  const outbound: Outbound = {
    target: () => undefined,
    render: (_, { text }) => [{ text }],
    sendsTo: () => 'here',
    send: async (trigger) => {
      senders.push(trigger);
      return { id: '' };
    },
    ...(hasTokens && { senderOf: ({ labels }: Trigger) => labels.token }),
  };
  const account = ({ labels }: Trigger) => labels.account ?? '';
  const adapter = { ...manualAdapter, account, outbound } as unknown as Adapter;
  const places = new WorkPlaces({ places: 4, bytes: 1_000_000, release: async () => 0 });
  const work = new OutboxWork({
    platform: 'manual',
    routing: {
      adapterOf: () => adapter,
      trigger: (name) => triggers.find((each) => each.name === name),
      triggers: () => triggers,
    },
    circuits: new Circuits({ log: silentLog }),
    ...{ places, store: new MemoryStore() },
  });
  const message = { target: { place: 'x' }, action: { do: 'post' }, text: 'hi' } as const;
  const origin = { eventId: 'e', trace: '' };
  const [row] = outboxRows(outbound, accountOf(adapter, maker), maker, message, origin);
  if (row === undefined) throw new Error('no row');
  const event = { ...row, seq: 1, at: Date.now(), attempt: 1, crashes: 0 };
  const { signal } = new AbortController();
  const outcome = await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
  places.close();
  return { senders, outcome };
}

test('a row is sent once, by a trigger of its account with its credential, where there is one; and by the one it names before others (SND3)', async () => {
  await fc.assert(
    fc.asyncProperty(arbMaker, arbTriggers, fc.boolean(), async (labels, triggers, hasTokens) => {
      const maker: Trigger = { ...manualTrigger('a'), labels };
      const { senders, outcome } = await sendersOf(maker, triggers, hasTokens);
      const ofAccount = triggers.filter(
        (each) => each.type === 'Manual' && each.labels.account === labels.account,
      );
      const named = ofAccount.find(({ name }) => name === 'a');
      const others = ofAccount.filter((each) => !hasTokens || each.labels.token === labels.token);
      const mayBe = named === undefined ? others : [named];
      if (mayBe.length === 0) {
        expect(senders).toEqual([]);
        expect(outcome).toMatchObject({
          kind: 'ignored',
          trigger: 'a',
          note: expect.stringMatching(/trigger a /),
        });
        return;
      }
      expect(senders).toHaveLength(1);
      expect(mayBe).toContain(senders[0]);
      expect(outcome).toMatchObject({ kind: 'done', trigger: senders[0]?.name });
    }),
    { numRuns: 300 },
  );
});
