// Texts of cards in every chat: a title, field or action shows its characters, and never becomes markup.

import fc from 'fast-check';
import MarkdownIt from 'markdown-it';
import { describe, expect, test } from 'vitest';
import { withCardText } from '../../../../../actors/events/outbox/card-text.ts';
import { escapeLine, escapeMarkdown } from '../../../../../actors/events/outbox/escape-markdown.ts';
import type { MessageCard } from '../../../../../actors/events/outbox/message.ts';
import { workspaceCalls } from '../../../../../actors/platforms/chatworkspace/render-message.ts';
import { communityMessages } from '../../../../../actors/platforms/communitychat/render-message.ts';
import { teamMessages } from '../../../../../actors/platforms/teamchat/render-message.ts';

const parser = new MarkdownIt({ html: true, linkify: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }).add('ftp:', null).add('//', null);

/** Returns the types of the tokens, and the text that a page shows. */
function shown(markdown: string): { readonly types: readonly string[]; readonly text: string } {
  const tokens = parser.parse(markdown, {}).flatMap((token) => [token, ...(token.children ?? [])]);
  return {
    types: tokens.map(({ type }) => type),
    text: tokens
      .map(({ type, content }) => (/break$/.test(type) ? '\n' : type === 'text' ? content : ''))
      .join(''),
  };
}

const hostileText = fc
  .array(
    fc.constantFrom(
      ...['**', '__', '*', '_', '~~', '`', '```', '||', '[a](https://evil.example)', '](', '[', ']', '<b>'],
      ...['<@U1>', '<!channel>', '&amp;', '\\', '# ', '- ', '1. ', '> ', '\n', '\n\n', ' ', 'word', 'é'],
      ...[
        'https://x.example/a_b?c=1&d=2',
        'https://x.example/*a*',
        'https://[a](https://evil.example)',
        '@all',
      ],
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join('').trim())
  .filter((text) => text !== '');

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();
const STYLES = ['strong_open', 'em_open', 's_open', 'code_inline', 'fence', 'heading_open', 'html_inline'];

describe('as Markdown', () => {
  test('a title is bold and nothing else, and a field has a bold name and a plain value', () => {
    fc.assert(
      fc.property(hostileText, hostileText, hostileText, (title, name, value) => {
        const { types, text } = shown(withCardText('', { title, fields: [{ name, value }] }));
        expect(types.filter((type) => STYLES.includes(type))).toEqual(['strong_open', 'strong_open']);
        expect(types.filter((type) => type === 'list_item_open')).toHaveLength(1);
        expect(oneLine(text).replaceAll(' ', '')).toBe(`${title}${name}:${value}`.replace(/\s/g, ''));
      }),
    );
  });

  test('a link of a field leads to its visible address', () => {
    fc.assert(
      fc.property(hostileText, (value) => {
        const tokens = parser
          .parse(withCardText('', { fields: [{ name: 'n', value }] }), {})
          .flatMap(({ children }) => children ?? []);
        for (const [index, { type, markup }] of tokens.entries())
          if (type === 'link_open') expect([markup, tokens[index + 1]?.type]).toEqual(['linkify', 'text']);
      }),
    );
  });

  test.each([
    'https://x.example/a_b?c=1&d=2#e_f',
    'see https://x.example/_a_/b_c, and http://localhost:80/a__b.',
    'https://x.example',
  ])('an address stays usable: %s', (text) => {
    expect(escapeMarkdown(text)).toBe(text);
  });

  test.each(['https://x.example/*a*', 'https://x/&copy;', 'xhttps://a_b'])('%s is escaped', (text) => {
    expect(escapeMarkdown(text)).not.toBe(text);
    expect(shown(escapeMarkdown(text)).text).toBe(text);
  });
});

const target = { place: 'C1', serviceUrl: 'https://chat.example/' };
const message = (card: MessageCard) => ({ target, action: { do: 'post' }, text: 'x', card }) as const;
const bold = '*bold* _it_ **b** [a](https://evil.example) `c` <!channel>';
const fields = [{ name: bold, value: bold }];
const title = `${bold} ${'x'.repeat(200)}`;

test('the workspace separates marks in titles, fields and lines from their words, and escapes mentions', () => {
  const actions = [{ id: 'x'.repeat(300), title: bold }];
  const [call] = workspaceCalls(message({ title, fields, actions }));
  const texts = JSON.stringify(call?.parameters.blocks).replaceAll('\u2060', '·');
  const literal = '*·bold* _·it_ **·b** [a](https://evil.example) `·c` &lt;!channel&gt;';
  expect(texts.split(literal)).toHaveLength(5);
  expect(texts).toContain(`"*${literal}*\\n${literal}"`);
  expect(texts).toContain(`- ${literal}`);
});

test('the community chat and the team chat escape titles and fields', () => {
  const escaped = escapeLine(bold);
  const value = escapeMarkdown(bold);
  expect([shown(escaped).text, shown(value).text]).toEqual([bold, bold]);
  const [community] = communityMessages(message({ title: bold, fields }));
  expect(community?.body.embeds).toEqual([{ title: escaped, fields: [{ name: escaped, value }] }]);
  const [longer] = communityMessages(message({ title: bold + 'x'.repeat(300) }));
  expect(longer?.body.content).toContain(`**${escaped}`);
  const [team] = teamMessages(message({ title: bold, fields }));
  expect(JSON.stringify(team?.activity.attachments)).toContain(JSON.stringify({ title: escaped, value }));
  expect(JSON.stringify(team?.activity.attachments)).toContain(`"text":${JSON.stringify(escaped)}`);
});
