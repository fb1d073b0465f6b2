// Renders a message as requests to the platform, in sending order.
//
// The text is never cut; unsupported elements, and elements above a limit, become text. Title, fields and
// choices are below the last part of the text. The first part of a reply replaces the deferred or earlier
// reply and can be repeated; all other parts are separate messages. A body sets every member, because the
// replaced message would keep omitted members.

import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { escapeLine, escapeMarkdown } from '../../events/outbox/escape-markdown.ts';
import type { CardAction, MessageCard, OutboundMessage } from '../../events/outbox/message.ts';
import { splitText } from '../../events/outbox/split-text.ts';
import { actionButtons, type Component } from './buttons.ts';
import { type Embed, embedsOf } from './embeds.ts';

export interface CommunityBody {
  readonly content: string;
  readonly embeds: readonly Embed[];
  readonly components: readonly Component[];
  readonly allowed_mentions: { readonly parse: readonly string[] };
}

/** A request to the platform, as stored in an outbox row. */
export interface CommunityMessage {
  readonly channel: string;
  /** The interaction that the message replies to. */
  readonly interaction?: string;
  /** True if the message replaces the existing reply. */
  readonly isFirst: boolean;
  /** Outbox row of the message to edit. If its receipt is missing, a new message is posted. */
  readonly of?: string;
  readonly body: CommunityBody;
}

/** Maximum message length. The platform counts characters, never more than UTF-16 units. */
export const TEXT = { limit: 2000, unit: 'utf16' } as const;
/** Message text above choices without text. */
const PROMPT = '👇';
const ALL_MENTIONS = ['users', 'roles', 'everyone'];

/** Returns the requests for a message. Throws UnrenderableError. */
export function communityMessages(message: OutboundMessage): readonly CommunityMessage[] {
  const { target, action, isSideMessage = false } = message;
  if (action.do === 'react') throw new UnrenderableError('reactions cannot be set in this chat');
  return bodiesOf(message).map((body, index) => ({
    channel: target.place,
    ...(target.repliesTo !== undefined && !isSideMessage && { interaction: target.repliesTo }),
    isFirst: index === 0,
    ...(action.do === 'edit' && index === 0 && { of: action.of }),
    body,
  }));
}

function bodiesOf({ text, card = {}, mentions }: OutboundMessage): readonly CommunityBody[] {
  const allowed_mentions = { parse: mentions === 'allow' ? ALL_MENTIONS : [] };
  const { rows, remaining, described } = actionButtons(card.actions ?? []);
  const { embeds, title, fields } = embedsOf(card);
  const fullText = textOf(text, { ...card, title, fields }, remaining, described);
  const texts = splitText(fullText, TEXT).filter((part) => part.trim() !== '');
  // The last part of the text shares a message with the first embed; the last embed, with the choices.
  const sharedCount = texts.length > 0 && embeds.length > 0 ? 1 : 0;
  const count = Math.max(texts.length + embeds.length - sharedCount, rows.length > 0 ? 1 : 0);
  return Array.from({ length: count }, (_, index) => {
    const embed = embeds[index - texts.length + sharedCount];
    const components = index === count - 1 ? rows : [];
    const content = texts[index] ?? (embed === undefined ? PROMPT : '');
    return { content, embeds: embed === undefined ? [] : [embed], components, allowed_mentions };
  });
}

/** Title and fields are Markdown already (embeds.ts). */
function textOf(
  text: string,
  { title, fields = [], inputs = [] }: MessageCard,
  remaining: readonly CardAction[],
  described: readonly CardAction[],
): string {
  const lines = [
    ...fields.map(({ name, value }) => `**${name}**: ${value}`),
    ...inputs.map(({ label }) => `${escapeLine(label)}: …`),
    ...described.map(
      ({ title: name, description = '' }) => `- **${escapeLine(name)}**: ${escapeLine(description)}`,
    ),
    ...remaining.map(lineOf),
  ];
  const head = title === undefined ? '' : `**${title}**`;
  return [head, text, lines.join('\n')].filter((part) => part.trim() !== '').join('\n\n');
}

function lineOf({ id, title, url, description }: CardAction): string {
  const more = [url, description].filter((each) => each !== undefined).join(' ');
  const line = `${title.trim() || id}${more === '' ? '' : `: ${more}`}`;
  return `- ${escapeMarkdown(line.replace(/\s+/g, ' '))}`;
}
