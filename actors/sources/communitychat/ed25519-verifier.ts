// What proves an interaction: the platform signs the time, as it stands in a header, and the raw body behind it, with the key of
// the application.
//
// CCV1  what has not the form of a signature or of a time costs nothing: no body is read for it, and no signature checked.
// CCV2  the age counts after the signature: the platform tries bad signatures, and must be refused whatever their time.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Principal } from '../../principal.ts';
import { notProven, type Verifier } from '../verified-subscribers.ts';

export const SIGNATURE = 'x-signature-ed25519';
export const TIMESTAMP = 'x-signature-timestamp';

const SIGNATURE_FORM = /^[0-9a-f]{128}$/i;
/** Seconds, perhaps with a fraction. */
const TIME_FORM = /^\d{1,16}(\.\d{1,9})?$/;
/** Before the 32 bytes of a key, in the form that is read (RFC 8410). */
const KEY_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Whoever has the private key. */
const platform: Principal = { kind: 'signature', name: 'public_key' };

export interface SignedProof {
  /** 64 hex digits. */
  readonly publicKey: string;
  readonly maxSkewMs: number;
  /** Epoch ms. */
  readonly now?: () => number;
}

export function ed25519Verifier({ publicKey, maxSkewMs, now = Date.now }: SignedProof): Verifier {
  const key = keyOf(publicKey);
  return {
    identity: `${publicKey} ${maxSkewMs}`,
    isOpen: false,
    mayFit: ({ headers }) =>
      SIGNATURE_FORM.test(headers[SIGNATURE] ?? '') && TIME_FORM.test(headers[TIMESTAMP] ?? ''),
    verify({ headers }, body) {
      const time = headers[TIMESTAMP] ?? '';
      const signature = Buffer.from(headers[SIGNATURE] ?? '', 'hex');
      const signed = Buffer.concat([Buffer.from(time), body]);
      if (!verify(null, signed, key, signature)) return notProven;
      const skewMs = Math.abs(now() - Number(time) * 1000);
      if (skewMs <= maxSkewMs) return platform;
      return { refused: 'wrong', why: `${TIMESTAMP} is too far from the time here; are both clocks right?` };
    },
  };
}

function keyOf(hex: string): KeyObject {
  const key = Buffer.concat([KEY_HEAD, Buffer.from(hex, 'hex')]);
  return createPublicKey({ key, format: 'der', type: 'spki' });
}
