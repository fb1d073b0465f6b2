import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CryptoKey, exportSPKI, importJWK, SignJWT } from 'jose';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JwtVerifier, type JwtVerifierOptions } from '../../../../../actors/identity/jwt/jwt-verifier.ts';
import { KeySet, type KeySetOptions } from '../../../../../actors/identity/jwt/key-set.ts';
import { KeyServer, type SigningKey, signingKey } from '../../../../fixtures/key-server.ts';

let server: KeyServer;
let first: SigningKey;
/** Clock of the key set, in milliseconds. */
let now: number;

beforeEach(async () => {
  first = await signingKey('first', 'ES256', { endorsements: ['chat'] });
  server = await KeyServer.start([first]);
  now = 1_000_000;
});
afterEach(() => server[Symbol.asyncDispose]());

function verifierWith(
  options: Partial<JwtVerifierOptions> = {},
  keys: Partial<KeySetOptions> = {},
): JwtVerifier {
  return new JwtVerifier({
    keys: new KeySet({ source: { jwksUrl: server.jwksUrl }, now: () => now, ...keys }),
    issuer: server.issuer,
    audience: ['gateway', 'other'],
    toleranceSeconds: 60,
    ...options,
  });
}

const seconds = () => Math.floor(Date.now() / 1000);
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const refusalWith = (why: string) => ({ kind: 'wrong', reason: `the token ${why}` });

test('the verifier returns the principal and claims of a valid token, and the signing key with its attributes', async () => {
  const verified = await verifierWith().verify(await server.token(first, { tid: 'acme' }));
  expect(verified).toMatchObject({
    principal: { kind: 'token', name: 'alice', claims: { tid: 'acme', sub: 'alice' } },
    key: { kid: 'first', endorsements: ['chat'] },
  });
});

test.each(['RS256', 'PS256', 'EdDSA'])('the verifier accepts a token with the algorithm %s', async (alg) => {
  const key = await signingKey('another', alg);
  server.keys = [first, key];
  expect(await verifierWith().verify(await server.token(key))).toMatchObject({
    principal: { name: 'alice' },
  });
});

test('the verifier caches a verified token until it expires', async () => {
  const verifier = verifierWith({ toleranceSeconds: 0 });
  const token = await server.token(first, { exp: seconds() + 2 });
  await verifier.verify(token);
  const secondResult = verifier.verify(token);
  expect(secondResult).not.toBeInstanceOf(Promise);
  expect(secondResult).toMatchObject({ principal: { name: 'alice' } });
  await sleep(2_100);
  expect(await verifier.verify(token)).toEqual(refusalWith('has expired'));
});

test('the verifier takes the principal name from the first claim that contains a name', async () => {
  const verifier = verifierWith();
  const nameOf = async (claims: Readonly<Record<string, unknown>>) =>
    await verifier.verify(await server.token(first, claims));
  expect(await nameOf({ sub: undefined, azp: 'app' })).toMatchObject({ principal: { name: 'azp=app' } });
  expect(await nameOf({ sub: undefined })).toMatchObject({ principal: { name: `iss=${server.issuer}` } });
  expect(await nameOf({ sub: 'two\nlines' })).toEqual(refusalWith('has no name'));
  expect(await nameOf({ sub: 'x'.repeat(300) })).toEqual(refusalWith('has no name'));
});

test('the verifier gives different principal names to an application and a person with the same id', async () => {
  const verifier = verifierWith();
  const claimSets = [
    { sub: 'alice' },
    { sub: undefined, client_id: 'alice' },
    { sub: undefined, azp: 'alice' },
    { sub: 'client_id=alice' },
    { sub: 'sub=alice' },
  ];
  const names = new Set<string>();
  for (const claims of claimSets) {
    const verdict = await verifier.principalOf(await server.token(first, claims));
    names.add('name' in verdict ? verdict.name : '');
  }
  expect([...names]).toEqual([
    'alice',
    'client_id=alice',
    'azp=alice',
    'sub=client_id=alice',
    'sub=sub=alice',
  ]);
});

