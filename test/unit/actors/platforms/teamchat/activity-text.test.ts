import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wordsOf } from '../../../../../actors/platforms/teamchat/activity-text.ts';

const BOT = '28:bot';
const mention = (id: string, name: string, text?: string) => ({
  type: 'mention',
  mentioned: { id, name },
  ...(text !== undefined && { text }),
});
const bot = mention(BOT, 'Desk', '<at>Desk</at>');

test.each([
  ['a mention of the bot', '<at>Desk</at> deploy x', [bot], 'deploy x'],
  ['one with a line end and a slash', '<at>Desk</at>&nbsp;/deploy x\n', [bot], '/deploy x'],
  ['one without a text of its own', '<at>Desk</at> hi', [mention(BOT, 'Desk')], 'hi'],
  ['one in the middle', 'please, <at>Desk</at> deploy', [bot], 'please, deploy'],
  ['one at the end, and one more', '<at>Desk</at> go <at>Desk</at>', [bot], 'go'],
  ['one with signs in its name', '<at>R&amp;D</at> hi', [mention(BOT, 'R&D', '<at>R&amp;D</at>')], 'hi'],
  [
    'those of others',
    'ask <at>Ada L</at> and <at>Desk</at>',
    [bot, mention('29:a', 'Ada L')],
    'ask Ada L and',
  ],
  ['tags that somebody typed', '&lt;at&gt;Desk&lt;/at&gt; hi', [bot], '<at>Desk</at> hi'],
  [
    'entities, decoded once',
    'a &lt;b&gt; &amp;amp; &quot;c&quot; &#39;d&#x27; &unknown; &#0;',
    [],
    `a <b> &amp; "c" 'd' &unknown; &#0;`,
  ],
  ['nothing but a mention', '<at>Desk</at> ', [bot], undefined],
  ['blanks', ' \u00a0&nbsp;', [], undefined],
])('of %s remains what was said (TCT1, TCT2)', (_, text, entities, words) => {
  expect(wordsOf({ text, entities }, BOT)).toBe(words);
});

test('what has another shape than it should is passed over', () => {
  for (const entities of [null, 7, 'x', [null, 7, { type: 'mention' }, { type: 'mention', mentioned: 7 }]])
    expect(wordsOf({ text: 'hi', entities }, BOT)).toBe('hi');
  expect(wordsOf({ text: 7 }, BOT)).toBe(undefined);
  expect(wordsOf({}, undefined)).toBe(undefined);
});

const MANY = 1024 * 1024;
test.each<readonly [string, string, readonly unknown[]]>([
  ['tags that do not end', '<at '.repeat(MANY / 4), []],
  ['mentions that do not end', '<at>'.repeat(MANY / 4), []],
  ['blanks before a mention', `${' '.repeat(MANY / 2)}x${' '.repeat(MANY / 2)}<at>Desk</at> hi`, [bot]],
  ['blanks between mentions', `<at>Desk</at>${'&nbsp; '.repeat(MANY / 7)}<at>Desk</at> hi`, [bot]],
  ['blanks that are followed by nothing', `<at>Desk</at>x${' x'.repeat(MANY / 2)}`, [bot]],
  [
    'entities for different names',
    'a'.repeat(MANY / 2),
    Array.from({ length: 10_000 }, (_, n) => mention(BOT, `${n}`, `b${'a'.repeat(n % 200)}`)),
  ],
  ['one long name', 'a'.repeat(MANY / 2), [mention(BOT, 'x', `b${'a'.repeat(MANY / 4)}`)]],
])('a body of %s is read in time that grows with its length (TCT3)', (_, text, entities) => {
  const begun = performance.now();
  wordsOf({ text, entities }, BOT);
  expect(performance.now() - begun).toBeLessThan(1_000);
});

/** By regular expressions, which are plain and slow. */
function plainly(text: string, mentions: readonly string[]): string | undefined {
  let words = text;
  for (const each of mentions)
    words = words
      .split(each)
      .map((part, i, all) => {
        const begun = i === 0 ? part : part.replace(/^(?:[ \u00a0]|&nbsp;)+/, '');
        return i === all.length - 1 ? begun : begun.replace(/(?:[ \u00a0]|&nbsp;)+$/, '');
      })
      .filter((part) => part !== '')
      .join(' ');
  words = words.replace(/<at(?:\s[^>]*)?>([^<]*)<\/at>/g, '$1').replace(/&nbsp;|\u00a0/g, ' ');
  return words.trim() || undefined;
}

test('what remains is what plain expressions leave', () => {
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
      expect(wordsOf({ text, entities }, BOT)).toBe(plainly(text, mentions));
    }),
  );
});
