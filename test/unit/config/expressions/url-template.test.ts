// URL templates in flows: encoding of values, refused templates and values. The invariant URL1 is in
// config/expressions/url-template.ts.

import { describe, expect, test } from 'vitest';
import { readParts } from '../../../../config/expressions/template.ts';
import { readPrefix } from '../../../../config/expressions/url-prefix.ts';
import { type UrlTemplate, urlTemplate } from '../../../../config/expressions/url-template.ts';

const variables = { parameters: 'map<string, string>', steps: 'map<string, dyn>' };

function parse(text: string, allowed?: readonly string[]): UrlTemplate | { message: string; at: number } {
  const parts = readParts(text, variables);
  if ('message' in parts) throw new Error(parts.message);
  const prefixes = allowed?.map((each) => {
    const prefix = readPrefix(each);
    if (typeof prefix === 'string') throw new Error(prefix);
    return prefix;
  });
  return urlTemplate(parts, prefixes);
}

function render(text: string, q: unknown, allowed?: readonly string[]): string {
  const url = parse(text, allowed);
  if ('message' in url) throw new Error(url.message);
  return url.render({ parameters: { q, r: '.' }, steps: { a: q } }).href;
}

const Q = '{{ parameters.q }}';

describe('a value in a URL', () => {
  test.each([
    [
      `http://h.example/users/${Q}/notes`,
      'a/..b/delete?all=1#',
      'http://h.example/users/a%2F..b%2Fdelete%3Fall%3D1%23/notes',
    ],
    [`http://h.example/users/${Q}/notes`, 'a\\b', 'http://h.example/users/a%5Cb/notes'],
    [`http://h.example/users/${Q}`, 'a%2fb', 'http://h.example/users/a%252fb'],
    [`http://h.example/users/${Q}`, '%2e%2e', 'http://h.example/users/%252e%252e'],
    [`http://h.example/users/v${Q}`, '', 'http://h.example/users/v'],
    [`http://h.example/v${Q}.json`, '..', 'http://h.example/v...json'],
    [
      `http://h.example/search?q=${Q}&limit=5`,
      'x&limit=9999',
      'http://h.example/search?q=x%26limit%3D9999&limit=5',
    ],
    [
      `http://h.example/search?q=${Q}`,
      'C# & C++ 100%',
      'http://h.example/search?q=C%23%20%26%20C%2B%2B%20100%25',
    ],
    [`http://h.example/search?q=${Q}`, '', 'http://h.example/search?q='],
    [`http://h.example?q=${Q}`, '?/', 'http://h.example/?q=%3F%2F'],
    [`http://h.example/search?${Q}=1&b=2`, 'a=0&b', 'http://h.example/search?a%3D0%26b=1&b=2'],
    [`http://h.example/search?at=/a/${Q}`, '..', 'http://h.example/search?at=/a/..'],
    ['http://h.example/a/{{ steps.a }}', 7, 'http://h.example/a/7'],
    ['http://h.example/a/{{ steps.a }}', true, 'http://h.example/a/true'],
    [`https://h.example:8443/${Q}`, ':80@evil.example', 'https://h.example:8443/%3A80%40evil.example'],
    [`http://h.example/${Q}#part`, '\r\nHost: x', 'http://h.example/%0D%0AHost%3A%20x#part'],
  ])('is encoded: %s with %j (URL1)', (text, value, rendered) => {
    expect(render(text, value)).toBe(rendered);
  });

  test.each([
    [
      `http://h.example/users/${Q}/notes`,
      '..',
      '`parameters.q` makes the path segment .., which leads to another path',
    ],
    [`http://h.example/users/${Q}`, '.', 'makes the path segment .'],
    [`http://h.example/users/${Q}/notes`, '../../admin?all=1#', 'makes the path segment .., which'],
    [`http://h.example/users/${Q}/notes`, 'a\\..\\b', 'makes the path segment .., which'],
    [`http://h.example/users/.${Q}`, './admin', 'makes the path segment .., which'],
    [`http://h.example/users/${Q}`, 'a/..;v=1/b', 'makes the path segment .., which'],
    [`http://h.example/users/.${Q}/x`, '.', 'makes the path segment ..'],
    [`http://h.example/users/%2E${Q}/x`, '.', 'makes the path segment %2E.'],
    [`http://h.example/users/${Q}{{ parameters.r }}/x`, '.', 'makes the path segment ..'],
    [`http://h.example/users/${Q};v=1/x`, '..', 'makes the path segment .., which'],
    [`http://h.example/users/${Q}`, '', '`parameters.q` leaves a path segment empty'],
    [`http://h.example/users/${Q}/notes`, '', 'leaves a path segment empty'],
    [`http://h.example/users?${Q}`, '', 'leaves a query parameter empty'],
    ['http://h.example/{{ steps.a }}', null, '`steps.a` is null; a url contains text, a number or a boolean'],
    ['http://h.example/?q={{ steps.a }}', [1], '`steps.a` is a list'],
    ['http://h.example/?q={{ steps.a }}', { a: 1 }, '`steps.a` is a map'],
    [`http://h.example/${Q}`, '\ud800', 'half of a surrogate pair'],
  ])('is refused: %s with %j (URL1)', (text, value, message) => {
    expect(() => render(text, value)).toThrow(
      expect.objectContaining({ code: 'ERR_EXPRESSION', message: expect.stringContaining(message) }),
    );
  });

  test.each([
    [`http://127.0.0.1${Q}/x`, 16],
    [`http://127.0.0.1:${Q}/x`, 17],
    [`http://${Q}.example/x`, 0],
    [`http://${Q}@h.example/x`, 0],
    [`http://user:${Q}@h.example/x`, 12],
    [`${Q}://h.example/x`, 0],
    [`${Q}/x`, 0],
    [`http${Q}://h.example/`, 0],
    [`/users/${Q}`, 0],
    [`http:/h.example/${Q}`, 0],
    [`http:\\\\h.example\\${Q}`, 0],
    [`ftp://h.example/${Q}`, 0],
  ])('cannot choose scheme, host or port: %s (URL1)', (text, at) => {
    expect(parse(text)).toEqual({ message: expect.stringContaining('a host without {{ }}'), at });
  });

  test.each([
    [`http://h.example/a\\..\\${Q}`, 'remove backslashes', 18],
    [`http://h.example/a\n/${Q}`, 'line breaks', 18],
    [`http://h.example/../${Q}`, 'the segments . and ..', 0],
    [`http://h.example/a/%2e%2E/${Q}`, 'the segments . and ..', 0],
    [`http://h.example/a%${Q}`, 'write %25', 18],
    [`http://h.example/a%2${Q}`, 'write %25', 18],
    [`http://h.example/a#${Q}`, 'write %23', 19],
    [`http://h.example/?a#b/${Q}`, 'write %23', 22],
    ['http://h.example/{{ [1] }}', 'returns list<int>', 17],
    ['http://h.example/{{ null }}', 'returns null', 17],
    [`http://u:p@h.example/${Q}`, 'send credentials in a header', 0],
    [`http://h.example:99999/${Q}`, 'is not an http or https address', 0],
    ['ftp://h.example/', 'should begin with http://', 0],
  ])('is not allowed in an ambiguous or unusable URL template: %s', (text, message, at) => {
    expect(parse(text)).toEqual({ message: expect.stringContaining(message), at });
  });

  test('is not needed: a URL without expressions is only normalized', () => {
    expect(render('http://h.example/a/../b?x=#y', '')).toBe('http://h.example/b?x=#y');
  });
});