test('the verifier checks the times of a token against the clock with a tolerance', async () => {
  const verifier = verifierWith();
  const verifyWith = async (claims: Readonly<Record<string, unknown>>) =>
    await verifier.verify(await server.token(first, claims));
  expect(await verifyWith({ exp: seconds() - 40 })).toMatchObject({ principal: {} });
  expect(await verifyWith({ exp: seconds() - 80 })).toEqual(refusalWith('has expired'));
  expect(await verifyWith({ nbf: seconds() + 40 })).toMatchObject({ principal: {} });
  expect(await verifyWith({ nbf: seconds() + 80 })).toMatchObject({ kind: 'wrong' });
  expect(await verifyWith({ iat: seconds() + 40 })).toMatchObject({ principal: {} });
  expect(await verifyWith({ iat: seconds() + 80 })).toEqual(refusalWith('was issued in the future'));
  expect(await verifyWith({ exp: undefined })).toEqual(refusalWith('has an invalid claim "exp"'));
});

test('the verifier accepts any of several issuers, and recognises the issuer of a token before verification', async () => {
  const verifier = verifierWith({ issuer: ['https://one.example', server.issuer] });
  const token = await server.token(first);
  expect(await verifier.verify(token)).toMatchObject({ principal: { name: 'alice' } });
  const foreign = await server.token(first, { iss: 'https://another.example' });
  expect(await verifier.verify(foreign)).toEqual(refusalWith('is from another issuer'));
  const listed = await server.token(first, { iss: [server.issuer] });
  expect([token, foreign, listed, 'a.b.c', ''].map((each) => verifier.claimsIssuer(each))).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('the verifier requires matching claims, in a list or among the words of a scope', async () => {
  const verifier = verifierWith({ claims: { email: 'a@example.com', scope: 'tools', roles: 'admin' } });
  const verifyWith = async (claims: Readonly<Record<string, unknown>>) =>
    await verifier.verify(await server.token(first, claims));
  const good = { email: 'a@example.com', scope: 'read tools', roles: ['user', 'admin'] };
  expect(await verifyWith(good)).toMatchObject({ principal: {} });
  expect(await verifyWith({ ...good, email: 'b@example.com' })).toEqual(
    refusalWith('lacks the required claim "email"'),
  );
  expect(await verifyWith({ ...good, scope: 'toolset' })).toEqual(
    refusalWith('lacks the required claim "scope"'),
  );
  expect(await verifyWith({ ...good, roles: undefined })).toEqual(
    refusalWith('lacks the required claim "roles"'),
  );
});

test('the verifier rejects an invalid token without fetching keys', async () => {
  const verifier = verifierWith();
  const claims = { iss: server.issuer, aud: 'gateway', sub: 'mallory', exp: seconds() + 300 };
  const none = `${part({ alg: 'none' })}.${part(claims)}.`;
  const secret = await exportSPKI((await importJWK(first.jwk, 'ES256')) as CryptoKey);
  const signed = `${part({ alg: 'HS256', kid: 'first' })}.${part(claims)}`;
  const confused = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  const hostile = [
    [none, 'has an unsupported algorithm'],
    [confused, 'has an unsupported algorithm'],
    [await server.token(first, { iss: 'https://evil.example' }), 'is from another issuer'],
    [await server.token(first, { aud: 'unknown' }), 'is for another audience'],
    [await server.token(first, { aud: undefined }), 'is for another audience'],
    [await server.token(first, { pad: 'x'.repeat(20_000) }), 'is larger than 16 KB'],
    ['', 'is not a JSON Web Token'],
    ['a.b.c', 'is not a JSON Web Token'],
    [`${part({ alg: 'ES256' })}.${part([])}.x`, 'is from another issuer'],
    [`${part({ alg: 'ES256', kid: 7 })}.bm9uZQ.x`, 'is not a JSON Web Token'],
  ];
  for (const [token = '', why = ''] of hostile) {
    const verdict = verifier.verify(token);
    expect(verdict, why).not.toBeInstanceOf(Promise);
    expect(verdict).toMatchObject({ kind: 'wrong' });
  }
  for (const [token = '', why = ''] of hostile.slice(0, 8))
    expect(verifier.verify(token)).toEqual(refusalWith(why));
  expect(server.requestCounts.keys).toBe(0);
});

test('the verifier ignores a key or a key set URL in the token header', async () => {
  const mallory = await signingKey('first');
  await using other = await KeyServer.start([mallory]);
  const claims = { iss: server.issuer, aud: 'gateway', sub: 'mallory' };
  const verifier = verifierWith();
  for (const header of [{ jwk: mallory.jwk }, { jku: String(other.jwksUrl) }])
    expect(await verifier.verify(await other.token(mallory, claims, header))).toEqual(
      refusalWith('has an invalid signature'),
    );
  expect(other.requestCounts.keys).toBe(0);
});

test('the verifier rejects a token with an invalid signature or an unknown critical extension', async () => {
  const verifier = verifierWith();
  const token = await server.token(first);
  const [head = '', , signature = ''] = token.split('.');
  const body = part({ iss: server.issuer, aud: 'gateway', sub: 'root', exp: seconds() + 300 });
  expect(await verifier.verify(`${head}.${body}.${signature}`)).toEqual(
    refusalWith('has an invalid signature'),
  );
  const critical = new SignJWT({ iss: server.issuer, aud: 'gateway', sub: 'alice', exp: seconds() + 300 });
  critical.setProtectedHeader({ alg: 'ES256', kid: 'first', crit: ['x'], x: 1 });
  const odd = await critical.sign(first.privateKey, { crit: { x: true } });
  expect(await verifier.verify(odd)).toMatchObject({ kind: 'wrong' });
});

test('the verifier shares one fetch of the keys between concurrent verifications', async () => {
  const verifier = verifierWith();
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, n) => server.token(first, { sub: `s${n}` })),
  );
  const all = await Promise.all(tokens.map((token) => verifier.verify(token)));
  expect(all.every((each) => 'principal' in each)).toBe(true);
  expect(server.requestCounts.keys).toBe(1);
});

