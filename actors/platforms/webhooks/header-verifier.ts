// What proves a webhook whose platform repeats a secret of ours in a header, for every adapter of such a one. The body is not
// signed with it: whoever knows the secret can send anything.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../identity/principal.ts';
import { notProven, type Verifier } from './verified-subscribers.ts';

export interface HeaderProof {
  /** In small letters. */
  readonly header: string;
  readonly secret: string | undefined;
  /** What the secret is called in a trigger's file. */
  readonly field: string;
}

/** Throws where there is no secret: nothing would prove who sends. */
export function headerVerifier({ header, secret = '', field }: HeaderProof): Verifier {
  if (secret === '') throw new Error(`${field} is empty`);
  const principal: Principal = { kind: 'key', name: field };
  const mayFit: Verifier['mayFit'] = ({ headers }) => isSameSecret(headers[header] ?? '', secret);
  return {
    identity: secret,
    isOpen: false,
    mayFit,
    verify: (request) => (mayFit(request) ? principal : notProven),
  };
}

/** Compared in a time that tells nothing of either, not even how long it is. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
