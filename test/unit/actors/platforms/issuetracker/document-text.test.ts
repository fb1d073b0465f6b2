// Text of tracker documents, for agents: written by people or the gateway, or with invalid content.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commentDocuments } from '../../../../../actors/platforms/issuetracker/document/comment-documents.ts';
import { textOfDocument } from '../../../../../actors/platforms/issuetracker/document-text.ts';
import { document, paragraph } from '../../../../fixtures/issue-tracker/payloads.ts';

const node = (type: string, content: readonly unknown[] = [], attrs: object = {}) => ({
  type,
  attrs,
  content,
});
const item = (...content: readonly unknown[]) => node('listItem', content);
const text = (words: string, ...marks: readonly object[]) => ({ type: 'text', text: words, marks });

describe('textOfDocument', () => {
  test.each([
    ['separates paragraphs', [paragraph('One'), paragraph('two ', 'three')], 'One\n\ntwo three'],
    ['keeps line breaks', [node('paragraph', [text('a'), { type: 'hardBreak' }, text('b')])], 'a\nb'],
    ['shows the level of a heading', [node('heading', [text('Title')], { level: 3 })], '### Title'],
    [
      'supports nested lists',
      [node('bulletList', [item(paragraph('a'), node('orderedList', [item(paragraph('b'))], { order: 4 }))])],
      '- a\n  4. b',
    ],
    [
      'shows the state of tasks',
      [
        node('taskList', [
          node('taskItem', [text('done')], { state: 'DONE' }),
          node('taskItem', [text('to do')], { state: 'TODO' }),
        ]),
      ],
      '- [x] done\n- [ ] to do',
    ],
    [
      'keeps code unchanged in a sufficient fence',
      [node('codeBlock', [text('```\nif (a)  {\n')], { language: 'js' })],
      '````js\n```\nif (a)  {\n\n````',
    ],
    [
      'ends no link early, and no code',
      [
        node('paragraph', [
          text('bank](https://evil.example) [x\ny', {
            type: 'link',
            attrs: { href: 'https://x.example/(a) b' },
          }),
          text(' '),
          text('a`b``', { type: 'code' }),
        ]),
      ],
      '[bank\\](https://evil.example) \\[x y](https://x.example/%28a%29%20b) ``` a`b`` ```',
    ],
    ['marks quotations', [node('blockquote', [paragraph('a'), paragraph('b')])], '> a\n> \n> b'],
    [
      'shows the text of mentions, emojis, states, dates and cards',
      [
        node('paragraph', [
          node('mention', [], { id: '712020:ada', text: '@Ada' }),
          text(' '),
          node('emoji', [], { shortName: ':tada:', text: '🎉' }),
          text(' '),
          node('status', [], { text: 'IN PROGRESS' }),
          text(' '),
          node('date', [], { timestamp: '1771200000000' }),
          text(' '),
          node('inlineCard', [], { url: 'https://acme.example/browse/OPS-1' }),
        ]),
      ],
      '@Ada 🎉 IN PROGRESS 2026-02-16 https://acme.example/browse/OPS-1',
    ],
    [
      'shows the address of a link once',
      [
        node('paragraph', [
          text('here', { type: 'link', attrs: { href: 'https://a.example' } }),
          text(' or '),
          text('https://b.example', { type: 'link', attrs: { href: 'https://b.example' } }),
          text(' or '),
          text('x', { type: 'code' }),
        ]),
      ],
      '[here](https://a.example) or https://b.example or `x`',
    ],
    [
      'shows a table row as a line',
      [
        node('table', [
          node('tableRow', [node('tableHeader', [paragraph('a')]), node('tableHeader', [paragraph('b')])]),
          node('tableRow', [node('tableCell', [paragraph('1')]), node('tableCell', [paragraph('2')])]),
        ]),
      ],
      'a | b\n1 | 2',
    ],
    [
      'shows the content of panels and expands',
      [node('panel', [paragraph('note')]), node('expand', [paragraph('more')], { title: 'Details' })],
      'note\n\nDetails\n\nmore',
    ],
    [
      'shows the text of an unknown node',
      [node('hologram', [paragraph('inside')]), node('sticker', [], { text: 'words' })],
      'inside\n\nwords',
    ],
    [
      'shows the alternative text of a picture',
      [node('mediaSingle', [node('media', [], { alt: 'a graph' })])],
      'a graph',
    ],
  ])('%s', (_, content, expected) => {
    expect(textOfDocument(document(...content))).toBe(expected);
  });

  test.each([
    [null],
    ['text'],
    [7],
    [[]],
    [{ type: 'paragraph' }],
    [{ type: 'doc' }],
    [{ type: 'doc', content: 'x' }],
  ])('returns an empty text for the invalid document %j', (value) => {
    expect(textOfDocument(value)).toBe('');
  });

  test('omits nodes deeper than the limit', () => {
    let deep: unknown = paragraph('deep');
    for (let level = 0; level < 200; level += 1) deep = node('blockquote', [deep]);
    expect(textOfDocument(document(paragraph('shallow'), deep))).not.toContain('deep');
    expect(textOfDocument(document(paragraph('shallow'), deep))).toContain('shallow');
  });

  test('does not throw for any content', () => {
    const types = [
      'doc',
      'paragraph',
      'text',
      'bulletList',
      'listItem',
      'codeBlock',
      'table',
      'tableRow',
      'date',
    ];
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), tie('node')),
      node: fc.record(
        {
          type: fc.constantFrom(...types, 'heading', 'mention', 'constructor', '__proto__'),
          text: fc.oneof(fc.string(), fc.jsonValue()),
          attrs: fc.jsonValue(),
          marks: fc.oneof(fc.jsonValue(), fc.array(tie('any'))),
          content: fc.oneof(fc.jsonValue(), fc.array(tie('any'))),
        },
        { requiredKeys: ['type'] },
      ),
    }));
    fc.assert(
      fc.property(value.any, (content) => {
        expect(typeof textOfDocument({ type: 'doc', content: [content] })).toBe('string');
      }),
    );
  });
});

test('a document that the gateway has written converts back to its original text', () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  const line = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '));
  const block = fc.oneof(
    line,
    line.map((words) => `## ${words}`),
    fc
      .array(line, { minLength: 1, maxLength: 4 })
      .map((lines) => lines.map((each) => `- ${each}`).join('\n')),
    fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => `\`\`\`js\n${lines.join('\n')}\n\`\`\``),
    line.map((words) => `> ${words}`),
  );
  // A paragraph between blocks, because adjacent lists are merged.
  const apart = fc.array(block, { minLength: 1, maxLength: 6 }).map((blocks) => blocks.join('\n\nand\n\n'));
  fc.assert(
    fc.property(apart, (markdown) => {
      const [written] = commentDocuments(markdown, 100);
      expect(textOfDocument(written)).toBe(markdown);
    }),
  );
});

test('code that contains fences stays code', () => {
  const code = '``` '.repeat(200_000);
  expect(textOfDocument(document(node('codeBlock', [text(code)])))).toContain(`\n${code}\n`);
});
