// What a person wrote, out of the text of an activity: in it mentions are `<at>name</at>`, named once more in `entities`, and what
// would be markup is escaped as in HTML.
//
// TCT1  a mention of our bot is how it is called, and no part of what is said; others stay as names.
// TCT2  mentions are found before anything is decoded: a name that somebody typed with its tags is none.
// TCT3  it takes time in proportion to the length of the body, whatever strangers put there.

import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Of our bot, written differently: it has one name, in some conversations with numbers of its mentions. */
const MAX_MENTIONS = 50;
/** Longer than a name may be on the platform. */
const MAX_MENTION = 250;
const BLANK = '&nbsp;';

/** `botId` is that of our bot in the conversation. Undefined where nothing was written. */
export function wordsOf(payload: unknown, botId: string | undefined): string | undefined {
  const text = textMember(payload, 'text');
  if (text === undefined) return undefined;
  let words = text;
  for (const mention of mentionsOf(payload, botId)) words = without(words, mention);
  const said = decoded(words.replace(/<at(?:\s[^<>]*)?>([^<]*)<\/at>/g, '$1')).trim();
  return said === '' ? undefined : said;
}

/** As they stand in the text, each once. */
function mentionsOf(payload: unknown, botId: string | undefined): ReadonlySet<string> {
  const all = new Set<string>();
  const entities = memberOf(payload, 'entities');
  if (!Array.isArray(entities) || botId === undefined) return all;
  for (const entity of entities as readonly unknown[]) {
    if (textMember(entity, 'mentioned.id') !== botId) continue;
    if (textMember(entity, 'type')?.toLowerCase() !== 'mention') continue;
    const name = textMember(entity, 'mentioned.name');
    for (const text of [textMember(entity, 'text') ?? '', name === undefined ? '' : `<at>${name}</at>`])
      if (text.length <= MAX_MENTION && text.trim() !== '') all.add(text);
    if (all.size >= MAX_MENTIONS) break;
  }
  return all;
}

/** The blanks around it were for it. */
function without(text: string, mention: string): string {
  const parts = text.split(mention);
  return parts
    .map((part, i) => {
      const from = i === 0 ? 0 : firstWritten(part);
      return part.slice(from, i === parts.length - 1 ? part.length : lastWritten(part, from));
    })
    .filter((part) => part !== '')
    .join(' ');
}

/** Where the blanks at the beginning end. */
function firstWritten(text: string): number {
  let at = 0;
  for (;;) {
    if (isBlank(text[at])) at += 1;
    else if (text.startsWith(BLANK, at)) at += BLANK.length;
    else return at;
  }
}

/** Where those at the end begin, not before `from`. */
function lastWritten(text: string, from: number): number {
  let at = text.length;
  for (;;) {
    if (at > from && isBlank(text[at - 1])) at -= 1;
    else if (at - from >= BLANK.length && text.endsWith(BLANK, at)) at -= BLANK.length;
    else return at;
  }
}

function isBlank(sign: string | undefined): boolean {
  return sign === ' ' || sign === '\u00a0';
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
