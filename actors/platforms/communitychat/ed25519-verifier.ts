// Verifies the signatures of interactions: the platform signs the timestamp header and the raw body with the
// private key of the application.
//
// A malformed signature or timestamp is refused before the body is read. The path checks the age after the
// signature (`skewMsOf`), because the platform tests endpoints with bad signatures, which must be refused at
// any age. Each trigger has a separate age limit, so triggers with the same key share the signature check.
// With an invalid or weak key, every request is refused.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { ed25519KeyFault } from '../../../config/resources/fields/ed25519-key.ts';
import type { Principal } from '../../identity/principal.ts';
import { unproven, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

export const SIGNATURE = 'x-signature-ed25519';
export const TIMESTAMP = 'x-signature-timestamp';

const SIGNATURE_FORM = /^[0-9a-f]{128}$/i;
/** Epoch seconds, optionally with a fraction. */
const TIME_FORM = /^\d{1,16}(\.\d{1,9})?$/;
/** DER prefix for 32-byte public keys (RFC 8410). */
const KEY_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Principal of requests signed with the application's private key. */
const platform: Principal = { kind: 'signature', name: 'public_key' };

/** `publicKey` has 64 hex digits. */
export function ed25519Verifier(publicKey: string): Verifier {
  const isKey = ed25519KeyFault(publicKey) === undefined;
  const key = keyOf(publicKey);
  return {
    identity: publicKey,
    isOpen: false,
    hasProof: ({ headers }) =>
      isKey && SIGNATURE_FORM.test(headers[SIGNATURE] ?? '') && TIME_FORM.test(headers[TIMESTAMP] ?? ''),
    verify({ headers }, body) {
      if (!isKey) return unproven;
      const time = headers[TIMESTAMP] ?? '';
      const signature = Buffer.from(headers[SIGNATURE] ?? '', 'hex');
      const signedData = Buffer.concat([Buffer.from(time), body]);
      return verify(null, signedData, key, signature) ? platform : unproven;
    },
  };
}

/** Returns the difference between the request's timestamp and the gateway's clock, in milliseconds. */
export function skewMsOf({ headers }: WebhookRequest): number {
  return Math.abs(Date.now() - Number(headers[TIMESTAMP]) * 1000);
}

function keyOf(hex: string): KeyObject {
  const key = Buffer.concat([KEY_HEAD, Buffer.from(hex, 'hex')]);
  return createPublicKey({ key, format: 'der', type: 'spki' });
}
