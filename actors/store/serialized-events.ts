// Serialises events to a text column, for the `onCancel` events of approvals.

import type { NewEvent } from './event.ts';

type WrittenEvent = Omit<NewEvent, 'body' | 'parsed'> & { readonly body: string };

export function serializeEvents(events: readonly NewEvent[]): string {
  const written: readonly WrittenEvent[] = events.map(({ parsed: _, body, ...event }) => ({
    ...event,
    body: Buffer.from(body).toString('base64'),
  }));
  return JSON.stringify(written);
}

/** Parses the text of `serializeEvents`. */
export function parseEvents(text: string): readonly NewEvent[] {
  const written = JSON.parse(text) as readonly WrittenEvent[];
  return written.map(({ body, ...event }) => ({ ...event, body: Buffer.from(body, 'base64') }));
}
