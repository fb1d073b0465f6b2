// Converts text to the platform's markup. `&`, `<` and `>` are escaped, so that the text cannot contain
// mentions, channel references or disguised links, unless mentions are allowed.

import { fittingEnd } from '../../events/outbox/split-text.ts';

/** Markup sequences for users, channels, groups and links. */
const SEQUENCE =
  /<(?:[@#][A-Z0-9]+|![a-z]+(?:\^[\w-]+)*|https?:\/\/[^\s<>|]+|mailto:[^\s<>|]+)(?:\|[^<>]*)?>/g;

/** Returns the markup. The result is not longer than `sizeOf` returns for the unit `entities`. */
export function markup(text: string, mayMention: boolean): string {
  if (!mayMention) return escapeText(text);
  let result = '';
  let from = 0;
  for (const match of text.matchAll(SEQUENCE)) {
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
