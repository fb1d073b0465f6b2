// What senders are told of what they sent, in one form for all webhooks: statuses as docs/triggers.md has them.

import type { Appended } from '../../store/store.ts';
import type { Taken } from './seen-bodies.ts';
import type { WebhookReply } from './webhook.ts';

/** Authentic, and nothing that the platform could have sent. */
export const malformed = (message: string): WebhookReply => ({ status: 400, body: message });

/** Nobody takes it. */
export const ignored = (id: string): WebhookReply => ({ status: 200, body: { id, status: 'ignored' } });

export const duplicate = (id: string): WebhookReply => ({ status: 200, body: { id, status: 'duplicate' } });

/** `id` is that of the event, under which it may have been known before. */
export function takenReply(id: string, taken: Taken<Appended>): WebhookReply {
  if ('knownAs' in taken) return duplicate(taken.knownAs);
  if (taken.accepted.outcome === 'duplicate') return duplicate(id);
  return { status: 202, body: { id, status: 'accepted' } };
}
