// Renders a message as bodies for the platform's cloud API, in sending order.
//
// The first text begins with a mark of the status. The text is never cut: parts that do not fit into the
// message with the buttons are sent before it, and unsupported elements become text. The platform refuses
// messages beyond its limits. A number is addressed by `to`, a user id by `recipient`: the platform accepts
// an id in `to`, but then does not deliver the message.

import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { MessageCard, OutboundMessage } from '../../events/outbox/message.ts';
import { splitText } from '../../events/outbox/split-text.ts';
import { actionButtons, MAX_BUTTONS, type MessengerButtons } from './buttons.ts';

export type MessengerBody = Readonly<Record<string, unknown>>;

const MAX_TEXT = 4096;
/** Maximum length of the text in a message with buttons or a list. */
const MAX_BODY = 1024;
const MARKS = { success: '✅ ', warning: '⚠️ ' } as const;
export const messageLimits = { text: { most: MAX_TEXT, unit: 'utf16' }, buttons: MAX_BUTTONS } as const;
/** Text in a message with choices whose own text was sent before. */
const PROMPT = '👇';

/** Returns the request bodies for a message. Throws UnrenderableError. */
export function messageBodies(message: OutboundMessage): readonly MessengerBody[] {
  const { target, action, text, status = 'success', card = {} } = message;
  const envelope = {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...addressOf(target.place),
  };
  if (action.do === 'edit') throw new UnrenderableError('this platform does not support edits');
  if (action.do === 'react')
    return [{ ...envelope, type: 'reaction', reaction: { message_id: action.to, emoji: action.emoji } }];
  const mark = MARKS[status];
  const { title, actions = [] } = card;
  const buttons = actionButtons(
    actions.filter(({ url }) => url === undefined),
    title,
  );
  const fullText = textOf(text, card, buttons);
  const fitsWithButtons = buttons.interactives.length > 0 && mark.length + fullText.length <= MAX_BODY;
  const texts = fitsWithButtons || fullText === '' ? [] : textsOf(fullText, mark);
  const bodyText = fitsWithButtons ? mark + (fullText || PROMPT) : PROMPT;
  return [
    ...texts.map((body) => ({ ...envelope, type: 'text', text: { preview_url: false, body } })),
    ...buttons.interactives.map((interactive, index) => ({
      ...envelope,
      type: 'interactive',
      interactive: { ...interactive, body: { text: index === 0 ? bodyText : PROMPT } },
    })),
  ];
}

function textsOf(text: string, mark: string): readonly string[] {
  const [first = '', ...others] = splitText(text, { limit: MAX_TEXT, unit: 'utf16', markSpace: mark.length });
  return [mark + first, ...others].filter((part) => part.trim() !== '');
}

/** Returns the full text, without a title that is in the header. */
function textOf(
  text: string,
  { title, fields = [], actions = [], inputs = [] }: MessageCard,
  buttons: MessengerButtons,
): string {
  const areButtons = buttons.interactives[0]?.type === 'button';
  const lines = [
    ...fields.map(({ name, value }) => `*${name}*: ${value}`),
    ...inputs.map(({ label }) => `${label}: …`),
    ...actions.flatMap(({ title: name, url }) => (url === undefined ? [] : `${name}: ${url}`)),
    // A button cannot show a description.
    ...actions.flatMap(({ title: name, description, url }) =>
      areButtons && description !== undefined && url === undefined ? `${name}: ${description}` : [],
    ),
    ...buttons.remaining.map(({ title: name }) => `• ${name}`),
  ];
  const head = title === undefined || buttons.hasHeader ? '' : `*${title}*`;
  return [head, text, lines.join('\n')].filter((part) => part.trim() !== '').join('\n\n');
}

function addressOf(place: string): object {
  return /^\d+$/.test(place) ? { to: place } : { recipient: place };
}
