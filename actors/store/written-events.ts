// Events as a text that a record keeps: what is to be appended if it comes to that.

import type { NewEvent } from './event.ts';

type WrittenEvent = Omit<NewEvent, 'body' | 'parsed'> & { readonly body: string };

export function writtenEvents(events: readonly NewEvent[]): string {
  const written: readonly WrittenEvent[] = events.map(({ parsed: _, body, ...event }) => ({
    ...event,
    body: Buffer.from(body).toString('base64'),
  }));
  return JSON.stringify(written);
}

/** What `writtenEvents` gave. */
export function readEvents(text: string): readonly NewEvent[] {
  const written = JSON.parse(text) as readonly WrittenEvent[];
  return written.map(({ body, ...event }) => ({ ...event, body: Buffer.from(body, 'base64') }));
}
