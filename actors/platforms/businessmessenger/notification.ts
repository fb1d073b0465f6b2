// What a notification of the business messenger says: the messages in it, each with who wrote it, and what the platform has
// found out about messages of ours. It may hold many of both, of several numbers; whatever is not where it should be is
// passed over, since the rest of it is as good as before.
//
// NO1  a message without an id, without a sender or without words where its kind has words is none: it never becomes an event.
// NO2  of each message no more is kept than the notification would have been had it come alone.

import type { DecisionInbound } from '../../events/decision-inbound.ts';
import { pressedDecision, reactedDecision } from '../chats/chat-decisions.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Whoever has a user name may have no number; of somebody who wrote before such names existed only the number is known. */
export interface Sender {
  /** Digits. */
  readonly number: string | undefined;
  /** The platform's id of the user for this business, `US.13491208655302741918`. */
  readonly userId: string | undefined;
  readonly name: string | undefined;
}

export interface ReceivedMessage {
  readonly id: string;
  readonly phoneNumberId: string;
  readonly sender: Sender;
  /** What is decided by it about an approval. */
  readonly decision: DecisionInbound | undefined;
  /** The notification as if this message had come alone. */
  readonly alone: object;
}

/** A message of ours that the platform took and could not deliver, or a fault of a number. */
export interface PlatformFault {
  readonly phoneNumberId: string;
  /** Of the message, where it is about one. */
  readonly messageId: string | undefined;
  readonly code: number | undefined;
  readonly text: string;
}

export interface Notification {
  readonly messages: readonly ReceivedMessage[];
  readonly faults: readonly PlatformFault[];
}

const MAX_TEXT = 300;
const MAX_ID = 512;

/** Undefined for what is no JSON, or no notification. */
export function readNotification(body: Buffer): Notification | undefined {
  let whole: unknown;
  try {
    whole = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(memberOf(whole, 'entry'))) return undefined;
  const messages: ReceivedMessage[] = [];
  const faults: PlatformFault[] = [];
  for (const entry of listIn(whole, 'entry'))
    for (const change of listIn(entry, 'changes')) {
      const phoneNumberId = textMember(change, 'value.metadata.phone_number_id');
      if (textMember(change, 'field') !== 'messages' || phoneNumberId === undefined) continue;
      for (const message of listIn(change, 'value.messages')) {
        const read = readMessage(whole, entry, memberOf(change, 'value'), message, phoneNumberId);
        if (read !== undefined) messages.push(read);
      }
      faults.push(...faultsIn(change, phoneNumberId));
    }
  return { messages, faults };
}

function readMessage(
  whole: unknown,
  entry: unknown,
  value: unknown,
  message: unknown,
  phoneNumberId: string,
): ReceivedMessage | undefined {
  const id = textMember(message, 'id');
  const contact = contactOf(value, message);
  const sender = senderOf(message, contact);
  if (id === undefined || !/^[\x21-\x7e]{1,512}$/.test(id)) return undefined;
  if (sender.number === undefined && sender.userId === undefined) return undefined;
  if (wordsOf(message) === undefined) return undefined;
  const alone = {
    object: memberOf(whole, 'object'),
    entry: [
      {
        id: memberOf(entry, 'id'),
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: memberOf(value, 'messaging_product'),
              metadata: memberOf(value, 'metadata'),
              contacts: contact === undefined ? [] : [contact],
              messages: [message],
            },
          },
        ],
      },
    ],
  };
  return { id, phoneNumberId, sender, decision: decisionOf(message), alone };
}

/** By a tap on a button of ours, or a mark on a message; undefined for what decides about no approval. */
export function decisionOf(message: unknown): DecisionInbound | undefined {
  if (memberOf(message, 'group_id') !== undefined) return undefined;
  const kind = textMember(message, 'type');
  if (kind === 'interactive' && textMember(message, 'interactive.type') === 'button_reply')
    return pressedDecision(textMember(message, 'interactive.button_reply.id') ?? '');
  const marked = textMember(message, 'reaction.message_id');
  if (kind !== 'reaction' || marked === undefined || marked.length > MAX_ID) return undefined;
  // Without one it was taken away.
  return reactedDecision([textMember(message, 'reaction.emoji') ?? ''], marked);
}

