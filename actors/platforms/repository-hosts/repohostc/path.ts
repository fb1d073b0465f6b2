// What the host's headers say of a delivery, and what proves it.

import type { RepoHostCTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { hubVerifier } from '../../webhooks/hub-verifier.ts';
import type { Verifier } from '../../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import { deliveryIdOf } from '../delivery-id.ts';
import type { Delivery } from '../host.ts';

/** SHA-256, under the name that others have for SHA-1. */
const SIGNATURE = 'x-hub-signature';

export function repoHostCDelivery({ headers }: WebhookRequest): Delivery {
  const { 'x-event-key': event = '', 'x-request-uuid': id } = headers;
  if (!/^\w[\w:.-]{0,127}$/.test(event)) return { fault: 'X-Event-Key is missing, or names no event' };
  return { event, id: deliveryIdOf(id) };
}

/** Bodies of two events may be the same, byte for byte: what happened stands in the event's key alone, which nobody signs. */
export function repoHostCSignature({ headers }: WebhookRequest): string {
  const signature = headers[SIGNATURE];
  return signature === undefined ? '' : `${signature} ${headers['x-event-key'] ?? ''}`;
}

/** Throws where nothing would prove who sends, unless that was asked for. */
export function repoHostCVerifier({ config }: RepoHostCTrigger): Verifier {
  return hubVerifier({
    header: SIGNATURE,
    secrets: [config.webhook_secret, config.webhook_secret_previous],
    field: 'webhook_secret',
    allowsUnverified: config.insecure_allow_unverified,
  });
}
