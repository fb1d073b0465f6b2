// Parses the updates that triggers can handle: a message with text or media, a button press, a reaction, and
// the arrival of the bot in a chat. Other updates (edits, members, channel posts, inline queries) are
// ignored.

import { memberOf, readOnce, textMember } from '../payloads/payload-member.ts';
import { mediaIn, writtenTextIn } from './message-text.ts';
import { nameOf } from './quoted-messages.ts';

export type UpdateKind = 'message' | 'callback_query' | 'message_reaction' | 'my_chat_member';

/** Kinds of updates that the gateway requests. */
export const updateKinds: readonly UpdateKind[] = [
  'message',
  'callback_query',
  'message_reaction',
  'my_chat_member',
];

const ABSENT: ReadonlySet<unknown> = new Set(['left', 'kicked']);
const PRESENT: ReadonlySet<unknown> = new Set(['member', 'administrator']);

export interface BotMessage {
  readonly kind: UpdateKind;
  /** Id of the chat, as text. */
  readonly chat: string;
  /** Group title; undefined in private chats. */
  readonly chatTitle: string | undefined;
  /** Topic id, if the chat has topics. In other chats a thread cannot be a target. */
  readonly topic: string | undefined;
  /** Id of the message: the written one, or the one with the button or the reaction. */
  readonly messageId: string | undefined;
  /** The sender: a person, or a chat in whose name a person writes. */
  readonly sender: {
    readonly id: string;
    readonly isChat: boolean;
    readonly username: string | undefined;
    readonly name: string | undefined;
  };
  /** True if a program wrote the message. */
  readonly isByBot: boolean;
  readonly isPrivate: boolean;
  /** Text, caption, or button data; otherwise empty. */
  readonly text: string;
  /** Media kind, such as `voice`; set for textless messages only. */
  readonly media: string | undefined;
  /** Album id; each picture is a separate message. */
  readonly album: string | undefined;
  /** Sender id from the answered message, if any. */
  readonly answeredUser: string | undefined;
  /** Added reactions. */
  readonly reactions: readonly string[];
}

/** Returns the update id; undefined if missing. */
export function updateIdOf(update: unknown): number | undefined {
  const id = memberOf(update, 'update_id');
  return Number.isSafeInteger(id) ? (id as number) : undefined;
}

/** Returns the update's message; undefined if no trigger handles it. */
export const botMessageOf = readOnce(readMessage);

function readMessage(update: unknown): BotMessage | undefined {
  const change = memberOf(update, 'my_chat_member');
  if (change !== undefined)
    return isArrival(change) ? messageIn('my_chat_member', change, change, '') : undefined;
  const reaction = memberOf(update, 'message_reaction');
  // A reaction in the name of a chat contains no user, so it is ignored.
  if (reaction !== undefined) return messageIn('message_reaction', reaction, reaction, '');
  const query = memberOf(update, 'callback_query');
  if (query !== undefined)
    return messageIn('callback_query', memberOf(query, 'message'), query, textMember(query, 'data'));
  const message = memberOf(update, 'message');
  return messageIn('message', message, message, writtenTextIn(message));
}

const WITHOUT_TEXT: ReadonlySet<UpdateKind> = new Set(['my_chat_member', 'message_reaction']);

/** Maximum number of reactions, higher than the platform's limit per message. */
const MAX_REACTIONS = 100;

function reactionsIn(reaction: unknown, path: string): readonly string[] {
  const reactions = memberOf(reaction, path);
  const all: readonly unknown[] = Array.isArray(reactions) ? reactions : [];
  return all.slice(0, MAX_REACTIONS).flatMap((mark) => textMember(mark, 'emoji') ?? []);
}

function isArrival(change: unknown): boolean {
  return (
    ABSENT.has(memberOf(change, 'old_chat_member.status')) &&
    PRESENT.has(memberOf(change, 'new_chat_member.status'))
  );
}

/** Returns a button press's query id. Each query needs an answer. */
export function queryIdOf(update: unknown): string | undefined {
  return textMember(update, 'callback_query.id');
}

/** A group was upgraded to a supergroup, with a new id. */
export interface GroupMigration {
  readonly from: string;
  readonly to: string;
}

/** Returns the migration in the update, if any. The old group and the new group each send one. */
export function migrationOf(update: unknown): GroupMigration | undefined {
  const chat = idAt(update, 'message.chat.id');
  const to = idAt(update, 'message.migrate_to_chat_id');
  const from = idAt(update, 'message.migrate_from_chat_id');
  if (chat === undefined) return undefined;
  if (to !== undefined) return { from: chat, to };
  return from === undefined ? undefined : { from, to: chat };
}

/** Reads a message. `source` contains the sender and the content, `message` the chat. */
function messageIn(
  kind: UpdateKind,
  message: unknown,
  source: unknown,
  text: string | undefined,
): BotMessage | undefined {
  const chat = idAt(message, 'chat.id');
  // If a person writes in the name of a chat, `from` is a bot of the platform.
  const senderChat = kind === 'message' ? memberOf(message, 'sender_chat') : undefined;
  const sender = senderChat ?? memberOf(source, kind === 'message_reaction' ? 'user' : 'from');
  const id = idAt(sender, 'id');
  const isBlank = text === undefined || text.trim() === '';
  const media = isBlank && kind === 'message' ? mediaIn(message) : undefined;
  const lacksContent = isBlank && media === undefined && !WITHOUT_TEXT.has(kind);
  if (chat === undefined || id === undefined || lacksContent) return undefined;
  const isInTopic = memberOf(message, 'is_topic_message') === true;
  const previous = reactionsIn(source, 'old_reaction');
  return {
    kind,
    chat,
    chatTitle: textMember(message, 'chat.title'),
    topic: isInTopic ? idAt(message, 'message_thread_id') : undefined,
    messageId: idAt(message, 'message_id'),
    sender: {
      id,
      isChat: senderChat !== undefined,
      username: textMember(sender, 'username'),
      name: nameOf(sender),
    },
    isByBot: senderChat === undefined && memberOf(sender, 'is_bot') === true,
    isPrivate: textMember(message, 'chat.type') === 'private',
    text: text ?? '',
    media,
    album: textMember(message, 'media_group_id'),
    answeredUser: idAt(message, 'reply_to_message.from.id'),
    reactions: reactionsIn(source, 'new_reaction').filter((mark) => !previous.includes(mark)),
  };
}

/** Returns an id as text. Ids may exceed 32 bits; group ids are negative. */
function idAt(value: unknown, path: string): string | undefined {
  const id = memberOf(value, path);
  return Number.isSafeInteger(id) && id !== 0 ? String(id) : undefined;
}
