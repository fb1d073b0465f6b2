import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeJwtVerifier } from '../../../../../actors/identity/jwt/make-jwt-verifier.ts';
import type { JwtConfig } from '../../../../../config/jwt-schema.ts';
import { KeyServer, type SigningKey, signingKey } from '../../../../fixtures/key-server.ts';

let server: KeyServer;
let key: SigningKey;

beforeEach(async () => {
  key = await signingKey('first');
  server = await KeyServer.start([key]);
});
afterEach(() => server[Symbol.asyncDispose]());

const config = (more: Partial<JwtConfig> = {}): JwtConfig => ({
  issuer: server.issuer,
  audience: 'gateway',
  claims: {},
  tolerance_seconds: 60,
  ...more,
});

test('verifiers with the same issuer share one fetch of its keys', async () => {
  const verifiers = [config(), config(), config({ audience: 'other' })].map(makeJwtVerifier);
  const tokens = await Promise.all(
    [{}, { sub: 'bob' }, { aud: 'other' }].map((each) => server.token(key, each)),
  );
  const verdicts = await Promise.all(verifiers.map((each, at) => each.principalOf(tokens[at] ?? '')));
  expect(verdicts).toMatchObject([{ name: 'alice' }, { name: 'bob' }, { name: 'alice' }]);
  // A later verifier uses the cached keys.
  expect(await makeJwtVerifier(config()).principalOf(await server.token(key))).toMatchObject({
    name: 'alice',
  });
  expect(server.requestCounts).toEqual({ keys: 1, metadata: 1 });
});

test('verifiers with different key set URLs do not share keys', async () => {
  const otherUrl = makeJwtVerifier(config({ jwks_url: String(server.jwksUrl) }));
  const token = await server.token(key);
  for (const each of [makeJwtVerifier(config()), otherUrl])
    expect(await each.principalOf(token)).toMatchObject({ name: 'alice' });
  expect(server.requestCounts).toEqual({ keys: 2, metadata: 1 });
});
