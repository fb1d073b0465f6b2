// What a person wrote, out of the text of an activity: in it mentions are `<at>name</at>`, named once more in `entities`, and what
// would be markup is escaped as in HTML.
//
// TCT1  a mention of our bot is how it is called, and no part of what is said; others stay as names.
// TCT2  mentions are found before anything is decoded: a name that somebody typed with its tags is none.

import { memberOf, textMember } from '../payload-member.ts';

interface Mention {
  readonly id: string | undefined;
  /** As it stands in the text. */
  readonly text: string;
}

/** `botId` is that of our bot in the conversation. Undefined where nothing was written. */
export function wordsOf(payload: unknown, botId: string | undefined): string | undefined {
  const text = textMember(payload, 'text');
  if (text === undefined) return undefined;
  let words = text;
  for (const { id, text: mention } of mentionsIn(payload))
    if (id !== undefined && id === botId) words = without(words, mention);
  const said = decoded(words.replace(/<at(?:\s[^>]*)?>([^<]*)<\/at>/g, '$1')).trim();
  return said === '' ? undefined : said;
}

function mentionsIn(payload: unknown): readonly Mention[] {
  const entities = memberOf(payload, 'entities');
  if (!Array.isArray(entities)) return [];
  return entities.flatMap((entity: unknown) => {
    if (textMember(entity, 'type')?.toLowerCase() !== 'mention') return [];
    const id = textMember(entity, 'mentioned.id');
    const name = textMember(entity, 'mentioned.name');
    const texts = [textMember(entity, 'text') ?? '', ...(name === undefined ? [] : [`<at>${name}</at>`])];
    return texts.flatMap((text) => (text.trim() === '' ? [] : [{ id, text }]));
  });
}

/** The blanks around it were for it. */
function without(text: string, mention: string): string {
  return text
    .split(mention)
    .map((part, i, all) => {
      const begun = i === 0 ? part : part.replace(/^(?:[ \u00a0]|&nbsp;)+/, '');
      return i === all.length - 1 ? begun : begun.replace(/(?:[ \u00a0]|&nbsp;)+$/, '');
    })
    .filter((part) => part !== '')
    .join(' ');
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

/** Once: what reads like an entity then was typed. */
function decoded(text: string): string {
  if (!text.includes('&')) return text.replaceAll('\u00a0', ' ');
  return text
    .replaceAll('\u00a0', ' ')
    .replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,4}));/g, (whole, decimal, hex, name) => {
      if (name !== undefined) return NAMED[name as string] ?? whole;
      const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      const isSign = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
      return isSign ? String.fromCodePoint(point) : whole;
    });
}
