// Parses the body of POST /triggers/:name/send. The card has the same format as in agents' replies
// (outbox/reply-card.ts), but invalid members are rejected, because the sender can correct them.

import { type Members, parseMembers } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';
import type { MessageCard } from '../../events/outbox/message.ts';
import { replyCard } from '../../events/outbox/reply-card.ts';

/** A message that is not a reply. */
export interface ProactiveMessage {
  /** Name as handlers receive it: `botmessenger/4711/-100200300`. */
  readonly conversation: string;
  readonly text: string;
  readonly card: MessageCard | undefined;
}

/** Maximum lengths of an item's members, in characters. */
type Lengths = Readonly<Record<string, number>>;

const MEMBERS = ['conversation', 'text', 'title', 'fields', 'actions'];
/** Ids of up to 1,000 characters may be percent-encoded, and the account precedes them. */
const MAX_CONVERSATION = 4_000;
/** About eight messages on most platforms. */
const MAX_TEXT = 32_768;
const MAX_TITLE = 1_000;
const MAX_ITEMS = 100;
const FIELD: Lengths = { name: 1_000, value: 4_000 };
const ACTION: Lengths = { id: 1_000, title: 1_000, style: 10, description: 1_000, url: 2_000 };
const STYLES: readonly unknown[] = ['primary', 'danger'];

/** Throws InvalidQueryError. */
export function proactiveMessage(body: unknown): ProactiveMessage {
  const members = parseMembers(body, 'the body', MEMBERS);
  const { conversation, text = '', title } = members;
  const name = textOf(conversation, 'conversation', MAX_CONVERSATION).replace(/^conversation\//, '');
  if (/\p{Cc}/u.test(name)) throw new InvalidQueryError('conversation should have no control characters');
  if (typeof text !== 'string' || text.length > MAX_TEXT)
    throw new InvalidQueryError(`text should be a text of at most ${MAX_TEXT} characters`);
  if (title !== undefined) textOf(title, 'title', MAX_TITLE);
  checkFields(itemsOf(members, 'fields'));
  checkActions(itemsOf(members, 'actions'));
  const card = replyCard(members);
  if (text.trim() === '' && card === undefined)
    throw new InvalidQueryError('text is missing: the message would be empty');
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
    if (ids.has(String(id))) throw new InvalidQueryError(`${at}.id is used by another action`);
    ids.add(String(id));
  }
}

function checkItem(item: unknown, at: string, lengths: Lengths, required: readonly string[]): Members {
  const members = parseMembers(item, at, Object.keys(lengths));
  for (const [name, length] of Object.entries(lengths))
    if (members[name] !== undefined || required.includes(name))
      textOf(members[name], `${at}.${name}`, length);
  return members;
}

function itemsOf(members: Members, name: string): readonly unknown[] {
  const { [name]: items = [] } = members;
  if (Array.isArray(items) && items.length <= MAX_ITEMS) return items;
  throw new InvalidQueryError(`${name} should be a list of at most ${MAX_ITEMS}`);
}

/** Converts numbers and booleans to text, as in replies. */
function textOf(value: unknown, at: string, most: number): string {
  const text = ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
  if (text.trim() !== '' && text.length <= most) return text;
  throw new InvalidQueryError(
    value === undefined ? `${at} is missing` : `${at} should be a text of 1 to ${most} characters`,
  );
}
