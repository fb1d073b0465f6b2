// Tokens of a tracker, created with the vendor's library.

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
    reserveBody: () => () => {},
    ...more,
  };
}

const verifier = (more: Partial<Parameters<typeof tokenVerifier>[0]> = {}) =>
  tokenVerifier({ secrets: [SECRET], signedPath: undefined, allowsUnverified: false, ...more });

async function isAccepted(request: WebhookRequest, chosenVerifier = verifier()): Promise<boolean> {
  if (!chosenVerifier.hasProof(request)) return false;
  return !isRefusal(await chosenVerifier.verify(request, Buffer.from('{}')));
}

const claims = (more: object = {}) => ({ iss: 'a-tenant', iat: now(), exp: now() + 180, ...more });
const tokenOf = (more: object = {}, secret = SECRET) => encodeSymmetric(claims(more), secret);
const hashOf = (url: string, base = 'https://gateway.example', method: 'post' | 'get' = 'post') =>
  createQueryStringHash(fromMethodAndUrl(method, url), false, base);

test('why a validly signed webhook token is rejected is reported, even if several secrets are configured', async () => {
  const both = verifier({ secrets: [SECRET, 'the one before'] });
  const verdict = await both.verify(requestOf(`JWT ${tokenOf({ exp: now() - 60 })}`), Buffer.from('{}'));
  expect(verdict).toEqual({ kind: 'wrong', reason: 'the token has expired' });
});

describe('a JWT of an issue tracker webhook', () => {
  test('of an app with its URL hash is accepted with the schemes JWT and Bearer', async () => {
    const qsh = hashOf(`https://gateway.example${PATH}`);
    for (const scheme of ['JWT', 'Bearer', 'bearer', 'jwt'])
      expect(await isAccepted(requestOf(`${scheme} ${tokenOf({ qsh })}`)), scheme).toBe(true);
  });

  test('without a URL hash and timestamps is accepted', async () => {
    expect(await isAccepted(requestOf(`Bearer ${tokenOf()}`))).toBe(true);
    const bare = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET));
    expect(await isAccepted(requestOf(`Bearer ${bare}`))).toBe(true);
  });

  test('is accepted with the previous secret, and with a secret of one character', async () => {
    const both = verifier({ secrets: ['the new one', SECRET] });
    expect(await isAccepted(requestOf(`JWT ${tokenOf()}`), both)).toBe(true);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({}, 's')}`), verifier({ secrets: ['s'] }))).toBe(true);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({}, 'another')}`), both)).toBe(false);
  });

  test('that has expired or is not yet valid is refused, within the clock tolerance', async () => {
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ exp: now() - 120 })}`))).toBe(false);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ exp: now() - 5 })}`))).toBe(true);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ nbf: now() + 120 })}`))).toBe(false);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ iat: now() + 120 })}`))).toBe(false);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ nbf: now() + 5 })}`))).toBe(true);
  });

  test('with the hash of another URL or method, or with a hash for any URL, is rejected', async () => {
    for (const qsh of [
      hashOf('https://gateway.example/webhook/other'),
      hashOf(`https://gateway.example${PATH}?event=comment_created`),
      hashOf(`https://gateway.example${PATH}`, 'https://gateway.example', 'get'),
      'context-qsh',
      '',
      7,
      null,
    ])
      expect(await isAccepted(requestOf(`JWT ${tokenOf({ qsh })}`)), String(qsh)).toBe(false);
  });

  test('has a hash that covers the query, except for a token in the query', async () => {
    const query = 'event=tracker:issue_created&b=2&a=1&a=0';
    const qsh = hashOf(`https://gateway.example${PATH}?${query}`);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ qsh })}`, { query }))).toBe(true);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ qsh })}`, { query: `${query}&jwt=x.y.z` }))).toBe(
      true,
    );
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ qsh })}`, { query: `${query}&c=3` }))).toBe(false);
  });

  test('behind a proxy that changes the path is checked for the path that the tracker signed', async () => {
    const qsh = hashOf('https://gateway.example/hooks/tracker');
    const request = requestOf(`JWT ${tokenOf({ qsh })}`);
    expect(await isAccepted(request)).toBe(false);
    expect(await isAccepted(request, verifier({ signedPath: '/hooks/tracker' }))).toBe(true);
    // The tracker omits the base URL of an app from the hash.
    const below = hashOf('https://gateway.example/hooks/tracker', 'https://gateway.example/hooks');
    expect(
      await isAccepted(requestOf(`JWT ${tokenOf({ qsh: below })}`), verifier({ signedPath: '/tracker' })),
    ).toBe(true);
  });

  test('without a signature, with another algorithm or with its own key is rejected', async () => {
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
      expect(await isAccepted(requestOf(`Bearer ${token}`)), token).toBe(false);
  });

  test('is accepted only in the Authorization header, up to a maximum length', async () => {
    const token = tokenOf();
    expect(await isAccepted(requestOf(undefined, { query: `jwt=${token}` }))).toBe(false);
    expect(await isAccepted(requestOf(`Basic ${token}`))).toBe(false);
    expect(await isAccepted(requestOf(`JWT ${tokenOf({ long: 'x'.repeat(20_000) })}`))).toBe(false);
  });

  test('is rejected if one character changes', async () => {
    const token = tokenOf({ qsh: hashOf(`https://gateway.example${PATH}`) });
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...characters), async (at, sign) => {
        fc.pre(token[at] !== sign);
        const changed = token.slice(0, at) + sign + token.slice(at + 1);
        // The last base64 character of 32 bytes has unused bits, so the changed token may have the same
        // bytes.
        fc.pre(!isSameBytes(token, changed));
        expect(await isAccepted(requestOf(`JWT ${changed}`))).toBe(false);
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

test('without a secret, requests are only accepted with explicit permission, and from this machine', () => {
  expect(() => verifier({ secrets: ['', undefined] })).toThrow('webhook_secret is empty');
  const open = verifier({ secrets: [''], allowsUnverified: true });
  expect(open.hasProof(requestOf(undefined, { remoteAddress: '127.0.0.1' }))).toBe(true);
  expect(open.hasProof(requestOf(undefined))).toBe(false);
});

test('the URL hash in webhook tokens equals that of the vendor library, for any path and query', () => {
  const text = fc.string({ unit: fc.constantFrom(..."aZ09 -_.~!*()'+/?:@$,;=&%é☂") });
  // Only these characters: for others, the vendor's documentation and library sort names differently.
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
      const expectedHash = createQueryStringHash({
        method: 'POST',
        pathname: path,
        query: structuredClone(query),
      });
      expect(queryHash({ method: 'POST', path, query: pairs.join('&') })).toBe(expectedHash);
    }),
  );
});
