// The event that a message of the business messenger becomes, and how that event reads later.
//
// BME1  a decision about an approval stands beside its conversation, which may wait for just that. It is of the chat with its person.

import { controlKey } from '../../events/built-in-commands.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { onlyDecides } from '../chats/chat-decisions.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { decisionOf, type ReceivedMessage, senderOf, wordsOf } from './notification.ts';

interface MessengerMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
  /** It is what `decisionOf` says of it, and nothing else. */
  readonly isDecision?: true;
}

/** Names with dots, as an agent is told them. */
export const SENDER_NUMBER = 'sender.number';
export const SENDER_USER_ID = 'sender.user_id';
export const MESSAGE_ID = 'message.id';

const VALUE = 'entry.0.changes.0.value';

/**
 * `triggers` are those that may take it, at least one: the first of them by name stands in the id, since another app may tell
 * of the same message. `conversation` is the name under which its sender is known (sender-aliases.ts).
 */
export function messageEvent(
  {
    triggers,
    conversation,
    principal,
    isDecision,
  }: {
    readonly triggers: readonly string[];
    readonly conversation: string;
    readonly principal: Principal;
    readonly isDecision: boolean;
  },
  { id, phoneNumberId, alone }: ReceivedMessage,
  request: WebhookRequest,
): NewEvent {
  const meta: MessengerMeta = {
    triggers,
    principal: principalText(principal),
    ...(isDecision && { isDecision }),
  };
  const key = `conversation/businessmessenger/${phoneNumberId}/${conversation}`;
  return {
    id: `businessmessenger:${triggers[0]}/${id}`,
    key: isDecision ? controlKey(key) : key,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(alone)),
    trace: request.traceparent,
  };
}

/** Throws for an event that is none of these. */
export function readMessageEvent(stored: StoredEvent): InboundEvent {
  const { triggers, isDecision } = JSON.parse(stored.meta) as MessengerMeta;
  const payload: unknown = JSON.parse(Buffer.from(stored.body).toString('utf8'));
  const value = memberOf(payload, VALUE);
  const message = memberOf(value, 'messages.0');
  const words = wordsOf(message);
  if (words === undefined) throw new Error('the payload is no message');
  const sender = senderOf(message, memberOf(value, 'contacts.0'));
  const phoneNumberId = textMember(value, 'metadata.phone_number_id');
  const decision = isDecision === true ? decisionOf(message) : undefined;
  const names = [sender.number, sender.userId].filter((name) => name !== undefined);
  return {
    platform: 'businessmessenger',
    account: phoneNumberId,
    triggers,
    names: [],
    text: 'text' in words ? words.text : undefined,
    isChoice: memberOf(message, 'interactive') !== undefined,
    unsupported: 'text' in words ? undefined : `UnsupportedMessageType: ${words.unsupported}`,
    channel: phoneNumberId,
    user: sender.userId ?? sender.number,
    // Whoever has an id may be meant by the number.
    userAliases: sender.number === undefined ? [] : [sender.number],
    context: without({
      [MESSAGE_ID]: textMember(message, 'id'),
      'message.type': textMember(message, 'type'),
      'message.replies_to': textMember(message, 'context.id'),
      'reply.title': textMember(message, 'interactive.button_reply.title', 'interactive.list_reply.title'),
      'sender.name': sender.name,
      [SENDER_NUMBER]: sender.number,
      [SENDER_USER_ID]: sender.userId,
      'business.number': textMember(value, 'metadata.display_phone_number'),
      'business.phone_number_id': phoneNumberId,
    }),
    payload,
    parameters: {},
    // People are asked in the chat with one of them, and decide there.
    ...(decision !== undefined && { ...onlyDecides(decision), channelAliases: names }),
  };
}

/** A name without a value is left out. */
function without(context: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(context).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
