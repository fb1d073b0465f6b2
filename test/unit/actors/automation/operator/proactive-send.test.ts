// The process is killed between storing the idempotency record of a proactive message and storing the outbox
// rows.

import { expect, test } from 'vitest';
import { sendProactively } from '../../../../../actors/automation/operator/proactive-send.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { anonymous } from '../../../../../actors/identity/principal.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const trigger = manualTrigger('t') as Trigger;
const message = { conversation: 'test/a/x', text: 'one two three', card: undefined };
const origin = { trace: '', principal: anonymous, idempotencyKey: 'k' };

function bench() {
  const store = new MemoryStore();
  const parts = { most: 3 };
  const outbound: Outbound<Trigger, { readonly text: string }> = {
    target: () => undefined,
    destination: async () => ({ place: 'x' }),
    // The limit can change with the configuration.
    render: (_, { text }) => {
      const commandLine = text.split(' ');
      const rest = commandLine.slice(parts.most - 1).join(' ');
      return [...commandLine.slice(0, parts.most - 1), rest].map((each) => ({ text: each }));
    },
    addressOf: () => 'here',
    send: async () => ({ id: '1' }),
  };
  const adapter = {
    ...manualAdapter,
    type: trigger.type,
    account: () => 'a',
    outbound,
  } as unknown as Adapter;
  const send = (post: (rows: readonly NewEvent[]) => Promise<unknown>) =>
    sendProactively({ store, keepMs: 60_000, post }, adapter, trigger, message, origin);
  const appendRows = (rows: readonly NewEvent[]) => store.append(rows);
  const textsOf = async (ids: readonly string[]) =>
    Promise.all(
      ids.map(async (id) => JSON.parse(Buffer.from((await store.delivery(id))?.body ?? []).toString()).text),
    );
  return { parts, send, appendRows, textsOf };
}

test.each([
  [3, 3, ['one', 'two', 'three']],
  [2, 3, ['one', 'two', 'three']],
  [3, 2, ['one', 'two three']],
])(
  'a proactive send that was killed after %i ids and no rows were stored sends all %i parts when repeated',
  async (before, after, texts) => {
    const { parts, send, appendRows, textsOf } = bench();
    parts.most = before;
    await expect(send(() => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
    parts.most = after;
    const result = await send(appendRows);
    expect(await textsOf(result)).toEqual(texts);
    // The rows are stored, so the limit no longer matters.
    parts.most = before;
    expect(await send(() => Promise.reject(new Error('sent twice')))).toEqual(result);
  },
);
