// A neutral message as what the community chat takes, in the order in which it is sent.
//
// CCM1  the whole text arrives, in parts; what has no form here, or is beyond a limit, stands in it in words. Title, fields and
//      choices stand below the last part.
// CCM2  the first part of whatever answers an interaction takes the place of "thinking …", and of what was answered before: to do
//      that again does no harm. Only further parts are messages of their own, and so is, as one of the bot, what is apart from answers.
// CCM3  a message that may take the place of another one says of each of its members what it is: the platform keeps the others.

import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { Card, CardAction, OutboundMessage } from '../../events/outbox/outbound-message.ts';
import { splitText } from '../../events/outbox/split-text.ts';
import { actionButtons, type Component } from './buttons.ts';
import { type Embed, embedsOf } from './embeds.ts';

export interface MessageBody {
  readonly content: string;
  readonly embeds: readonly Embed[];
  readonly components: readonly Component[];
  readonly allowed_mentions: { readonly parse: readonly string[] };
}

/** A request to the platform, as a row of the outbox keeps it. */
export interface CommunityMessage {
  readonly channel: string;
  /** The interaction that it answers. */
  readonly interaction?: string;
  /** In place of what there is of the answer. */
  readonly isFirst: boolean;
  /** The row whose message this is to stand in, if that has one. */
  readonly of?: string;
  readonly body: MessageBody;
}

/** Of one message; the platform counts characters, of which there are never more than UTF-16 units. */
export const TEXT = { limit: 2000, unit: 'utf16' } as const;
/** Above choices that nothing is said of. */
const PROMPT = '👇';
const EVERYBODY = ['users', 'roles', 'everyone'];

/** Throws UnrenderableError. */
export function communityMessages(message: OutboundMessage): readonly CommunityMessage[] {
  const { target, action, isApart = false } = message;
  if (action.do === 'react') throw new UnrenderableError('reactions cannot be set in this chat');
  return bodiesOf(message).map((body, index) => ({
    channel: target.place,
    ...(target.repliesTo !== undefined && !isApart && { interaction: target.repliesTo }),
    isFirst: index === 0,
    ...(action.do === 'edit' && index === 0 && { of: action.of }),
    body,
  }));
}

function bodiesOf({ text, card = {}, mentions }: OutboundMessage): readonly MessageBody[] {
  const allowed_mentions = { parse: mentions === 'allow' ? EVERYBODY : [] };
  const { rows, leftOut, described } = actionButtons(card.actions ?? []);
  const { embeds, title, fields } = embedsOf(card);
  const words = wordsOf(text, { ...card, title, fields }, leftOut, described);
  const texts = splitText(words, TEXT).filter((part) => part.trim() !== '');
  // The last text and the first embed are one message, and so are the last embed and the choices.
  const joint = texts.length > 0 && embeds.length > 0 ? 1 : 0;
  const count = Math.max(texts.length + embeds.length - joint, rows.length > 0 ? 1 : 0);
  return Array.from({ length: count }, (_, index) => {
    const embed = embeds[index - texts.length + joint];
    const components = index === count - 1 ? rows : [];
    const content = texts[index] ?? (embed === undefined ? PROMPT : '');
    return { content, embeds: embed === undefined ? [] : [embed], components, allowed_mentions };
  });
}

function wordsOf(
  text: string,
  { title, fields = [], inputs = [] }: Card,
  leftOut: readonly CardAction[],
  described: readonly CardAction[],
): string {
  const lines = [
    ...fields.map(({ name, value }) => `**${onOneLine(name)}**: ${value}`),
    ...inputs.map(({ label }) => `${onOneLine(label)}: …`),
    ...described.map(
      ({ title: name, description = '' }) => `- **${onOneLine(name)}**: ${onOneLine(description)}`,
    ),
    ...leftOut.map(lineOf),
  ];
  const head = title === undefined ? '' : `**${onOneLine(title)}**`;
  return [head, text, lines.join('\n')].filter((part) => part.trim() !== '').join('\n\n');
}

function lineOf({ id, title, url, description }: CardAction): string {
  const more = [url, description].filter((each) => each !== undefined).join(' ');
  return onOneLine(`- ${title.trim() || id}${more === '' ? '' : `: ${more}`}`);
}

/** No block of code begins in it. */
const onOneLine = (text: string) => text.replace(/\s+/g, ' ').trim();
