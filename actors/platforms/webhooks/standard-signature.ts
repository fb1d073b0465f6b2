// Signatures of Standard Webhooks (standardwebhooks.com, specification 1.0, "Verifying webhook
// authenticity"): HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<raw body>`, as `v1,<base64>`, separated
// by spaces. The time is checked after the signature, so that forged requests reveal nothing about the
// gateway's clock.

import { createHmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
const MAX_SIGNATURES = 16;

/** Decodes a secret: base64, with or without `whsec_`. Throws if malformed, without revealing it. */
export function standardKey(secret: string): Buffer {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  const key = Buffer.from(text, 'base64');
  const isWhole = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  if (key.length === 0 || !isWhole)
    throw new Error('webhook_secret: expected a Standard Webhooks secret, whsec_ followed by base64');
  return key;
}

export interface StandardHeaders {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signatures: string | undefined;
}

/**
 * Reads the three headers. The older names (`svix-id`) are read only in a request without
 * `webhook-signature`, so that the id is always the signed one.
 */
export function standardHeaders(headers: Readonly<Record<string, string>>): StandardHeaders {
  const isOlder = headers['webhook-signature'] === undefined && headers['svix-signature'] !== undefined;
  const prefix = isOlder ? 'svix' : 'webhook';
  return {
    id: headers[`${prefix}-id`],
    timestamp: headers[`${prefix}-timestamp`],
    signatures: headers[`${prefix}-signature`],
  };
}

/** Checks the form of the headers, before the body is read. */
export function isStandardShaped(headers: StandardHeaders): boolean {
  return signaturesIn(headers).length > 0;
}

function signaturesIn({ id = '', timestamp = '', signatures = '' }: StandardHeaders): readonly Buffer[] {
  if (id === '' || !/^\d{1,12}$/.test(timestamp)) return [];
  return signatures
    .split(' ', MAX_SIGNATURES)
    .filter((each) => each.startsWith('v1,') && each.length === 47)
    .map((each) => Buffer.from(each.slice(3), 'base64'));
}

/**
 * Returns true if one of the keys signed the bytes, up to `windowSeconds` before or after `nowMs` (epoch).
 */
export function isStandardSigned(
  { id, timestamp, signatures }: StandardHeaders,
  keys: readonly Buffer[],
  bytes: Uint8Array,
  windowSeconds: number,
  nowMs: number,
): boolean {
  if (id === undefined || timestamp === undefined) return false;
  const candidates = signaturesIn({ id, timestamp, signatures });
  if (candidates.length === 0) return false;
  const isSigned = keys.some((key) => {
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`, 'latin1').update(bytes).digest();
    return candidates.some((each) => each.length === 32 && timingSafeEqual(each, expected));
  });
  return isSigned && Math.abs(nowMs / 1000 - Number(timestamp)) <= windowSeconds;
}
