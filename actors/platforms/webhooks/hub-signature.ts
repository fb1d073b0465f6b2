// HMAC-SHA256 of the raw body (WebSub, section 8; the repository host's documentation, "Validating webhook
// deliveries"): `sha256=` and hexadecimal digits. Other senders omit the prefix, or write base64. Compared in
// constant time; the form is public and checked first.

import { createHmac, timingSafeEqual } from 'node:crypto';

const HEX = /^(?:sha256=)?([0-9a-f]{64})$/i;
const BASE64 = /^(?:sha256=)?([A-Za-z0-9+/_-]{43}=?)$/;

/** Checks a header value's form, before the body is read. */
export function isHubShaped(signature: string | undefined): boolean {
  return digestIn(signature) !== undefined;
}

/** Returns one text for all forms of a signature, to compare signatures; '' if malformed. */
export function canonicalSignature(signature: string | undefined): string {
  return digestIn(signature)?.toString('hex') ?? '';
}

/** Returns true if the signature is valid for the bytes under any of the secrets. */
export function isHubSigned(
  signature: string | undefined,
  secrets: readonly string[],
  bytes: Uint8Array,
): boolean {
  const digest = digestIn(signature);
  if (digest === undefined) return false;
  return secrets.some((secret) =>
    timingSafeEqual(createHmac('sha256', secret).update(bytes).digest(), digest),
  );
}

/** Returns the 32 bytes of the signature; undefined if malformed. */
function digestIn(signature = ''): Buffer | undefined {
  const hex = HEX.exec(signature)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  const base64 = BASE64.exec(signature)?.[1];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
}
