// Signatures of workspace requests: early rejections, and changed bytes.

import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../../../../actors/identity/principal.ts';
import { signatureVerifier } from '../../../../../actors/platforms/chatworkspace/signature-verifier.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const NOW = 1_531_420_618;
const verifier = signatureVerifier(SECRET, () => NOW * 1000);

const signatureOf = (time: string, body: string) =>
  `v0=${createHmac('sha256', SECRET).update(`v0:${time}:${body}`).digest('hex')}`;
const request = (time?: string, signature?: string) =>
  ({
    headers: {
      ...(time !== undefined && { 'x-slack-request-timestamp': time }),
      ...(signature !== undefined && { 'x-slack-signature': signature }),
    },
  }) as unknown as WebhookRequest;

function isAccepted(inbound: WebhookRequest, body: string): boolean {
  const verdict = verifier.verify(inbound, Buffer.from(body));
  if (verdict instanceof Promise) throw new Error('the verifier is synchronous');
  // An early rejection implies a rejection by the full check.
  if (!verifier.hasProof(inbound)) expect(isRefusal(verdict)).toBe(true);
  return verifier.hasProof(inbound) && !isRefusal(verdict);
}

test('the webhook signature verifier accepts the example of the platform documentation', () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
  const example = signatureVerifier(SECRET, () => 1_531_420_618_000);
  const come = request('1531420618', signature);
  expect(example.hasProof(come)).toBe(true);
  expect(example.verify(come, Buffer.from(body))).toEqual({ kind: 'signature', name: 'signing_secret' });
});

describe('the webhook signature verifier', () => {
  const body = '{"type":"event_callback"}';
  const now = String(NOW);
  test.each([
    ['a valid request', now, signatureOf(now, body), true],
    ['a request 299 s old', String(NOW - 299), signatureOf(String(NOW - 299), body), true],
    ['a request 301 s old', String(NOW - 301), signatureOf(String(NOW - 301), body), false],
    ['a request 299 s ahead', String(NOW + 299), signatureOf(String(NOW + 299), body), true],
    ['a request 301 s ahead', String(NOW + 301), signatureOf(String(NOW + 301), body), false],
    ['a request without a signature', now, undefined, false],
    ['a request without a time', undefined, signatureOf(now, body), false],
    ['a request with an empty signature', now, '', false],
    ['a request with a cut signature', now, signatureOf(now, body).slice(0, -1), false],
    ['a request with another version', now, signatureOf(now, body).replace('v0=', 'v1='), false],
    ['a request with an invalid time', `${now}.0`, signatureOf(`${now}.0`, body), false],
    ['a request with another time', String(NOW - 1), signatureOf(now, body), false],
    ['a request with another body', now, signatureOf(now, `${body} `), false],
  ])('checks %s with the time %s and the signature %s: accepted is %s', (_, time, signature, isGood) => {
    expect(isAccepted(request(time, signature), body)).toBe(isGood);
  });

  test('rejects a body with a changed byte', () => {
    const at = fc.nat({ max: body.length - 1 });
    const change = fc.integer({ min: 1, max: 255 });
    fc.assert(
      fc.property(at, change, (index, by) => {
        const changed = Buffer.from(body);
        changed[index] = ((changed[index] ?? 0) + by) % 256;
        const verdict = verifier.verify(request(now, signatureOf(now, body)), changed);
        expect(verdict).toMatchObject({ kind: 'missing' });
      }),
    );
  });
});

test('a webhook signature verifier cannot be created without a secret', () => {
  expect(() => signatureVerifier('')).toThrow('signing_secret is empty');
});
