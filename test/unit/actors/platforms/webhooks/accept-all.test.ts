import { expect, test } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import type { TriggerHost } from '../../../../../actors/platforms/adapter.ts';
import { acceptAll } from '../../../../../actors/platforms/webhooks/accept-all.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';

const event = (id: string) => ({ id, body: Buffer.from(id) }) as unknown as NewEvent;
const describeEvent = ({ id, body }: NewEvent) => `${id}:${Buffer.from(body).toString()}`;

/** Creates a host with a store that accepts `perCall` events per call and `total` events in total. */
function host(perCall: number, total = Number.POSITIVE_INFINITY) {
  const stored: string[] = [];
  const duplicates: string[] = [];
  const store = (events: readonly NewEvent[]) => {
    const isFull = events.length > perCall || stored.length + events.length > total;
    // The event buffers are transferred to the store's thread, so they are described before.
    const lines = events.map(describeEvent);
    for (const { body } of events) Buffer.from(body.buffer, body.byteOffset, body.length).fill(0);
    if (isFull) throw new OverloadedError('full');
    stored.push(...lines);
  };
  const source = {
    accept: async (single: NewEvent) => store([single]),
    store: {
      async append(events: readonly NewEvent[]) {
        store(events);
        return events.map(({ id }) => ({ id, outcome: id === 'b' ? 'duplicate' : 'new' }));
      },
    },
    onDuplicate: (id: string) => duplicates.push(id),
  } as unknown as TriggerHost;
  return { source, stored, duplicates };
}

test('events are stored in order, in one call or one by one', async () => {
  for (const perCall of [1, 3]) {
    const { source, stored } = host(perCall);
    await acceptAll(source, ['a', 'b', 'c'].map(event));
    expect(stored).toEqual(['a:a', 'b:b', 'c:c']);
  }
});

test('duplicates among events that are stored together are counted', async () => {
  const { source, duplicates } = host(3);
  await acceptAll(source, ['a', 'b', 'c'].map(event));
  expect(duplicates).toEqual(['b']);
});

test('if the store is full after some events of a request, these are stored and the error is reported', async () => {
  const { source, stored } = host(1, 2);
  await expect(acceptAll(source, ['a', 'b', 'c'].map(event))).rejects.toThrow('full');
  expect(stored).toEqual(['a:a', 'b:b']);
});
