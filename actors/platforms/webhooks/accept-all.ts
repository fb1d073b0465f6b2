// Persists several events from the same request or response together.

import { OverloadedError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../../store/event.ts';
import type { TriggerHost } from '../adapter.ts';

/**
 * Persists the events in order: in one transaction or, if the store is overloaded, one by one up to its
 * capacity. On rejection, some events may be stored; the platform redelivers all, and the store recognises
 * the duplicates.
 */
export async function acceptAll(host: TriggerHost, events: readonly NewEvent[]): Promise<void> {
  const [first, ...others] = events;
  if (first === undefined) return;
  if (others.length === 0) {
    await host.accept(first);
    return;
  }
  try {
    // The store may transfer the buffers, which empties them.
    const copies = events.map((event) => ({ ...event, body: Buffer.from(event.body) }));
    for (const { id, outcome } of await host.store.append(copies))
      if (outcome === 'duplicate') host.onDuplicate?.(id);
  } catch (error) {
    if (!(error instanceof OverloadedError)) throw error;
    for (const event of events) await host.accept(event);
  }
}
