// Agent comments as tracker documents: valid by the published schema, without loss of visible text.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundedParts, MAX_PARTS } from '../../../../../actors/events/outbox/split-text.ts';
import {
  commentDocuments,
  MAX_COMMENT,
} from '../../../../../actors/platforms/issuetracker/document/comment-documents.ts';
import { plainText } from '../../../../../actors/platforms/issuetracker/document/nodes.ts';
import { documentFaults } from '../../../../fixtures/issue-tracker/document-faults.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

/** Returns the content of a text's only document. */
function contentOf(text: string): readonly unknown[] {
  const all = commentDocuments(text, 100);
  expect(all).toHaveLength(1);
  expect(documentFaults(all[0])).toBe('');
  return all[0]?.content ?? [];
}

const text = (words: string, ...marks: readonly (string | object)[]) => ({
  type: 'text',
  text: words,
  ...(marks.length > 0 && { marks: marks.map((mark) => (typeof mark === 'string' ? { type: mark } : mark)) }),
});
const link = (href: string, title?: string) => ({ type: 'link', attrs: { href, ...(title && { title }) } });
const br = { type: 'hardBreak' };
const p = (...content: readonly object[]) => ({ type: 'paragraph', content });
const item = (...content: readonly object[]) => ({ type: 'listItem', content });
const bullets = (...content: readonly object[]) => ({ type: 'bulletList', content });

/** Returns all text, with addresses and titles of links. */
function allText(node: unknown): string {
  if (Array.isArray(node)) return node.map(allText).join(' ');
  if (typeof node !== 'object' || node === null) return '';
  const { text: words = '', marks = [], attrs = {}, content = [] } = node as Record<string, never>;
  const more = Object.values(attrs as Record<string, unknown>).filter((each) => typeof each === 'string');
  const { language = '' } = attrs as { readonly language?: string };
  return [language, words, allText(content), allText(marks), ...more].join(' ');
}

test('the test schema for comment documents of the issue tracker rejects invalid documents', () => {
  expect(documentFaults({ version: 1, type: 'doc', content: [p({ type: 'text', text: '' })] })).not.toBe('');
  expect(documentFaults({ type: 'doc', content: [] })).not.toBe('');
});

