// Parses notifications: messages with their senders, and failures of messages that the gateway sent. A
// notification may contain both, for several numbers. Invalid parts are skipped.
//
// A message that lacks its id, sender or required text is no event. Each event contains the notification
// reduced to its message.

import { parseJson } from '../../../config/reader/json-text.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import { decisionOfPress, decisionOfReactions } from '../chats/decisions.ts';
import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';
import { contentOf } from './message-content.ts';

/** Message sender. Users with a user name may lack the number; older users have only a number. */
export interface MessengerSender {
  /** Phone number, digits only. */
  readonly number: string | undefined;
  /** The platform's id of the user for this business: `US.13491208655302741918`. */
  readonly userId: string | undefined;
  readonly name: string | undefined;
}

export interface ReceivedMessage {
  readonly id: string;
  readonly phoneNumberId: string;
  readonly sender: MessengerSender;
  /** Approval decision in the message, if any. */
  readonly decision: DecisionInbound | undefined;
  /** The notification reduced to this message. */
  readonly payload: object;
}

/** A message that was accepted but not delivered, or a failure of the number. */
export interface PlatformFailure {
  readonly phoneNumberId: string;
  /** Message id; undefined for a failure of the number. */
  readonly messageId: string | undefined;
  readonly code: number | undefined;
  readonly text: string;
}

export interface Notification {
  readonly messages: readonly ReceivedMessage[];
  readonly failures: readonly PlatformFailure[];
}

const MAX_TEXT = 300;
const MAX_ID = 512;

/** Parses a notification; undefined if the body is not a notification in JSON. */
export function readNotification(body: Buffer): Notification | undefined {
  let whole: unknown;
  try {
    whole = parseJson(body.toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(memberOf(whole, 'entry'))) return undefined;
  const messages: ReceivedMessage[] = [];
  const failures: PlatformFailure[] = [];
  for (const entry of listMember(whole, 'entry'))
    for (const change of listMember(entry, 'changes')) {
      const phoneNumberId = textMember(change, 'value.metadata.phone_number_id');
      if (textMember(change, 'field') !== 'messages' || phoneNumberId === undefined) continue;
      for (const message of listMember(change, 'value.messages')) {
        const received = readMessage(whole, entry, memberOf(change, 'value'), message, phoneNumberId);
        if (received !== undefined) messages.push(received);
      }
      failures.push(...failuresIn(change, phoneNumberId));
    }
  return { messages, failures };
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
  if (contentOf(message) === undefined) return undefined;
  const payload = {
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
  return { id, phoneNumberId, sender, decision: decisionOf(message), payload };
}

/** Returns the approval decision in a button press or reaction, if any. */
export function decisionOf(message: unknown): DecisionInbound | undefined {
  if (memberOf(message, 'group_id') !== undefined) return undefined;
  const kind = textMember(message, 'type');
  if (kind === 'interactive' && textMember(message, 'interactive.type') === 'button_reply')
    return decisionOfPress(textMember(message, 'interactive.button_reply.id') ?? '');
  const messageId = textMember(message, 'reaction.message_id');
  if (kind !== 'reaction' || messageId === undefined || messageId.length > MAX_ID) return undefined;
  // The emoji is missing if the reaction was removed.
  return decisionOfReactions([textMember(message, 'reaction.emoji') ?? ''], messageId);
}

/** Returns the contact of the message's sender. */
function contactOf(value: unknown, message: unknown): object | undefined {
  const contacts = listMember(value, 'contacts').filter(isObject);
  const from = textMember(message, 'from');
  const userId = textMember(message, 'from_user_id');
  const own = contacts.find((contact) => {
    const { wa_id, user_id } = contact as { readonly wa_id?: unknown; readonly user_id?: unknown };
    return (from !== undefined && wa_id === from) || (userId !== undefined && user_id === userId);
  });
  // Some countries have two forms of a number. A single contact and a single message belong together.
  const isAlone = contacts.length === 1 && listMember(value, 'messages').length === 1;
  return own ?? (isAlone ? contacts[0] : undefined);
}

/** Returns the sender, from the message and the contact. */
export function senderOf(message: unknown, contact: unknown): MessengerSender {
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

/** Returns a user id; undefined for digits, which are a phone number. */
function idOf(text: string | undefined): string | undefined {
  return text !== undefined && /^(?!\d*$)[\w.:-]{1,200}$/.test(text) ? text : undefined;
}

function failuresIn(change: unknown, phoneNumberId: string): readonly PlatformFailure[] {
  const failedStatuses = listMember(change, 'value.statuses').filter(
    (each) => memberOf(each, 'status') === 'failed',
  );
  const ofMessages = failedStatuses.flatMap((status) => {
    const errors = listMember(status, 'errors');
    // The platform may omit the reason.
    return (errors.length === 0 ? [undefined] : errors).map((error) =>
      failureOf(error, phoneNumberId, textMember(status, 'id')?.slice(0, MAX_ID)),
    );
  });
  const ofNumber = listMember(change, 'value.errors').map((error) =>
    failureOf(error, phoneNumberId, undefined),
  );
  return [...ofMessages, ...ofNumber];
}

function failureOf(error: unknown, phoneNumberId: string, messageId: string | undefined): PlatformFailure {
  const code = memberOf(error, 'code');
  const text = textMember(error, 'error_data.details', 'message', 'title') ?? '';
  return {
    phoneNumberId,
    messageId,
    code: typeof code === 'number' ? code : undefined,
    text: text.slice(0, MAX_TEXT),
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
