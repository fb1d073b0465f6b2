// Verifier for platforms that sign by Standard Webhooks (standard-signature.ts). The signature covers id and
// time, so a recorded request can be replayed only within the window and under the same id.

import { isStandardShaped, isStandardSigned, standardHeaders, standardKey } from './standard-signature.ts';
import { signer, unproven, type Verifier } from './verified-subscribers.ts';
import type { WebhookRequest } from './webhook.ts';

export interface StandardProof {
  /** Accepted secrets: base64, with or without `whsec_`. */
  readonly secrets: readonly string[];
  /** Maximum difference between the signature's time and the gateway's clock. */
  readonly windowSeconds: number;
  /** Returns the signed bytes. @default the body */
  readonly signedBytes?: (request: WebhookRequest, body: Buffer) => Buffer;
}

/** Throws if a secret is malformed, without revealing it. */
export function standardVerifier({
  secrets,
  windowSeconds,
  signedBytes = (_, body) => body,
}: StandardProof): Verifier {
  const keys = secrets.map(standardKey);
  return {
    identity: JSON.stringify([secrets, windowSeconds]),
    // Every request needs a signature.
    isOpen: false,
    hasProof: ({ headers }) => isStandardShaped(standardHeaders(headers)),
    verify: (request, body) => {
      const bytes = signedBytes(request, body);
      const headers = standardHeaders(request.headers);
      const isSigned = isStandardSigned(headers, keys, bytes, windowSeconds, Date.now());
      return isSigned ? signer : unproven;
    },
  };
}
