import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CryptoKey, exportSPKI, importJWK, SignJWT } from 'jose';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JwtVerifier, type JwtVerifierOptions } from '../../../../../actors/identity/jwt/jwt-verifier.ts';
import { KeySet, type KeySetOptions } from '../../../../../actors/identity/jwt/key-set.ts';
import { KeyServer, type SigningKey, signingKey } from '../../../../fixtures/key-server.ts';

let server: KeyServer;
let first: SigningKey;
/** Of the key set, in ms. */
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
const wrong = (why: string) => ({ refused: 'wrong', why: `the token ${why}` });

test('a good token gives a principal with its claims, and its key with what the provider says of that', async () => {
  const verified = await verifierWith().verify(await server.token(first, { tid: 'acme' }));
  expect(verified).toMatchObject({
    principal: { kind: 'token', name: 'alice', claims: { tid: 'acme', sub: 'alice' } },
    key: { kid: 'first', endorsements: ['chat'] },
  });
});

test.each(['RS256', 'PS256', 'EdDSA'])('a key for %s is taken as well', async (alg) => {
  const key = await signingKey('another', alg);
  server.keys = [first, key];
  expect(await verifierWith().verify(await server.token(key))).toMatchObject({
    principal: { name: 'alice' },
  });
});

test('a token that was right is decided at once when it comes again, and until it has expired (JV3)', async () => {
  const verifier = verifierWith({ toleranceSeconds: 0 });
  const token = await server.token(first, { exp: seconds() + 2 });
  await verifier.verify(token);
  const again = verifier.verify(token);
  expect(again).not.toBeInstanceOf(Promise);
  expect(again).toMatchObject({ principal: { name: 'alice' } });
  await sleep(2_100);
  expect(await verifier.verify(token)).toEqual(wrong('has expired'));
});

test('who it is stands in the first claim that may say so', async () => {
  const verifier = verifierWith();
  const nameOf = async (claims: Readonly<Record<string, unknown>>) =>
    await verifier.verify(await server.token(first, claims));
  expect(await nameOf({ sub: undefined, azp: 'app' })).toMatchObject({ principal: { name: 'azp=app' } });
  expect(await nameOf({ sub: undefined })).toMatchObject({ principal: { name: `iss=${server.issuer}` } });
  expect(await nameOf({ sub: 'two\nlines' })).toEqual(wrong('names nobody'));
  expect(await nameOf({ sub: 'x'.repeat(300) })).toEqual(wrong('names nobody'));
});

