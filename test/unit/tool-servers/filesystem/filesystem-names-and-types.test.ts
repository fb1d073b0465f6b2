import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { pathToUri, uriToPath } from '../../../../tool-servers/filesystem/paths/file-uri.ts';
import { mediaTypeOf, mimeTypeOfName } from '../../../../tool-servers/filesystem/paths/media-type.ts';
import { toOneLine } from '../../../../tool-servers/filesystem/paths/path-text.ts';

describe('a file URI', () => {
  test.each(['/a/b.txt', '/a b/ü #1?.md', '/100%.txt', '/a%2fb', '/tab\there', '/back\\slash', '/日本'])(
    'of %j is converted back to it',
    (path) => {
      expect(uriToPath(pathToUri(path))).toBe(path);
      expect(uriToPath(pathToFileURL(path).href)).toBe(path);
    },
  );

  test('may have localhost as host, and unescaped letters in the path', () => {
    expect(uriToPath('file://localhost/a')).toBe('/a');
    expect(uriToPath('FILE:///a')).toBe('/a');
    expect(uriToPath('file:///ü')).toBe('/ü');
  });

  test('has its dot segments resolved first', () => {
    expect(uriToPath('file:///a/../b')).toBe('/b');
    expect(uriToPath('file:///a/%2e%2e/b')).toBe('/b');
  });

  test.each([
    'garbage',
    '',
    'http://localhost/a',
    'file:a',
    'file:/a',
    'file://a',
    'file://other/a',
    'file://127.0.0.1/a',
    'file://user@/a',
    'file:///a%2fb',
    'file:///a%2Fb',
    'file:///a%00',
    'file:///a%',
    'file:///a%zz',
    'file:///%ff',
    'file:///a?b',
    'file:///a#b',
    'file:///a\\b',
    'file:///a b',
    'file:///a\nb',
    'file:///a\u0000b',
    `file:///${'a'.repeat(20_000)}`,
  ])('%j is refused with an error that shows the correct form', (uri) => {
    expect(() => uriToPath(uri)).toThrow('file:///folder/name.txt');
  });
});

describe('a file name in a list with one name per line', () => {
  test('is unchanged unless it contains a line break, and is then quoted', () => {
    expect(toOneLine('a "b" \\ ü')).toBe('a "b" \\ ü');
    expect(toOneLine('a\n[DIR] b')).toBe('"a\\n[DIR] b"');
    expect(toOneLine('a\u2028b\u0085')).toBe('"a\\u2028b\\u0085"');
  });
});

describe('a media type', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');

  test.each([
    ['\x89PNG\r\n\x1a\n....', 'image', 'image/png'],
    ['\xff\xd8\xff\xe0', 'image', 'image/jpeg'],
    ['GIF89a', 'image', 'image/gif'],
    ['RIFF\0\0\0\0WEBPVP8 ', 'image', 'image/webp'],
    ['\0\0\0\x20ftypavif', 'image', 'image/avif'],
    ['BM\x01\x02\x03\x04\0\0\0\0', 'image', 'image/bmp'],
    ['RIFF\n\0\0\0WAVEfmt ', 'audio', 'audio/wav'],
    ['OggS', 'audio', 'audio/ogg'],
    ['fLaC', 'audio', 'audio/flac'],
    ['ID3\x04', 'audio', 'audio/mpeg'],
    ['\xff\xfb\x90', 'audio', 'audio/mpeg'],
    ['\xff\xf1\x50', 'audio', 'audio/aac'],
    ['\0\0\0\x20ftypM4A ', 'audio', 'audio/mp4'],
  ])('%j is recognized by its bytes', (start, kind, mimeType) => {
    expect(mediaTypeOf('unknown', bytes(start))).toEqual({ kind, mimeType });
  });

  test('is not audio for a text that begins with the letters ID3', () => {
    for (const start of ['ID3 is an algorithm', 'ID3\n', 'ID3'])
      expect(mediaTypeOf('id3.txt', bytes(start)).kind, start).toBe('other');
  });

  test('is not derived from the name if the bytes are not an image', () => {
    expect(mediaTypeOf('a.png', bytes('<html>'))).toEqual({
      kind: 'other',
      mimeType: 'application/octet-stream',
    });
    expect(mediaTypeOf('a.svg', bytes('<svg/>'))).toEqual({ kind: 'other', mimeType: 'image/svg+xml' });
  });

  test('is derived from the name alone for JSON, but not for images', () => {
    expect(mimeTypeOfName('A.JSON')).toBe('application/json');
    expect(mimeTypeOfName('a.png')).toBeUndefined();
    expect(mimeTypeOfName('Makefile')).toBeUndefined();
  });
});
