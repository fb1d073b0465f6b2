// What an update of the platform is about, as far as it can be anything for a trigger: a message with words, a pressed button, a mark
// on a message, or that the bot was brought into a chat. Everything else (edits, members, channels' posts, inline queries, kinds nobody knows yet) is
// none of these.

import { memberOf, readOnce, textMember } from '../payloads/payload-member.ts';

export type UpdateKind = 'message' | 'callback_query' | 'message_reaction' | 'my_chat_member';

/** The kinds that are asked for. */
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
  /** Of the chat, as text. */
  readonly chat: string;
  /** Of the topic, where the chat has topics and it is in one. In other chats a thread leads nowhere. */
  readonly topic: string | undefined;
  /** The message that was written, or the one whose button was pressed, or that was marked. */
  readonly messageId: string | undefined;
  /** A person, or the chat in whose name somebody wrote. */
  readonly sender: {
    readonly id: string;
    readonly username: string | undefined;
    readonly name: string | undefined;
  };
  /** A program wrote it. */
  readonly isByBot: boolean;
  readonly isPrivate: boolean;
  /** The text, the words under a picture, or the data of the button; empty for anything else. */
  readonly text: string;
  /** Marks that somebody has put on the message, beside those that were there before. */
  readonly marks: readonly string[];
}

/** The id of an update; undefined for what is none. */
export function updateIdOf(update: unknown): number | undefined {
  const id = memberOf(update, 'update_id');
  return Number.isSafeInteger(id) ? (id as number) : undefined;
}

/** Returns the message of an update; undefined for updates that no trigger takes. */
export const botMessageOf = readOnce(readMessage);

function readMessage(update: unknown): BotMessage | undefined {
  const change = memberOf(update, 'my_chat_member');
  if (change !== undefined)
    return isArrival(change) ? messageIn('my_chat_member', change, change, '') : undefined;
  const reaction = memberOf(update, 'message_reaction');
  // Whoever marks it in the name of a chat is nobody that is known.
  if (reaction !== undefined) return messageIn('message_reaction', reaction, reaction, '');
  const query = memberOf(update, 'callback_query');
  if (query !== undefined)
    return messageIn('callback_query', memberOf(query, 'message'), query, textMember(query, 'data'));
  const message = memberOf(update, 'message');
  return messageIn('message', message, message, textMember(message, 'text', 'caption'));
}

const WORDLESS: ReadonlySet<UpdateKind> = new Set(['my_chat_member', 'message_reaction']);

/** More than anybody can put on one message. */
const MAX_MARKS = 100;

function marksIn(reaction: unknown, path: string): readonly string[] {
  const marks = memberOf(reaction, path);
  const all: readonly unknown[] = Array.isArray(marks) ? marks : [];
  return all.slice(0, MAX_MARKS).flatMap((mark) => textMember(mark, 'emoji') ?? []);
}

function isArrival(change: unknown): boolean {
  return (
    ABSENT.has(memberOf(change, 'old_chat_member.status')) &&
    PRESENT.has(memberOf(change, 'new_chat_member.status'))
  );
}

/** The id of a pressed button's query, which has to be answered whatever it is about. */
export function queryIdOf(update: unknown): string | undefined {
  return textMember(update, 'callback_query.id');
}

/** A group has become a supergroup, and has another id since. */
export interface Migration {
  readonly from: string;
  readonly to: string;
}

/** The old group and the new one both tell of it; undefined for any other update. */
export function migrationOf(update: unknown): Migration | undefined {
  const chat = idAt(update, 'message.chat.id');
  const to = idAt(update, 'message.migrate_to_chat_id');
  const from = idAt(update, 'message.migrate_from_chat_id');
  if (chat === undefined) return undefined;
  if (to !== undefined) return { from: chat, to };
  return from === undefined ? undefined : { from, to: chat };
}

/** `said` holds who did it and what, and `message` where. */
function messageIn(
  kind: UpdateKind,
  message: unknown,
  said: unknown,
  text: string | undefined,
): BotMessage | undefined {
  const chat = idAt(message, 'chat.id');
  // Whoever writes in the name of a chat is shown with a bot of the platform as the sender.
  const asChat = kind === 'message' ? memberOf(message, 'sender_chat') : undefined;
  const sender = asChat ?? memberOf(said, kind === 'message_reaction' ? 'user' : 'from');
  const id = idAt(sender, 'id');
  const isWordless = text === undefined || (text.trim() === '' && !WORDLESS.has(kind));
  if (chat === undefined || id === undefined || isWordless) return undefined;
  const isInTopic = memberOf(message, 'is_topic_message') === true;
  const before = marksIn(said, 'old_reaction');
  const names = [textMember(sender, 'first_name', 'title'), textMember(sender, 'last_name')];
  return {
    kind,
    chat,
    topic: isInTopic ? idAt(message, 'message_thread_id') : undefined,
    messageId: idAt(message, 'message_id'),
    sender: {
      id,
      username: textMember(sender, 'username'),
      name: names.filter((name) => name !== undefined).join(' ') || undefined,
    },
    isByBot: asChat === undefined && memberOf(sender, 'is_bot') === true,
    isPrivate: textMember(message, 'chat.type') === 'private',
    text,
    marks: marksIn(said, 'new_reaction').filter((mark) => !before.includes(mark)),
  };
}

/** A number, negative for groups, as text: it is beyond what 32 bits hold. */
function idAt(value: unknown, path: string): string | undefined {
  const id = memberOf(value, path);
  return Number.isSafeInteger(id) && id !== 0 ? String(id) : undefined;
}
