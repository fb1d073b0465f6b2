import { expect, test, vi } from 'vitest';
import type { Principal, Refusal, Verdict } from '../../../../../actors/identity/principal.ts';
import {
  isFromThisMachine,
  notProven,
  refusal,
  signer,
  type Verifier,
  verifiedSubscribers,
} from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

test.each([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['0000:0000:0000:0000:0000:0000:0000:0001', true],
  ['::ffff:127.0.0.1', true],
  ['0000:0000:0000:0000:0000:ffff:7f00:0001', true],
  ['::2', false],
  ['::ffff:10.0.0.1', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example.com', false],
  ['', false],
])('a sender at %j is on this machine: %s', (remoteAddress, isHere) => {
  const request = { remoteAddress, headers: {} } as WebhookRequest;
  expect(isFromThisMachine(request)).toBe(isHere);
});

test.each([
  [{}, true],
  [{ 'sec-fetch-site': 'none' }, true],
  [{ 'sec-fetch-mode': 'cors' }, true],
  [{ 'sec-fetch-site': 'same-origin' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ origin: 'http://127.0.0.1:8080' }, false],
  [{ origin: 'null' }, false],
  [{ origin: '' }, false],
] as [Record<string, string>, boolean][])(
  'a sender on this machine with the headers %j is no web page: %s',
  (headers, isProgram) => {
    const request = { remoteAddress: '127.0.0.1', headers } as WebhookRequest;
    expect(isFromThisMachine(request)).toBe(isProgram);
  },
);

const request = (held: number[] = [], hasRoom = true) =>
  ({
    headers: {},
    holdBody: (bytes: number) => {
      held.push(bytes);
      return hasRoom ? () => held.push(-bytes) : undefined;
    },
  }) as unknown as WebhookRequest;

const body = Buffer.from('four');
const alice: Principal = { kind: 'token', name: 'alice' };
const wrong: Refusal = { refused: 'wrong', why: 'the token has expired' };
const away: Refusal = { refused: 'unavailable', why: 'the keys cannot be had', retryAfterSeconds: 7 };

const subscriber = (identity: string, verdict: Verdict | Promise<Verdict>) => ({
  verifier: { identity, isOpen: false, mayFit: () => true, verify: vi.fn<Verifier['verify']>(() => verdict) },
});

test('what decides at once gives no promise and holds nothing, and each secret is tried once (VS1)', () => {
  const held: number[] = [];
  const [one, same, other] = [subscriber('a', signer), subscriber('a', signer), subscriber('b', notProven)];
  const verified = verifiedSubscribers([one, same, other], request(held), body);
  expect(verified).toEqual({ subscribers: [one, same], principal: signer });
  expect(same.verifier.verify).not.toHaveBeenCalled();
  expect(held).toEqual([]);
});

test('while keys are asked for the body has room, which is given back whatever comes of it (VS2)', async () => {
  const held: number[] = [];
  const late = subscriber('late', Promise.resolve(alice));
  const refusing = subscriber('no', notProven);
  const verified = verifiedSubscribers([refusing, late], request(held), body);
  expect(verified).toBeInstanceOf(Promise);
  expect(held).toEqual([4]);
  expect(await verified).toEqual({ subscribers: [late], principal: alice });
  expect(held).toEqual([4, -4]);
  const broken = subscriber('broken', Promise.reject(new Error('a fault')));
  await expect(verifiedSubscribers([broken], request(held), body)).rejects.toThrow('a fault');
  expect(held).toEqual([4, -4, 4, -4]);
});

test('where there is no room for the body its sender is to come again', () => {
  const verified = verifiedSubscribers(
    [subscriber('late', Promise.resolve(alice))],
    request([], false),
    body,
  );
  expect(verified).toMatchObject({ refused: 'unavailable' });
  const reply = refusal(request(), 'who are you', verified as Refusal);
  expect(reply).toMatchObject({ status: 503, headers: [['retry-after', '1']] });
});

test('of several refusals the sender hears the one that no other credentials would mend', () => {
  const verdictOf = (...verdicts: Verdict[]) =>
    verifiedSubscribers(
      verdicts.map((verdict, n) => subscriber(String(n), verdict)),
      request(),
      body,
    );
  expect(verdictOf(notProven, wrong)).toBe(wrong);
  expect(verdictOf(wrong, away, notProven)).toBe(away);
  expect(verdictOf(away, wrong, signer)).toMatchObject({ principal: signer });
  expect(refusal(request(), 'no credentials fit', wrong)).toEqual({
    status: 401,
    body: 'no credentials fit: the token has expired',
  });
  expect(refusal(request(), '', { refused: 'forbidden', why: 'no' })).toMatchObject({ status: 403 });
  expect(refusal(request(), '', away)).toMatchObject({ status: 503, headers: [['retry-after', '7']] });
});
