// What proves a request of the platform: `v0=` and the HMAC-SHA256 of `v0:TIME:BODY` under the app's signing secret, with a time
// that is not old (its documentation, "Verifying requests from Slack").
//
// WSG1  what is missing, cut, or too old is refused before the body is read.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../identity/principal.ts';
import { notProven, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

const SIGNATURE = 'x-slack-signature';
const TIMESTAMP = 'x-slack-request-timestamp';
const MAX_AGE_SECONDS = 300;
const SHAPE = /^v0=[0-9a-f]{64}$/i;
const TIME = /^\d{1,12}$/;

const signer: Principal = { kind: 'signature', name: 'signing_secret' };

/** `now` gives epoch ms. Throws without a secret. */
export function signatureVerifier(secret: string | undefined, now: () => number = Date.now): Verifier {
  if (secret === undefined || secret === '') throw new Error('signing_secret is empty');
  const mayFit = ({ headers }: WebhookRequest): boolean => {
    const time = headers[TIMESTAMP] ?? '';
    const isFresh = TIME.test(time) && now() / 1000 - Number(time) <= MAX_AGE_SECONDS;
    return isFresh && SHAPE.test(headers[SIGNATURE] ?? '');
  };
  return {
    identity: secret,
    isOpen: false,
    mayFit,
    verify(request, body) {
      if (!mayFit(request)) return notProven;
      const { [TIMESTAMP]: time = '', [SIGNATURE]: signature = '' } = request.headers;
      const expected = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest();
      return timingSafeEqual(expected, Buffer.from(signature.slice(3), 'hex')) ? signer : notProven;
    },
  };
}
