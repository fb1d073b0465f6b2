// The origin guard admits pages of allowed origins, pages of the listener if Host is checked, and otherwise
// only inspector pages with a cookie or key (against DNS rebinding).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HttpReply } from '../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import { OriginGuard } from '../../../src/http/origin-guard.ts';
import { InspectorAccess } from '../../../src/inspector/access.ts';

const KEY = 'correct horse battery staple';
const PORT = 8080;
const STOP = '/inspector/api/servers/files/stop';

interface Setup {
  readonly host?: string;
  readonly allowedHosts?: readonly string[];
  readonly key?: string;
}

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
}

const accessFor = (key: string) => new InspectorAccess({ secret: key, isOpen: key === '' });
const cookie = accessFor(KEY).cookieFor(KEY)?.split(';', 1)[0] ?? '';

/** Returns the status of the refusal, or `on` if the request may continue. */
function passes(
  { host = '0.0.0.0', allowedHosts = [], key = KEY }: Setup,
  requestHeaders: Sent,
): number | 'on' {
  const access = accessFor(key);
  const guard = new OriginGuard({
    host,
    allowedHosts,
    allowedOrigins: [],
    vouchesFor: (context) => access.isPageRequest(context),
  });
  let answered: number | undefined;
  const reply = { send: (status: number) => (answered = status) } as unknown as HttpReply;
  const { method = 'POST', path = STOP, headers } = requestHeaders;
  const request = {
    method,
    path,
    query: '',
    headers,
    remoteAddress: '',
    localPort: PORT,
    isBodyExact: true,
  };
  const isOn = guard.admits(new ExchangeContext(request, reply), false);
  expect(isOn).toBe(answered === undefined);
  return answered ?? 'on';
}

const listenerHeaders = { host: 'gw.example:8080', origin: 'http://gw.example:8080' };

describe('beyond loopback, without allowed_origins', () => {
  test("the inspector's page may post with its cookie", () => {
    expect(passes({}, { headers: { ...listenerHeaders, cookie } })).toBe('on');
    expect(passes({}, { headers: { ...listenerHeaders, host: 'GW.example:8080', cookie } })).toBe('on');
  });

  test("the inspector's form may post the key without a cookie", () => {
    const form = { path: '/inspector/session', headers: listenerHeaders };
    expect(passes({}, form)).toBe('on');
    expect(passes({}, { ...form, headers: { ...listenerHeaders, origin: 'http://evil.example' } })).toBe(403);
    expect(passes({}, { ...form, method: 'PUT' })).toBe(403);
    expect(passes({}, { ...form, path: '/inspector/leave' })).toBe(403);
  });

  test('a page that uses DNS rebinding is refused, because it has no valid cookie', () => {
    const rebound = { host: 'evil.example:8080', origin: 'http://evil.example:8080' };
    expect(passes({}, { headers: rebound })).toBe(403);
    const forged = `${cookie.slice(0, -2)}xx`;
    for (const bad of ['actor_gateway_inspector=1.2', forged, accessFor('other').cookieFor('other') ?? ''])
      expect(passes({}, { headers: { ...rebound, cookie: bad } })).toBe(403);
  });

  test('a page of another origin, port or scheme is refused, even with the cookie', () => {
    const refused = [
      { origin: 'http://evil.example' },
      { origin: 'http://gw.example' },
      { origin: 'http://gw.example:3000' },
      { origin: 'http://gw.example:8080.evil.example' },
      { origin: 'http://evil.example/gw.example:8080' },
      { origin: 'http://x@gw.example:8080' },
      { origin: 'null' },
      { origin: 'file://gw.example:8080' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
    ];
    for (const headers of refused)
      expect([headers, passes({}, { headers: { ...listenerHeaders, cookie, ...headers } })]).toEqual([
        headers,
        403,
      ]);
    expect(passes({}, { headers: { origin: 'http://', cookie } })).toBe(403);
  });

  test('the cookie gives access to the inspector only', () => {
    for (const path of ['/servers/files/stop', '/mcp', '/admin/reload', '/inspectors', '/', '/health'])
      expect([path, passes({}, { path, headers: { ...listenerHeaders, cookie } })]).toEqual([path, 403]);
  });

  test('without an API key no page is trusted', () => {
    for (const path of [STOP, '/inspector/session', '/inspector/api/admin/reload'])
      expect(passes({ key: '' }, { path, headers: { ...listenerHeaders, cookie } })).toBe(403);
  });
});

describe('behind a proxy with TLS', () => {
  const setup = { host: '127.0.0.1', allowedHosts: ['gw.example'] };
  const page = { host: 'gw.example', origin: 'https://gw.example', 'sec-fetch-site': 'same-origin' };

  test("the inspector's page may post with its cookie, with or without the port in the proxy's Host", () => {
    expect(passes(setup, { headers: { ...page, cookie } })).toBe('on');
    expect(passes(setup, { headers: { ...page, host: 'gw.example:443', cookie } })).toBe('on');
    expect(passes(setup, { headers: page })).toBe(403);
  });

  test('a page loaded without TLS is refused, because the browser marks it as cross-site', () => {
    const plain = { ...page, origin: 'http://gw.example', 'sec-fetch-site': 'cross-site', cookie };
    expect(passes(setup, { headers: plain })).toBe(403);
    expect(passes(setup, { headers: { ...page, host: 'gw.example:80', cookie } })).toBe(403);
  });

  test('a page with a foreign Host header is refused, even with the cookie', () => {
    const rebound = { host: 'evil.example', origin: 'http://evil.example', cookie };
    expect(passes(setup, { headers: rebound })).toBe(403);
  });
});

test('beyond loopback, a request of a web page is refused without the cookie, whatever its Origin and Host', () => {
  const part = fc.oneof(
    fc.string(),
    fc.webAuthority(),
    fc.constantFrom('gw.example:8080', 'gw.example', 'null'),
  );
  const origin = fc.oneof(
    part,
    part.map((text) => `http://${text}`),
    part.map((text) => `https://${text}`),
  );
  fc.assert(
    fc.property(part, origin, fc.constantFrom(STOP, '/inspector/feed', '/servers'), (host, from, path) => {
      expect(passes({}, { path, headers: { host, origin: from } })).toBe(403);
    }),
  );
});
