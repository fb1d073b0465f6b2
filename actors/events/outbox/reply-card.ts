// Reads the structured data of an agent's answer: the form of its text, and a card of title, fields and
// actions; other data is ignored. Actions with the id of an approval button are dropped. Otherwise an agent
// could show such a button under a harmless title, and a person would approve unknowingly.

import { type TextFormat, textFormats } from '../../../config/resources/agents/text-format.ts';
import { parseDecisionActionId } from '../decision-action.ts';
import type { CardAction, CardField, MessageCard } from './message.ts';

/** Higher than the limit of every platform. */
const MAX_FIELDS = 100;
const MAX_ACTIONS = 100;

/** Returns the form of the text; undefined if the answer does not name it. */
export function replyFormat(data: unknown): TextFormat | undefined {
  return isObject(data) ? textFormats.find((format) => format === data.format) : undefined;
}

/** Returns the card, if any. */
export function replyCard(data: unknown): MessageCard | undefined {
  if (!isObject(data)) return undefined;
  const title = textMember(data, 'title');
  const fields = listMember(data, 'fields').slice(0, MAX_FIELDS).flatMap(fieldOf);
  const actions = uniqueActions(listMember(data, 'actions').flatMap(actionOf)).slice(0, MAX_ACTIONS);
  if (title === undefined && fields.length === 0 && actions.length === 0) return undefined;
  return {
    title,
    fields: fields.length === 0 ? undefined : fields,
    actions: actions.length === 0 ? undefined : actions,
  };
}

function fieldOf(item: unknown): readonly CardField[] {
  if (!isObject(item)) return [];
  const name = textMember(item, 'name');
  const value = textMember(item, 'value');
  return name === undefined || value === undefined ? [] : [{ name, value }];
}

function actionOf(item: unknown): readonly CardAction[] {
  if (!isObject(item)) return [];
  const id = textMember(item, 'id');
  if (id === undefined || parseDecisionActionId(id) !== undefined) return [];
  const { style } = item;
  return [
    {
      id,
      title: textMember(item, 'title') ?? id,
      style: style === 'primary' || style === 'danger' ? style : undefined,
      description: textMember(item, 'description'),
      url: urlIn(item),
    },
  ];
}

/** Drops actions with duplicate ids: platforms refuse them, and a click would be ambiguous. */
function uniqueActions(actions: readonly CardAction[]): readonly CardAction[] {
  const seenIds = new Set<string>();
  return actions.filter(({ id }) => !seenIds.has(id) && seenIds.add(id));
}

function urlIn(item: Readonly<Record<string, unknown>>): string | undefined {
  const url = textMember(item, 'url');
  if (url === undefined || !URL.canParse(url)) return undefined;
  return /^https?:$/.test(new URL(url).protocol) ? url : undefined;
}

/** Returns a text, number or boolean as trimmed, well-formed text; undefined if empty or of another type. */
function textMember(value: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const member = value[name];
  if (typeof member !== 'string' && typeof member !== 'number' && typeof member !== 'boolean')
    return undefined;
  const text = String(member).toWellFormed().trim();
  return text === '' ? undefined : text;
}

function listMember(value: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const member = value[name];
  return Array.isArray(member) ? member : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
