// What an agent wrote, as the platform wants it: `&`, `<` and `>` are entities, so that nothing in it is a mention, a channel or a link
// under another name, unless that is allowed.

import { fittingEnd } from '../../events/outbox/split-text.ts';

/** As the platform writes people, channels, groups and addresses. */
const SEQUENCE =
  /<(?:[@#][A-Z0-9]+|![a-z]+(?:\^[\w-]+)*|https?:\/\/[^\s<>|]+|mailto:[^\s<>|]+)(?:\|[^<>]*)?>/g;

/** As long as `sizeOf` says in the unit `entities`, or shorter. */
export function markup(text: string, mayMention: boolean): string {
  if (!mayMention) return escaped(text);
  let out = '';
  let from = 0;
  for (const found of text.matchAll(SEQUENCE)) {
    out += escaped(text.slice(from, found.index)) + found[0];
    from = found.index + found[0].length;
  }
  return out + escaped(text.slice(from));
}

/** The beginning of a text that is longer; no pair of surrogates is cut. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, fittingEnd(text, 0, text.length, limit - 1, 'utf16'))}…`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
