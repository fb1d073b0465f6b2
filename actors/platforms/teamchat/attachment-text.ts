// Reads text from attachments: cards by other programs, and the message as HTML. Files and pictures contain
// no text.

import { parseJson } from '../../../config/reader/json-text.ts';
import { joinTexts } from '../payloads/join-texts.ts';
import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';
import { htmlText } from './html-text.ts';

const MAX_DEPTH = 16;
/** Maximum text length; the platform's message limit is 28 KB. */
const MAX_TEXT = 32_768;
/** Content type prefixes of cards. */
const CARDS = ['application/vnd.microsoft.card.', 'application/vnd.microsoft.teams.card.'];
/** Card members that contain text, and members that contain further elements, in reading order. */
const TEXTS = ['title', 'subtitle', 'activityTitle', 'activitySubtitle', 'activityText', 'text'];
const ELEMENTS = ['body', 'items', 'columns', 'rows', 'cells', 'inlines', 'sections', 'facts'];

/** Returns the text in all cards; '' if missing. */
export function cardsText(payload: unknown): string {
  return joined(attachmentsOf(payload).filter(isCard).map(cardText));
}

/** Returns the text in the HTML; '' if missing. */
export function htmlFormText(payload: unknown): string {
  const forms = attachmentsOf(payload).filter((each) => textMember(each, 'contentType') === 'text/html');
  return joined(forms.map((each) => htmlText(textMember(each, 'content') ?? '')));
}

const attachmentsOf = (payload: unknown) => listMember(payload, 'attachments');

function isCard(attachment: unknown): boolean {
  const type = textMember(attachment, 'contentType') ?? '';
  return CARDS.some((prefix) => type.startsWith(prefix));
}

function cardText(attachment: unknown): string {
  const content = memberOf(attachment, 'content');
  const card = typeof content === 'string' ? parsedCard(content) : content;
  return elementText(card, 0) || (textMember(card, 'summary', 'fallbackText') ?? '');
}

function parsedCard(json: string): unknown {
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}

function elementText(element: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  if (typeof element === 'string') return element;
  const value = textMember(element, 'value');
  const name = textMember(element, 'title', 'name');
  if (value !== undefined && name !== undefined) return `${name}: ${value}`;
  const texts = TEXTS.map((member) => textMember(element, member) ?? '');
  const children = ELEMENTS.flatMap((member) => {
    const parts = listMember(element, member).map((each) => elementText(each, depth + 1));
    return member === 'inlines' ? parts.join('') : parts;
  });
  return joined([...texts, ...children]);
}

const joined = (parts: readonly string[]) => joinTexts(parts, MAX_TEXT);
