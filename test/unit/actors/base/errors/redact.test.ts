import { describe, expect, test } from 'vitest';
import { Redactor, urlWithoutQuery } from '../../../../../actors/base/errors/redact.ts';
import { redactJson } from '../../../../../actors/base/errors/redacted-json.ts';
import { newKeyText } from '../../../../../actors/identity/access-keys/key-text.ts';

describe('a redactor', () => {
  test('redacts a secret in plain text, inside JSON and inside a URL', () => {
    const secret = 'p"ss/w\u00f6rd +1';
    const redactor = new Redactor([secret]);
    const pythonJson = '"p\\"ss/w\\u00f6rd +1"';
    expect(redactor.redact(`is ${secret}.`)).toBe('is [redacted].');
    expect(redactor.redact(JSON.stringify({ key: secret }))).toBe('{"key":"[redacted]"}');
    expect(redactor.redact(pythonJson)).toBe('"[redacted]"');
    expect(redactor.redact(`?key=${encodeURIComponent(secret)}&a=1`)).toBe('?key=[redacted]&a=1');
    expect(redactor.redact(`?${new URLSearchParams({ key: secret })}`)).toBe('?key=[redacted]');
    expect(redactor.redact(encodeURIComponent(secret).toLowerCase())).toBe('[redacted]');
  });

  test('redacts overlapping secrets as one, and the longer of two secrets with the same beginning', () => {
    expect(new Redactor(['abcdefgh', 'defghijk']).redact('1abcdefghijk2')).toBe('1[redacted]2');
    expect(new Redactor(['secret-a', 'secret-and-more']).redact('secret-and-more')).toBe('[redacted]');
  });

  test('redacts with thousands of secrets what it redacts with a few, as fast', () => {
    const few = ['abcdefgh', 'defghijk', 'hijklmno', 'secret-a', 'secret-and-more', 'p"ss/w\u00f6rd'];
    const many = Array.from({ length: 10_000 }, (_, n) => `token-${n}-unused`);
    const redactor = new Redactor([...many, ...few]);
    for (const text of ['1abcdefghijk2', 'defghijklmno', 'secret-and-more', 'p"ss/w\u00f6rd', few.join(' ')])
      for (const each of [text, JSON.stringify(text), encodeURIComponent(text), `a${text}`.repeat(3)])
        expect(redactor.redact(each)).toBe(new Redactor(few).redact(each));
    const { user } = process.cpuUsage();
    expect(redactor.redact(`${'a word '.repeat(20_000)}token-77-unused.`)).toMatch(/ word \[redacted\]\.$/);
    expect(process.cpuUsage().user - user).toBeLessThan(200_000);
  });

  test('redacts access keys by their form, and the start of a key at the end of a text', () => {
    const key = newKeyText().text;
    const redactor = new Redactor([]);
    expect(redactor.redact(`a ${key}, b ${key}`)).toBe('a [redacted], b [redacted]');
    expect(redactor.redact(JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
    expect(redactor.redact(`cut ${key.slice(0, 30)}`)).toBe('cut [redacted]');
    expect(redactor.redact('agk_ alone, agk_abc')).toBe('agk_ alone, agk_abc');
    for (let end = 0; end < key.length + 2; end += 1)
      expect(redactor.excerpt(`${key} ${'x'.repeat(100)}`, end)).not.toContain(key.slice(14, 17));
  });

  test('ignores secrets of fewer than eight characters', () => {
    expect(new Redactor(['s3cret7', 's3cret78']).redact('s3cret7 s3cret78')).toBe('s3cret7 [redacted]');
  });

  test('returns a text without secrets unchanged, and redacts a secret with a broken surrogate pair', () => {
    expect(new Redactor([]).redact('secret')).toBe('secret');
    expect(new Redactor(['broken-1\ud800']).redact('broken-1\ud800')).toBe('[redacted]');
  });

  test('redacts secrets that are added later', () => {
    const redactor = new Redactor([]);
    redactor.add('late-secret', 'other-secret');
    expect(redactor.redact('late-secret other-secret')).toBe('[redacted] [redacted]');
  });

  test('shows no part of a secret at the cut of an excerpt', () => {
    const redactor = new Redactor(['top-secret']);
    expect(redactor.excerpt('0123 top-secret 6789', 8)).toBe('0123 [redacted]…');
    // The text was cut before (`true`): its last characters may be the start of a secret.
    expect(redactor.excerpt('0123 top-se', 100, true)).toBe('01…');
    expect(redactor.excerpt('short', 100)).toBe('short');
    expect(redactor.excerpt('ab🎭cd', 3)).toBe('ab…');
  });
});

describe('a redacted JSON value', () => {
  const redactor = new Redactor(['123456789', 'top-secret', 'top-secret\nof two lines']);
  const redacted = (value: unknown) => redactJson(value, (text) => redactor.redact(text));

  test('contains [redacted] in place of each secret in texts, numbers and names', () => {
    const value = { chat: 123456789, 'by top-secret': [true, null, 1.5, 'top-secret\nof two lines!'] };
    expect(redacted(value)).toEqual({
      chat: '[redacted]',
      'by [redacted]': [true, null, 1.5, '[redacted]!'],
    });
  });

  test('keeps a member named __proto__', () => {
    const text = '{"__proto__":{"a":123456789}}';
    expect(JSON.stringify(redacted(JSON.parse(text)))).toBe('{"__proto__":{"a":"[redacted]"}}');
  });
});

describe('urlWithoutQuery', () => {
  test.each([
    ['https://user:pass@mcp.example.com:8443/a/b?key=1#f', 'https://mcp.example.com:8443/a/b'],
    ['/mcp?key=1', '/mcp'],
    ['http://user:pass@not a host/x?y', 'http://not a host/x'],
  ])('shortens %s to %s', (url, redacted) => {
    expect(urlWithoutQuery(url)).toBe(redacted);
  });
});
