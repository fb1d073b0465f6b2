// The cookie of the inspector: what it is good for, and what it is not.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import { InspectorAccess } from '../../../src/inspector/access.ts';

const KEY = 'correct horse battery staple';
const HALF_DAY_MS = 12 * 3600 * 1000;
let now = Date.parse('2026-11-21T12:00:00Z');

const accessFor = (key: string) => new InspectorAccess({ secret: key, isOpen: key === '', now: () => now });
const asked = (headers: Readonly<Record<string, string>>) => ({ request: { headers } }) as ExchangeContext;
const cookieOf = (setCookie: string | undefined) => setCookie?.split(';', 1)[0] ?? '';

describe('access to the inspector', () => {
  const access = accessFor(KEY);

  test('is given by the key in either header, and by the cookie that the key has bought', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    expect(access.isAdmitted(asked({ authorization: `Bearer ${KEY}` }))).toBe(true);
    expect(access.isAdmitted(asked({ 'x-api-key': KEY }))).toBe(true);
    expect(access.isAdmitted(asked({ cookie }))).toBe(true);
    expect(access.isAdmitted(asked({ cookie: `theme=dark; ${cookie}; x=y` }))).toBe(true);
    expect(access.isAdmitted(asked({}))).toBe(false);
    expect(access.cookieFor('wrong')).toBeUndefined();
    expect(access.cookieFor('')).toBeUndefined();
  });

  test('is by a cookie that no script reads, no other site sends and no other path gets (IA2)', () => {
    const attributes = access.cookieFor(KEY)?.split('; ').slice(1);
    expect(attributes).toEqual(['Path=/inspector', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict']);
    expect(access.cookieFor(KEY)).not.toContain(KEY);
  });

  test('ends with the time of the cookie', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    now += HALF_DAY_MS - 2_000;
    expect(access.isAdmitted(asked({ cookie }))).toBe(true);
    now += 3_000;
    expect(access.isAdmitted(asked({ cookie }))).toBe(false);
  });

  test('outlives a restart, and ends when the key is another (IA1)', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    expect(accessFor(KEY).isAdmitted(asked({ cookie }))).toBe(true);
    expect(accessFor('another').isAdmitted(asked({ cookie }))).toBe(false);
  });

  test('is everybody’s where there is no key, and then no cookie is given', () => {
    const open = accessFor('');
    expect(open.isAdmitted(asked({}))).toBe(true);
    expect(open.cookieFor('')).toBeUndefined();
  });

  test('is not given by a cookie that was changed in any place', () => {
    const cookie = cookieOf(access.cookieFor(KEY));
    const start = cookie.indexOf('=') + 1;
    fc.assert(
      fc.property(
        fc.integer({ min: start, max: cookie.length - 1 }),
        fc.string({ minLength: 1, maxLength: 2 }),
        (at, other) => {
          const changed = cookie.slice(0, at) + other + cookie.slice(at + 1);
          fc.pre(changed !== cookie && changed.trim() !== cookie);
          expect(access.isAdmitted(asked({ cookie: changed }))).toBe(false);
        },
      ),
    );
  });

  test('is refused and nothing thrown for any cookie at all', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(access.isAdmitted(asked({ cookie: `actor_gateway_inspector=${text}` }))).toBe(false);
      }),
    );
  });
});
