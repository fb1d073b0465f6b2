// Converts updates into events to store, and stored events into inbound events.
//
// An event id consists of bot and update id: two bots in a group get separate copies of a message, possibly
// with equal update ids. Commands for other bots and messages from the bot itself are ignored. A migrated
// group keeps its first id, so that its conversation continues. Approval decisions get a separate key, the
// control key, because the pending approval may block the key of the conversation.

import { commandWordOf, withoutLeadingMarks } from '../../../machines/matching.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { controlKeyOf } from '../../store/key-kinds.ts';
import { decisionMembers, decisionOfPress, decisionOfReactions } from '../chats/decisions.ts';
import { definedContext, newTrace, storedPayload } from '../payloads/payload-member.ts';
import type { BotIdentity } from './api.ts';
import { quotedMessages } from './quoted-messages.ts';
import { type BotMessage, botMessageOf, updateIdOf } from './update.ts';

/**
 * Form of the text: `/deploy x`, `/deploy@the_bot x` or `deploy x`, each also after `@the_bot`. In groups
 * with several bots, `/deploy@another_bot` is for another bot.
 */
export type CommandForm =
  | { readonly kind: 'command'; readonly name: string; readonly rest: string }
  /** Plain text, whose first word can still be a command. */
  | { readonly kind: 'words'; readonly text: string }
  | { readonly kind: 'for another bot' };

/** Groups: command, bot after `@`, rest. */
const COMMAND = /^\s*\/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?![\w@/])\s*([\s\S]*)$/;
/** Groups: bot after `@`, rest. */
const MENTION = /^\s*@([A-Za-z0-9_]{1,64})(?!\w)[\s,:]*([\s\S]*)$/;

/** Returns true if the text names a bot. Its form then depends on the name of the receiving bot. */
export function mentionsBot(text: string): boolean {
  const visible = withoutLeadingMarks(text);
  const [, , bot] = COMMAND.exec(visible) ?? [];
  return bot !== undefined || MENTION.test(visible);
}

/** Returns the form of the text. `username` is the bot's name without `@`. */
export function commandFormOf(text: string, username: string | undefined): CommandForm {
  const unmentioned = withoutMention(text, username);
  const [match, name = '', bot, rest = ''] = COMMAND.exec(withoutLeadingMarks(unmentioned)) ?? [];
  if (match === undefined) return { kind: 'words', text: unmentioned };
  if (bot !== undefined && !isSameName(bot, username)) return { kind: 'for another bot' };
  return { kind: 'command', name, rest };
}

/** Removes a leading mention of the bot, unless the text contains nothing else. */
function withoutMention(text: string, username: string | undefined): string {
  const [match, name = '', rest = ''] = MENTION.exec(withoutLeadingMarks(text)) ?? [];
  return match !== undefined && isSameName(name, username) && rest !== '' ? rest : text;
}

/** User names are case-insensitive on the platform. */
function isSameName(name: string, username: string | undefined): boolean {
  return username !== undefined && name.toLowerCase() === username.toLowerCase();
}

interface BotMeta {
  /** Names of the triggers that use the bot. */
  readonly triggers: readonly string[];
  readonly principal: string;
  /** Account name of the bot. */
  readonly account: string;
  /** User name of the bot when the update arrived. */
  readonly username?: string | undefined;
  /** Ids of the chat before its migrations, the oldest one last. */
  readonly formerIds?: readonly string[];
  /** True for further pictures of an album. */
  readonly isAlbumRest?: boolean;
}

export interface BotUpdate {
  readonly bot: BotIdentity;
  readonly triggers: readonly string[];
  readonly principal: Principal;
  readonly update: unknown;
  /** Returns the ids of the chat before its migrations, the oldest one last. */
  previousIdsOf(chat: string): readonly string[];
  /** See `BotMeta`. */
  readonly isAlbumRest?: boolean;
}

