import { describe, expect, test } from 'vitest';
import { hasProxy, proxyCredentials, proxyFor } from '../../../../libs/rest/proxy.ts';

const HTTPS_PROXY = 'http://proxy.example:3128';
const isProxied = (url: string, NO_PROXY = '') =>
  proxyFor(new URL(url), { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY, NO_PROXY }) !== undefined;

test('the proxy is taken from the variable for the URL scheme, and the lower-case variable takes precedence', () => {
  const env = { HTTPS_PROXY: 'http://upper:1', https_proxy: 'lower:2' };
  expect(proxyFor(new URL('https://a.example'), env)?.href).toBe('http://lower:2/');
  expect(proxyFor(new URL('http://a.example'), env)).toBeUndefined();
  expect(proxyFor(new URL('https://a.example'), { ...env, https_proxy: '' })?.href).toBe('http://upper:1/');
});

test.each([
  ['a.example', 'a.example', false],
  ['b.a.example', 'a.example', false],
  ['xa.example', 'a.example', true],
  ['a.example', '.a.example', false],
  ['b.a.example', '*.a.example', false],
  ['A.Example', 'a.EXAMPLE', false],
  ['a.example', 'b.example,  a.example', false],
  ['a.example', '*', false],
  ['a.example', 'a.example:443', false],
  ['a.example:8443', 'a.example:443', true],
  ['a.example:8443', 'a.example:8443', false],
  ['10.1.2.3', '10.0.0.0/8', false],
  ['11.1.2.3', '10.0.0.0/8', true],
  ['10.1.2.3', '10.0.0.0/99', true],
  ['[fd00::1]', 'fd00::/8', false],
  ['[fd00::1]', 'fd00::1', false],
  ['[fd00::1]', '[fd00::1]:443', false],
  ['a.example', '10.0.0.0/8', true],
  ['a.example', ',', true],
])('a request to %s with NO_PROXY=%s uses the proxy: %s', (host, exceptions, expected) => {
  expect(isProxied(`https://${host}/x`, exceptions)).toBe(expected);
});

test.each(['localhost', 'mcp.localhost', '127.0.0.1', '127.9.9.9', '[::1]'])(
  'the loopback host %s is never requested through a proxy',
  (host) => expect(isProxied(`http://${host}:1234/`)).toBe(false),
);

describe('an unusable proxy', () => {
  test.each([
    'socks5://user:secret@proxy.example',
    'http://',
    'http://[',
    'http://a:%zz@proxy.example',
    'file:///tmp/secret',
  ])('%s is rejected with the name of the variable, without the value', (value) => {
    const check = () => hasProxy({ https_proxy: value });
    expect(check).toThrow(/^HTTPS_PROXY must be/);
    expect(check).not.toThrow(/secret/);
  });

  test('is not assumed if the proxy variables are empty or missing', () => {
    expect([hasProxy({}), hasProxy({ HTTP_PROXY: ' ' }), hasProxy({ HTTPS_PROXY })]).toEqual([
      false,
      false,
      true,
    ]);
  });
});

test('percent-encoded credentials in a proxy URL are decoded for the authorization header', () => {
  expect(proxyCredentials(new URL('http://a%40b:c%3Ad@proxy.example'))).toBe(`Basic ${btoa('a@b:c:d')}`);
  expect(proxyCredentials(new URL(HTTPS_PROXY))).toBeUndefined();
});
