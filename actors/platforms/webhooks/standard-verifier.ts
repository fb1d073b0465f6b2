// What proves a webhook whose platform signs as Standard Webhooks have it (standard-signature.ts), for every adapter of such a one.
// The id is signed with the body, and the time: what was recorded can be sent again for the window only, under the same id.

import {
  isStandardShaped,
  isStandardSigned,
  type StandardHeaders,
  standardKey,
} from './standard-signature.ts';
import { notProven, signer, type Verifier } from './verified-subscribers.ts';
import type { WebhookRequest } from './webhook.ts';

export interface StandardProof {
  /** Any of them will do: base64, with or without `whsec_` before it. */
  readonly secrets: readonly string[];
  /** How far the time of the signature may be from ours. */
  readonly windowSeconds: number;
  /** What is signed. @default the body */
  readonly signedBytes?: (request: WebhookRequest, body: Buffer) => Buffer;
}

/** Throws for a secret that is none, without showing it. */
export function standardVerifier({
  secrets,
  windowSeconds,
  signedBytes = (_, body) => body,
}: StandardProof): Verifier {
  const keys = secrets.map(standardKey);
  return {
    identity: JSON.stringify([secrets, windowSeconds]),
    isOpen: false,
    mayFit: ({ headers }) => isStandardShaped(partsOf(headers)),
    verify: (request, body) => {
      const bytes = signedBytes(request, body);
      const isSigned = isStandardSigned(partsOf(request.headers), keys, bytes, windowSeconds, Date.now());
      return isSigned ? signer : notProven;
    },
  };
}

function partsOf(headers: WebhookRequest['headers']): StandardHeaders {
  return {
    id: headers['webhook-id'],
    timestamp: headers['webhook-timestamp'],
    signatures: headers['webhook-signature'],
  };
}
