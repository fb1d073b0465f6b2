// The event that an update becomes, and how that event reads later.
//
// BE1  an event is known by its bot and its update: two bots in one group get a copy each, with ids that may be equal by chance.
// BE2  what is for nobody here (another bot's command, what the bot wrote itself) is no event.
// BE3  a group that has become a supergroup goes on under the id it had at first: that of its conversation does not change.
// BE4  a decision about an approval stands beside its conversation, which may wait for just that; a mark that decides nothing is no event.

import { commandWordOf } from '../../../machines/matching.ts';
import { controlKey } from '../../events/built-in-commands.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { onlyDecides, pressedDecision, reactedDecision } from '../chats/chat-decisions.ts';
import { knownContext, newTrace, storedPayload } from '../payloads/payload-member.ts';
import type { BotIdentity } from './api.ts';
import { type BotMessage, botMessageOf, updateIdOf } from './update.ts';

/**
 * Command forms: `/deploy x`, `/deploy@the_bot x`, `deploy x`, each also after `@the_bot`. In groups with several bots
 * `/deploy@another_bot` addresses another bot.
 */
export type CommandForm =
  | { readonly kind: 'command'; readonly name: string; readonly rest: string }
  /** Plain text, whose first word can still be a command. */
  | { readonly kind: 'words'; readonly text: string }
  | { readonly kind: 'for another bot' };

const COMMAND = /^\s*\/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?![\w@/])\s*([\s\S]*)$/;
const MENTION = /^\s*@([A-Za-z0-9_]{1,64})(?!\w)[\s,:]*([\s\S]*)$/;

/** Returns true if the form depends on the name of the bot. */
export function namesABot(text: string): boolean {
  const [, name] = COMMAND.exec(text)?.slice(1) ?? [];
  return name !== undefined || MENTION.test(text);
}

/** `username` is the name of the bot without `@`. */
export function commandFormOf(text: string, username: string | undefined): CommandForm {
  const words = withoutMention(text, username);
  const [found, name = '', bot, rest = ''] = COMMAND.exec(words) ?? [];
  if (found === undefined) return { kind: 'words', text: words };
  if (bot !== undefined && !isSame(bot, username)) return { kind: 'for another bot' };
  return { kind: 'command', name, rest };
}

/** Removes a leading mention of the bot, unless the text has nothing else. */
function withoutMention(text: string, username: string | undefined): string {
  const [found, name = '', rest = ''] = MENTION.exec(text) ?? [];
  return found !== undefined && isSame(name, username) && rest !== '' ? rest : text;
}

/** User names are case-insensitive on the platform. */
function isSame(name: string, username: string | undefined): boolean {
  return username !== undefined && name.toLowerCase() === username.toLowerCase();
}

interface BotMeta {
  /** Those that use the bot. */
  readonly triggers: readonly string[];
  readonly principal: string;
  /** The bot's. */
  readonly account: string;
  /** As it was called when the update came. */
  readonly username?: string | undefined;
  /** Ids that the chat had before. */
  readonly formerIds?: readonly string[];
}

export interface BotUpdate {
  readonly bot: BotIdentity;
  readonly triggers: readonly string[];
  readonly principal: Principal;
  readonly update: unknown;
  /** Of a chat, the first one last. */
  formerIdsOf(chat: string): readonly string[];
}

/** Undefined for what is nothing for an agent. */
export function botEvent({ bot, triggers, principal, update, formerIdsOf }: BotUpdate): NewEvent | undefined {
  const updateId = updateIdOf(update);
  const message = botMessageOf(update);
  if (updateId === undefined || message === undefined || message.sender.id === bot.id) return undefined;
  if (isForAnotherBot(message, bot.username)) return undefined;
  const decision = decisionOf(message);
  if (message.kind === 'message_reaction' && decision === undefined) return undefined;
  const { chat, topic } = message;
  const formerIds = formerIdsOf(chat);
  const meta: BotMeta = {
    triggers,
    principal: principalText(principal),
    account: bot.account,
    username: bot.username,
    ...(formerIds.length > 0 && { formerIds }),
  };
  const place = [bot.account, formerIds.at(-1) ?? chat, ...(topic === undefined ? [] : [topic])];
  const key = `conversation/botmessenger/${place.join('/')}`;
  return {
    id: `botmessenger:${bot.account}/${updateId}`,
    key: decision === undefined ? key : controlKey(key),
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(update)),
    trace: newTrace(),
    parsed: update,
  };
}

/** Throws for an event that is none of these. */
export function readBotEvent(stored: StoredEvent): InboundEvent {
  const { triggers, account, username, formerIds } = JSON.parse(stored.meta) as BotMeta;
  const update = storedPayload(stored);
  const message = botMessageOf(update);
  if (message === undefined)
    throw new Error('the update holds no message, no pressed button, no mark and no arrival');
  const { chat, sender } = message;
  const isArrival = message.kind === 'my_chat_member';
  const { names, rest, words } = commandsOf(message, username);
  const decision = decisionOf(message);
  return {
    platform: 'botmessenger',
    account,
    triggers,
    names,
    text: isArrival ? undefined : words,
    isChoice: message.kind === 'callback_query',
    isArrival,
    channel: chat,
    channelAliases: formerIds,
    user: sender.id,
    userAliases: sender.username === undefined ? undefined : [sender.username.toLowerCase()],
    context: contextOf(message),
    payload: update,
    commandRest: rest,
    parameters: {},
    ...(decision !== undefined && onlyDecides(decision)),
  };
}

/** Undefined for what decides about no approval. */
export function decisionOf({
  kind,
  text,
  marks,
  messageId,
  isByBot,
}: BotMessage): DecisionInbound | undefined {
  if (isByBot) return undefined;
  if (kind === 'callback_query') return pressedDecision(text);
  if (messageId === undefined || marks.length === 0) return undefined;
  return reactedDecision(marks, messageId);
}

function isForAnotherBot({ kind, text }: BotMessage, username: string | undefined): boolean {
  return kind === 'message' && commandFormOf(text, username).kind === 'for another bot';
}

interface Commands {
  /** The most exact first. */
  readonly names: readonly string[];
  readonly rest: string | undefined;
  readonly words: string;
}

function commandsOf({ kind, text }: BotMessage, username: string | undefined): Commands {
  if (kind === 'callback_query') {
    const { name, rest } = commandWordOf(text);
    return { names: [name], rest, words: text };
  }
  const form = commandFormOf(text, username);
  if (form.kind === 'words') return { names: [], rest: undefined, words: form.text };
  if (form.kind === 'for another bot') return { names: [], rest: undefined, words: text };
  const lower = form.name.toLowerCase();
  return { names: lower === form.name ? [lower] : [form.name, lower], rest: form.rest, words: text };
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
  return knownContext(all);
}
