// The trigger that sends an outbox row (one stored message for a platform) after a random reload of the
// triggers: the trigger that created the row, another trigger with the same account and credential, or none.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutboxWork } from '../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../actors/base/errors/log.ts';
import { WorkSlots } from '../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../actors/events/outbox/circuits.ts';
import type { Outbound } from '../../../actors/events/outbox/outbound.ts';
import { outboxRows } from '../../../actors/events/outbox/rows.ts';
import { type Adapter, accountOf } from '../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../actors/platforms/manual/adapter.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { httpTrigger, manualTrigger } from '../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../fixtures/store/memory-store.ts';

/** The labels `account` and `credential` replace the configuration of real triggers. */
const anyTrigger = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    type: fc.constantFrom('Manual', 'Manual', 'Manual', 'HTTP'),
    account: fc.constantFrom('app', 'app', 'apps'),
    credential: fc.constantFrom('one', 'one', 'two'),
  })
  .map(
    ({ name, type, ...labels }): Trigger => ({
      ...(type === 'HTTP' ? httpTrigger(name) : manualTrigger(name)),
      labels,
    }),
  );

const anyTriggers = fc.uniqueArray(anyTrigger, { maxLength: 4, selector: ({ name }) => name });

const anyCreatorLabels = fc.record({
  account: fc.constantFrom('app', 'apps'),
  credential: fc.constantFrom('one', 'two'),
});

/**
 * Processes a row that the trigger `creator` created, with the triggers that exist after the reload. Returns
 * the triggers that sent it, and the outcome.
 */
async function processRow(creator: Trigger, triggers: readonly Trigger[], hasCredentials: boolean) {
  const senders: Trigger[] = [];
  const outbound: Outbound = {
    target: () => undefined,
    render: (_, { text }) => [{ text }],
    addressOf: () => 'here',
    send: async (trigger) => {
      senders.push(trigger);
      return { id: '' };
    },
    ...(hasCredentials && { credentialNameOf: ({ labels }: Trigger) => labels.credential }),
  };
  const account = ({ labels }: Trigger) => labels.account ?? '';
  const adapter = { ...manualAdapter, account, outbound } as unknown as Adapter;
  const slots = new WorkSlots({ slots: 4, bytes: 1_000_000, release: async () => 0 });
  const work = new OutboxWork({
    platform: 'manual',
    routing: {
      adapterOf: () => adapter,
      trigger: (name) => triggers.find((each) => each.name === name),
      triggers: () => triggers,
    },
    circuits: new Circuits({ log: silentLog }),
    slots,
    store: new MemoryStore(),
  });
  const message = { target: { place: 'x' }, action: { do: 'post' }, text: 'hi' } as const;
  const origin = { eventId: 'e', trace: '' };
  const [row] = outboxRows(outbound, accountOf(adapter, creator), creator, message, origin);
  if (row === undefined) throw new Error('no row');
  const event = { ...row, seq: 1, at: Date.now(), attempt: 1, crashes: 0 };
  const { signal } = new AbortController();
  const outcome = await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
  slots.close();
  return { senders, outcome };
}

test('an outgoing message is sent once by its trigger, or by one with the same credential after that trigger left the account', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyCreatorLabels,
      anyTriggers,
      fc.boolean(),
      async (labels, triggers, hasCredentials) => {
        const creator: Trigger = { ...manualTrigger('a'), labels };
        const { senders, outcome } = await processRow(creator, triggers, hasCredentials);
        const triggersOfAccount = triggers.filter(
          (each) => each.type === 'Manual' && each.labels.account === labels.account,
        );
        const sameTrigger = triggersOfAccount.find(({ name }) => name === creator.name);
        const withCredential = triggersOfAccount.filter(
          (each) => !hasCredentials || each.labels.credential === labels.credential,
        );
        const possibleSenders = sameTrigger === undefined ? withCredential : [sameTrigger];
        if (possibleSenders.length === 0) {
          expect(senders).toEqual([]);
          expect(outcome).toMatchObject({
            kind: 'ignored',
            trigger: 'a',
            note: expect.stringMatching(/trigger a /),
          });
          return;
        }
        expect(senders).toHaveLength(1);
        expect(possibleSenders).toContain(senders[0]);
        expect(outcome).toMatchObject({ kind: 'done', trigger: senders[0]?.name });
      },
    ),
    { numRuns: 300 },
  );
});