describe('Markdown', () => {
  test('keeps paragraphs and line breaks', () => {
    expect(contentOf('One\ntwo  \nthree\\\nfour<br>five\n\nSix')).toEqual([
      p(text('One'), br, text('two'), br, text('three'), br, text('four'), br, text('five')),
      p(text('Six')),
    ]);
  });

  test('supports headings of six levels', () => {
    expect(contentOf('# A\n\n###### *B*\n\nC\n===')).toEqual([
      { type: 'heading', attrs: { level: 1 }, content: [text('A')] },
      { type: 'heading', attrs: { level: 6 }, content: [text('B', 'em')] },
      { type: 'heading', attrs: { level: 1 }, content: [text('C')] },
    ]);
  });

  test('supports nested bold, italic and struck text, and code without other marks', () => {
    expect(contentOf('**a _b_ ~~c~~** `d` **e `f`** **g __h__**')).toEqual([
      p(
        text('a ', 'strong'),
        text('b', 'strong', 'em'),
        text(' ', 'strong'),
        text('c', 'strong', 'strike'),
        text(' '),
        text('d', 'code'),
        text(' '),
        text('e ', 'strong'),
        text('f', 'code'),
        text(' '),
        text('g h', 'strong'),
      ),
    ]);
  });

  test('supports links with titles, around code, and from bare addresses', () => {
    const page = 'https://a.example/x';
    expect(contentOf(`[a *b* \`c\`](${page} "t") ${page}, <me@a.example> [](${page})`)).toEqual([
      p(
        text('a ', link(page, 't')),
        text('b', 'em', link(page, 't')),
        text(' ', link(page, 't')),
        text('c', 'code', link(page, 't')),
        text(' '),
        text(page, link(page)),
        text(', '),
        text('me@a.example', link('mailto:me@a.example')),
        text(' '),
        text(page, link(page)),
      ),
    ]);
  });

  test.each([
    ['[a](javascript:alert(1))', 'a (javascript:alert(1))'],
    ['[a](data:text/html,x)', 'a (data:text/html,x)'],
    ['[a](docs/x.md "t")', 'a (docs/x.md t)'],
    ['[x](x)', 'x'],
    ['<vbscript:x>', 'vbscript:x'],
    ['![p](file:///etc/passwd)', 'p (file:///etc/passwd)'],
    ['ftp://a.example', 'ftp://a.example'],
    ['[a](https://)', 'a (https://)'],
  ])('renders unsafe or relative links as text: %s', (markdown, words) => {
    expect(contentOf(markdown)).toEqual([p(text(words))]);
  });

  test('supports reference links, and renders unused definitions and footnotes as text', () => {
    const page = 'https://a.example/x';
    expect(contentOf(`see [one][1] [^2]\n\n[1]: ${page}\n[3]: ${page}\n\n[^2]: a note`)).toEqual([
      p(text('see '), text('one', link(page)), text(' [^2]')),
      p(text('[3]: '), text(page, link(page))),
      p(text('[^2]: a note')),
    ]);
  });

  test('renders a picture as a link', () => {
    const at = 'https://a.example/p.png';
    expect(contentOf(`![a **b**](${at}) ![](${at}) [![c](${at})](https://b.example/)`)).toEqual([
      p(
        text('a b', link(at)),
        text(' '),
        text(at, link(at)),
        text(' '),
        text(`c (${at})`, link('https://b.example/')),
      ),
    ]);
  });

  test('supports nested lists, numbered from any number, with code', () => {
    expect(contentOf('- a\n  - b\n\n    c\n- - d\n\n7. x\n   ```sh\n   ls\n   ```\n8. y')).toEqual([
      bullets(
        item(p(text('a')), bullets(item(p(text('b')), p(text('c'))))),
        item(p(), bullets(item(p(text('d'))))),
      ),
      {
        type: 'orderedList',
        attrs: { order: 7 },
        content: [
          item(p(text('x')), { type: 'codeBlock', attrs: { language: 'sh' }, content: [text('ls')] }),
          item(p(text('y'))),
        ],
      },
    ]);
  });

  test('makes a task list if all items are tasks, and otherwise keeps boxes as text', () => {
    const [list] = contentOf('- [ ] a `b`\n- [x] c\n  - [X] d\n- [ ]') as [{ content: readonly object[] }];
    const task = (state: string, ...content: readonly object[]) => ({
      type: 'taskItem',
      attrs: { localId: expect.any(String), state },
      content,
    });
    expect(list).toEqual({
      type: 'taskList',
      attrs: { localId: expect.any(String) },
      content: [
        task('TODO', text('a '), text('b', 'code')),
        task('DONE', text('c')),
        { type: 'taskList', attrs: { localId: expect.any(String) }, content: [task('DONE', text('d'))] },
        task('TODO'),
      ],
    });
    const names = JSON.stringify(list).match(/"localId":"[^"]+"/g) ?? [];
    expect(new Set(names).size).toBe(names.length);
    expect(contentOf('- [ ] a `b`\n- [x] c\n  - [X] d\n- [ ]')).toEqual([list]);
    expect(contentOf('- [ ] a\n- b')).toEqual([bullets(item(p(text('[ ] a'))), item(p(text('b'))))]);
    expect(contentOf('- [x](https://a.example/)')).toMatchObject([{ type: 'bulletList' }]);
  });

  test('supports quotations, and converts content that quotations and lists cannot contain', () => {
    expect(
      contentOf('> # a\n> b\n>> c\n>\n> ---\n> - d\n\n- > e\n  ## f\n\n  |g|`h`|\n  |-|-|\n  |i||'),
    ).toEqual([
      {
        type: 'blockquote',
        content: [p(text('a', 'strong')), p(text('b')), p(text('c')), bullets(item(p(text('d'))))],
      },
      bullets(
        item(
          p(text('e')),
          p(text('f', 'strong')),
          p(text('g', 'strong'), text(' | '), text('h', 'code')),
          p(text('i'), text(' | ')),
        ),
      ),
    ]);
  });

  test('keeps the lines of code, with and without a language, also if it is empty or not closed', () => {
    const code = '  if (a && b) {\n\treturn "<br>" // **no** `mark`\n\n  }  ';
    expect(
      contentOf(
        `\`\`\`ts\n${code}\n\`\`\`\n\n~~~~\n\`\`\`\n~~~~\n\n\`\`\`c++ main.cc\n\`\`\`\n\n    x\n     y\n\n\`\`\`\nz`,
      ),
    ).toEqual([
      { type: 'codeBlock', attrs: { language: 'ts' }, content: [text(code)] },
      { type: 'codeBlock', content: [text('```')] },
      p(text('c++ main.cc')),
      { type: 'codeBlock', attrs: { language: 'c++' }, content: [] },
      { type: 'codeBlock', content: [text('x\n y')] },
      { type: 'codeBlock', content: [text('z')] },
    ]);
  });

  test('supports tables and rules', () => {
    const cell = (type: string, ...content: readonly object[]) => ({ type, content: [p(...content)] });
    expect(contentOf('|a|b|\n|:-:|-|\n|**c**|d<br>e|\n|f|\n\n---')).toEqual([
      {
        type: 'table',
        content: [
          { type: 'tableRow', content: [cell('tableHeader', text('a')), cell('tableHeader', text('b'))] },
          {
            type: 'tableRow',
            content: [cell('tableCell', text('c', 'strong')), cell('tableCell', text('d'), br, text('e'))],
          },
          { type: 'tableRow', content: [cell('tableCell', text('f')), cell('tableCell')] },
        ],
      },
      { type: 'rule' },
    ]);
  });

  test('keeps the cells of a row beyond the last column', () => {
    const cells = (markdown: string) => JSON.stringify(contentOf(markdown)).match(/(?<="text":")[^"]*/g);
    expect(cells('|a|b|\n|-|-|\n|c|d|e \\| f|g|\n|h')).toEqual(['a', 'b', 'c', 'd | e | f | g', 'h']);
    expect(cells('> > |a|b|\n> > |-|-|\n> > |c|d|e|')?.at(-1)).toBe('d | e');
  });

  test('renders HTML, mentions and entities as text', () => {
    expect(contentOf('<details>\n<b>x</b> <!-- y --> @ada [~accountid:1] &lt;&amp;')).toEqual([
      p(text('<details>'), br, text('<b>x</b> <!-- y --> @ada [~accountid:1] <&')),
    ]);
  });

  test.each(['#', '>', '-', '---', '[](<>)', '* * *\n***', '|'])(
    'keeps text that consists of marks only: %s',
    (marks) => {
      expect(plainText({ type: 'doc', content: contentOf(marks) } as never).trim()).not.toBe('');
    },
  );

  test.each(['', ' \n\t ', '\u0000\u0007'])('makes no comment of invisible text: %j', (nothing) => {
    expect(commentDocuments(nothing, 100)).toEqual([]);
  });

  test('removes control characters and replaces lone surrogates', () => {
    expect(contentOf('a\u0000\u001b[1mb\ud83d c\r\nd\u000be')).toEqual([
      p(text('a[1mb\ufffd c'), br, text('d e')),
    ]);
  });
});

