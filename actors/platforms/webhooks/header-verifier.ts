// Verifier for platforms that send a shared secret in a header. The secret does not protect the body: anyone
// with the secret can send any body.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../identity/principal.ts';
import { unproven, type Verifier } from './verified-subscribers.ts';

export interface HeaderProof {
  /** Header name in lower case. */
  readonly header: string;
  readonly secret: string | undefined;
  /** Field name of the secret in the trigger's file. */
  readonly field: string;
}

/** Throws if the secret is empty. */
export function headerVerifier({ header, secret = '', field }: HeaderProof): Verifier {
  if (secret === '') throw new Error(`${field} is empty`);
  const principal: Principal = { kind: 'key', name: field };
  const hasProof: Verifier['hasProof'] = ({ headers }) => isSameSecret(headers[header] ?? '', secret);
  return {
    identity: secret,
    isOpen: false,
    hasProof,
    verify: (request) => (hasProof(request) ? principal : unproven),
  };
}

/** Compares in constant time, without revealing the secret's length. */
export function isSameSecret(text: string, secret: string): boolean {
  return timingSafeEqual(digest(text), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
