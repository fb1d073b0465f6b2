// Renders a message as bodies for the platform's cloud API, in sending order.
//
// The first text begins with a mark of the status. The text is never cut: parts that do not fit into the
// message with the buttons are sent before it, and unsupported elements become text. The platform refuses
// messages beyond its limits. A number is addressed by `to`, a user id by `recipient`: the platform accepts
// an id in `to`, but then does not deliver the message.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { escapeMarkdown } from '../../events/outbox/escape-markdown.ts';
import type { MessageCard, OutboundMessage } from '../../events/outbox/message.ts';
import { convertedParts, renderedFormat } from '../markdown/converted-parts.ts';
import { tablesAsCode } from '../markdown/tables-as-code.ts';
import { actionButtons, MAX_BUTTONS, type MessengerButtons } from './buttons.ts';
import { messengerText } from './dialect.ts';

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
  const format = renderedFormat(message, MAX_TEXT);
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
  const fullText = textOf(format === 'markdown' ? tablesAsCode(text) : text, card, buttons, format);
  const shownText = messengerText(fullText, format);
  const fitsWithButtons = buttons.interactives.length > 0 && mark.length + shownText.length <= MAX_BODY;
  const texts = fitsWithButtons || fullText === '' ? [] : textsOf(fullText, mark, format);
  const bodyText = fitsWithButtons ? mark + (shownText || PROMPT) : PROMPT;
  return [
    ...texts.map((body) => ({ ...envelope, type: 'text', text: { preview_url: false, body } })),
    ...buttons.interactives.map((interactive, index) => ({
      ...envelope,
      type: 'interactive',
      interactive: { ...interactive, body: { text: index === 0 ? bodyText : PROMPT } },
    })),
  ];
}

function textsOf(text: string, mark: string, format: TextFormat): readonly string[] {
  const options = { limit: MAX_TEXT, unit: 'utf16', markSpace: mark.length } as const;
  const write = (part: string) => messengerText(part, format);
  const [first = '', ...others] = convertedParts(text, options, write, ({ length }) => length);
  return [mark + first, ...others].filter((part) => part.trim() !== '');
}

/** Returns the full text, without a title that is in the header. */
function textOf(
  text: string,
  { title, fields = [], actions = [], inputs = [] }: MessageCard,
  buttons: MessengerButtons,
  format: TextFormat,
): string {
  const areButtons = buttons.interactives[0]?.type === 'button';
  const literally = format === 'markdown' ? escapeMarkdown : (line: string) => line;
  const bold = (name: string) => (format === 'markdown' ? `**${escapeMarkdown(name.trim())}**` : `*${name}*`);
  const lines = [
    ...fields.map(({ name, value }) => `${bold(name)}: ${literally(value)}`),
    ...inputs.map(({ label }) => literally(`${label}: …`)),
    ...actions.flatMap(({ title: name, url }) => (url === undefined ? [] : literally(`${name}: ${url}`))),
    // A button cannot show a description.
    ...actions.flatMap(({ title: name, description, url }) =>
      areButtons && description !== undefined && url === undefined
        ? literally(`${name}: ${description}`)
        : [],
    ),
    ...buttons.remaining.map(({ title: name }) => literally(`• ${name}`)),
  ];
  const head = title === undefined || buttons.hasHeader ? '' : bold(title);
  return [head, text, lines.join('\n')].filter((part) => part.trim() !== '').join('\n\n');
}

function addressOf(place: string): object {
  return /^\d+$/.test(place) ? { to: place } : { recipient: place };
}
