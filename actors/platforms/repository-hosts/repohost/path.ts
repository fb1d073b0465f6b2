// Reads delivery headers, and creates the signature verifier.

import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { hubVerifier } from '../../webhooks/hub-verifier.ts';
import type { Verifier } from '../../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import type { HookDelivery } from '../host.ts';

export const SIGNATURE = 'x-hub-signature-256';

export function repoHostDelivery({ headers }: WebhookRequest): HookDelivery {
  const { 'x-github-event': event = '', 'x-github-delivery': id = '' } = headers;
  if (!/^\w{1,64}$/.test(event)) return { fault: 'X-GitHub-Event is missing or malformed' };
  if (!/^[\w.:-]{1,128}$/.test(id)) return { fault: 'X-GitHub-Delivery is missing or malformed' };
  return event === 'ping' ? 'ping' : { event, id };
}

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export function repoHostVerifier({ config }: RepoHostTrigger): Verifier {
  return hubVerifier({
    header: SIGNATURE,
    secrets: [config.webhook_secret, config.webhook_secret_previous],
    field: 'webhook_secret',
    allowsUnverified: config.insecure_allow_unverified,
  });
}
