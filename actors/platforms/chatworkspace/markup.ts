// Converts text to the platform's markup. `&`, `<` and `>` are escaped, so that the text cannot contain
// mentions, channel references or disguised links, unless mentions are allowed.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import { fittingEnd } from '../../events/outbox/split-text.ts';
import { labelAndAddress } from '../markdown/link-text.ts';
import { type MarkDialect, markedText } from '../markdown/marked-text.ts';
import { plainLines, styledLines } from '../markdown/styled-lines.ts';

/** Markup sequences for links, and for users, channels, groups and links. */
const LINK = /<(?:https?:\/\/[^\s<>|]+|mailto:[^\s<>|]+)(?:\|[^<>]*)?>/g;
const SEQUENCE = new RegExp(`<(?:[@#][A-Z0-9]+|![a-z]+(?:\\^[\\w-]+)*)(?:\\|[^<>]*)?>|${LINK.source}`, 'g');

/** Returns the function that converts an agent's text. */
export function writerOf(format: TextFormat, mayMention: boolean): (text: string) => string {
  if (format === 'native') return (text) => withoutEscapesIn(text, mayMention ? SEQUENCE : LINK);
  const dialect = mayMention ? mentioningDialect : silentDialect;
  return (text) => markedText(format === 'plain' ? plainLines(text) : styledLines(text), dialect);
}

/** Returns the markup. The result is not longer than `sizeOf` returns for the unit `entities`. */
export function markup(text: string, mayMention: boolean): string {
  return mayMention ? withoutEscapesIn(text, SEQUENCE) : escapeText(text);
}

const dialectWith = (escapeIn: (text: string) => string): MarkDialect => ({
  marks: { bold: '*', italic: '_', strike: '~', code: '`' },
  escapeText: escapeIn,
  link: (label, href) =>
    /[<>|]/.test(href)
      ? escapeText(labelAndAddress(label, href))
      : `<${escapeText(href)}|${escapeText(label.replaceAll('|', '¦'))}>`,
});
const silentDialect = dialectWith(escapeText);
const mentioningDialect = dialectWith((text) => markup(text, true));

function withoutEscapesIn(text: string, sequence: RegExp): string {
  let result = '';
  let from = 0;
  for (const match of text.matchAll(sequence)) {
    result += escapeText(text.slice(from, match.index)) + match[0];
    from = match.index + match[0].length;
  }
  return result + escapeText(text.slice(from));
}

/** Shortens a text to the limit, with an ellipsis. Does not split surrogate pairs. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, fittingEnd(text, 0, text.length, limit - 1, 'utf16'))}…`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
