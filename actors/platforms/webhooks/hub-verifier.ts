// Verifier for platforms that sign the body with a shared secret, as in WebSub (hub-signature.ts).

import type { Principal } from '../../identity/principal.ts';
import { isHubShaped, isHubSigned } from './hub-signature.ts';
import { loopbackOnly, signer, unproven, type Verifier } from './verified-subscribers.ts';

export interface HubProof {
  /** Name of the signature header, in lower case. */
  readonly header: string;
  /** Accepted secrets; empty strings are ignored. */
  readonly secrets: readonly (string | undefined)[];
  /** Field name of the first secret in the trigger's file. */
  readonly field: string;
  readonly allowsUnverified: boolean | undefined;
  /** Principal of verified requests. @default signer */
  readonly principal?: Principal;
}

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export function hubVerifier({ header, secrets, field, allowsUnverified, principal }: HubProof): Verifier {
  const accepted = secrets.filter((secret) => secret !== undefined && secret !== '') as readonly string[];
  if (accepted.length === 0 && allowsUnverified) return loopbackOnly;
  if (accepted.length === 0) throw new Error(`${field} is empty`);
  return {
    // Verifiers with equal secrets accept the same requests.
    identity: JSON.stringify(accepted),
    isOpen: false,
    hasProof: ({ headers }) => isHubShaped(headers[header]),
    verify: ({ headers }, body) =>
      isHubSigned(headers[header], accepted, body) ? (principal ?? signer) : unproven,
  };
}
