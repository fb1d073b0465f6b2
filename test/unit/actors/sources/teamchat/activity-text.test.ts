import { expect, test } from 'vitest';
import { wordsOf } from '../../../../../actors/sources/teamchat/activity-text.ts';

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
