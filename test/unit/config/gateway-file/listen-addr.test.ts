import { describe, expect, test } from 'vitest';
import { parseListenAddr } from '../../../../config/gateway-file/listen-addr.ts';

describe('parseListenAddr', () => {
  test.each([
    ['127.0.0.1:8080', '127.0.0.1', 8080],
    ['localhost:0', 'localhost', 0],
    ['0.0.0.0:65535', '0.0.0.0', 65_535],
    ['[::1]:80', '::1', 80],
    ['[fe80::1%eth0]:80', 'fe80::1%eth0', 80],
    ['my-host.example:443', 'my-host.example', 443],
  ])('splits %s', (text, host, port) => {
    expect(parseListenAddr(text)).toEqual({ host, port });
  });

  test.each([
    '',
    ':80',
    '80',
    'a',
    'a:',
    'a:b',
    'a:-1',
    'a:65536',
    'a:080000',
    '::1:80',
    '[]:80',
    '[1.2.3.4]:80',
    '1.2.3:80',
    'a b:80',
    'http://a:80',
    'a:80 ',
  ])('refuses "%s"', (text) => {
    expect(() => parseListenAddr(text)).toThrow(TypeError);
  });
});
