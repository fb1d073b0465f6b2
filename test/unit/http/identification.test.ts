// Identification of requests is synchronous, except for tokens that must be verified.

import { expect, test } from 'vitest';
import { newKeyText } from '../../../actors/identity/access-keys/key-text.ts';
import { JwtVerifier } from '../../../actors/identity/jwt/jwt-verifier.ts';
import { KeySet } from '../../../actors/identity/jwt/key-set.ts';
import { anonymous } from '../../../actors/identity/principal.ts';
import { ApiKey, Identification } from '../../../src/http/identification.ts';
import { KeyServer, signingKey } from '../../fixtures/key-server.ts';

const key = new ApiKey('correct horse battery staple');
const headers = { 'x-api-key': 'correct horse battery staple' };

test('without an API key every request is anonymous, even with credentials', () => {
  const identification = new Identification({ key: new ApiKey('') });
  expect(identification.of({})).toBe(anonymous);
  expect(identification.of({ authorization: 'Bearer a.b.c' })).toBe(anonymous);
});

test('a sender with the API key is identified synchronously, even if tokens of an issuer are accepted too', async () => {
  const signing = await signingKey('first');
  await using provider = await KeyServer.start([signing]);
  const tokens = new JwtVerifier({
    keys: new KeySet({ source: { jwksUrl: provider.jwksUrl } }),
    issuer: provider.issuer,
    audience: ['gateway'],
    toleranceSeconds: 60,
  });
  const identification = new Identification({ key, tokens });
  const token = { authorization: `Bearer ${await provider.token(signing)}` };
  const first = identification.of({ ...headers, ...token });
  expect(first).toEqual({ kind: 'key', name: 'api_key' });
  expect(identification.of(headers)).toBe(first);
  expect(identification.of({})).toMatchObject({ kind: 'missing' });
  expect(identification.of({ authorization: 'Bearer wrong' })).toMatchObject({ kind: 'forbidden' });
  expect(identification.of({ 'x-api-key': token.authorization.slice(7) })).toMatchObject({
    kind: 'forbidden',
  });
  expect(provider.requestCounts.keys).toBe(0);
  const identity = identification.of(token);
  expect(identity).toBeInstanceOf(Promise);
  expect(await identity).toMatchObject({ kind: 'token', name: 'alice' });
  expect(identification.of(token)).toMatchObject({ kind: 'token', name: 'alice' });
});

test('a token is refused as an invalid API key if no issuer is configured', () => {
  expect(new Identification({ key }).of({ authorization: 'Bearer a.b.c' })).toMatchObject({
    kind: 'forbidden',
    reason: 'Invalid API key',
  });
});

test('a text with the form of an access key is compared with other credentials only if necessary', () => {
  const { text } = newKeyText();
  const seen: string[] = [];
  const holder = { kind: 'key', name: 'ci', role: 'user' } as const;
  const accessKeys = {
    principalOf: (each: string) => {
      seen.push(each);
      return holder;
    },
  };
  const identification = new Identification({ key, accessKeys });
  expect(identification.of({ authorization: `Bearer ${text}` })).toBe(holder);
  expect(identification.of({ 'x-api-key': text })).toBe(holder);
  expect(identification.of({ ...headers, authorization: `Bearer ${text}` })).toMatchObject({
    name: 'api_key',
  });
  expect(identification.of({ authorization: 'Bearer agk_short' })).toMatchObject({ kind: 'forbidden' });
  expect(seen).toEqual([text, text]);
  const sameForm = new Identification({ key: new ApiKey(text), accessKeys });
  expect(sameForm.of({ 'x-api-key': text })).toMatchObject({ name: 'api_key' });
  const open = new Identification({ key: new ApiKey(''), operatorToken: key, accessKeys });
  expect(open.of(headers)).toMatchObject({ kind: 'operator' });
  expect(open.of({ 'x-api-key': text })).toBe(holder);
});
