// Tokens of a tracker, against the vendor's own library, which makes them as apps of the tracker do.

import { createHmac, generateKeyPairSync } from 'node:crypto';
import { createQueryStringHash, encodeSymmetric, fromMethodAndUrl } from 'atlassian-jwt';
import fc from 'fast-check';
import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../../../../actors/identity/principal.ts';
import { queryHash } from '../../../../../actors/platforms/issuetracker/query-hash.ts';
import { tokenVerifier } from '../../../../../actors/platforms/issuetracker/token-verifier.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

const SECRET = 'shared with an app';
const PATH = '/webhook/issuetracker';
const now = () => Math.floor(Date.now() / 1000);

function requestOf(authorization: string | undefined, more: Partial<WebhookRequest> = {}): WebhookRequest {
  return {
    method: 'POST',
    path: PATH,
    query: '',
    headers: authorization === undefined ? {} : { authorization },
    remoteAddress: '192.0.2.7',
    isBodyExact: true,
    requestId: 'r',
    traceparent: 't',
    holdBody: () => () => {},
    ...more,
  };
}

const verifier = (more: Partial<Parameters<typeof tokenVerifier>[0]> = {}) =>
  tokenVerifier({ secrets: [SECRET], signedPath: undefined, allowsUnverified: false, ...more });

async function isTaken(request: WebhookRequest, using = verifier()): Promise<boolean> {
  if (!using.mayFit(request)) return false;
  return !isRefusal(await using.verify(request, Buffer.from('{}')));
}

const claims = (more: object = {}) => ({ iss: 'a-tenant', iat: now(), exp: now() + 180, ...more });
const tokenOf = (more: object = {}, secret = SECRET) => encodeSymmetric(claims(more), secret);
const hashOf = (url: string, base = 'https://gateway.example', method: 'post' | 'get' = 'post') =>
  createQueryStringHash(fromMethodAndUrl(method, url), false, base);

test('what is wrong with a token under its own secret is said, whatever other secrets there are (TV3)', async () => {
  const both = verifier({ secrets: [SECRET, 'the one before'] });
  const verdict = await both.verify(requestOf(`JWT ${tokenOf({ exp: now() - 60 })}`), Buffer.from('{}'));
  expect(verdict).toEqual({ refused: 'wrong', why: 'the token has expired' });
});

