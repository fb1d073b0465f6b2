// What proves a request of a workspace: WSG1, and that a changed byte is refused.

import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../../../../actors/identity/principal.ts';
import { signatureVerifier } from '../../../../../actors/platforms/chatworkspace/signature-verifier.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const NOW = 1_531_420_618;
const verifier = signatureVerifier(SECRET, () => NOW * 1000);

const signed = (time: string, body: string) =>
  `v0=${createHmac('sha256', SECRET).update(`v0:${time}:${body}`).digest('hex')}`;
const request = (time?: string, signature?: string) =>
  ({
    headers: {
      ...(time !== undefined && { 'x-slack-request-timestamp': time }),
      ...(signature !== undefined && { 'x-slack-signature': signature }),
    },
  }) as unknown as WebhookRequest;

function isTaken(come: WebhookRequest, body: string): boolean {
  const verdict = verifier.verify(come, Buffer.from(body));
  if (verdict instanceof Promise) throw new Error('it asks nobody');
  // What is refused before the body is read would be refused with it.
  if (!verifier.mayFit(come)) expect(isRefusal(verdict)).toBe(true);
  return verifier.mayFit(come) && !isRefusal(verdict);
}

test('the example in the documents of the platform is taken', () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
  const example = signatureVerifier(SECRET, () => 1_531_420_618_000);
  const come = request('1531420618', signature);
  expect(example.mayFit(come)).toBe(true);
  expect(example.verify(come, Buffer.from(body))).toEqual({ kind: 'signature', name: 'signing_secret' });
});

describe('a request', () => {
  const body = '{"type":"event_callback"}';
  const now = String(NOW);
  test.each([
    ['as it should be', now, signed(now, body), true],
    ['299 s old', String(NOW - 299), signed(String(NOW - 299), body), true],
    ['301 s old', String(NOW - 301), signed(String(NOW - 301), body), false],
    ['of the future', String(NOW + 4_000), signed(String(NOW + 4_000), body), true],
    ['without a signature', now, undefined, false],
    ['without a time', undefined, signed(now, body), false],
    ['with an empty signature', now, '', false],
    ['with a cut signature', now, signed(now, body).slice(0, -1), false],
    ['with another version', now, signed(now, body).replace('v0=', 'v1='), false],
    ['with a time that is none', `${now}.0`, signed(`${now}.0`, body), false],
    ['under another time', String(NOW - 1), signed(now, body), false],
    ['of another body', now, signed(now, `${body} `), false],
  ])('%s is taken: %s %s %s', (_, time, signature, isGood) => {
    expect(isTaken(request(time, signature), body)).toBe(isGood);
  });

  test('is refused when any byte of it is another', () => {
    const at = fc.nat({ max: body.length - 1 });
    const change = fc.integer({ min: 1, max: 255 });
    fc.assert(
      fc.property(at, change, (index, by) => {
        const changed = Buffer.from(body);
        changed[index] = ((changed[index] ?? 0) + by) % 256;
        const verdict = verifier.verify(request(now, signed(now, body)), changed);
        expect(verdict).toMatchObject({ refused: 'missing' });
      }),
    );
  });
});

test('without a secret nothing can be taken', () => {
  expect(() => signatureVerifier('')).toThrow('signing_secret is empty');
});
