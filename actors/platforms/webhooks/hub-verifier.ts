// What proves a webhook whose platform signs the body with a secret of ours (hub-signature.ts), for every adapter of such a one.

import type { Principal } from '../../identity/principal.ts';
import { isHubShaped, isHubSigned } from './hub-signature.ts';
import { loopbackOnly, notProven, signer, type Verifier } from './verified-subscribers.ts';

export interface HubProof {
  /** Of the signature, in small letters. */
  readonly header: string;
  /** Any of them will do; those that are empty are none. */
  readonly secrets: readonly (string | undefined)[];
  /** What the first of them is called in a trigger's file. */
  readonly field: string;
  readonly allowsUnverified: boolean | undefined;
  /** Who knows the secret. @default whoever has the webhook_secret */
  readonly principal?: Principal;
}

/** Throws where nothing would prove who sends, unless that was asked for. */
export function hubVerifier({ header, secrets, field, allowsUnverified, principal }: HubProof): Verifier {
  const given = secrets.filter((secret) => secret !== undefined && secret !== '') as readonly string[];
  if (given.length === 0 && allowsUnverified) return loopbackOnly;
  if (given.length === 0) throw new Error(`${field} is empty`);
  return {
    identity: JSON.stringify(given),
    isOpen: false,
    mayFit: ({ headers }) => isHubShaped(headers[header]),
    verify: ({ headers }, body) =>
      isHubSigned(headers[header], given, body) ? (principal ?? signer) : notProven,
  };
}