test('the verifier fetches keys for the first token with a new key; invented key ids cause few requests', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  const second = await signingKey('second');
  server.keys = [second];
  const [one, two] = await Promise.all([
    verifier.verify(await server.token(second)),
    verifier.verify(await server.token(second, { sub: 'bob' })),
  ]);
  expect([one, two]).toMatchObject([{ principal: { name: 'alice' } }, { principal: { name: 'bob' } }]);
  expect(server.requestCounts.keys).toBe(2);
  for (let n = 0; n < 30; n += 1) {
    const invented = await server.token({ ...first, kid: `made-up-${n}` });
    expect(await verifier.verify(invented)).toEqual(
      refusalWith('is signed with a key that its issuer does not publish'),
    );
  }
  expect(server.requestCounts.keys).toBe(3);
  expect(await verifier.verify(await server.token(first, { sub: 'carol' }))).toMatchObject({
    kind: 'wrong',
  });
});

test('the verifier fetches keys for two rotations within seconds; unknown keys cause one fetch per cooldown', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  for (const kid of ['second', 'third']) {
    const key = await signingKey(kid);
    server.keys = [key];
    now += 2_000;
    expect(await verifier.verify(await server.token(key))).toMatchObject({ principal: { name: 'alice' } });
  }
  expect(server.requestCounts.keys).toBe(3);
  for (let n = 0; n < 100; n += 1) {
    now += 3_000;
    await verifier.verify(await server.token({ ...first, kid: `made-up-${n}` }));
  }
  expect(server.requestCounts.keys).toBeLessThanOrEqual(3 + 10);
});

test('the verifier reports the provider as unavailable, not the token as invalid, if it cannot fetch an unknown key', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  const second = await signingKey('second');
  server.keys = [first, second];
  server.keysHandler = (_, response) => response.writeHead(500).end();
  const ask = async (key: SigningKey, sub: string) => await verifier.verify(await server.token(key, { sub }));
  for (const sub of ['a', 'b']) expect(await ask(second, sub)).toMatchObject({ kind: 'unavailable' });
  expect(await ask(first, 'c')).toMatchObject({ principal: { name: 'c' } });
  expect(server.requestCounts.keys).toBe(2);
  server.keysHandler = undefined;
  now += 1_000;
  expect(await ask(second, 'd')).toMatchObject({ principal: { name: 'd' } });
});

test('the verifier accepts a token without key id only if a single key fits', async () => {
  const verifier = verifierWith();
  const tokenWithoutKeyId = (sub: string) => server.token(first, { sub }, { kid: undefined });
  expect(await verifier.verify(await tokenWithoutKeyId('alice'))).toMatchObject({ key: { kid: 'first' } });
  server.keys = [first, await signingKey('second')];
  now += 31_000;
  await verifier.verify(await server.token(await signingKey('third')));
  expect(await verifier.verify(await tokenWithoutKeyId('bob'))).toEqual(
    refusalWith('is signed with a key that its issuer does not publish'),
  );
});

