// A neutral message as bodies for the business messenger's cloud API, in the order in which they are sent.
//
// RM1  a text begins with a mark of how it went; of several parts the first.
// RM2  the whole text arrives: what does not fit beside buttons is sent before them, and what has no form here stands in words.
// RM3  nothing in them is beyond the platform's limits: it would refuse the message as a whole.
// RM4  a number is addressed by `to`, an id of a user by `recipient`: an id in `to` is taken by the platform and reaches nobody.

import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { Card, OutboundMessage } from '../../events/outbox/outbound-message.ts';
import { splitText } from '../../events/outbox/split-text.ts';
import { type ActionButtons, actionButtons, MAX_BUTTONS } from './buttons.ts';

export type MessageBody = Readonly<Record<string, unknown>>;

const MAX_TEXT = 4096;
/** Of the text beside buttons or a list. */
const MAX_BODY = 1024;
const MARKS = { success: '✅ ', warning: '⚠️ ' } as const;
export const messageLimits = { text: { most: MAX_TEXT, unit: 'utf16' }, buttons: MAX_BUTTONS } as const;
/** Where all the words stand in messages before. */
const PROMPT = '👇';

/** Throws UnrenderableError. */
export function messageBodies(message: OutboundMessage): readonly MessageBody[] {
  const { target, action, text, status = 'success', card = {} } = message;
  const envelope = {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...addressOf(target.place),
  };
  if (action.do === 'edit') throw new UnrenderableError('this messenger has no way to change a message');
  if (action.do === 'react')
    return [{ ...envelope, type: 'reaction', reaction: { message_id: action.to, emoji: action.emoji } }];
  const mark = MARKS[status];
  const { title, actions = [] } = card;
  const buttons = actionButtons(
    actions.filter(({ url }) => url === undefined),
    title,
  );
  const words = wordsOf(text, card, buttons);
  const isBeside = buttons.interactives.length > 0 && mark.length + words.length <= MAX_BODY;
  const texts = isBeside || words === '' ? [] : textsOf(words, mark);
  const besides = isBeside ? mark + (words || PROMPT) : PROMPT;
  return [
    ...texts.map((body) => ({ ...envelope, type: 'text', text: { preview_url: false, body } })),
    ...buttons.interactives.map((interactive, index) => ({
      ...envelope,
      type: 'interactive',
      interactive: { ...interactive, body: { text: index === 0 ? besides : PROMPT } },
    })),
  ];
}

function textsOf(words: string, mark: string): readonly string[] {
  const [first = '', ...others] = splitText(words, { limit: MAX_TEXT, unit: 'utf16', markRoom: mark.length });
  return [mark + first, ...others].filter((part) => part.trim() !== '');
}

/** What is read as text: beside choices the title may be their header. */
function wordsOf(
  text: string,
  { title, fields = [], actions = [], inputs = [] }: Card,
  buttons: ActionButtons,
): string {
  const areButtons = buttons.interactives[0]?.type === 'button';
  const lines = [
    ...fields.map(({ name, value }) => `*${name}*: ${value}`),
    ...inputs.map(({ label }) => `${label}: …`),
    ...actions.flatMap(({ title: name, url }) => (url === undefined ? [] : `${name}: ${url}`)),
    // A button has no room for one.
    ...actions.flatMap(({ title: name, description, url }) =>
      areButtons && description !== undefined && url === undefined ? `${name}: ${description}` : [],
    ),
    ...buttons.leftOut.map(({ title: name }) => `• ${name}`),
  ];
  const head = title === undefined || buttons.hasHeader ? '' : `*${title}*`;
  return [head, text, lines.join('\n')].filter((part) => part.trim() !== '').join('\n\n');
}

function addressOf(place: string): object {
  return /^\d+$/.test(place) ? { to: place } : { recipient: place };
}
