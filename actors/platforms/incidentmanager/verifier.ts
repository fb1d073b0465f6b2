// Verifies signatures of the incident manager: `v1=<hex>`, an HMAC-SHA256 of the raw body. During a rotation
// the platform sends one per secret; the trigger may also have several secrets, and any match suffices.
// Signatures of other versions are ignored, so that the platform can send them in addition.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { loopbackOnly, signer, unproven, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

export const SIGNATURE = 'x-pagerduty-signature';

const PART = /^v1=([0-9a-f]{64})$/i;
/** Maximum number of signatures that are checked. */
const MAX_PARTS = 16;

export interface IncidentProof {
  /** Accepted secrets. */
  readonly secrets: readonly string[];
  readonly allowsUnverified: boolean;
}

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export function incidentVerifier({ secrets, allowsUnverified }: IncidentProof): Verifier {
  if (secrets.length === 0 && allowsUnverified) return loopbackOnly;
  if (secrets.length === 0) throw new Error('webhook_secret is empty');
  return {
    identity: JSON.stringify([...secrets].sort()),
    isOpen: false,
    hasProof: (request) => signaturesOf(request).length > 0,
    verify: (request, body) => (isSigned(signaturesOf(request), secrets, body) ? signer : unproven),
  };
}

function signaturesOf({ headers }: WebhookRequest): readonly Buffer[] {
  const parts = (headers[SIGNATURE] ?? '').split(',', MAX_PARTS);
  return parts.flatMap((part) => {
    const hex = PART.exec(part.trim())?.[1];
    return hex === undefined ? [] : [Buffer.from(hex, 'hex')];
  });
}

function isSigned(signatures: readonly Buffer[], secrets: readonly string[], body: Uint8Array): boolean {
  return secrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(body).digest();
    return signatures.some((signature) => timingSafeEqual(signature, expected));
  });
}
