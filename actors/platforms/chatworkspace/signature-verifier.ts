// Verifies request signatures: `v0=` and the HMAC-SHA256 of `v0:TIME:BODY` with the app's signing secret
// (platform documentation, "Verifying requests from Slack"). A signature that is missing, malformed, too old
// or from the future is refused before the body is read.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../identity/principal.ts';
import { unproven, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

const SIGNATURE = 'x-slack-signature';
const TIMESTAMP = 'x-slack-request-timestamp';
/** Maximum difference between the signed time and the gateway's clock. */
const WINDOW_SECONDS = 300;
const SIGNATURE_FORM = /^v0=[0-9a-f]{64}$/i;
const TIME_FORM = /^\d{1,12}$/;

const signer: Principal = { kind: 'signature', name: 'signing_secret' };

/** `now` returns epoch milliseconds. Throws if the secret is empty. */
export function signatureVerifier(secret: string | undefined, now: () => number = Date.now): Verifier {
  if (secret === undefined || secret === '') throw new Error('signing_secret is empty');
  const hasProof = ({ headers }: WebhookRequest): boolean => {
    const time = headers[TIMESTAMP] ?? '';
    const isFresh = TIME_FORM.test(time) && Math.abs(now() / 1000 - Number(time)) <= WINDOW_SECONDS;
    return isFresh && SIGNATURE_FORM.test(headers[SIGNATURE] ?? '');
  };
  return {
    identity: secret,
    isOpen: false,
    hasProof,
    verify(request, body) {
      if (!hasProof(request)) return unproven;
      const { [TIMESTAMP]: time = '', [SIGNATURE]: signature = '' } = request.headers;
      const expected = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest();
      return timingSafeEqual(expected, Buffer.from(signature.slice(3), 'hex')) ? signer : unproven;
    },
  };
}
