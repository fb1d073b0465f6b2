// What proves an interaction: the platform signs the time, as it stands in a header, and the raw body behind it, with the key of
// the application.
//
// CCV1  what has not the form of a signature or of a time costs nothing: no body is read for it, and no signature checked.
// CCV2  the age counts after the signature: the platform tries bad signatures, and must be refused whatever their time. It is for
//       each trigger to judge, so that triggers of one key have a signature checked once.
// CCV3  a key that is none, or under which anybody can sign, proves nothing, and costs nothing.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { ed25519KeyFault } from '../../../config/resources/fields/ed25519-key.ts';
import type { Principal } from '../../identity/principal.ts';
import { notProven, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

export const SIGNATURE = 'x-signature-ed25519';
export const TIMESTAMP = 'x-signature-timestamp';

const SIGNATURE_FORM = /^[0-9a-f]{128}$/i;
/** Seconds, perhaps with a fraction. */
const TIME_FORM = /^\d{1,16}(\.\d{1,9})?$/;
/** Before the 32 bytes of a key, in the form that is read (RFC 8410). */
const KEY_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Whoever has the private key. */
const platform: Principal = { kind: 'signature', name: 'public_key' };

/** 64 hex digits. */
export function ed25519Verifier(publicKey: string): Verifier {
  const isKey = ed25519KeyFault(publicKey) === undefined;
  const key = keyOf(publicKey);
  return {
    identity: publicKey,
    isOpen: false,
    mayFit: ({ headers }) =>
      isKey && SIGNATURE_FORM.test(headers[SIGNATURE] ?? '') && TIME_FORM.test(headers[TIMESTAMP] ?? ''),
    verify({ headers }, body) {
      if (!isKey) return notProven;
      const time = headers[TIMESTAMP] ?? '';
      const signature = Buffer.from(headers[SIGNATURE] ?? '', 'hex');
      const signed = Buffer.concat([Buffer.from(time), body]);
      return verify(null, signed, key, signature) ? platform : notProven;
    },
  };
}

/** How far the time of a verified request is from the time here. */
export function skewMsOf({ headers }: WebhookRequest): number {
  return Math.abs(Date.now() - Number(headers[TIMESTAMP]) * 1000);
}

function keyOf(hex: string): KeyObject {
  const key = Buffer.concat([KEY_HEAD, Buffer.from(hex, 'hex')]);
  return createPublicKey({ key, format: 'der', type: 'spki' });
}
