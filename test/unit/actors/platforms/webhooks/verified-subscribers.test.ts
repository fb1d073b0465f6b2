import { expect, test, vi } from 'vitest';
import type { Principal, Refusal, VerificationResult } from '../../../../../actors/identity/principal.ts';
import {
  isFromThisMachine,
  refusalReply,
  signer,
  unproven,
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
])('the address %j is on this machine: %s', (remoteAddress, isLocal) => {
  const request = { remoteAddress, headers: {} } as WebhookRequest;
  expect(isFromThisMachine(request)).toBe(isLocal);
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
  'a local request with the headers %j is not from a web page: %s',
  (headers, isProgram) => {
    const request = { remoteAddress: '127.0.0.1', headers } as WebhookRequest;
    expect(isFromThisMachine(request)).toBe(isProgram);
  },
);

const request = (reservations: number[] = [], hasCapacity = true) =>
  ({
    headers: {},
    reserveBody: (bytes: number) => {
      reservations.push(bytes);
      return hasCapacity ? () => reservations.push(-bytes) : undefined;
    },
  }) as unknown as WebhookRequest;

const body = Buffer.from('four');
const alice: Principal = { kind: 'token', name: 'alice' };
const expiredToken: Refusal = { kind: 'wrong', reason: 'the token has expired' };
const unavailable: Refusal = { kind: 'unavailable', reason: 'the keys cannot be had', retryAfterSeconds: 7 };

const subscriber = (identity: string, verdict: VerificationResult | Promise<VerificationResult>) => ({
  verifier: {
    identity,
    isOpen: false,
    hasProof: () => true,
    verify: vi.fn<Verifier['verify']>(() => verdict),
  },
});

test('with synchronous verifiers there is no promise and no reserved capacity, and each secret is tried once', () => {
  const reservations: number[] = [];
  const [one, same, other] = [subscriber('a', signer), subscriber('a', signer), subscriber('b', unproven)];
  const verified = verifiedSubscribers([one, same, other], request(reservations), body);
  expect(verified).toEqual({ subscribers: [one, same], principal: signer });
  expect(same.verifier.verify).not.toHaveBeenCalled();
  expect(reservations).toEqual([]);
});

test('a body uses capacity while the keys for its proof are fetched, and the capacity is always released', async () => {
  const reservations: number[] = [];
  const late = subscriber('late', Promise.resolve(alice));
  const refusing = subscriber('no', unproven);
  const verified = verifiedSubscribers([refusing, late], request(reservations), body);
  expect(verified).toBeInstanceOf(Promise);
  expect(reservations).toEqual([4]);
  expect(await verified).toEqual({ subscribers: [late], principal: alice });
  expect(reservations).toEqual([4, -4]);
  const broken = subscriber('broken', Promise.reject(new Error('a fault')));
  await expect(verifiedSubscribers([broken], request(reservations), body)).rejects.toThrow('a fault');
  expect(reservations).toEqual([4, -4, 4, -4]);
});

test('without capacity for a body the sender gets status 503', () => {
  const verified = verifiedSubscribers(
    [subscriber('late', Promise.resolve(alice))],
    request([], false),
    body,
  );
  expect(verified).toMatchObject({ kind: 'unavailable' });
  const reply = refusalReply(request(), 'who are you', verified as Refusal);
  expect(reply).toMatchObject({ status: 503, headers: [['retry-after', '1']] });
});

test('a request that all triggers refuse gets one reason: unavailable keys, else an expired token, else no proof', () => {
  const verdictOf = (...verdicts: VerificationResult[]) =>
    verifiedSubscribers(
      verdicts.map((verdict, n) => subscriber(String(n), verdict)),
      request(),
      body,
    );
  expect(verdictOf(unproven, expiredToken)).toBe(expiredToken);
  expect(verdictOf(expiredToken, unavailable, unproven)).toBe(unavailable);
  expect(verdictOf(unavailable, expiredToken, signer)).toMatchObject({ principal: signer });
  expect(refusalReply(request(), 'no credentials fit', expiredToken)).toEqual({
    status: 401,
    body: 'no credentials fit: the token has expired',
  });
  expect(refusalReply(request(), '', { kind: 'forbidden', reason: 'no' })).toMatchObject({ status: 403 });
  expect(refusalReply(request(), '', unavailable)).toMatchObject({
    status: 503,
    headers: [['retry-after', '7']],
  });
});
