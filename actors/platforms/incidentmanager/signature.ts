// What proves a webhook of the incident manager: `v1=<hex>`, the HMAC-SHA256 of the raw body, once for each secret that the
// platform has while one takes the place of another. Ours may be several, too: any of them against any of those.
//
// IS1  what is of another version is passed over, so that one can come beside v1.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { loopbackOnly, notProven, signer, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

export const SIGNATURE = 'x-pagerduty-signature';

const PART = /^v1=([0-9a-f]{64})$/i;
/** More of them nobody has. */
const MAX_PARTS = 16;

export interface IncidentProof {
  /** Any of them will do. */
  readonly secrets: readonly string[];
  readonly allowsUnverified: boolean;
}

/** Throws where nothing would prove who sends, unless that was asked for. */
export function incidentVerifier({ secrets, allowsUnverified }: IncidentProof): Verifier {
  if (secrets.length === 0 && allowsUnverified) return loopbackOnly;
  if (secrets.length === 0) throw new Error('webhook_secret is empty');
  return {
    identity: JSON.stringify([...secrets].sort()),
    isOpen: false,
    mayFit: (request) => signaturesOf(request).length > 0,
    verify: (request, body) => (isSigned(signaturesOf(request), secrets, body) ? signer : notProven),
  };
}

function signaturesOf({ headers }: WebhookRequest): readonly Buffer[] {
  const parts = (headers[SIGNATURE] ?? '').split(',', MAX_PARTS);
  return parts.flatMap((part) => {
    const hex = PART.exec(part.trim())?.[1];
    return hex === undefined ? [] : [Buffer.from(hex, 'hex')];
  });
}

function isSigned(given: readonly Buffer[], secrets: readonly string[], body: Uint8Array): boolean {
  return secrets.some((secret) => {
    const own = createHmac('sha256', secret).update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, own));
  });
}
