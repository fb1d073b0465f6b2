// The payload of an event that is stored as JSON: as it was parsed when it came, or anew where it comes back from the store.

import type { StoredEvent } from '../../store/event.ts';

/** Throws where the body is no JSON. */
export function storedPayload({ parsed, body }: Pick<StoredEvent, 'parsed' | 'body'>): unknown {
  return parsed ?? JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
}
