// Renders messages for the platform: text in parts, with buttons below the last part. The platform refuses
// invalid markup, which texts of agents often contain; styles are therefore entities (entities.ts). Only an
// agent with `format: native` writes the platform's HTML itself. Unsupported elements, and elements above a
// limit, become text.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import { lineBesideButton, lineOfAction } from '../../events/outbox/action-lines.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { escapeMarkdown } from '../../events/outbox/escape-markdown.ts';
import type {
  CardAction,
  MessageCard,
  OutboundMessage,
  OutboundTarget,
} from '../../events/outbox/message.ts';
import { convertedParts, renderedFormat } from '../markdown/converted-parts.ts';
import { plainLines, styledLines } from '../markdown/styled-lines.ts';
import { tablesAsCode } from '../markdown/tables-as-code.ts';
import { type Entity, entityText, withoutMentions } from './entities.ts';

/** An API call, as stored in an outbox row. */
export interface BotCall {
  readonly method: 'sendMessage' | 'setMessageReaction' | 'answerCallbackQuery';
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Outbox row of the message to edit. If its receipt is missing, a new message is posted. */
  readonly of?: string;
  /** Parameters of the message to post instead, if the press can no longer be answered. */
  readonly orElse?: Readonly<Record<string, unknown>>;
}

/** Maximum message length. The platform counts characters, never more than UTF-16 units. */
const MAX_TEXT = 4096;
/** Maximum length of an answer to a press. */
const MAX_ANSWER = 200;
const MAX_BUTTONS = 100;
/** Maximum size of button data, in bytes. */
const MAX_DATA = 64;
export const botLimits = { text: { most: MAX_TEXT, unit: 'utf16' }, buttons: MAX_BUTTONS } as const;
const BUTTON_ADDRESS = /^(https?|tg):\/\/\S+$/;

/** Returns the API calls for a message. Throws UnrenderableError. */
export function botCalls(message: OutboundMessage): readonly BotCall[] {
  const { target, action, text, card } = message;
  const format = renderedFormat(message, MAX_TEXT);
  if (action.do === 'tell') return [pressAnswer(message, action)];
  const chat = { chat_id: numberOf(target.place, 'chat') };
  if (action.do === 'react') {
    const reaction = action.emoji === '' ? [] : [{ type: 'emoji', emoji: action.emoji }];
    const parameters = { ...chat, message_id: numberOf(action.to, 'message'), reaction };
    return [{ method: 'setMessageReaction', parameters }];
  }
  const { buttons, lines } = actionsOf(card);
  const literally = literalIn[format];
  const [title, ...others] = [card?.title ?? '', ...fieldsOf(card), ...lines].map(literally);
  const texts = [title, format === 'markdown' ? tablesAsCode(text) : text, ...others];
  const whole = texts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n');
  const write = (part: string) => contentOf(part, format, message.mentions === 'allow');
  const options = { limit: MAX_TEXT, unit: 'utf16' } as const;
  const contents = convertedParts(whole, options, write, (content) => content.text.length).filter(
    (content) => content.text.trim() !== '',
  );
  const keyboard = { reply_markup: { inline_keyboard: buttons.map((button) => [button]) } };
  return contents.map((content, index): BotCall => {
    const isLast = index === contents.length - 1;
    const parameters = {
      ...chat,
      ...content,
      ...(isLast && buttons.length > 0 && keyboard),
      ...threadOf(target, index === 0),
    };
    const isEdit = action.do === 'edit' && index === 0;
    return { method: 'sendMessage', parameters, ...(isEdit && { of: action.of }) };
  });
}

/** Text with its styles, as the platform's API names them. */
interface BotText {
  readonly text: string;
  readonly entities?: readonly Entity[];
  readonly parse_mode?: 'HTML';
}

/** Writes text so that it appears literally. */
const literalIn: Readonly<Record<TextFormat, (text: string) => string>> = {
  markdown: escapeMarkdown,
  native: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  plain: (text) => text,
};

/** `mayMention` is false if the text must notify no person. */
function contentOf(text: string, format: TextFormat, mayMention: boolean): BotText {
  if (format === 'native') {
    if (mayMention) return { text, parse_mode: 'HTML' };
    const html = text.replace(/&#(?:0*64|x0*40);/gi, '@');
    return { text: withoutMentions({ text: html, entities: [] }).text, parse_mode: 'HTML' };
  }
  const styled = entityText(format === 'plain' ? plainLines(text) : styledLines(text));
  const { entities, ...content } = mayMention ? styled : withoutMentions(styled);
  return entities.length === 0 ? content : { ...content, entities };
}

/** Answers a press. The user must confirm a warning; other answers disappear soon. */
function pressAnswer(
  message: OutboundMessage,
  { press, orElse }: OutboundMessage['action'] & { readonly do: 'tell' },
): BotCall {
  const { text, status } = message;
  const shownText = text.length <= MAX_ANSWER ? text : `${text.slice(0, MAX_ANSWER - 1).toWellFormed()}…`;
  const parameters = { callback_query_id: press, text: shownText, show_alert: status === 'warning' };
  const [post] = orElse === 'nothing' ? [] : botCalls({ ...message, action: { do: 'post' } });
  return { method: 'answerCallbackQuery', parameters, ...(post && { orElse: post.parameters }) };
}

/**
 * Returns the topic and the message to reply to. The topic applies to all parts, the reply to the first part.
 */
function threadOf(
  { thread, repliesTo }: OutboundTarget,
  isFirst: boolean,
): Readonly<Record<string, unknown>> {
  const reply = isFirst && repliesTo !== undefined;
  return {
    ...(thread !== undefined && { message_thread_id: numberOf(thread, 'topic') }),
    ...(reply && {
      reply_parameters: { message_id: numberOf(repliesTo, 'message'), allow_sending_without_reply: true },
    }),
  };
}

function fieldsOf(card: MessageCard | undefined): readonly string[] {
  const { fields = [], inputs = [] } = card ?? {};
  const lines = fields.map(({ name, value }) => `${name}: ${value}`);
  const inputLines = inputs.map(({ label }) => `${label}: …`);
  return [lines.join('\n'), inputLines.join('\n')];
}

interface Button {
  readonly text: string;
  readonly callback_data?: string;
  readonly url?: string;
}

interface Actions {
  readonly buttons: readonly Button[];
  /** Text for actions without a button, and for details that a button cannot show. */
  readonly lines: readonly string[];
}

function actionsOf(card: MessageCard | undefined): Actions {
  const buttons: Button[] = [];
  const lines: string[] = [];
  for (const action of card?.actions ?? []) {
    const button = buttons.length === MAX_BUTTONS ? undefined : buttonOf(action);
    if (button !== undefined) buttons.push(button);
    const line = button === undefined ? lineOfAction(action) : lineBesideButton(action);
    if (line !== undefined) lines.push(line);
  }
  return { buttons, lines: lines.length === 0 ? [] : [lines.join('\n')] };
}

function buttonOf({ id, title, url }: CardAction): Button | undefined {
  const text = title.trim();
  if (text === '') return undefined;
  if (url !== undefined) return BUTTON_ADDRESS.test(url) ? { text, url } : undefined;
  const size = Buffer.byteLength(id);
  return size > 0 && size <= MAX_DATA ? { text, callback_data: id } : undefined;
}

function numberOf(id: string, kind: string): number {
  const number = Number(id);
  if (!/^-?\d+$/.test(id) || !Number.isSafeInteger(number))
    throw new UnrenderableError(`${JSON.stringify(id.slice(0, 40))} is not a valid ${kind} id`);
  return number;
}
