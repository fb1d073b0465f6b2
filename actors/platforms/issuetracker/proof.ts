// What proves the requests of a trigger, in the way that it says. A tracker signs the body for administrators, sends tokens to apps, and
// repeats a fixed header in rules.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { headerVerifier } from '../webhooks/header-verifier.ts';
import { hubVerifier } from '../webhooks/hub-verifier.ts';
import { loopbackOnly, notProven, type Verifier } from '../webhooks/verified-subscribers.ts';
import { SIGNATURE } from './path.ts';

/** Throws where nothing would prove who sends, unless that was asked for. */
export async function trackerProof({ config }: IssueTrackerTrigger): Promise<Verifier> {
  const { auth_mode, insecure_allow_unverified: allowsUnverified } = config;
  const secrets = [config.webhook_secret, config.webhook_secret_previous];
  if (auth_mode === 'hmac')
    return hubVerifier({ header: SIGNATURE, secrets, field: 'webhook_secret', allowsUnverified });
  if (auth_mode === 'static') return fixedHeader(config.auth_header, secrets, allowsUnverified);
  // Loaded where tokens are taken only.
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
    verifiers.find(({ mayFit }) => mayFit(request))?.verify(request, body) ?? notProven;
  return {
    identity: JSON.stringify([header, ...verifiers.map(({ identity }) => identity)]),
    isOpen: false,
    mayFit: (request) => verifiers.some(({ mayFit }) => mayFit(request)),
    verify,
  };
}