test('an application is nobody whose subject reads like it (JV5)', async () => {
  const verifier = verifierWith();
  const said = [
    { sub: 'alice' },
    { sub: undefined, client_id: 'alice' },
    { sub: undefined, azp: 'alice' },
    { sub: 'client_id=alice' },
    { sub: 'sub=alice' },
  ];
  const names = new Set<string>();
  for (const claims of said) {
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

test('times are held against the clock with the tolerance', async () => {
  const verifier = verifierWith();
  const with_ = async (claims: Readonly<Record<string, unknown>>) =>
    await verifier.verify(await server.token(first, claims));
  expect(await with_({ exp: seconds() - 40 })).toMatchObject({ principal: {} });
  expect(await with_({ exp: seconds() - 80 })).toEqual(wrong('has expired'));
  expect(await with_({ nbf: seconds() + 40 })).toMatchObject({ principal: {} });
  expect(await with_({ nbf: seconds() + 80 })).toMatchObject({ refused: 'wrong' });
  expect(await with_({ exp: undefined })).toEqual(wrong('does not pass the check of its claim "exp"'));
});

test('of several issuers any is taken, and a token says by itself whether it names one', async () => {
  const verifier = verifierWith({ issuer: ['https://one.example', server.issuer] });
  const token = await server.token(first);
  expect(await verifier.verify(token)).toMatchObject({ principal: { name: 'alice' } });
  const foreign = await server.token(first, { iss: 'https://another.example' });
  expect(await verifier.verify(foreign)).toEqual(wrong('is of another issuer'));
  const listed = await server.token(first, { iss: [server.issuer] });
  expect([token, foreign, listed, 'a.b.c', ''].map((each) => verifier.isNamed(each))).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('claims that are asked for must be there, in a list or among the words of a scope (JV2)', async () => {
  const verifier = verifierWith({ claims: { email: 'a@example.com', scope: 'tools', roles: 'admin' } });
  const with_ = async (claims: Readonly<Record<string, unknown>>) =>
    await verifier.verify(await server.token(first, claims));
  const good = { email: 'a@example.com', scope: 'read tools', roles: ['user', 'admin'] };
  expect(await with_(good)).toMatchObject({ principal: {} });
  expect(await with_({ ...good, email: 'b@example.com' })).toEqual(
    wrong('has not the "email" that is asked for'),
  );
  expect(await with_({ ...good, scope: 'toolset' })).toEqual(wrong('has not the "scope" that is asked for'));
  expect(await with_({ ...good, roles: undefined })).toEqual(wrong('has not the "roles" that is asked for'));
});

test('what the token itself shows to be wrong is refused at once, and no key is asked for (JV1, JV4)', async () => {
  const verifier = verifierWith();
  const claims = { iss: server.issuer, aud: 'gateway', sub: 'mallory', exp: seconds() + 300 };
  const none = `${part({ alg: 'none' })}.${part(claims)}.`;
  const secret = await exportSPKI((await importJWK(first.jwk, 'ES256')) as CryptoKey);
  const signed = `${part({ alg: 'HS256', kid: 'first' })}.${part(claims)}`;
  const confused = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  const hostile = [
    [none, 'has an algorithm that is not taken'],
    [confused, 'has an algorithm that is not taken'],
    [await server.token(first, { iss: 'https://evil.example' }), 'is of another issuer'],
    [await server.token(first, { aud: 'somebody' }), 'is for another audience'],
    [await server.token(first, { aud: undefined }), 'is for another audience'],
    [await server.token(first, { pad: 'x'.repeat(20_000) }), 'is larger than 16 KB'],
    ['', 'is no JSON Web Token'],
    ['a.b.c', 'is no JSON Web Token'],
    [`${part({ alg: 'ES256' })}.${part([])}.x`, 'is of another issuer'],
    [`${part({ alg: 'ES256', kid: 7 })}.bm9uZQ.x`, 'is no JSON Web Token'],
  ];
  for (const [token = '', why = ''] of hostile) {
    const verdict = verifier.verify(token);
    expect(verdict, why).not.toBeInstanceOf(Promise);
    expect(verdict).toMatchObject({ refused: 'wrong' });
  }
  for (const [token = '', why = ''] of hostile.slice(0, 8))
    expect(verifier.verify(token)).toEqual(wrong(why));
  expect(server.asked.keys).toBe(0);
});

test('a key that the token brings itself, and an address of keys in it, mean nothing', async () => {
  const mallory = await signingKey('first');
  await using other = await KeyServer.start([mallory]);
  const claims = { iss: server.issuer, aud: 'gateway', sub: 'mallory' };
  const verifier = verifierWith();
  for (const header of [{ jwk: mallory.jwk }, { jku: String(other.jwksUrl) }])
    expect(await verifier.verify(await other.token(mallory, claims, header))).toEqual(
      wrong('has a signature that is wrong'),
    );
  expect(other.asked.keys).toBe(0);
});

test('a signature that was changed, and extensions that nobody knows, are refused', async () => {
  const verifier = verifierWith();
  const token = await server.token(first);
  const [head = '', , signature = ''] = token.split('.');
  const body = part({ iss: server.issuer, aud: 'gateway', sub: 'root', exp: seconds() + 300 });
  expect(await verifier.verify(`${head}.${body}.${signature}`)).toEqual(
    wrong('has a signature that is wrong'),
  );
  const critical = new SignJWT({ iss: server.issuer, aud: 'gateway', sub: 'alice', exp: seconds() + 300 });
  critical.setProtectedHeader({ alg: 'ES256', kid: 'first', crit: ['x'], x: 1 });
  const odd = await critical.sign(first.privateKey, { crit: { x: true } });
  expect(await verifier.verify(odd)).toMatchObject({ refused: 'wrong' });
});

test('keys are asked for once, however many need them at the same time (KS1)', async () => {
  const verifier = verifierWith();
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, n) => server.token(first, { sub: `s${n}` })),
  );
  const all = await Promise.all(tokens.map((token) => verifier.verify(token)));
  expect(all.every((each) => 'principal' in each)).toBe(true);
  expect(server.asked.keys).toBe(1);
});

test('a new key is learnt from the first token that has it; made-up ones cost the provider next to nothing (KS2)', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  const second = await signingKey('second');
  server.keys = [second];
  const [one, two] = await Promise.all([
    verifier.verify(await server.token(second)),
    verifier.verify(await server.token(second, { sub: 'bob' })),
  ]);
  expect([one, two]).toMatchObject([{ principal: { name: 'alice' } }, { principal: { name: 'bob' } }]);
  expect(server.asked.keys).toBe(2);
  for (let n = 0; n < 30; n += 1) {
    const made = await server.token({ ...first, kid: `made-up-${n}` });
    expect(await verifier.verify(made)).toEqual(wrong('is signed with a key that its issuer does not have'));
  }
  expect(server.asked.keys).toBe(3);
  expect(await verifier.verify(await server.token(first, { sub: 'carol' }))).toMatchObject({
    refused: 'wrong',
  });
});

test('keys that change twice within seconds are learnt, and in the long run unknown ones are asked for once in a while (KS2)', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  for (const kid of ['second', 'third']) {
    const key = await signingKey(kid);
    server.keys = [key];
    now += 2_000;
    expect(await verifier.verify(await server.token(key))).toMatchObject({ principal: { name: 'alice' } });
  }
  expect(server.asked.keys).toBe(3);
  for (let n = 0; n < 100; n += 1) {
    now += 3_000;
    await verifier.verify(await server.token({ ...first, kid: `made-up-${n}` }));
  }
  expect(server.asked.keys).toBeLessThanOrEqual(3 + 10);
});

