// What the host's headers say of a delivery, and what proves it: a token that is sent as it is, or a signature. Which of the two
// a secret is for is told by its form.
//
// Where there is a signature, the event is known by the id that is signed with it: under another name it would come again.

import type { RepoHostBTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { headerVerifier } from '../../webhooks/header-verifier.ts';
import { standardVerifier } from '../../webhooks/standard-verifier.ts';
import { loopbackOnly, notProven, type Verifier } from '../../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import { deliveryIdOf } from '../delivery-id.ts';
import type { Delivery } from '../host.ts';
import { HOOK } from './facts.ts';

const TOKEN = 'x-gitlab-token';
/** Of the specification's own libraries. */
const WINDOW_SECONDS = 300;
const SIGNING_TOKEN = 'whsec_';

/** The payload says which event it is. Hooks that were called by hooks have the UUID of the first event, but keys of their own. */
export function repoHostBDelivery({ headers }: WebhookRequest): Delivery {
  const signed = headers['webhook-signature'] === undefined ? undefined : headers['webhook-id'];
  const id =
    deliveryIdOf(signed) ??
    deliveryIdOf(headers['idempotency-key']) ??
    deliveryIdOf(headers['x-gitlab-event-uuid']);
  return { event: HOOK, id };
}

/** Throws where nothing would prove who sends, unless that was asked for. */
export function repoHostBVerifier({ config }: RepoHostBTrigger): Verifier {
  const secrets = [config.webhook_secret, config.webhook_secret_previous ?? ''].filter((each) => each !== '');
  if (secrets.length === 0 && config.insecure_allow_unverified) return loopbackOnly;
  if (secrets.length === 0) throw new Error('webhook_secret is empty');
  const verifiers = secrets.map(verifierOf);
  return {
    identity: JSON.stringify(secrets),
    isOpen: false,
    mayFit: (request) => verifiers.some((each) => each.mayFit(request)),
    verify(request, body) {
      const fitting = verifiers.filter((each) => each.mayFit(request));
      return (
        fitting.map((each) => each.verify(request, body)).find((each) => each !== notProven) ?? notProven
      );
    },
  };
}

function verifierOf(secret: string): Verifier {
  return secret.startsWith(SIGNING_TOKEN)
    ? standardVerifier({ secrets: [secret], windowSeconds: WINDOW_SECONDS })
    : headerVerifier({ header: TOKEN, secret, field: 'webhook_secret' });
}
