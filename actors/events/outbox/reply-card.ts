// What an agent gave beside its text, as far as a chat has a form for it: title, fields, and actions to choose from. Anything
// else, and whatever has another shape, stays data of the answer and is passed over here.
//
// RCD1  an answer has no button that decides about an approval: whoever pressed it, under whatever title, would have decided.

import { decisionIn } from '../decision-action.ts';
import type { Card, CardAction, CardField } from './outbound-message.ts';

/** More than any platform shows. */
const MAX_FIELDS = 100;
const MAX_ACTIONS = 100;

/** Undefined where there is nothing of a card. */
export function replyCard(data: unknown): Card | undefined {
  if (!isObject(data)) return undefined;
  const title = wordsIn(data, 'title');
  const fields = itemsIn(data, 'fields').slice(0, MAX_FIELDS).flatMap(fieldOf);
  const actions = onceEach(itemsIn(data, 'actions').flatMap(actionOf)).slice(0, MAX_ACTIONS);
  if (title === undefined && fields.length === 0 && actions.length === 0) return undefined;
  return {
    title,
    fields: fields.length === 0 ? undefined : fields,
    actions: actions.length === 0 ? undefined : actions,
  };
}

function fieldOf(item: unknown): readonly CardField[] {
  if (!isObject(item)) return [];
  const name = wordsIn(item, 'name');
  const value = wordsIn(item, 'value');
  return name === undefined || value === undefined ? [] : [{ name, value }];
}

function actionOf(item: unknown): readonly CardAction[] {
  if (!isObject(item)) return [];
  const id = wordsIn(item, 'id');
  if (id === undefined || decisionIn(id) !== undefined) return [];
  const { style } = item;
  return [
    {
      id,
      title: wordsIn(item, 'title') ?? id,
      style: style === 'primary' || style === 'danger' ? style : undefined,
      description: wordsIn(item, 'description'),
      url: urlIn(item),
    },
  ];
}

/** Platforms refuse a message in which an id comes twice, and nobody could tell the clicks apart. */
function onceEach(actions: readonly CardAction[]): readonly CardAction[] {
  const seen = new Set<string>();
  return actions.filter(({ id }) => !seen.has(id) && seen.add(id));
}

function urlIn(item: Readonly<Record<string, unknown>>): string | undefined {
  const url = wordsIn(item, 'url');
  if (url === undefined || !URL.canParse(url)) return undefined;
  return /^https?:$/.test(new URL(url).protocol) ? url : undefined;
}

/** A text without halves of characters, or a number or boolean as text; undefined for an empty one. */
function wordsIn(value: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const member = value[name];
  if (typeof member !== 'string' && typeof member !== 'number' && typeof member !== 'boolean')
    return undefined;
  const text = String(member).toWellFormed().trim();
  return text === '' ? undefined : text;
}

function itemsIn(value: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const member = value[name];
  return Array.isArray(member) ? member : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
