// Extracts the text that a person wrote from an activity. Mentions are `<at>name</at>` in the text, with an
// entry in the member `entities`. Other markup is escaped by HTML entities, such as `&lt;`.
//
// Mentions of the bot are removed; other mentions become names. Mentions are matched before HTML entities are
// decoded: an `<at>` that a person typed is still escaped, and is not a mention. The time is linear in the
// size of the body, also for hostile input.

import { memberOf, textMember } from '../payloads/payload-member.ts';

/**
 * Maximum number of different mention texts of the bot. Some clients number the mentions (`<at id="0">`), so
 * each text is different.
 */
const MAX_MENTIONS = 50;
/** Maximum mention length, longer than names on the platform. */
const MAX_MENTION = 250;
const BLANK = '&nbsp;';

/** Returns the text; undefined if missing. `botId` is the bot's id in the conversation. */
export function textOf(payload: unknown, botId: string | undefined): string | undefined {
  const markup = textMember(payload, 'text');
  if (markup === undefined) return undefined;
  let rest = markup;
  for (const mention of mentionsOf(payload, botId)) rest = removeMention(rest, mention);
  const text = decode(rest.replace(/<at(?:\s[^<>]*)?>([^<]*)<\/at>/g, '$1')).trim();
  return text === '' ? undefined : text;
}

/** Returns true if an entity mentions the bot. */
export function mentionsBot(payload: unknown, botId: string | undefined): boolean {
  return mentionsOf(payload, botId).size > 0;
}

/** Returns the mentions of the bot as they are written in the text. */
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

/** Removes a mention and the blanks around it. */
function removeMention(text: string, mention: string): string {
  const parts = text.split(mention);
  return parts
    .map((part, i) => {
      const from = i === 0 ? 0 : skipLeadingBlanks(part);
      return part.slice(from, i === parts.length - 1 ? part.length : skipTrailingBlanks(part, from));
    })
    .filter((part) => part !== '')
    .join(' ');
}

/** Returns the index after the leading blanks. */
function skipLeadingBlanks(text: string): number {
  let at = 0;
  for (;;) {
    if (isBlank(text[at])) at += 1;
    else if (text.startsWith(BLANK, at)) at += BLANK.length;
    else return at;
  }
}

/** Returns the index of the trailing blanks, at least `from`. */
function skipTrailingBlanks(text: string, from: number): number {
  let at = text.length;
  for (;;) {
    if (at > from && isBlank(text[at - 1])) at -= 1;
    else if (at - from >= BLANK.length && text.endsWith(BLANK, at)) at -= BLANK.length;
    else return at;
  }
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\u00a0';
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

/** Decodes HTML entities once: an entity in the result was typed by the person. */
export function decode(text: string): string {
  if (!text.includes('&')) return text.replaceAll('\u00a0', ' ');
  return text
    .replaceAll('\u00a0', ' ')
    .replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,4}));/g, (whole, decimal, hex, name) => {
      if (name !== undefined) return ENTITIES[name as string] ?? whole;
      const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      const isCharacter = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
      return isCharacter ? String.fromCodePoint(point) : whole;
    });
}
