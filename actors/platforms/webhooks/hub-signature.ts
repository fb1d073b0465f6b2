// `sha256=<hex>`: the HMAC of the raw body that repository hosts and many others send (WebSub, section 8; the host's own
// documentation, "Validating webhook deliveries"). Compared in constant time; the length is no secret and checked first.

import { createHmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'sha256=';
const SHAPE = /^sha256=[0-9a-f]{64}$/i;

/** Whether a header's value can be a signature at all: to find that out costs nothing, and no body needs to be read. */
export function isHubShaped(signature: string | undefined): boolean {
  return signature !== undefined && SHAPE.test(signature);
}

/** Whether one of the secrets has made the signature, a header's value, for these bytes. */
export function isHubSigned(
  signature: string | undefined,
  secrets: readonly string[],
  bytes: Uint8Array,
): boolean {
  if (signature === undefined || !isHubShaped(signature)) return false;
  const given = Buffer.from(signature.slice(PREFIX.length), 'hex');
  return secrets.some((secret) =>
    timingSafeEqual(createHmac('sha256', secret).update(bytes).digest(), given),
  );
}
