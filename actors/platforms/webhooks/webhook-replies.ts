// Responses to webhook senders; the statuses are documented in docs/triggers.md.

import type { AppendOutcome } from '../../store/store.ts';
import type { Acceptance } from './replay-guard.ts';
import type { WebhookReply } from './webhook.ts';

/** Response to a verified request that the platform cannot have sent in this form. */
export const malformed = (message: string): WebhookReply => ({ status: 400, body: message });

/** Response to an event that no trigger accepts. */
export const ignored = (id: string): WebhookReply => ({ status: 200, body: { id, status: 'ignored' } });

export const duplicate = (id: string): WebhookReply => ({ status: 200, body: { id, status: 'duplicate' } });

/**
 * Response to an accepted event. `id` is the event's id, unless the event was accepted earlier under another
 * id.
 */
export function acceptanceReply(id: string, acceptance: Acceptance<AppendOutcome>): WebhookReply {
  if ('knownAs' in acceptance) return duplicate(acceptance.knownAs);
  if (acceptance.accepted.outcome === 'duplicate') return duplicate(id);
  return { status: 202, body: { id, status: 'accepted' } };
}