/** Linear parsing takes less than a second, quadratic parsing more than five. */
const MAX_TIME_MS = 3_000;

/** Returns the processor time, which is independent of other processes. */
function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const fill = (each: string, length = 32_767) => each.repeat(Math.ceil(length / each.length)).slice(0, length);

describe('any Markdown', () => {
  const word = fc.nat(999).map((n) => `w${n}x`);
  const marks = fc.constantFrom(
    ...[
      '*',
      '**',
      '_',
      '~~',
      '`',
      '``',
      '[',
      '](',
      ')',
      '![',
      '<',
      '>',
      '<br>',
      '|',
      '\\',
      '&',
      '#',
      '# ',
      '- ',
    ],
    ...[
      '1. ',
      '> ',
      '\n',
      '\n\n',
      '\n\n',
      '  ',
      '    ',
      '\t',
      '```',
      '~~~',
      '\n```\n',
      '---',
      '|-|',
      '\n|-|-|\n',
    ],
    ...['[ ] ', '[x] ', 'https://', ' "', '"', '=', ':', '🙂', '\u0000', '\ud800', '  - ', '   3. '],
  );

  test('becomes valid documents with all words in order', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 2, arbitrary: marks }, word), { maxLength: 120 }), (pieces) => {
        const markdown = pieces.map((piece) => (/^w\d+x$/.test(piece) ? ` ${piece} ` : piece)).join('');
        const all = commentDocuments(markdown, 100);
        for (const each of all) expect(documentFaults(each)).toBe('');
        let at = 0;
        const read = all.map(allText).join(' ');
        for (const piece of pieces.filter((each) => /^w\d+x$/.test(each))) {
          const found = read.indexOf(piece, at);
          if (found === -1) throw new Error(`${piece} is lost from ${JSON.stringify(markdown)}: ${read}`);
          at = found + piece.length;
        }
      }),
      { numRuns: runs(1_000), examples: [[['w0x', '|-|', '\n|-|-|\n', '*', '|-|', 'w0x']]] },
    );
  });

  test('keeps code unchanged', () => {
    const line = fc
      .string({ unit: 'grapheme', maxLength: 40 })
      .map((each) => each.replace(/[\p{Cc}`~]/gu, ' '));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), (lines) => {
        const code = lines.join('\n');
        fc.pre(code !== '');
        const once = contentOf(`before\n\n\`\`\`\n${code}\n\`\`\`\n\nafter`);
        expect(once[1]).toEqual({ type: 'codeBlock', content: [text(code)] });
        const again = contentOf(`before\n\n\`\`\`\n${plainText(once[1] as object)}\n\`\`\`\n\nafter`);
        expect(again).toEqual(once);
      }),
    );
  });

  const nested = Array.from({ length: 300 }, (_, i) => `${'  '.repeat(i)}- w${i}x`).join('\n');
  test.each([
    ...[
      '[',
      '>',
      '*',
      '> ',
      '- ',
      '1. ',
      '![',
      '[a](',
      '**a ',
      '*a_ ',
      '`',
      '`a``',
      '<',
      '<!--',
      '|',
      '_a',
      '~~a ',
    ],
    ...[
      '\\',
      '[a]: ',
      '[a][',
      '>- ',
      '***a',
      '- a\n',
      'a\n=',
      '```\n',
      'http://a.',
      '- [ ] ',
      '[ ](',
      '&#x',
      '#',
    ],
  ])('is parsed quickly if it repeats %j', (each) => {
    const usedMs = cpuMs(() => {
      for (const length of [32_767, 150_000]) {
        const [first] = commentDocuments(fill(each, length), 100);
        expect(documentFaults(first)).toBe('');
      }
    });
    expect(usedMs).toBeLessThan(MAX_TIME_MS);
  });

  test('keeps text that is nested deeper than the limit', () => {
    const all = commentDocuments(`${nested}\n\n${'>'.repeat(200)} end`, 100);
    for (const each of all) expect(documentFaults(each)).toBe('');
    const read = all.map(allText).join(' ');
    for (let i = 0; i < 300; i += 1) expect(read).toContain(`w${i}x`);
    expect(read).toContain('end');
  });
});

