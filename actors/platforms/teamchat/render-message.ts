// Renders a message as activities, in sending order.
//
// No activity exceeds the platform's size limit (JSON in UTF-8), and no content is lost: a card that does not
// fit into the activity of the text follows it, elements that do not fit into a card become text, and too
// many buttons are split into several cards.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { escapeLine } from '../../events/outbox/escape-markdown.ts';
import type { CardAction, CardInput, MessageCard, OutboundMessage } from '../../events/outbox/message.ts';
import { convertedParts, renderedFormat } from '../markdown/converted-parts.ts';
import { tablesAsCode } from '../markdown/tables-as-code.ts';
import { attachmentOf, type CardAttachment } from './adaptive-card.ts';
import { teamMarkdown } from './team-markdown.ts';

/** A request to the service, as stored in an outbox row. */
export interface TeamMessage {
  readonly serviceUrl: string;
  readonly conversation: string;
  readonly repliesTo?: string | undefined;
  readonly activity: ActivityBody;
  /** Outbox row of the message to edit. If its receipt is missing, a new message is posted. */
  readonly of?: string;
}

export interface ActivityBody {
  readonly type: 'message';
  readonly textFormat?: 'markdown' | 'plain';
  readonly text?: string;
  /** Notification text for messages without text. */
  readonly summary?: string;
  readonly attachments?: readonly CardAttachment[];
}

const MAX_BYTES = 28_672;
export const messageLimits = { text: { most: MAX_BYTES, unit: 'utf8' } } as const;
/** Maximum length of button titles if space is limited. */
const MAX_TITLE = 100;
const MAX_SUMMARY = 200;

/** Returns the requests for a message. Throws UnrenderableError. */
export function teamMessages(message: OutboundMessage): readonly TeamMessage[] {
  const { target, action, text, card } = message;
  if (action.do === 'react') throw new UnrenderableError('this platform does not support reactions');
  const { place: conversation, repliesTo, serviceUrl } = target;
  if (serviceUrl === undefined) throw new UnrenderableError('the conversation has no service URL');
  return activitiesOf(text, card, renderedFormat(message, MAX_BYTES)).map((activity, i) => ({
    serviceUrl,
    conversation,
    repliesTo,
    activity,
    ...(action.do === 'edit' && i === 0 && { of: action.of }),
  }));
}

function activitiesOf(
  text: string,
  card: MessageCard | undefined,
  format: TextFormat,
): readonly ActivityBody[] {
  if (card === undefined || isEmpty(card)) return textActivities(text, format);
  const attachment = attachmentOf(card);
  const combinedActivity =
    text.trim() === ''
      ? cardActivity(attachment, card.title)
      : { ...textActivity(text, format), attachments: [attachment] };
  if (fits(combinedActivity)) return [combinedActivity];
  const cardOnly = cardActivity(attachment, card.title);
  if (fits(cardOnly)) return [...textActivities(text, format), cardOnly];
  return asText(text, card, format);
}

/** Renders the card as text, and cards with the actions that fit. */
function asText(
  text: string,
  { title, fields, actions = [], inputs = [] }: MessageCard,
  format: TextFormat,
): readonly ActivityBody[] {
  const { attachments, remaining } = cardsOf(actions, inputs, title);
  const links = remaining.filter(({ url }) => url !== undefined);
  const lines = [
    ...actions.flatMap(({ title: name, description }) =>
      description === undefined ? [] : [`- ${escapeLine(name)}: ${escapeLine(description)}`],
    ),
    ...remaining.flatMap(({ title: name, url }) => (url === undefined ? [`- ${escapeLine(name)}`] : [])),
    ...(attachments.length === 0 ? inputs.map(({ label }) => `- ${escapeLine(label)}: …`) : []),
  ];
  const parts = [withCardText(text, { title, fields, actions: links }), lines.join('\n')];
  return [
    ...textActivities(parts.filter((part) => part !== '').join('\n\n'), format),
    ...attachments.map((attachment) => cardActivity(attachment, title)),
  ];
}

interface Cards {
  readonly attachments: readonly CardAttachment[];
  /** Actions that are too large for any card. */
  readonly remaining: readonly CardAction[];
}

/** Each card has all inputs, because buttons send only the inputs on the same card. */
function cardsOf(
  actions: readonly CardAction[],
  inputs: readonly CardInput[],
  title: string | undefined,
): Cards {
  if (actions.length === 0 && inputs.length === 0) return { attachments: [], remaining: [] };
  const attachment = attachmentOf({ actions: actions.map(withShortTitle), inputs });
  if (fits(cardActivity(attachment, title))) return { attachments: [attachment], remaining: [] };
  if (actions.length < 2)
    return inputs.length === 0 ? { attachments: [], remaining: actions } : cardsOf(actions, [], title);
  const half = Math.ceil(actions.length / 2);
  const parts = [actions.slice(0, half), actions.slice(half)].map((each) => cardsOf(each, inputs, title));
  return {
    attachments: parts.flatMap(({ attachments }) => attachments),
    remaining: parts.flatMap(({ remaining }) => remaining),
  };
}

const withShortTitle = ({ description: _, ...action }: CardAction): CardAction => ({
  ...action,
  title:
    action.title.length <= MAX_TITLE
      ? action.title
      : `${action.title.slice(0, MAX_TITLE - 1).toWellFormed()}…`,
});

/** Splits the text into activities. Parts are measured as JSON, as they are sent. */
function textActivities(text: string, format: TextFormat): readonly ActivityBody[] {
  const source = format === 'markdown' ? tablesAsCode(text) : text;
  const emptySize = sizeOf(textActivity('', format));
  const options = { limit: MAX_BYTES - emptySize, unit: 'json' } as const;
  const write = (part: string) => textActivity(part, format);
  return convertedParts(source, options, write, (activity) => sizeOf(activity) - emptySize).filter(
    (activity) => activity.text?.trim() !== '',
  );
}

function textActivity(text: string, format: TextFormat): ActivityBody {
  if (format === 'plain') return { type: 'message', textFormat: 'plain', text };
  const isConverted = format === 'markdown';
  return {
    type: 'message',
    textFormat: 'markdown',
    text: isConverted ? teamMarkdown(tablesAsCode(text)) : text,
  };
}

function cardActivity(attachment: CardAttachment, title: string | undefined): ActivityBody {
  const summary = title === undefined ? {} : { summary: title.slice(0, MAX_SUMMARY).toWellFormed() };
  return { type: 'message', ...summary, attachments: [attachment] };
}

const fits = (activity: ActivityBody) => sizeOf(activity) <= MAX_BYTES;

const sizeOf = (activity: ActivityBody) => Buffer.byteLength(JSON.stringify(activity));

function isEmpty({ title, fields = [], actions = [], inputs = [] }: MessageCard): boolean {
  return title === undefined && fields.length + actions.length + inputs.length === 0;
}
