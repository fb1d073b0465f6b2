import { describe, expect, test } from 'vitest';
import { toolAnswer } from '../../../../../actors/agents/model-agent/tool-answer.ts';

const text = (...texts: unknown[]) => ({ content: texts.map((one) => ({ type: 'text', text: one })) });
const KIB_64 = 65_536;

test('a model is told the texts of a result, and whether the tool has failed', () => {
  expect(toolAnswer(text('one', 'two'))).toEqual({ text: 'one\ntwo', isError: false });
  expect(toolAnswer({ ...text('no such file'), isError: true })).toEqual({
    text: 'no such file',
    isError: true,
  });
});

test('data is told as JSON where there is no text', () => {
  expect(toolAnswer({ structuredContent: { a: 1 } }).text).toBe('{"a":1}');
  expect(toolAnswer({ content: [], structuredContent: { a: 1 } }).text).toBe('{"a":1}');
  expect(toolAnswer({ ...text('a is 1'), structuredContent: { a: 1 } }).text).toBe('a is 1');
});

test.each([
  [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }, '(image of type image/png, 3 bytes)'],
  [{ type: 'audio', data: 'AAAA' }, '(audio, 3 bytes)'],
  [{ type: 'resource_link', uri: 'file:///a', name: 'a' }, '(resource a file:///a)'],
  [{ type: 'resource', resource: { uri: 'file:///a', text: 'in it' } }, '(resource file:///a)\nin it'],
  [{ type: 'resource', resource: { uri: 'file:///a', blob: 'AAAA' } }, '(resource file:///a, 3 bytes)'],
  [{ type: 'video' }, '(content that is not shown)'],
])('what is no text is named in words: %j', (part, words) => {
  expect(toolAnswer({ content: [part] }).text).toBe(words);
});

test.each([
  [{}],
  [{ content: [] }],
  [{ content: 'text' }],
  [{ content: [null, 5, { type: 'text' }, { type: 'text', text: 7 }, { type: 'resource' }] }],
])('a result that is nothing of what it should be is no content: %j', (result) => {
  expect(toolAnswer(result as object).text).toBe('(no content)');
});

describe('a long result (TAN1)', () => {
  test('is whole up to 64 KiB', () => {
    const whole = 'x'.repeat(KIB_64);
    expect(toolAnswer(text(whole)).text).toBe(whole);
  });

  test.each(['x', 'ü', '€', '😀'])(
    'is cut beyond that between two characters, of %s, and says so',
    (sign) => {
      for (const before of ['', 'x', 'xx', 'xxx']) {
        const long = before + sign.repeat(KIB_64 + 1);
        const { text: told } = toolAnswer(text(long));
        expect(Buffer.byteLength(told)).toBeLessThanOrEqual(KIB_64);
        expect(Buffer.byteLength(told)).toBeGreaterThan(KIB_64 - 200);
        const [, kept = '', left, size] = /^([^\n]*)\n\(cut here: (\d+) of (\d+) bytes/.exec(told) ?? [];
        expect(long.startsWith(kept)).toBe(true);
        expect([Number(left), Number(size)]).toEqual([
          Buffer.byteLength(long) - Buffer.byteLength(kept),
          Buffer.byteLength(long),
        ]);
      }
    },
  );
});

test('half of a character, which no provider takes, is replaced', () => {
  expect(toolAnswer(text('a\ud83d')).text).toBe('a\ufffd');
});
