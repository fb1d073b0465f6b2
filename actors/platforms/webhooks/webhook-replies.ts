// Responses to webhook senders; the statuses are documented in docs/triggers.md.

import type { AppendOutcome } from '../../store/store.ts';
import type { WebhookReply } from './webhook.ts';

/** Response to a verified request that the platform cannot have sent in this form. */
export const malformed = (message: string): WebhookReply => ({ status: 400, body: message });

/** Response to an event that no trigger accepts. */
export const ignored = (id: string): WebhookReply => ({ status: 200, body: { id, status: 'ignored' } });

/** Response to a stored event, or to a duplicate. */
export function acceptanceReply({ id, outcome }: AppendOutcome): WebhookReply {
  if (outcome === 'duplicate') return { status: 200, body: { id, status: 'duplicate' } };
  return { status: 202, body: { id, status: 'accepted' } };
}
