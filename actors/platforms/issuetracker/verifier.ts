// Creates the verifier for the trigger's `auth_mode`. Webhooks of administrators have a signed body, webhooks
// to apps a token, and requests of automation rules a fixed header.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { headerVerifier } from '../webhooks/header-verifier.ts';
import { hubVerifier } from '../webhooks/hub-verifier.ts';
import { loopbackOnly, unproven, type Verifier } from '../webhooks/verified-subscribers.ts';
import { SIGNATURE } from './path.ts';

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export async function trackerProof({ config }: IssueTrackerTrigger): Promise<Verifier> {
  const { auth_mode, insecure_allow_unverified: allowsUnverified } = config;
  const secrets = [config.webhook_secret, config.webhook_secret_previous];
  if (auth_mode === 'hmac')
    return hubVerifier({ header: SIGNATURE, secrets, field: 'webhook_secret', allowsUnverified });
  if (auth_mode === 'static') return fixedHeader(config.auth_header, secrets, allowsUnverified);
  // The JWT library is loaded on demand.
  const { tokenVerifier } = await import('./token-verifier.ts');
  return tokenVerifier({ secrets, signedPath: config.signed_path, allowsUnverified });
}

function fixedHeader(
  header: string,
  secrets: readonly (string | undefined)[],
  allowsUnverified: boolean,
): Verifier {
  const [current = '', previous = ''] = secrets;
  if (current === '' && allowsUnverified) return loopbackOnly;
  const verifiers = [current, ...(previous === '' ? [] : [previous])].map((secret) =>
    headerVerifier({ header, secret, field: 'webhook_secret' }),
  );
  const verify: Verifier['verify'] = (request, body) =>
    verifiers.find(({ hasProof }) => hasProof(request))?.verify(request, body) ?? unproven;
  return {
    identity: JSON.stringify([header, ...verifiers.map(({ identity }) => identity)]),
    isOpen: false,
    hasProof: (request) => verifiers.some(({ hasProof }) => hasProof(request)),
    verify,
  };
}
