// Signature `sha256=<hex>`, an HMAC of the raw body (WebSub, section 8; the repository host's documentation,
// "Validating webhook deliveries"). Compared in constant time; the length is public and checked first.

import { createHmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'sha256=';
const SHAPE = /^sha256=[0-9a-f]{64}$/i;

/** Checks a header value's form, before the body is read. */
export function isHubShaped(signature: string | undefined): boolean {
  return signature !== undefined && SHAPE.test(signature);
}

/** Returns true if the signature is valid for the bytes under any of the secrets. */
export function isHubSigned(
  signature: string | undefined,
  secrets: readonly string[],
  bytes: Uint8Array,
): boolean {
  if (signature === undefined || !isHubShaped(signature)) return false;
  const digest = Buffer.from(signature.slice(PREFIX.length), 'hex');
  return secrets.some((secret) =>
    timingSafeEqual(createHmac('sha256', secret).update(bytes).digest(), digest),
  );
}