test('of a key that is unknown while the provider is away nobody says that it is wrong (KS2)', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  const second = await signingKey('second');
  server.keys = [first, second];
  server.instead = (_, response) => response.writeHead(500).end();
  const ask = async (key: SigningKey, sub: string) => await verifier.verify(await server.token(key, { sub }));
  for (const sub of ['a', 'b']) expect(await ask(second, sub)).toMatchObject({ refused: 'unavailable' });
  expect(await ask(first, 'c')).toMatchObject({ principal: { name: 'c' } });
  expect(server.asked.keys).toBe(2);
  server.instead = undefined;
  now += 1_000;
  expect(await ask(second, 'd')).toMatchObject({ principal: { name: 'd' } });
});

test('a token that names no key is taken where a single one fits', async () => {
  const verifier = verifierWith();
  const unnamed = (sub: string) => server.token(first, { sub }, { kid: undefined });
  expect(await verifier.verify(await unnamed('alice'))).toMatchObject({ key: { kid: 'first' } });
  server.keys = [first, await signingKey('second')];
  now += 31_000;
  await verifier.verify(await server.token(await signingKey('third')));
  expect(await verifier.verify(await unnamed('bob'))).toEqual(
    wrong('is signed with a key that its issuer does not have'),
  );
});

test('keys are used for a while: fetched anew before they are too old, and no longer used when that fails for long (KS3)', async () => {
  const verifier = verifierWith();
  await verifier.verify(await server.token(first));
  server.instead = (_, response) => response.writeHead(500).end();
  now += 2_000_000;
  expect(await verifier.verify(await server.token(first, { sub: 'b' }))).toMatchObject({ principal: {} });
  await expect.poll(() => server.asked.keys).toBe(2);
  now += 2_000_000;
  expect(await verifier.verify(await server.token(first, { sub: 'c' }))).toMatchObject({
    refused: 'unavailable',
    retryAfterSeconds: expect.any(Number),
  });
  server.instead = undefined;
  now += 31_000;
  expect(await verifier.verify(await server.token(first, { sub: 'c' }))).toMatchObject({ principal: {} });
});

