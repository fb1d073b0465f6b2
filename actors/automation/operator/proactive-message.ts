// Parses the body of POST /triggers/:name/send, member by member, since it comes from outside. What stands beside the text has the
// shape in which agents answer (outbound/reply-card.ts), but here nothing of it is passed over: whoever sends it can mend it.

import { type Members, membersOf } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';
import type { Card } from '../../events/outbox/outbound-message.ts';
import { replyCard } from '../../events/outbox/reply-card.ts';

/** A message that answers nothing. */
export interface ProactiveMessage {
  /** As handlers are told it: `botmessenger/4711/-100200300`. */
  readonly conversation: string;
  readonly text: string;
  readonly card: Card | undefined;
}

/** Members of an item by the most characters that each may have. */
type Lengths = Readonly<Record<string, number>>;

const MEMBERS = ['conversation', 'text', 'title', 'fields', 'actions'];
/** As agents are told it: of ids of 1,000 characters each may be percent-encoded, and the account stands before them. */
const MAX_CONVERSATION = 4_000;
/** Of most platforms eight messages. */
const MAX_TEXT = 32_768;
const MAX_TITLE = 1_000;
const MAX_ITEMS = 100;
const FIELD: Lengths = { name: 1_000, value: 4_000 };
const ACTION: Lengths = { id: 1_000, title: 1_000, style: 10, description: 1_000, url: 2_000 };
const STYLES: readonly unknown[] = ['primary', 'danger'];

/** Throws InvalidQueryError. */
export function proactiveMessage(body: unknown): ProactiveMessage {
  const given = membersOf(body, 'the body', MEMBERS);
  const { conversation, text = '', title } = given;
  const name = wordsOf(conversation, 'conversation', MAX_CONVERSATION).replace(/^conversation\//, '');
  if (/\p{Cc}/u.test(name)) throw new InvalidQueryError('conversation should have no control characters');
  if (typeof text !== 'string' || text.length > MAX_TEXT)
    throw new InvalidQueryError(`text should be a text of at most ${MAX_TEXT} characters`);
  if (title !== undefined) wordsOf(title, 'title', MAX_TITLE);
  checkFields(itemsOf(given, 'fields'));
  checkActions(itemsOf(given, 'actions'));
  const card = replyCard(given);
  if (text.trim() === '' && card === undefined)
    throw new InvalidQueryError('text is missing: there is nothing to be said');
  return { conversation: name, text, card };
}

function checkFields(fields: readonly unknown[]): void {
  for (const [index, item] of fields.entries()) checkItem(item, `fields[${index}]`, FIELD, ['name', 'value']);
}

function checkActions(actions: readonly unknown[]): void {
  const ids = new Set<string>();
  for (const [index, item] of actions.entries()) {
    const at = `actions[${index}]`;
    const { id, style, url } = checkItem(item, at, ACTION, ['id']);
    if (style !== undefined && !STYLES.includes(style))
      throw new InvalidQueryError(`${at}.style should be ${STYLES.join(' or ')}`);
    if (url !== undefined && !/^https?:\/\/[^/]/i.test(String(url)))
      throw new InvalidQueryError(`${at}.url should be an address that begins with https:// or http://`);
    if (ids.has(String(id))) throw new InvalidQueryError(`${at}.id is that of another action`);
    ids.add(String(id));
  }
}

function checkItem(item: unknown, at: string, lengths: Lengths, required: readonly string[]): Members {
  const members = membersOf(item, at, Object.keys(lengths));
  for (const [name, length] of Object.entries(lengths))
    if (members[name] !== undefined || required.includes(name))
      wordsOf(members[name], `${at}.${name}`, length);
  return members;
}

function itemsOf(members: Members, name: string): readonly unknown[] {
  const { [name]: items = [] } = members;
  if (Array.isArray(items) && items.length <= MAX_ITEMS) return items;
  throw new InvalidQueryError(`${name} should be a list of at most ${MAX_ITEMS}`);
}

/** Numbers, true and false are taken as their text, as in an answer. */
function wordsOf(value: unknown, at: string, most: number): string {
  const words = ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
  if (words.trim() !== '' && words.length <= most) return words;
  throw new InvalidQueryError(
    value === undefined ? `${at} is missing` : `${at} should be a text of 1 to ${most} characters`,
  );
}