describe('an expression that is the whole URL', () => {
  const allowed = ['https://good.example/v1/', 'http://127.0.0.1:8080/'];

  test('requires a list of allowed prefixes', () => {
    expect(parse(Q)).toEqual({
      message: expect.stringContaining('url_allow: [https://api.example.com/]'),
      at: 0,
    });
  });

  test.each([
    ['https://good.example/v1/users?all=1#x', 'https://good.example/v1/users?all=1#x'],
    ['HTTPS://GOOD.example:443/v1/', 'https://good.example/v1/'],
    ['https:\\\\good.example\\v1\\a', 'https://good.example/v1/a'],
    ['https://good.example/v1/a/../b', 'https://good.example/v1/b'],
    ['https://ｇｏｏｄ.example/v1/a', 'https://good.example/v1/a'],
    ['https://go\tod.example/v1/a%2Fb', 'https://good.example/v1/a%2Fb'],
    ['http://2130706433:8080/a', 'http://127.0.0.1:8080/a'],
  ])('may return %j, which is below an allowed prefix', (value, rendered) => {
    expect(render(Q, value, allowed)).toBe(rendered);
  });

  test.each([
    ['https://good.example.evil.example/v1/', 'leads to https://good.example.evil.example'],
    ['https://good.example@evil.example/v1/', 'user name'],
    ['https://u:p@good.example/v1/', 'user name'],
    ['https://evil.example/https://good.example/v1/', 'leads to https://evil.example'],
    ['https://evil.example\\@good.example/v1/', 'leads to https://evil.example'],
    ['http://good.example/v1/', 'leads to http://good.example'],
    ['https://good.example:8443/v1/', 'leads to https://good.example:8443'],
    ['https://good.example./v1/', 'leads to https://good.example.'],
    ['https://good.example/v1', 'leads to'],
    ['https://good.example/v10/', 'leads to'],
    ['https://good.example/v1/../admin', 'leads to'],
    ['https://good.example/v1/%2e%2e/admin', 'leads to'],
    ['https://good.example/v1/..%2fadmin', 'leads to'],
    ['https://good.example/v1/x%5c..%5c..%5cadmin', 'leads to'],
    ['https://good.example/v1/..;/admin', 'leads to'],
    ['https://gооd.example/v1/', 'leads to https://xn--'],
    ['/v1/a', 'is not a url'],
    ['javascript:alert(1)', 'is not an http or https address'],
    ['', 'is not a url'],
    [7, 'is not a url'],
  ])('is refused if it returns %j, which is outside the allowed prefixes', (value, message) => {
    const text = typeof value === 'string' ? Q : '{{ steps.a }}';
    expect(() => render(text, value, allowed)).toThrow(
      expect.objectContaining({ code: 'ERR_EXPRESSION', message: expect.stringContaining(message) }),
    );
  });

  test.each([
    ['https://api.example.com', 'end with /'],
    ['https://api.example.com/v1', 'end with /'],
    ['https://api.example.com/?a=/', 'end with /'],
    ['https://api.example.com/#/', 'end with /'],
    ['https://*.example.com/', '{{ }} and *'],
    ['https://{{ parameters.q }}/', '{{ }} and *'],
    ['https://u@api.example.com/', 'user name'],
    ['ftp://api.example.com/', 'http or https'],
    ['api.example.com/', 'http or https'],
  ])('is refused with the invalid prefix %s', (text, message) => {
    expect(readPrefix(text)).toEqual(expect.stringContaining(message));
  });
});
