// Markdown of an agent in the dialects of the chats, for each construct that models write.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escapeMarkdown } from '../../../../../actors/events/outbox/escape-markdown.ts';
import { entityText } from '../../../../../actors/platforms/botmessenger/entities.ts';
import { messengerText } from '../../../../../actors/platforms/businessmessenger/dialect.ts';
import { writerOf } from '../../../../../actors/platforms/chatworkspace/markup.ts';
import { plainLines, styledLines } from '../../../../../actors/platforms/markdown/styled-lines.ts';
import { tablesAsCode } from '../../../../../actors/platforms/markdown/tables-as-code.ts';
import { teamMarkdown } from '../../../../../actors/platforms/teamchat/team-markdown.ts';

const workspace = (markdown: string) => writerOf('markdown', false)(markdown);
const messenger = (markdown: string) => messengerText(markdown, 'markdown');
/** Returns text in which entities are written as `{TYPE TEXT}`. */
function bot(markdown: string): string {
  const { text, entities } = entityText(styledLines(markdown));
  return entities
    .toSorted((a, b) => b.offset - a.offset || a.length - b.length)
    .reduce((all, { type, offset, length, url, language }) => {
      const end = offset + length;
      const marked = `{${[type, url, language].filter(Boolean).join(' ')} ${all.slice(offset, end)}}`;
      return all.slice(0, offset) + marked + all.slice(end);
    }, text);
}

