// What a platform brings in one request, or gives in one answer: several events that are made durable together.

import { OverloadedError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../../store/event.ts';
import type { SourceHost } from '../adapter.ts';

/**
 * In their order: all at once, or, where there is no room for all of them, as many as there is room for. When it rejects some
 * may be there already; they are known when the platform brings all of them again.
 */
export async function acceptAll(host: SourceHost, events: readonly NewEvent[]): Promise<void> {
  const [first, ...others] = events;
  if (first === undefined) return;
  if (others.length === 0) {
    await host.accept(first);
    return;
  }
  try {
    // What is handed over may be empty afterwards.
    await host.store.append(events.map((event) => ({ ...event, body: Buffer.from(event.body) })));
  } catch (error) {
    if (!(error instanceof OverloadedError)) throw error;
    for (const event of events) await host.accept(event);
  }
}
