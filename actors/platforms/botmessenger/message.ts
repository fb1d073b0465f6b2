// A message in the platform's form: plain text in pieces, and buttons below the last of them.
//
// Texts leave as they were written, without a markup language, in which half of what agents write would be an error.
// Whatever has no form here, or is beyond a limit of the platform, stands in the text: nothing is left out unsaid.

import { lineBesideButton, lineOfAction } from '../../events/outbox/action-lines.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type {
  Card,
  CardAction,
  OutboundMessage,
  OutboundTarget,
} from '../../events/outbox/outbound-message.ts';
import { splitText } from '../../events/outbox/split-text.ts';

/** A call of the API, as a row of the outbox keeps it. */
export interface BotCall {
  readonly method: 'sendMessage' | 'setMessageReaction' | 'answerCallbackQuery';
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The row whose message this is to stand in, if that has one. */
  readonly of?: string;
  /** Of a message that says the same, where the press takes no answer any more. */
  readonly orElse?: Readonly<Record<string, unknown>>;
}

/** Of one message; the platform counts characters, of which there are never more than UTF-16 units. */
const MAX_TEXT = 4096;
/** Of an answer to a press. */
const MAX_TOLD = 200;
const MAX_BUTTONS = 100;
/** Of what comes back with a pressed button, in bytes. */
const MAX_DATA = 64;
export const botLimits = { text: { most: MAX_TEXT, unit: 'utf16' }, buttons: MAX_BUTTONS } as const;
const BUTTON_ADDRESS = /^(https?|tg):\/\/\S+$/;

/** Throws UnrenderableError. */
export function botCalls(message: OutboundMessage): readonly BotCall[] {
  const { target, action, text, card } = message;
  if (action.do === 'tell') return [pressAnswer(message, action)];
  const chat = { chat_id: numberOf(target.place, 'chat') };
  if (action.do === 'react') {
    const reaction = action.emoji === '' ? [] : [{ type: 'emoji', emoji: action.emoji }];
    const parameters = { ...chat, message_id: numberOf(action.to, 'message'), reaction };
    return [{ method: 'setMessageReaction', parameters }];
  }
  const { buttons, lines } = actionsOf(card);
  const words = [card?.title, text, ...fieldsOf(card), ...lines].filter(
    (part) => part !== undefined && part.trim() !== '',
  );
  if (words.length === 0) return [];
  const parts = splitText(words.join('\n\n'), { limit: MAX_TEXT, unit: 'utf16' });
  const keyboard = { reply_markup: { inline_keyboard: buttons.map((button) => [button]) } };
  return parts.map((part, index): BotCall => {
    const isLast = index === parts.length - 1;
    const said = { ...chat, text: part, ...(isLast && buttons.length > 0 && keyboard) };
    const parameters = { ...said, ...placeOf(target, index === 0) };
    const isEdit = action.do === 'edit' && index === 0;
    return { method: 'sendMessage', parameters, ...(isEdit && { of: action.of }) };
  });
}

/** Of a warning the reader has to take note; anything else shows for a moment. */
function pressAnswer(
  message: OutboundMessage,
  { press, orElse }: OutboundMessage['action'] & { readonly do: 'tell' },
): BotCall {
  const { text, status } = message;
  const shown = text.length <= MAX_TOLD ? text : `${text.slice(0, MAX_TOLD - 1).toWellFormed()}…`;
  const parameters = { callback_query_id: press, text: shown, show_alert: status === 'warning' };
  const [post] = orElse === 'nothing' ? [] : botCalls({ ...message, action: { do: 'post' } });
  return { method: 'answerCallbackQuery', parameters, ...(post && { orElse: post.parameters }) };
}

/** In a topic every part, in answer to a message the first. */
function placeOf({ thread, repliesTo }: OutboundTarget, isFirst: boolean): Readonly<Record<string, unknown>> {
  const reply = isFirst && repliesTo !== undefined;
  return {
    ...(thread !== undefined && { message_thread_id: numberOf(thread, 'topic') }),
    ...(reply && {
      reply_parameters: { message_id: numberOf(repliesTo, 'message'), allow_sending_without_reply: true },
    }),
  };
}

function fieldsOf(card: Card | undefined): readonly string[] {
  const { fields = [], inputs = [] } = card ?? {};
  const lines = fields.map(({ name, value }) => `${name}: ${value}`);
  const asked = inputs.map(({ label }) => `${label}: …`);
  return [lines.join('\n'), asked.join('\n')];
}

interface Button {
  readonly text: string;
  readonly callback_data?: string;
  readonly url?: string;
}

interface Actions {
  readonly buttons: readonly Button[];
  /** What can be no button, and what a button has no room for. */
  readonly lines: readonly string[];
}

function actionsOf(card: Card | undefined): Actions {
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

function numberOf(id: string, what: string): number {
  const number = Number(id);
  if (!/^-?\d+$/.test(id) || !Number.isSafeInteger(number))
    throw new UnrenderableError(`${JSON.stringify(id.slice(0, 40))} is no id of a ${what} there`);
  return number;
}
