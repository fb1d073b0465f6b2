import { describe, expect, test } from 'vitest';
import { convertResult } from '../../../../../actors/agents/model-agent/tool-result.ts';

const text = (...texts: unknown[]) => ({ content: texts.map((item) => ({ type: 'text', text: item })) });
const KIB_64 = 65_536;

test('a model receives the texts of a result and whether the tool failed', () => {
  expect(convertResult(text('one', 'two'))).toEqual({ text: 'one\ntwo', isError: false });
  expect(convertResult({ ...text('no such file'), isError: true })).toEqual({
    text: 'no such file',
    isError: true,
  });
});

test('structured data of a result is converted to JSON if the result has no text', () => {
  expect(convertResult({ structuredContent: { a: 1 } }).text).toBe('{"a":1}');
  expect(convertResult({ content: [], structuredContent: { a: 1 } }).text).toBe('{"a":1}');
  expect(convertResult({ ...text('a is 1'), structuredContent: { a: 1 } }).text).toBe('a is 1');
});

test.each([
  [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }, '(image of type image/png, 3 bytes)'],
  [{ type: 'audio', data: 'AAAA' }, '(audio, 3 bytes)'],
  [{ type: 'resource_link', uri: 'file:///a', name: 'a' }, '(resource a file:///a)'],
  [{ type: 'resource', resource: { uri: 'file:///a', text: 'in it' } }, '(resource file:///a)\nin it'],
  [{ type: 'resource', resource: { uri: 'file:///a', blob: 'AAAA' } }, '(resource file:///a, 3 bytes)'],
  [{ type: 'video' }, '(content of an unknown type)'],
])('result content other than text is described in words: %j', (part, description) => {
  expect(convertResult({ content: [part] }).text).toBe(description);
});

test.each([
  [{}],
  [{ content: [] }],
  [{ content: 'text' }],
  [{ content: [null, 5, { type: 'text' }, { type: 'text', text: 7 }, { type: 'resource' }] }],
])('a malformed result has no content: %j', (result) => {
  expect(convertResult(result as object).text).toBe('(no content)');
});

describe('a long result', () => {
  test('is complete up to 64 KiB', () => {
    const whole = 'x'.repeat(KIB_64);
    expect(convertResult(text(whole)).text).toBe(whole);
  });

  test.each(['x', 'ü', '€', '😀'])('of %s is truncated between characters, with a notice', (sign) => {
    for (const before of ['', 'x', 'xx', 'xxx']) {
      const long = before + sign.repeat(KIB_64 + 1);
      const { text: told } = convertResult(text(long));
      expect(Buffer.byteLength(told)).toBeLessThanOrEqual(KIB_64);
      expect(Buffer.byteLength(told)).toBeGreaterThan(KIB_64 - 200);
      const [, kept = '', left, size] = /^([^\n]*)\n\(truncated: (\d+) of (\d+) bytes/.exec(told) ?? [];
      expect(long.startsWith(kept)).toBe(true);
      expect([Number(left), Number(size)]).toEqual([
        Buffer.byteLength(long) - Buffer.byteLength(kept),
        Buffer.byteLength(long),
      ]);
    }
  });
});

test('a lone surrogate in a result, which providers reject, is replaced', () => {
  expect(convertResult(text('a\ud83d')).text).toBe('a\ufffd');
});