describe('a token', () => {
  test('of an app is taken under either scheme, with the hash of the address that it is for', async () => {
    const qsh = hashOf(`https://gateway.example${PATH}`);
    for (const scheme of ['JWT', 'Bearer', 'bearer', 'jwt'])
      expect(await isTaken(requestOf(`${scheme} ${tokenOf({ qsh })}`)), scheme).toBe(true);
  });

  test('of a program that signs no address is taken without that hash, and without times', async () => {
    expect(await isTaken(requestOf(`Bearer ${tokenOf()}`))).toBe(true);
    const bare = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET));
    expect(await isTaken(requestOf(`Bearer ${bare}`))).toBe(true);
  });

  test('is taken under the secret of before, and of a single sign', async () => {
    const both = verifier({ secrets: ['the new one', SECRET] });
    expect(await isTaken(requestOf(`JWT ${tokenOf()}`), both)).toBe(true);
    expect(await isTaken(requestOf(`JWT ${tokenOf({}, 's')}`), verifier({ secrets: ['s'] }))).toBe(true);
    expect(await isTaken(requestOf(`JWT ${tokenOf({}, 'another')}`), both)).toBe(false);
  });

  test('that has expired, or does not hold yet, is refused, within a tolerance for clocks (TV2)', async () => {
    expect(await isTaken(requestOf(`JWT ${tokenOf({ exp: now() - 120 })}`))).toBe(false);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ exp: now() - 5 })}`))).toBe(true);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ nbf: now() + 120 })}`))).toBe(false);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ nbf: now() + 5 })}`))).toBe(true);
  });

  test('for another address, another method, or any address at all is refused (TV2)', async () => {
    for (const qsh of [
      hashOf('https://gateway.example/webhook/other'),
      hashOf(`https://gateway.example${PATH}?event=comment_created`),
      hashOf(`https://gateway.example${PATH}`, 'https://gateway.example', 'get'),
      'context-qsh',
      '',
      7,
      null,
    ])
      expect(await isTaken(requestOf(`JWT ${tokenOf({ qsh })}`)), String(qsh)).toBe(false);
  });

  test('signs the query as well, but for the token in it (QH2)', async () => {
    const query = 'event=tracker:issue_created&b=2&a=1&a=0';
    const qsh = hashOf(`https://gateway.example${PATH}?${query}`);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ qsh })}`, { query }))).toBe(true);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ qsh })}`, { query: `${query}&jwt=x.y.z` }))).toBe(true);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ qsh })}`, { query: `${query}&c=3` }))).toBe(false);
  });

  test('behind a proxy that changes the path is for the path as the tracker has it', async () => {
    const qsh = hashOf('https://gateway.example/hooks/tracker');
    const request = requestOf(`JWT ${tokenOf({ qsh })}`);
    expect(await isTaken(request)).toBe(false);
    expect(await isTaken(request, verifier({ signedPath: '/hooks/tracker' }))).toBe(true);
    // The address of an app is a base, which the tracker leaves out.
    const below = hashOf('https://gateway.example/hooks/tracker', 'https://gateway.example/hooks');
    expect(
      await isTaken(requestOf(`JWT ${tokenOf({ qsh: below })}`), verifier({ signedPath: '/tracker' })),
    ).toBe(true);
  });

  test('without a signature, with another algorithm or with a key of its own is refused (TV1)', async () => {
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const hmac = (algorithm: string, text: string) =>
      createHmac(algorithm, SECRET).update(text).digest('base64url');
    const unsigned = `${encoded({ alg: 'none' })}.${encoded(claims())}`;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = publicKey.export({ format: 'jwk' });
    const other = `${encoded({ alg: 'HS512' })}.${encoded(claims())}`;
    for (const token of [
      `${unsigned}.`,
      `${unsigned}.${hmac('sha256', unsigned)}`,
      `${other}.${hmac('sha512', other)}`,
      await new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', jwk } as never).sign(privateKey),
    ])
      expect(await isTaken(requestOf(`Bearer ${token}`)), token).toBe(false);
  });

  test('is looked for in the Authorization header alone, and up to a length', async () => {
    const token = tokenOf();
    expect(await isTaken(requestOf(undefined, { query: `jwt=${token}` }))).toBe(false);
    expect(await isTaken(requestOf(`Basic ${token}`))).toBe(false);
    expect(await isTaken(requestOf(`JWT ${tokenOf({ long: 'x'.repeat(20_000) })}`))).toBe(false);
  });

  test('with any one sign changed is refused', async () => {
    const token = tokenOf({ qsh: hashOf(`https://gateway.example${PATH}`) });
    const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...signs), async (at, sign) => {
        fc.pre(token[at] !== sign);
        const changed = token.slice(0, at) + sign + token.slice(at + 1);
        // Of the last sign of a signature two bits count only, as with every base64 of 32 bytes.
        fc.pre(!isSameBytes(token, changed));
        expect(await isTaken(requestOf(`JWT ${changed}`))).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

function isSameBytes(one: string, other: string): boolean {
  const parts = [one, other].map((token) => token.split('.'));
  const [a = [], b = []] = parts.map((each) =>
    each.map((part) => Buffer.from(part, 'base64url').toString('hex')),
  );
  return parts[0]?.length === parts[1]?.length && a.every((part, index) => part === b[index]);
}

test('without a secret nothing is verified, unless that was asked for, and then on this machine alone', () => {
  expect(() => verifier({ secrets: ['', undefined] })).toThrow('webhook_secret is empty');
  const open = verifier({ secrets: [''], allowsUnverified: true });
  expect(open.mayFit(requestOf(undefined, { remoteAddress: '127.0.0.1' }))).toBe(true);
  expect(open.mayFit(requestOf(undefined))).toBe(false);
});

test('the hash of an address is the one that the vendor makes, whatever its path and query (QH1, QH2)', () => {
  const text = fc.string({ unit: fc.constantFrom(..."aZ09 -_.~!*()'+/?:@$,;=&%é☂") });
  // Of others the vendor's documents have the order of what is encoded, and its library that of what is not.
  const word = fc.string({ unit: fc.constantFrom(...'aZ09-_.~'), minLength: 1 });
  const name = word.filter((each) => each !== 'jwt');
  const segment = fc.string({ unit: fc.constantFrom(...'aZ09-_.~@+=,&'), minLength: 1 });
  const values = fc.oneof(
    text.map((value) => [value]),
    fc.array(word, { minLength: 2, maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(segment), fc.boolean(), fc.dictionary(name, values), (segments, hasEnd, query) => {
      const path = `/${segments.join('/')}${hasEnd && segments.length > 0 ? '/' : ''}`;
      const pairs = Object.entries(query).flatMap(([key, all]) =>
        all.map((value) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`),
      );
      const theirs = createQueryStringHash({ method: 'POST', pathname: path, query: structuredClone(query) });
      expect(queryHash({ method: 'POST', path, query: pairs.join('&') })).toBe(theirs);
    }),
  );
});
