// Who asks, found out at once wherever that can be: only a token that has to be looked at is waited for.

import { expect, test } from 'vitest';
import { JwtVerifier } from '../../../actors/identity/jwt/jwt-verifier.ts';
import { KeySet } from '../../../actors/identity/jwt/key-set.ts';
import { anonymous } from '../../../actors/identity/principal.ts';
import { ApiKey, Identification } from '../../../src/http/identification.ts';
import { KeyServer, signingKey } from '../../fixtures/key-server.ts';

const key = new ApiKey('correct horse battery staple');
const headers = { 'x-api-key': 'correct horse battery staple' };

test('without a key everybody is nobody in particular, whatever is shown', () => {
  const identification = new Identification(new ApiKey(''), undefined);
  expect(identification.of({})).toBe(anonymous);
  expect(identification.of({ authorization: 'Bearer a.b.c' })).toBe(anonymous);
});

test('the key decides at once and makes nothing anew, also where tokens are taken', async () => {
  const signing = await signingKey('first');
  await using provider = await KeyServer.start([signing]);
  const tokens = new JwtVerifier({
    keys: new KeySet({ source: { jwksUrl: provider.jwksUrl } }),
    issuer: provider.issuer,
    audience: ['gateway'],
    toleranceSeconds: 60,
  });
  const identification = new Identification(key, tokens);
  const token = { authorization: `Bearer ${await provider.token(signing)}` };
  const first = identification.of({ ...headers, ...token });
  expect(first).toEqual({ kind: 'key', name: 'api_key' });
  expect(identification.of(headers)).toBe(first);
  expect(identification.of({})).toMatchObject({ refused: 'missing' });
  expect(identification.of({ authorization: 'Bearer wrong' })).toMatchObject({ refused: 'forbidden' });
  expect(identification.of({ 'x-api-key': token.authorization.slice(7) })).toMatchObject({
    refused: 'forbidden',
  });
  expect(provider.asked.keys).toBe(0);
  const asked = identification.of(token);
  expect(asked).toBeInstanceOf(Promise);
  expect(await asked).toMatchObject({ kind: 'token', name: 'alice' });
  expect(identification.of(token)).toMatchObject({ kind: 'token', name: 'alice' });
});

test('without an issuer a token is a wrong key', () => {
  expect(new Identification(key, undefined).of({ authorization: 'Bearer a.b.c' })).toMatchObject({
    refused: 'forbidden',
    why: 'Invalid API key',
  });
});
