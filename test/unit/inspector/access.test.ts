// The cookie of the inspector: attributes, lifetime and validity.
// Invariant IA1 is in src/inspector/access.ts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import { InspectorAccess } from '../../../src/inspector/access.ts';

const KEY = 'correct horse battery staple';
const HALF_DAY_MS = 12 * 3600 * 1000;
let now = Date.parse('2026-11-21T12:00:00Z');

const accessFor = (key: string) => new InspectorAccess({ secret: key, isOpen: key === '', now: () => now });
const exchangeOf = (headers: Readonly<Record<string, string>>) =>
  ({ request: { headers } }) as ExchangeContext;
const cookieOf = (setCookie: string | undefined) => setCookie?.split(';', 1)[0] ?? '';

describe('access to the inspector', () => {
  const access = accessFor(KEY);

  test('is granted by the key in either header, and by the cookie issued for the key', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    expect(access.isAdmitted(exchangeOf({ authorization: `Bearer ${KEY}` }))).toBe(true);
    expect(access.isAdmitted(exchangeOf({ 'x-api-key': KEY }))).toBe(true);
    expect(access.isAdmitted(exchangeOf({ cookie }))).toBe(true);
    expect(access.isAdmitted(exchangeOf({ cookie: `theme=dark; ${cookie}; x=y` }))).toBe(true);
    expect(access.isAdmitted(exchangeOf({}))).toBe(false);
    expect(access.cookieFor('wrong')).toBeUndefined();
    expect(access.cookieFor('')).toBeUndefined();
  });

  test('uses a cookie hidden from scripts, other sites and other paths', () => {
    // Without an attribute `Path`, browsers send the cookie to the folder of the request only (IA2).
    const attributes = access.cookieFor(KEY)?.split('; ').slice(1);
    expect(attributes).toEqual(['Max-Age=43200', 'HttpOnly', 'SameSite=Strict']);
    expect(access.cookieFor(KEY)).not.toContain(KEY);
  });

  test('ends when the cookie expires', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    now += HALF_DAY_MS - 2_000;
    expect(access.isAdmitted(exchangeOf({ cookie }))).toBe(true);
    now += 3_000;
    expect(access.isAdmitted(exchangeOf({ cookie }))).toBe(false);
  });

  test('survives a restart, and ends when the key changes (IA1)', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    expect(accessFor(KEY).isAdmitted(exchangeOf({ cookie }))).toBe(true);
    expect(accessFor('another').isAdmitted(exchangeOf({ cookie }))).toBe(false);
  });

  test('is open to everyone if no key is configured, and no cookie is issued without a key', () => {
    const open = accessFor('');
    expect(open.isAdmitted(exchangeOf({}))).toBe(true);
    expect(open.cookieFor('')).toBeUndefined();
  });

  test('is not granted by a modified cookie', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    const start = cookie.indexOf('=') + 1;
    fc.assert(
      fc.property(
        fc.integer({ min: start, max: cookie.length - 1 }),
        fc.string({ minLength: 1, maxLength: 2 }),
        (at, other) => {
          const changed = cookie.slice(0, at) + other + cookie.slice(at + 1);
          fc.pre(changed !== cookie && changed.trim() !== cookie);
          expect(access.isAdmitted(exchangeOf({ cookie: changed }))).toBe(false);
        },
      ),
    );
  });

  test('is refused without an exception for any cookie text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(access.isAdmitted(exchangeOf({ cookie: `actor_gateway_inspector=${text}` }))).toBe(false);
      }),
    );
  });
});
