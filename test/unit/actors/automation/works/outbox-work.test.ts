// Rows that change a message: by its receipt, as a message of their own where there is none any more, or not at all.

import { expect, test } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { Outcome } from '../../../../../actors/events/inbox/work.ts';
import { WorkPlaces } from '../../../../../actors/events/inbox/work-places.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import type { OutboundAction } from '../../../../../actors/events/outbox/outbound-message.ts';
import { outboxRows } from '../../../../../actors/events/outbox/outbox-rows.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import type { Delivery } from '../../../../../actors/store/delivery.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';

const trigger = manualTrigger('t') as Trigger;
const account = { platform: 'test', account: 'a' };
const gone = () => new DeliveryError('it is gone', { isFinal: true, isTargetGone: true });
const tooSoon = () => new DeliveryError('not now', { isTooSoon: true, retryAfterMs: 5 });

/** A work whose platform is told what to say to the next calls; `asked` is what it was asked for. */
function bench(receipts: Readonly<Record<string, string>>, answers: (DeliveryError | undefined)[] = []) {
  const asked: string[] = [];
  const outbound: Outbound<Trigger, { readonly text: string; readonly of: string | undefined }> = {
    target: () => undefined,
    render: (_, { action, text }) => [{ text, of: action.do === 'edit' ? action.of : undefined }],
    sendsTo: () => 'here',
    serviceOf: ({ text }) => (text.startsWith('to ') ? text.slice(3) : undefined),
    send: async (_, { of, text }, { receiptOf }) => {
      const before = of === undefined ? undefined : await receiptOf(of);
      asked.push(before === undefined ? `post ${text}` : `edit ${before.id} ${text}`);
      const fault = answers.shift();
      if (fault !== undefined) throw fault;
      return before ?? { id: 'new' };
    },
  };
  const adapter = {
    ...manualAdapter,
    type: trigger.type,
    account: () => 'a',
    outbound,
  } as unknown as Adapter;
  const work = new OutboxWork({
    platform: 'test',
    routing: { adapterOf: () => adapter, trigger: () => trigger, triggers: () => [trigger] },
    circuits: new Circuits({ log: silentLog }),
    places: new WorkPlaces({ places: 4, bytes: 1_000_000, release: async () => 0 }),
    store: {
      delivery: async (id) =>
        receipts[id] === undefined
          ? undefined
          : ({ receipt: receipts[id] } as unknown as Delivery & { meta: string; body: Uint8Array }),
    },
  });
  const perform = (action: OutboundAction, text = 'hi'): Promise<Outcome> => {
    const message = { target: { place: 'x' }, action, text };
    const [row] = outboxRows(outbound, account, trigger, message, { eventId: 'e', trace: '' });
    const event = { ...row!, seq: 1, at: Date.now(), attempt: 1, crashes: 0 };
    const { signal } = new AbortController();
    return work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
  };
  return { asked, perform };
}

test('an edit is made by the receipt of its row, and is a message of its own without one', async () => {
  const { asked, perform } = bench({ before: '7' });
  expect(await perform({ do: 'edit', of: 'before' })).toMatchObject({ kind: 'done', receipt: '7' });
  expect(await perform({ do: 'edit', of: 'other' })).toMatchObject({ kind: 'done', receipt: 'new' });
  expect(asked).toEqual(['edit 7 hi', 'post hi']);
});

test('what is gone on the platform is posted anew, and not looked for again when that has to wait', async () => {
  const { asked, perform } = bench({ before: '7' }, [gone(), tooSoon(), tooSoon()]);
  const edit = { do: 'edit', of: 'before' } as const;
  expect(await perform(edit)).toMatchObject({ kind: 'deferred', inMs: 5 });
  expect(await perform(edit)).toMatchObject({ kind: 'deferred' });
  expect(await perform(edit)).toMatchObject({ kind: 'done', receipt: 'new' });
  expect(asked).toEqual(['edit 7 hi', 'post hi', 'post hi', 'post hi']);
});

test('what is only to change a message does nothing where there is none', async () => {
  const { asked, perform } = bench({ before: '7' }, [undefined, gone()]);
  const action = { do: 'edit', of: 'before', orElse: 'nothing' } as const;
  expect(await perform({ ...action, of: 'other' })).toMatchObject({ kind: 'ignored' });
  expect(await perform(action)).toMatchObject({ kind: 'done', receipt: '7' });
  expect(await perform(action)).toMatchObject({ kind: 'ignored', note: expect.stringContaining('is gone') });
  expect(asked).toEqual(['edit 7 hi', 'edit 7 hi']);
});

test('a service of an account that is down holds up what goes there, and nothing that goes to another (CIR5)', async () => {
  const down = () => new DeliveryError('no answer', { isPlatformDown: true });
  const { asked, perform } = bench({}, Array.from({ length: 5 }, down));
  const post = { do: 'post' } as const;
  for (let n = 0; n < 5; n += 1) expect(await perform(post, 'to dead')).toMatchObject({ kind: 'failed' });
  expect(await perform(post, 'to dead')).toMatchObject({ kind: 'deferred' });
  expect(await perform(post, 'to alive')).toMatchObject({ kind: 'done' });
  expect(await perform(post)).toMatchObject({ kind: 'done' });
  expect(asked.slice(5)).toEqual(['post to alive', 'post hi']);
});