/** What a message says, in the words of the contract. */
export type Words = { readonly text: string } | { readonly unsupported: string };

/** Undefined for a message that lacks what its kind has. */
export function wordsOf(message: unknown): Words | undefined {
  const kind = textMember(message, 'type');
  if (kind === undefined) return undefined;
  if (memberOf(message, 'group_id') !== undefined) return { unsupported: `${kind} in a group` };
  if (kind === 'text') return wordsAt(message, 'text.body', '');
  if (kind !== 'interactive') return { unsupported: kind };
  const reply = textMember(message, 'interactive.type');
  if (reply === 'button_reply') return wordsAt(message, 'interactive.button_reply.id', 'button:');
  if (reply === 'list_reply') return wordsAt(message, 'interactive.list_reply.id', 'list:');
  return { unsupported: `interactive ${reply ?? ''}`.trim() };
}

function wordsAt(message: unknown, path: string, prefix: string): Words | undefined {
  const text = textMember(message, path);
  return text === undefined ? undefined : { text: prefix + text };
}

/** Of the people in a notification the one who wrote the message. */
function contactOf(value: unknown, message: unknown): object | undefined {
  const contacts = listIn(value, 'contacts').filter(isObject);
  const from = textMember(message, 'from');
  const userId = textMember(message, 'from_user_id');
  const own = contacts.find((contact) => {
    const { wa_id, user_id } = contact as { readonly wa_id?: unknown; readonly user_id?: unknown };
    return (from !== undefined && wa_id === from) || (userId !== undefined && user_id === userId);
  });
  // Numbers of some countries are written in two ways; who is alone is meant.
  const isAlone = contacts.length === 1 && listIn(value, 'messages').length === 1;
  return own ?? (isAlone ? contacts[0] : undefined);
}

/** Who wrote a message, as its contact and the message say. */
export function senderOf(message: unknown, contact: unknown): Sender {
  const from = textMember(message, 'from');
  const userId = textMember(message, 'from_user_id') ?? textMember(contact, 'user_id');
  return {
    number: digitsOf(from) ?? digitsOf(textMember(contact, 'wa_id')),
    userId: idOf(userId) ?? idOf(from),
    name: textMember(contact, 'profile.name'),
  };
}

function digitsOf(text: string | undefined): string | undefined {
  const digits = text?.replace(/^\+/, '') ?? '';
  return /^\d{1,20}$/.test(digits) ? digits : undefined;
}

/** Whatever else is an id cannot be taken for a number. */
function idOf(text: string | undefined): string | undefined {
  return text !== undefined && /^(?!\d*$)[\w.:-]{1,200}$/.test(text) ? text : undefined;
}

function faultsIn(change: unknown, phoneNumberId: string): readonly PlatformFault[] {
  const failed = listIn(change, 'value.statuses').filter((each) => memberOf(each, 'status') === 'failed');
  const ofMessages = failed.flatMap((status) => {
    const errors = listIn(status, 'errors');
    // One without a reason has failed as well.
    return (errors.length === 0 ? [undefined] : errors).map((error) =>
      faultOf(error, phoneNumberId, textMember(status, 'id')?.slice(0, MAX_ID)),
    );
  });
  const ofNumber = listIn(change, 'value.errors').map((error) => faultOf(error, phoneNumberId, undefined));
  return [...ofMessages, ...ofNumber];
}

function faultOf(error: unknown, phoneNumberId: string, messageId: string | undefined): PlatformFault {
  const code = memberOf(error, 'code');
  const text = textMember(error, 'error_data.details', 'message', 'title') ?? '';
  return {
    phoneNumberId,
    messageId,
    code: typeof code === 'number' ? code : undefined,
    text: text.slice(0, MAX_TEXT),
  };
}

function listIn(value: unknown, path: string): readonly unknown[] {
  const list = memberOf(value, path);
  return Array.isArray(list) ? list : [];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
