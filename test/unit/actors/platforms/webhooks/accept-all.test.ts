import { expect, test } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import type { SourceHost } from '../../../../../actors/platforms/adapter.ts';
import { acceptAll } from '../../../../../actors/platforms/webhooks/accept-all.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';

const event = (id: string) => ({ id, body: Buffer.from(id) }) as unknown as NewEvent;
const shown = ({ id, body }: NewEvent) => `${id}:${Buffer.from(body).toString()}`;

/** A host whose store takes so many events at once, and as many in all as there is room for. */
function host(atOnce: number, room = Number.POSITIVE_INFINITY) {
  const taken: string[] = [];
  const take = (events: readonly NewEvent[]) => {
    const isFull = events.length > atOnce || taken.length + events.length > room;
    // As the store's thread does with what is handed over to it.
    const lines = events.map(shown);
    for (const { body } of events) Buffer.from(body.buffer, body.byteOffset, body.length).fill(0);
    if (isFull) throw new OverloadedError('full');
    taken.push(...lines);
  };
  const source = {
    accept: async (one: NewEvent) => take([one]),
    store: { append: async (events: readonly NewEvent[]) => take(events) },
  } as unknown as SourceHost;
  return { source, taken };
}

test('events are made durable in their order, whether there is room for all at once or not', async () => {
  for (const atOnce of [1, 3]) {
    const { source, taken } = host(atOnce);
    await acceptAll(source, ['a', 'b', 'c'].map(event));
    expect(taken).toEqual(['a:a', 'b:b', 'c:c']);
  }
});

test('where there is room for some only those are, and it is said', async () => {
  const { source, taken } = host(1, 2);
  await expect(acceptAll(source, ['a', 'b', 'c'].map(event))).rejects.toThrow('full');
  expect(taken).toEqual(['a:a', 'b:b']);
});