test('the verifier refreshes keys before their maximum age, and does not use them beyond it', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  server.keysHandler = (_, response) => response.writeHead(500).end();
  now += 2_000_000;
  expect(await verifier.verify(await server.token(first, { sub: 'b' }))).toMatchObject({ principal: {} });
  await expect.poll(() => server.requestCounts.keys).toBe(2);
  now += 2_000_000;
  expect(await verifier.verify(await server.token(first, { sub: 'c' }))).toMatchObject({
    kind: 'unavailable',
    retryAfterSeconds: expect.any(Number),
  });
  server.keysHandler = undefined;
  now += 31_000;
  expect(await verifier.verify(await server.token(first, { sub: 'c' }))).toMatchObject({ principal: {} });
});

test('the verifier retries an unavailable provider after short pauses, and accepts tokens once it is available', async () => {
  const verifier = verifierWith();
  server.keysHandler = (request) => request.socket.destroy();
  const ask = async () => await verifier.verify(await server.token(first));
  for (let n = 0; n < 50; n += 1) expect(await ask()).toMatchObject({ kind: 'unavailable' });
  expect(server.requestCounts.keys).toBe(1);
  for (let n = 0; n < 20; n += 1) {
    now += 30_000;
    expect(await ask()).toMatchObject({ kind: 'unavailable' });
  }
  expect(server.requestCounts.keys).toBe(21);
  server.keysHandler = undefined;
  now += 30_000;
  expect(await ask()).toMatchObject({ principal: { name: 'alice' } });
});

test.each([
  ['hangs', () => {}, 'did not respond within 300 ms'],
  [
    'is endless',
    (response) => {
      response.writeHead(200);
      const more = () => response.destroyed || response.write('x'.repeat(65_536), more);
      more();
    },
    '(200) exceeds 100000 bytes',
  ],
  [
    'is a redirect',
    (response) => response.writeHead(302, { location: 'https://evil.example/' }).end(),
    'to another host',
  ],
  ['is not JSON', (response) => response.end('<html>'), 'did not return a JSON object'],
  [
    'is not a key set',
    (response) => response.end('{"keys":7}'),
    'the response of the provider is not a key set',
  ],
] as [string, (response: import('node:http').ServerResponse) => unknown, string][])(
  'the verifier rejects tokens with the reason if the response of the provider %s',
  async (_, answer, why) => {
    server.keysHandler = (_request, response) => void answer(response);
    const verifier = verifierWith({}, { timeoutMs: 300, maxBytes: 100_000 });
    const verdict = await verifier.verify(await server.token(first));
    expect(verdict).toMatchObject({ kind: 'unavailable', reason: expect.stringContaining(why) });
  },
);

test('the verifier skips entries that are not public keys', async () => {
  const odd = { kty: 'oct', k: Buffer.from('secret').toString('base64url'), kid: 'shared' };
  server.keysHandler = (_, response) => response.end(JSON.stringify({ keys: [null, 7, odd, {}, first.jwk] }));
  expect(await verifierWith().verify(await server.token(first))).toMatchObject({ principal: {} });
});

test('the verifier finds the keys by the metadata of the issuer, if the metadata has the same issuer', async () => {
  const verifier = (issuer: string) =>
    verifierWith({}, { source: { metadataUrl: server.metadataUrl, issuer } });
  expect(await verifier(server.issuer).verify(await server.token(first))).toMatchObject({ principal: {} });
  expect(server.requestCounts).toEqual({ keys: 1, metadata: 1 });
  expect(await verifier('https://other.example').verify(await server.token(first))).toMatchObject({
    kind: 'unavailable',
    reason: expect.stringContaining('has metadata of another issuer'),
  });
});

test('the verifier requires https for key set URLs other than loopback', async () => {
  const verifier = verifierWith({}, { source: { jwksUrl: new URL('http://keys.example.com/') } });
  expect(await verifier.verify(await server.token(first))).toMatchObject({
    kind: 'unavailable',
    reason: expect.stringContaining('requires https'),
  });
});
