// Outbox rows that edit a message: found by receipt, posted as a new message if the message is missing, or
// dropped.

import { expect, test } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { WorkOutcome } from '../../../../../actors/events/inbox/work.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { OutboundAction } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { outboxRows } from '../../../../../actors/events/outbox/rows.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import type { Delivery } from '../../../../../actors/store/delivery.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';

const trigger = manualTrigger('t') as Trigger;
const account = { platform: 'test', account: 'a' };
const missingTarget = () => new DeliveryError('it is gone', { isFinal: true, isTargetMissing: true });
const rateLimitError = () => new DeliveryError('not now', { isRateLimited: true, retryAfterMs: 5 });

/** `answers` are the platform's next responses; `asked` contains the received requests. */
function bench(receipts: Readonly<Record<string, string>>, answers: (DeliveryError | undefined)[] = []) {
  const requests: string[] = [];
  const outbound: Outbound<Trigger, { readonly text: string; readonly of: string | undefined }> = {
    target: () => undefined,
    render: (_, { action, text }) => [{ text, of: action.do === 'edit' ? action.of : undefined }],
    addressOf: () => 'here',
    hostOf: ({ text }) => (text.startsWith('to ') ? text.slice(3) : undefined),
    send: async (_, { of, text }, { receiptOf }) => {
      const before = of === undefined ? undefined : await receiptOf(of);
      requests.push(before === undefined ? `post ${text}` : `edit ${before.id} ${text}`);
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
    slots: new WorkSlots({ slots: 4, bytes: 1_000_000, release: async () => 0 }),
    store: {
      now: () => Date.now(),
      delivery: async (id) =>
        receipts[id] === undefined
          ? undefined
          : ({ receipt: receipts[id] } as unknown as Delivery & { meta: string; body: Uint8Array }),
    },
  });
  const perform = (action: OutboundAction, text = 'hi'): Promise<WorkOutcome> => {
    const message = { target: { place: 'x' }, action, text };
    const [row] = outboxRows(outbound, account, trigger, message, { eventId: 'e', trace: '' });
    const event = { ...row!, seq: 1, at: Date.now(), attempt: 1, crashes: 0 };
    const { signal } = new AbortController();
    return work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
  };
  return { requests, perform };
}

test('an edit uses the message id from the delivery of the original, and becomes a new message if there is no id', async () => {
  const { requests, perform } = bench({ before: '7' });
  expect(await perform({ do: 'edit', of: 'before' })).toMatchObject({ kind: 'done', receipt: '7' });
  expect(await perform({ do: 'edit', of: 'other' })).toMatchObject({ kind: 'done', receipt: 'new' });
  expect(requests).toEqual(['edit 7 hi', 'post hi']);
});

test('an edit of a deleted message becomes a new message, and later retries do not try the edit again', async () => {
  const { requests, perform } = bench({ before: '7' }, [missingTarget(), rateLimitError(), rateLimitError()]);
  const edit = { do: 'edit', of: 'before' } as const;
  expect(await perform(edit)).toMatchObject({ kind: 'deferred', inMs: 5 });
  expect(await perform(edit)).toMatchObject({ kind: 'deferred' });
  expect(await perform(edit)).toMatchObject({ kind: 'done', receipt: 'new' });
  expect(requests).toEqual(['edit 7 hi', 'post hi', 'post hi', 'post hi']);
});

test('an edit with orElse "nothing" sends nothing if its message does not exist', async () => {
  const { requests, perform } = bench({ before: '7' }, [undefined, missingTarget()]);
  const action = { do: 'edit', of: 'before', orElse: 'nothing' } as const;
  expect(await perform({ ...action, of: 'other' })).toMatchObject({ kind: 'ignored' });
  expect(await perform(action)).toMatchObject({ kind: 'done', receipt: '7' });
  expect(await perform(action)).toMatchObject({
    kind: 'ignored',
    note: expect.stringContaining('was deleted'),
  });
  expect(requests).toEqual(['edit 7 hi', 'edit 7 hi']);
});

test('an unreachable service of an account delays only its own messages, not messages of other services', async () => {
  const down = () => new DeliveryError('no answer', { isPlatformDown: true });
  const { requests, perform } = bench({}, Array.from({ length: 5 }, down));
  const post = { do: 'post' } as const;
  for (let n = 0; n < 5; n += 1) expect(await perform(post, 'to dead')).toMatchObject({ kind: 'failed' });
  expect(await perform(post, 'to dead')).toMatchObject({ kind: 'deferred' });
  expect(await perform(post, 'to alive')).toMatchObject({ kind: 'done' });
  expect(await perform(post)).toMatchObject({ kind: 'done' });
  expect(requests.slice(5)).toEqual(['post to alive', 'post hi']);
});
