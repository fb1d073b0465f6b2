// Reads delivery headers, and creates the signature verifier.

import type { RepoHostCTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { canonicalSignature } from '../../webhooks/hub-signature.ts';
import { hubVerifier } from '../../webhooks/hub-verifier.ts';
import type { Verifier } from '../../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import { deliveryIdOf } from '../delivery-id.ts';
import type { HookDelivery } from '../host.ts';

/** Header with a SHA-256 signature; other hosts use this name for SHA-1. */
const SIGNATURE = 'x-hub-signature';

export function repoHostCDelivery({ headers }: WebhookRequest): HookDelivery {
  const { 'x-event-key': event = '', 'x-request-uuid': id } = headers;
  if (!/^\w[\w:.-]{0,127}$/.test(event)) return { fault: 'X-Event-Key is missing or malformed' };
  return { event, id: deliveryIdOf(id) };
}

/**
 * Returns the signature for the detection of replays, with the unsigned event key, because bodies of two
 * different events may be identical.
 */
export function repoHostCSignature({ headers }: WebhookRequest): string {
  const signature = canonicalSignature(headers[SIGNATURE]);
  return signature === '' ? '' : `${signature} ${headers['x-event-key'] ?? ''}`;
}

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export function repoHostCVerifier({ config }: RepoHostCTrigger): Verifier {
  return hubVerifier({
    header: SIGNATURE,
    secrets: [config.webhook_secret, config.webhook_secret_previous],
    field: 'webhook_secret',
    allowsUnverified: config.insecure_allow_unverified,
  });
}