/** Creates an event from an update; undefined if the update is ignored. */
export function botEvent({
  bot,
  triggers,
  principal,
  update,
  previousIdsOf,
  isAlbumRest = false,
}: BotUpdate): NewEvent | undefined {
  const updateId = updateIdOf(update);
  const message = botMessageOf(update);
  if (updateId === undefined || message === undefined || message.sender.id === bot.id) return undefined;
  if (isForAnotherBot(message, bot.username)) return undefined;
  const decision = decisionOf(message);
  if (message.kind === 'message_reaction' && decision === undefined) return undefined;
  const { chat, topic } = message;
  const formerIds = previousIdsOf(chat);
  const meta: BotMeta = {
    triggers,
    principal: principalText(principal),
    account: bot.account,
    username: bot.username,
    ...(formerIds.length > 0 && { formerIds }),
    ...(isAlbumRest && { isAlbumRest }),
  };
  const parts = [bot.account, formerIds.at(-1) ?? chat, ...(topic === undefined ? [] : [topic])];
  const key = `conversation/botmessenger/${parts.join('/')}`;
  return {
    id: `botmessenger:${bot.account}/${updateId}`,
    key: decision === undefined ? key : controlKeyOf(key),
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(update)),
    trace: newTrace(),
    parsed: update,
  };
}

/** Parses a stored event. Throws if the update is unsupported. */
export function readBotEvent(stored: StoredEvent): InboundEvent {
  const meta = JSON.parse(stored.meta) as BotMeta;
  const { triggers, account, username, formerIds } = meta;
  const update = storedPayload(stored);
  const message = botMessageOf(update);
  if (message === undefined) throw new Error('the update contains no message, press, reaction or arrival');
  const { chat, sender } = message;
  const isArrival = message.kind === 'my_chat_member';
  const { names, rest, text } = commandsOf(message, username);
  const decision = decisionOf(message);
  return {
    platform: 'botmessenger',
    account,
    triggers,
    names,
    text: isArrival || message.media !== undefined ? undefined : text,
    isChoice: message.kind === 'callback_query',
    isArrival,
    isStart: message.kind === 'message' && names.includes(START),
    ...mediaMembers(message, meta),
    channel: chat,
    channelAliases: formerIds,
    user: sender.id,
    isUserShared: sender.isChat || undefined,
    userAliases: sender.username === undefined ? undefined : [sender.username.toLowerCase()],
    senderName: sender.name ?? sender.username,
    channelName: message.chatTitle,
    isByBot: message.isByBot,
    quoted: quotedMessages(update),
    context: contextOf(message),
    payload: update,
    commandRest: rest,
    parameters: {},
    ...(decision !== undefined && decisionMembers(decision)),
  };
}

/** Command of the platform's start button. */
const START = 'start';

/** Returns members for textless messages, which are answered in private chats and as replies to the bot. */
function mediaMembers(
  { media, isPrivate, isByBot, answeredUser }: BotMessage,
  { account, isAlbumRest = false }: BotMeta,
): Pick<InboundEvent, 'unsupported' | 'isWordless'> {
  if (media === undefined) return { unsupported: undefined };
  const [botId] = account.split('@');
  const isAddressed = isPrivate || answeredUser === botId;
  return {
    unsupported: `textless message: ${media}`,
    isWordless: isAddressed && !isByBot && !isAlbumRest,
  };
}

/** Returns the approval decision in the message, if any. */
export function decisionOf({
  kind,
  text,
  reactions,
  messageId,
  isByBot,
}: BotMessage): DecisionInbound | undefined {
  if (isByBot) return undefined;
  if (kind === 'callback_query') return decisionOfPress(text);
  if (messageId === undefined || reactions.length === 0) return undefined;
  return decisionOfReactions(reactions, messageId);
}

function isForAnotherBot({ kind, text }: BotMessage, username: string | undefined): boolean {
  return kind === 'message' && commandFormOf(text, username).kind === 'for another bot';
}

interface Commands {
  /** The most specific name first. */
  readonly names: readonly string[];
  readonly rest: string | undefined;
  readonly text: string;
}

function commandsOf({ kind, text }: BotMessage, username: string | undefined): Commands {
  if (kind === 'callback_query') {
    const { name, rest } = commandWordOf(text);
    return { names: [name], rest, text };
  }
  const form = commandFormOf(text, username);
  if (form.kind === 'words') return { names: [], rest: undefined, text: form.text };
  if (form.kind === 'for another bot') return { names: [], rest: undefined, text };
  const lower = form.name.toLowerCase();
  return { names: lower === form.name ? [lower] : [form.name, lower], rest: form.rest, text };
}

function contextOf({
  kind,
  chat,
  topic,
  messageId,
  sender,
  isByBot,
}: BotMessage): Readonly<Record<string, unknown>> {
  const all = {
    'chat.event': kind,
    'chat.id': chat,
    'chat.topic': topic,
    'chat.message': messageId,
    'chat.sender.id': sender.id,
    'chat.sender.name': sender.name,
    'chat.sender.username': sender.username,
    'chat.sender.is_bot': isByBot || undefined,
  };
  return definedContext(all);
}
