// Answers longer than a comment: all parts are valid and within the limit, and no text is lost.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blocksOf } from '../../../../../actors/platforms/issuetracker/document/blocks.ts';
import {
  commentDocuments,
  MAX_COMMENT,
} from '../../../../../actors/platforms/issuetracker/document/comment-documents.ts';
import {
  plainText,
  type TrackerDocument,
} from '../../../../../actors/platforms/issuetracker/document/nodes.ts';
import { splitDocument } from '../../../../../actors/platforms/issuetracker/document/split-document.ts';
import { documentFaults } from '../../../../fixtures/issue-tracker/document-faults.ts';

const sizeOf = (document: TrackerDocument) => JSON.stringify(document).length;
const textOf = (all: readonly TrackerDocument[]) => all.map((each) => plainText(each)).join('\n');
const wordsOf = (text: string) => text.match(/w\d+x/g) ?? [];

/** Splits a text into parts for a limit. */
function parts(markdown: string, limit: number): readonly TrackerDocument[] {
  const all = splitDocument(blocksOf(markdown), limit);
  for (const each of all) {
    expect(sizeOf(each)).toBeLessThanOrEqual(limit);
    expect(each.content.length).toBeGreaterThan(0);
    expect(documentFaults(each)).toBe('');
  }
  return all;
}

const repeat = (count: number, of: (n: number) => string, by = '\n') =>
  Array.from({ length: count }, (_, n) => of(n)).join(by);

describe('an answer in the issue tracker', () => {
  test('of the maximum size is one comment, and a larger one is two', () => {
    const rest = sizeOf({ version: 1, type: 'doc', content: blocksOf('x') }) - 1;
    const longest = 'x'.repeat(MAX_COMMENT - rest);
    expect(commentDocuments(longest, 100).map(sizeOf)).toEqual([MAX_COMMENT]);
    expect(commentDocuments(`${longest}x`, 100)).toHaveLength(2);
  });

  test('is split between paragraphs, and a heading stays with its section', () => {
    const all = parts(`${'a'.repeat(300)}\n\n# head\n\n${'b'.repeat(300)}`, 600);
    expect(all.map((each) => plainText(each))).toEqual(['a'.repeat(300), `head\n${'b'.repeat(300)}`]);
  });

  test('that splits a code block is cut at line ends and continues as code', () => {
    const code = repeat(200, (n) => `  line ${n} "quoted"`);
    const all = parts(`\`\`\`ts\n${code}\n\`\`\``, 1_000);
    const blocks = all.flatMap(({ content }) => content);
    expect(all.length).toBeGreaterThan(4);
    for (const block of blocks) expect(block).toMatchObject({ type: 'codeBlock', attrs: { language: 'ts' } });
    expect(blocks.map((block) => plainText(block)).join('\n')).toBe(code);
  });

  test('that splits a numbered list continues its numbering', () => {
    const all = parts(
      repeat(100, (n) => `${n + 5}. w${n}x`),
      700,
    );
    const lists = all.flatMap(({ content }) => content) as unknown as {
      attrs: { order: number };
      content: unknown[];
    }[];
    expect(lists.length).toBeGreaterThan(2);
    let next = 5;
    for (const { attrs, content } of lists) {
      expect(attrs.order).toBe(next);
      next += content.length;
    }
    expect(next).toBe(105);
  });

  test('repeats the table header in each part; a row that is too large becomes paragraphs', () => {
    const row = (n: number) => `|w${n}x|${n === 20 ? 'long '.repeat(800) : 'b'}|`;
    const all = parts(`|one|two|\n|-|-|\n${repeat(40, row)}`, 3_000);
    const blocks = all.flatMap(({ content }) => content);
    const tables = blocks.filter(({ type }) => type === 'table');
    expect(tables.length).toBeGreaterThan(2);
    for (const table of tables) expect(plainText(table).startsWith('one\ntwo\n')).toBe(true);
    expect(blocks.some(({ type }) => type === 'paragraph')).toBe(true);
    expect(wordsOf(textOf(all))).toEqual(repeat(40, (n) => `w${n}x`).split('\n'));
  });

  test('that splits a task list has unique item ids in all comments', () => {
    const all = parts(
      repeat(30, (n) => `- [ ] w${n}x\n  - [x] ${'more '.repeat(100)}`),
      1_200,
    );
    const names = JSON.stringify(all).match(/"localId":"[^"]+"/g) ?? [];
    expect(new Set(names).size).toBe(names.length);
    expect(wordsOf(textOf(all))).toHaveLength(30);
  });

  test('is split even inside an item, quotation, line or word that is longer than a comment', () => {
    const long = repeat(300, (n) => `w${n}x`, ' ');
    for (const text of [long, `- a\n  - ${long}`, `> ${long}`, `# ${long}`, `- [ ] ${long}`, `**${long}**`]) {
      const all = parts(text, 800);
      expect(all.length).toBeGreaterThan(2);
      expect(wordsOf(textOf(all))).toEqual(long.split(' '));
    }
    const emoji = '🙂'.repeat(1_000);
    expect(
      parts(emoji, 500)
        .map((each) => plainText(each))
        .join(''),
    ).toBe(emoji);
  });
});

test('if a task list is split, the id suffix of its later parts counts towards the size limit', () => {
  for (let length = 1; length < 60; length += 1)
    parts(
      repeat(40, (n) => `- [ ] ${'y'.repeat(length)} w${n}x`),
      700,
    );
});

test('the parts of a split document are valid, within the size limit, and keep all words in order', () => {
  const line = fc.nat(9).chain((kind) =>
    fc
      .array(fc.constantFrom('w ', '**w** ', '`w` ', '[w](https://a.example/) ', '"\\\\" '), {
        maxLength: 60,
      })
      .map(
        (words) =>
          (['', '', '- ', '  - ', '1. ', '> ', '# ', '|', '- [ ] ', '```\n'][kind] ?? '') + words.join(''),
      ),
  );
  const limits = fc.constantFrom(700, 1_500, 4_000);
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), limits, (lines, limit) => {
      let count = 0;
      const markdown = lines.join('\n').replace(/\bw\b/g, () => `w${count++}x`);
      const whole = blocksOf(markdown);
      const all = parts(markdown, limit);
      expect(wordsOf(textOf(all))).toEqual(wordsOf(textOf([{ version: 1, type: 'doc', content: whole }])));
    }),
    { numRuns: 500 },
  );
});
