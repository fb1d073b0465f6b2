import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeHidden, escapeHiddenLine } from '../../../../../actors/base/errors/hidden-characters.ts';

test('default-ignorable characters, fillers, blanks and direction marks are shown as escapes', () => {
  const hidden = [
    '\u0000\u001b\u007f\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u180e\u2003\u200b\u200d',
    '\u200f\u2028\u202e\u202f\u205f\u2060\u2064\u2069\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufff0\ue000',
    '\u{e0041}\u{e0100}\u{1bca0}\u{1d159}\u{1d173}\u{13441}',
  ].join('');
  for (const character of hidden) {
    expect(escapeHidden(character)).toMatch(/^(?:\\u[0-9a-f]{4}){1,2}$/);
    expect(JSON.parse(escapeHidden(JSON.stringify(character)))).toBe(character);
  }
  const plain = 'pay 100 € to Zoë, 東京, ไทย, 😀, a\tb\nc';
  expect(escapeHidden(plain)).toBe(plain);
  expect(escapeHiddenLine(' a\tb\r\nc\u2028d\u3164')).toBe(' a b c d\\u3164');
});

test('JSON with escaped hidden characters is equal', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), (json) => {
      expect(JSON.parse(escapeHidden(json))).toEqual(JSON.parse(json));
    }),
  );
});