describe('Markdown', () => {
  test.each([
    ['bold', 'a **b c** d', 'a *b c* d', 'a *b c* d', 'a {bold b c} d'],
    ['italic', 'a *b* _c_', 'a _b_ _c_', 'a _b_ _c_', 'a {italic b} {italic c}'],
    ['struck', '~~b~~', '~b~', '~b~', '{strikethrough b}'],
    ['code', '`a *b* <c>`', '`a *b* &lt;c&gt;`', '`a *b* <c>`', '{code a *b* <c>}'],
    ['a heading', '## A **b**', '*A b*', '*A b*', '{bold A b}'],
    ['a list', '- a\n  * b\n1. c', '• a\n  • b\n1. c', '• a\n  • b\n1. c', '• a\n  • b\n1. c'],
    ['a quotation', '> a **b**', '&gt; a *b*', '> a *b*', '> a {bold b}'],
    ['a rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb', 'a\n\n———\n\nb', 'a\n\n———\n\nb'],
    [
      'a link',
      '[a b](https://x.example/?a=1&b=2)',
      '<https://x.example/?a=1&amp;b=2|a b>',
      'a b (https://x.example/?a=1&b=2)',
      '{text_link https://x.example/?a=1&b=2 a b}',
    ],
    [
      'an image',
      '![a](https://x.example/i)',
      '<https://x.example/i|a>',
      'a (https://x.example/i)',
      '{text_link https://x.example/i a}',
    ],
    [
      'a link that looks like another address',
      '[**bank**.example](https://evil.example)',
      '*bank*.example (https://evil.example)',
      '*bank*.example (https://evil.example)',
      '{bold bank}.example (https://evil.example)',
    ],
    ['an unsafe link', '[a](javascript:b)', 'a (javascript:b)', 'a (javascript:b)', 'a (javascript:b)'],
    [
      'a bare address',
      'https://x.example/_a_/b',
      'https://x.example/_a_/b',
      'https://x.example/_a_/b',
      'https://x.example/_a_/b',
    ],
    ['an escape', '\\*a\\* 2 * 3', '*\u2060a* 2 * 3', '*\u2060a* 2 * 3', '*a* 2 * 3'],
    [
      'a name',
      'snake_case_name __init__.py',
      'snake_case_name *init*.py',
      'snake_case_name *init*.py',
      'snake_case_name {bold init}.py',
    ],
    [
      'a styled part of a word',
      '这是**重点**内容',
      '这是\u200b*重点*\u200b内容',
      '这是\u200b*重点*\u200b内容',
      '这是{bold 重点}内容',
    ],
    ['a style over two lines', '**a\nb**', '*a*\n*b*', '*a*\n*b*', '{bold a}\n{bold b}'],
    [
      'HTML',
      'a<br>b <i>c</i> &amp;',
      'a\nb &lt;i&gt;c&lt;/i&gt; &amp;',
      'a\nb <i>c</i> &',
      'a\nb <i>c</i> &',
    ],
    [
      'a code block',
      '```sh\n**a** <b>\n```',
      '```sh\n**a** &lt;b&gt;\n```',
      '```sh\n**a** <b>\n```',
      '{pre sh **a** <b>}',
    ],
    ['a mention', '<!channel> <@U1>', '&lt;!channel&gt; &lt;@U1&gt;', '<!channel> <@U1>', '<!channel> <@U1>'],
  ])('%s is written in each dialect', (_, markdown, ...dialects) => {
    const [ofWorkspace, ofMessenger, ofBot] = dialects;
    expect([workspace(markdown), messenger(markdown), bot(markdown)]).toEqual([
      ofWorkspace,
      ofMessenger,
      ofBot,
    ]);
  });

  test('plain text keeps its lines, indentation and blank lines', () => {
    const text = 'Title\n=====\n\n    four blanks\n\ttab\n\n\n  x = 1\n5) five\n#tag 50% <b> a_b\n';
    expect(messenger(text)).toBe(text);
    expect(bot(text)).toBe(text);
    expect(workspace(text)).toBe(text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'));
  });

  test('in the team chat has a hard break after each line, and bold lines instead of headings', () => {
    expect(teamMarkdown('# A *b*\nweb: up\ndb: down\n\n- a\n- b\n\n```\n# x\ny\n```\nend')).toBe(
      '**A *b***  \nweb: up  \ndb: down\n\n- a  \n- b\n\n```\n# x\ny\n```\nend',
    );
  });

  test('a table becomes code with aligned columns, unless it is very wide', () => {
    const table =
      'a\n\n| Name | `n` |\n|:--|--:|\n| **web** | 1 |\n| 数据 | [b](https://x.example) |\n\nend | of\n---';
    expect(tablesAsCode(table)).toBe(
      [
        'a\n\n```',
        'Name | n',
        '-----|----------------------',
        'web  | 1',
        '数据 | b (https://x.example)',
        '```\n\nend | of\n---',
      ].join('\n'),
    );
    const wide = `| a | b |\n|---|---|\n| ${'x'.repeat(200)} | y |`;
    expect(tablesAsCode(wide)).toBe(`\`\`\`\na | b\n${'x'.repeat(200)} | y\n\`\`\``);
  });
});

describe('the form of an answer', () => {
  test('native keeps the dialect, and links of it, but no mentions', () => {
    const text = '*b* <https://x.example|here> <!channel> **x**';
    expect(writerOf('native', false)(text)).toBe('*b* <https://x.example|here> &lt;!channel&gt; **x**');
    expect(writerOf('native', true)(text)).toBe(text);
    expect(messengerText(text, 'native')).toBe(text);
  });

  test('plain shows every mark', () => {
    expect(writerOf('plain', false)('*b* **c** <d>')).toBe('*\u2060b* **\u2060c** &lt;d&gt;');
    expect(messengerText('- *b* [l](u)', 'plain')).toBe('- *\u2060b* [l](u)');
    expect(entityText(plainLines('*b*')).entities).toEqual([]);
  });
});

const markdown = fc.string({
  unit: fc.constantFrom(
    'word',
    ' ',
    '\n',
    '*',
    '**',
    '_',
    '`',
    '```\n',
    'a~~',
    '[',
    '](https://x.example)',
    '|',
    '---',
    '#',
    '- ',
    '> ',
    '\\',
    '<',
    '&',
    '1. ',
    '😀',
    '\t',
  ),
  maxLength: 60,
});

test('escaped text appears literally, without a style', () => {
  fc.assert(
    fc.property(fc.oneof(markdown, fc.string()), (text) => {
      // Blanks at the end of a line are invisible.
      const lines = text.replace(/\r\n?/g, '\n').replace(/[^\S\n]+$/gm, '');
      expect(entityText(styledLines(escapeMarkdown(lines)))).toEqual({ text: lines, entities: [] });
    }),
    { numRuns: 300 },
  );
});

test('no word is lost, and entities stay within the text', () => {
  fc.assert(
    fc.property(markdown, (text) => {
      const count = (all: string) => all.match(/word|😀/g)?.length ?? 0;
      const { text: written, entities } = entityText(styledLines(text));
      for (const each of [written, workspace(text), messenger(text), teamMarkdown(text), tablesAsCode(text)])
        expect(count(each)).toBe(count(text));
      for (const { offset, length } of entities) {
        expect(length).toBeGreaterThan(0);
        expect(offset + length).toBeLessThanOrEqual(written.length);
      }
    }),
    { numRuns: 300 },
  );
});