test('a provider that is away is asked again after pauses that stay short, and is believed when it is back', async () => {
  const verifier = verifierWith();
  server.instead = (request) => request.socket.destroy();
  const ask = async () => await verifier.verify(await server.token(first));
  for (let n = 0; n < 50; n += 1) expect(await ask()).toMatchObject({ refused: 'unavailable' });
  expect(server.asked.keys).toBe(1);
  for (let n = 0; n < 20; n += 1) {
    now += 30_000;
    expect(await ask()).toMatchObject({ refused: 'unavailable' });
  }
  expect(server.asked.keys).toBe(21);
  server.instead = undefined;
  now += 30_000;
  expect(await ask()).toMatchObject({ principal: { name: 'alice' } });
});

test.each([
  ['hangs', () => {}, 'gave no answer within 300 ms'],
  [
    'goes on for ever',
    (response) => {
      response.writeHead(200);
      const more = () => response.destroyed || response.write('x'.repeat(65_536), more);
      more();
    },
    'answered 200 with more than 100000 bytes',
  ],
  [
    'is sent elsewhere',
    (response) => response.writeHead(302, { location: 'https://evil.example/' }).end(),
    'on to another host',
  ],
  ['is no JSON', (response) => response.end('<html>'), 'answered with something that is no JSON object'],
  ['is no set', (response) => response.end('{"keys":7}'), 'what the provider gave is no set of keys'],
] as [string, (response: import('node:http').ServerResponse) => unknown, string][])(
  'where the answer of the provider %s nobody is let in, and it is said why',
  async (_, answer, why) => {
    server.instead = (_request, response) => void answer(response);
    const verifier = verifierWith({}, { timeoutMs: 300, maxBytes: 100_000 });
    const verdict = await verifier.verify(await server.token(first));
    expect(verdict).toMatchObject({ refused: 'unavailable', why: expect.stringContaining(why) });
  },
);

test('what is no public key in a set is left out, and the others are used (KS4)', async () => {
  const odd = { kty: 'oct', k: Buffer.from('secret').toString('base64url'), kid: 'shared' };
  server.instead = (_, response) => response.end(JSON.stringify({ keys: [null, 7, odd, {}, first.jwk] }));
  expect(await verifierWith().verify(await server.token(first))).toMatchObject({ principal: {} });
});

test('the keys are found by the document that describes the issuer, if it is that issuer', async () => {
  const verifier = (issuer: string) =>
    verifierWith({}, { source: { metadataUrl: server.metadataUrl, issuer } });
  expect(await verifier(server.issuer).verify(await server.token(first))).toMatchObject({ principal: {} });
  expect(server.asked).toEqual({ keys: 1, metadata: 1 });
  expect(await verifier('https://other.example').verify(await server.token(first))).toMatchObject({
    refused: 'unavailable',
    why: expect.stringContaining('describes another issuer'),
  });
});

test('beyond this machine keys are asked for over https only', async () => {
  const verifier = verifierWith({}, { source: { jwksUrl: new URL('http://keys.example.com/') } });
  expect(await verifier.verify(await server.token(first))).toMatchObject({
    refused: 'unavailable',
    why: expect.stringContaining('must be asked over https'),
  });
});