describe('a very long text', () => {
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => `- **w${from + n}x** and more`).join('\n');

  test('is parsed as Markdown at its beginning, and the rest becomes a code block', () => {
    const all = commentDocuments(lines(0, 5_000), 100);
    for (const each of all) expect(documentFaults(each)).toBe('');
    const types = all.flatMap(({ content }) => content).map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(['bulletList', 'codeBlock']));
    const read = all.map((each) => plainText(each)).join('\n');
    const first = Number(/- \*\*w(\d+)x/.exec(read)?.[1]);
    expect(first).toBeGreaterThan(2_000);
    expect(read.endsWith(`\n${lines(first, 5_000)}`)).toBe(true);
    expect(read.match(/w\d+x/g)).toEqual(lines(0, 5_000).match(/w\d+x/g));
  });

  // The parsed beginning takes constant time, which is short for these texts.
  test.each(['a', 'a ', 'a line of a long text\n', '🙂'])('takes linear time if it repeats %j', (each) => {
    const spentFor = (length: number) => {
      const message = {
        target: { place: 'OPS-1' },
        action: { do: 'post' },
        text: fill(each, length),
      } as const;
      return cpuMs(() => {
        const all = boundedParts(message, ({ text: words }) => commentDocuments(words, 4 * MAX_PARTS));
        expect(all.length).toBeLessThanOrEqual(MAX_PARTS);
        for (const document of all) expect(JSON.stringify(document).length).toBeLessThanOrEqual(MAX_COMMENT);
      });
    };
    // Linear parsing takes four times as long, quadratic parsing sixteen times.
    const isLinear = () => spentFor(4_194_304) < 10 * Math.max(spentFor(1_048_576), 100);
    // Garbage collection may extend one measurement.
    expect(isLinear() || isLinear() || isLinear()).toBe(true);
  });

  test('becomes at most one document more than the requested maximum', () => {
    expect(commentDocuments(fill('a word ', 7_000_000), 3)).toHaveLength(4);
    expect(MAX_COMMENT).toBe(32_767);
  });
});
