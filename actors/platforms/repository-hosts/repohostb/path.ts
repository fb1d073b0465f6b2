// Reads delivery headers, and creates the verifier. The form of the secret determines the proof: a plain
// token or a signature.
//
// A signed delivery is identified by its signed id. Under an unsigned id it could be replayed.

import type { RepoHostBTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { headerVerifier } from '../../webhooks/header-verifier.ts';
import { standardHeaders } from '../../webhooks/standard-signature.ts';
import { standardVerifier } from '../../webhooks/standard-verifier.ts';
import { loopbackOnly, unproven, type Verifier } from '../../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import { deliveryIdOf } from '../delivery-id.ts';
import type { HookDelivery } from '../host.ts';
import { HOOK } from './facts.ts';

const TOKEN = 'x-gitlab-token';
/** Clock tolerance of the specification's own libraries. */
const WINDOW_SECONDS = 300;
const SIGNING_TOKEN = 'whsec_';

/**
 * Returns the delivery id; the payload names the event. Events that other hooks caused share the first UUID,
 * but each has its own idempotency key.
 */
export function repoHostBDelivery({ headers }: WebhookRequest): HookDelivery {
  const { id: signed, signatures } = standardHeaders(headers);
  const id =
    deliveryIdOf(signatures === undefined ? undefined : signed) ??
    deliveryIdOf(headers['idempotency-key']) ??
    deliveryIdOf(headers['x-gitlab-event-uuid']);
  return { event: HOOK, id };
}

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export function repoHostBVerifier({ config }: RepoHostBTrigger): Verifier {
  const secrets = [config.webhook_secret, config.webhook_secret_previous ?? ''].filter((each) => each !== '');
  if (secrets.length === 0 && config.insecure_allow_unverified) return loopbackOnly;
  if (secrets.length === 0) throw new Error('webhook_secret is empty');
  const verifiers = secrets.map(verifierOf);
  return {
    identity: JSON.stringify(secrets),
    isOpen: false,
    hasProof: (request) => verifiers.some((each) => each.hasProof(request)),
    verify(request, body) {
      const candidates = verifiers.filter((each) => each.hasProof(request));
      return (
        candidates.map((each) => each.verify(request, body)).find((each) => each !== unproven) ?? unproven
      );
    },
  };
}

function verifierOf(secret: string): Verifier {
  return secret.startsWith(SIGNING_TOKEN)
    ? standardVerifier({ secrets: [secret], windowSeconds: WINDOW_SECONDS })
    : headerVerifier({ header: TOKEN, secret, field: 'webhook_secret' });
}
