import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textOf } from '../../../../../actors/platforms/teamchat/activity-text.ts';

const BOT = '28:bot';
const mention = (id: string, name: string, text?: string) => ({
  type: 'mention',
  mentioned: { id, name },
  ...(text !== undefined && { text }),
});
const bot = mention(BOT, 'Desk', '<at>Desk</at>');

test.each([
  ['a mention of the bot', '<at>Desk</at> deploy x', [bot], 'deploy x'],
  ['a mention with line end and slash', '<at>Desk</at>&nbsp;/deploy x\n', [bot], '/deploy x'],
  ['a mention without text', '<at>Desk</at> hi', [mention(BOT, 'Desk')], 'hi'],
  ['a mention in the middle', 'please, <at>Desk</at> deploy', [bot], 'please, deploy'],
  ['mentions at the end and in the middle', '<at>Desk</at> go <at>Desk</at>', [bot], 'go'],
  [
    'a mention with encoded characters',
    '<at>R&amp;D</at> hi',
    [mention(BOT, 'R&D', '<at>R&amp;D</at>')],
    'hi',
  ],
  [
    'mentions of other users',
    'ask <at>Ada L</at> and <at>Desk</at>',
    [bot, mention('29:a', 'Ada L')],
    'ask Ada L and',
  ],
  ['typed tags', '&lt;at&gt;Desk&lt;/at&gt; hi', [bot], '<at>Desk</at> hi'],
  [
    'entities, decoded once',
    'a &lt;b&gt; &amp;amp; &quot;c&quot; &#39;d&#x27; &unknown; &#0;',
    [],
    `a <b> &amp; "c" 'd' &unknown; &#0;`,
  ],
  ['only a mention', '<at>Desk</at> ', [bot], undefined],
  ['blanks', ' \u00a0&nbsp;', [], undefined],
])('an activity text with %s is reduced to the words that the user wrote', (_, text, entities, expected) => {
  expect(textOf({ text, entities }, BOT)).toBe(expected);
});

test('entities of an activity with an unexpected shape are ignored', () => {
  for (const entities of [null, 7, 'x', [null, 7, { type: 'mention' }, { type: 'mention', mentioned: 7 }]])
    expect(textOf({ text: 'hi', entities }, BOT)).toBe('hi');
  expect(textOf({ text: 7 }, BOT)).toBe(undefined);
  expect(textOf({}, undefined)).toBe(undefined);
});

const MANY = 1024 * 1024;
test.each<readonly [string, string, readonly unknown[]]>([
  ['unclosed tags', '<at '.repeat(MANY / 4), []],
  ['unclosed mentions', '<at>'.repeat(MANY / 4), []],
  ['blanks before a mention', `${' '.repeat(MANY / 2)}x${' '.repeat(MANY / 2)}<at>Desk</at> hi`, [bot]],
  ['blanks between mentions', `<at>Desk</at>${'&nbsp; '.repeat(MANY / 7)}<at>Desk</at> hi`, [bot]],
  ['blanks without a mention after them', `<at>Desk</at>x${' x'.repeat(MANY / 2)}`, [bot]],
  [
    'entities with different names',
    'a'.repeat(MANY / 2),
    Array.from({ length: 10_000 }, (_, n) => mention(BOT, `${n}`, `b${'a'.repeat(n % 200)}`)),
  ],
  ['one long name', 'a'.repeat(MANY / 2), [mention(BOT, 'x', `b${'a'.repeat(MANY / 4)}`)]],
])('a body with %s is read in linear time', (_, text, entities) => {
  const startedAt = performance.now();
  textOf({ text, entities }, BOT);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

/** Reference implementation with regular expressions: simple, but slow. */
function textByExpressions(text: string, mentions: readonly string[]): string | undefined {
  let expected = text;
  for (const each of mentions)
    expected = expected
      .split(each)
      .map((part, i, all) => {
        const startedAt = i === 0 ? part : part.replace(/^(?:[ \u00a0]|&nbsp;)+/, '');
        return i === all.length - 1 ? startedAt : startedAt.replace(/(?:[ \u00a0]|&nbsp;)+$/, '');
      })
      .filter((part) => part !== '')
      .join(' ');
  expected = expected.replace(/<at(?:\s[^>]*)?>([^<]*)<\/at>/g, '$1').replace(/&nbsp;|\u00a0/g, ' ');
  return expected.trim() || undefined;
}

test('the parser reads the same text of an activity as the regular expressions that define it', () => {
  const piece = fc.constantFrom(
    '<at>Desk</at>',
    '<at id="0">Desk</at>',
    '<at>Ada L</at>',
    ' ',
    '\u00a0',
    '&nbsp;',
    '&nbsp',
    'deploy',
    '\n',
    '<b>',
    '</at>',
    '>',
  );
  const entities = [bot, mention(BOT, 'Desk', '<at id="0">Desk</at>'), bot, mention('29:a', 'Ada L')];
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const text = pieces.join('');
      const mentions = ['<at>Desk</at>', '<at id="0">Desk</at>'];
      expect(textOf({ text, entities }, BOT)).toBe(textByExpressions(text, mentions));
    }),
  );
});
