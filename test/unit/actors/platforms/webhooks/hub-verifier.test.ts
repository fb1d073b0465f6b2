import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { canonicalSignature } from '../../../../../actors/platforms/webhooks/hub-signature.ts';
import { type HubProof, hubVerifier } from '../../../../../actors/platforms/webhooks/hub-verifier.ts';
import {
  loopbackOnly,
  signer,
  unproven,
} from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

const proof: HubProof = { header: 'x-sig', secrets: ['s'], field: 'app_secret', allowsUnverified: undefined };
const body = Buffer.from('body');
const signatureOf = (secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const request = (signature?: string, remoteAddress = '192.0.2.1') =>
  ({
    headers: signature === undefined ? {} : { 'x-sig': signature },
    remoteAddress,
  }) as unknown as WebhookRequest;

test('a request body is verified by a signature with any of the secrets in the configured header', () => {
  const { verify, isOpen } = hubVerifier({ ...proof, secrets: ['new', undefined, '', 'old'] });
  expect(isOpen).toBe(false);
  expect(['new', 'old', 'other', ''].map((secret) => verify(request(signatureOf(secret)), body))).toEqual([
    signer,
    signer,
    unproven,
    unproven,
  ]);
  expect(verify(request(), body)).toBe(unproven);
  const principal = { kind: 'signature', name: 'app_secret' } as const;
  expect(hubVerifier({ ...proof, principal }).verify(request(signatureOf('s')), body)).toBe(principal);
});

test('a signature may be hexadecimal or base64, with or without sha256=, and all forms are one signature', () => {
  const { verify, hasProof } = hubVerifier(proof);
  const digest = createHmac('sha256', 's').update(body).digest();
  const hex = digest.toString('hex');
  const base64 = digest.toString('base64');
  const forms = [hex, hex.toUpperCase(), base64, base64.slice(0, -1), digest.toString('base64url')];
  for (const form of [...forms, ...forms.map((each) => `sha256=${each}`)]) {
    expect([form, hasProof(request(form)), verify(request(form), body)]).toEqual([form, true, signer]);
    expect(canonicalSignature(form)).toBe(hex);
  }
  const malformed = [hex.slice(1), `${hex}0`, `sha512=${hex}`, `${base64}=`, `${base64.slice(0, -2)}=`, 'v1'];
  for (const form of malformed)
    expect([form, hasProof(request(form)), verify(request(form), body)]).toEqual([form, false, unproven]);
});

test('before the body arrives, a request with any well-formed signature is let through', () => {
  const { hasProof } = hubVerifier(proof);
  expect([signatureOf('other'), 'sha256=00', undefined].map((each) => hasProof(request(each)))).toEqual([
    true,
    false,
    false,
  ]);
});

test('the verifier requires a secret, or explicit permission for requests from this machine', () => {
  const withoutSecret = { ...proof, secrets: ['', undefined] };
  expect(() => hubVerifier(withoutSecret)).toThrow('app_secret is empty');
  const open = hubVerifier({ ...withoutSecret, allowsUnverified: true });
  expect(open).toBe(loopbackOnly);
  expect([open.hasProof(request()), open.hasProof(request(undefined, '127.0.0.1'))]).toEqual([false, true]);
});
