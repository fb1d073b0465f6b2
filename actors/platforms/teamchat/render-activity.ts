// A neutral message as activities for the platform, in the order in which they are sent.
//
// TCR1  none is larger than the platform takes, as JSON in UTF-8.
// TCR2  nothing is lost: what does not fit beside a text is sent after it, what does not fit into a card stands in words, and
//       buttons that are too many for one card are on several.

import { withCardText } from '../../events/outbox/card-text.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { Card, CardAction, CardInput, OutboundMessage } from '../../events/outbox/outbound-message.ts';
import { splitText } from '../../events/outbox/split-text.ts';
import { type Attachment, attachmentOf } from './adaptive-card.ts';

/** A request to the service, as a row of the outbox keeps it. */
export interface TeamMessage {
  readonly serviceUrl: string;
  readonly conversation: string;
  readonly repliesTo?: string | undefined;
  readonly activity: ActivityBody;
  /** The row whose message this is to stand in, if that has one. */
  readonly of?: string;
}

export interface ActivityBody {
  readonly type: 'message';
  readonly textFormat?: 'markdown';
  readonly text?: string;
  /** For a notification, where there is no text. */
  readonly summary?: string;
  readonly attachments?: readonly Attachment[];
}

const MAX_BYTES = 28_672;
export const messageLimits = { text: { most: MAX_BYTES, unit: 'utf8' } } as const;
/** Of a button, where room is short. */
const MAX_TITLE = 100;
const MAX_SUMMARY = 200;

/** Throws UnrenderableError. */
export function teamMessages({ target, action, text, card }: OutboundMessage): readonly TeamMessage[] {
  if (action.do === 'react') throw new UnrenderableError('this chat has no way for a bot to react');
  const { place: conversation, repliesTo, serviceUrl } = target;
  if (serviceUrl === undefined) throw new UnrenderableError('the conversation has no service URL');
  return activitiesOf(text, card).map((activity, i) => ({
    serviceUrl,
    conversation,
    repliesTo,
    activity,
    ...(action.do === 'edit' && i === 0 && { of: action.of }),
  }));
}

function activitiesOf(text: string, card: Card | undefined): readonly ActivityBody[] {
  if (card === undefined || isEmpty(card)) return textActivities(text);
  const attachment = attachmentOf(card);
  const beside =
    text.trim() === ''
      ? cardActivity(attachment, card.title)
      : { ...textActivity(text), attachments: [attachment] };
  if (doesFit(beside)) return [beside];
  const alone = cardActivity(attachment, card.title);
  if (doesFit(alone)) return [...textActivities(text), alone];
  return inWords(text, card);
}

/** What there is to choose stays on cards, as far as it can. */
function inWords(text: string, { title, fields, actions = [], inputs = [] }: Card): readonly ActivityBody[] {
  const { attachments, left } = cardsOf(actions, inputs, title);
  const links = left.filter(({ url }) => url !== undefined);
  const lines = [
    ...actions.flatMap(({ title: name, description }) =>
      description === undefined ? [] : [`- ${name}: ${description}`],
    ),
    ...left.flatMap(({ title: name, url }) => (url === undefined ? [`- ${name}`] : [])),
    ...(attachments.length === 0 ? inputs.map(({ label }) => `- ${label}: …`) : []),
  ];
  const words = [withCardText(text, { title, fields, actions: links }), lines.join('\n')];
  return [
    ...textActivities(words.filter((part) => part !== '').join('\n\n')),
    ...attachments.map((attachment) => cardActivity(attachment, title)),
  ];
}

interface Cards {
  readonly attachments: readonly Attachment[];
  /** Too large for any card. */
  readonly left: readonly CardAction[];
}

/** What is filled in comes back with the buttons of its own card: so each has all inputs. */
function cardsOf(
  actions: readonly CardAction[],
  inputs: readonly CardInput[],
  title: string | undefined,
): Cards {
  if (actions.length === 0 && inputs.length === 0) return { attachments: [], left: [] };
  const attachment = attachmentOf({ actions: actions.map(shortened), inputs });
  if (doesFit(cardActivity(attachment, title))) return { attachments: [attachment], left: [] };
  if (actions.length < 2)
    return inputs.length === 0 ? { attachments: [], left: actions } : cardsOf(actions, [], title);
  const half = Math.ceil(actions.length / 2);
  const parts = [actions.slice(0, half), actions.slice(half)].map((each) => cardsOf(each, inputs, title));
  return {
    attachments: parts.flatMap(({ attachments }) => attachments),
    left: parts.flatMap(({ left }) => left),
  };
}

const shortened = ({ description: _, ...action }: CardAction): CardAction => ({
  ...action,
  title:
    action.title.length <= MAX_TITLE
      ? action.title
      : `${action.title.slice(0, MAX_TITLE - 1).toWellFormed()}…`,
});

/** A part is measured as it is sent. */
function textActivities(text: string): readonly ActivityBody[] {
  const limit = MAX_BYTES - sizeOf(textActivity(''));
  return splitText(text, { limit, unit: 'json' })
    .filter((part) => part.trim() !== '')
    .map(textActivity);
}

function textActivity(text: string): ActivityBody {
  return { type: 'message', textFormat: 'markdown', text };
}

function cardActivity(attachment: Attachment, title: string | undefined): ActivityBody {
  const summary = title === undefined ? {} : { summary: title.slice(0, MAX_SUMMARY).toWellFormed() };
  return { type: 'message', ...summary, attachments: [attachment] };
}

const doesFit = (activity: ActivityBody) => sizeOf(activity) <= MAX_BYTES;

const sizeOf = (activity: ActivityBody) => Buffer.byteLength(JSON.stringify(activity));

function isEmpty({ title, fields = [], actions = [], inputs = [] }: Card): boolean {
  return title === undefined && fields.length + actions.length + inputs.length === 0;
}
