import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { type HubProof, hubVerifier } from '../../../../../actors/platforms/webhooks/hub-verifier.ts';
import {
  loopbackOnly,
  notProven,
  signer,
} from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

const proof: HubProof = { header: 'x-sig', secrets: ['s'], field: 'app_secret', allowsUnverified: undefined };
const body = Buffer.from('body');
const signed = (secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const request = (signature?: string, remoteAddress = '192.0.2.1') =>
  ({
    headers: signature === undefined ? {} : { 'x-sig': signature },
    remoteAddress,
  }) as unknown as WebhookRequest;

test('a body is proven by a signature with any of the secrets, in the header that was named', () => {
  const { verify, isOpen } = hubVerifier({ ...proof, secrets: ['new', undefined, '', 'old'] });
  expect(isOpen).toBe(false);
  expect(['new', 'old', 'other', ''].map((secret) => verify(request(signed(secret)), body))).toEqual([
    signer,
    signer,
    notProven,
    notProven,
  ]);
  expect(verify(request(), body)).toBe(notProven);
  const principal = { kind: 'signature', name: 'app_secret' } as const;
  expect(hubVerifier({ ...proof, principal }).verify(request(signed('s')), body)).toBe(principal);
});

test('before the body is in, what has the form of a signature may fit', () => {
  const { mayFit } = hubVerifier(proof);
  expect([signed('other'), 'sha256=00', undefined].map((each) => mayFit(request(each)))).toEqual([
    true,
    false,
    false,
  ]);
});

test('without a secret nothing is made, unless that was asked for: then this machine alone is believed', () => {
  const none = { ...proof, secrets: ['', undefined] };
  expect(() => hubVerifier(none)).toThrow('app_secret is empty');
  const open = hubVerifier({ ...none, allowsUnverified: true });
  expect(open).toBe(loopbackOnly);
  expect([open.mayFit(request()), open.mayFit(request(undefined, '127.0.0.1'))]).toEqual([false, true]);
});
