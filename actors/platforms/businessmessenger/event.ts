// Converts messages into events to store, and stored events into inbound events.
//
// Approval decisions get a separate key, the control key, because the pending approval may block the key of
// the conversation. A decision belongs to the chat with its sender.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { controlKeyOf } from '../../store/key-kinds.ts';
import { decisionMembers } from '../chats/decisions.ts';
import { definedContext, memberOf, storedPayload, textMember } from '../payloads/payload-member.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { contentOf, type MessageContent } from './message-content.ts';
import { decisionOf, type ReceivedMessage, senderOf } from './notification.ts';

interface MessengerMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
  /** True if the event is only an approval decision (`decisionOf`). */
  readonly isDecision?: true;
}

/** Context members, with the names that agents get. */
export const SENDER_NUMBER = 'sender.number';
export const SENDER_USER_ID = 'sender.user_id';
export const MESSAGE_ID = 'message.id';
export const REPLIES_TO = 'message.replies_to';

/** Path of the content in a stored payload. */
export const VALUE = 'entry.0.changes.0.value';

/**
 * Creates an event from a message. `triggers` are the names of the triggers that may accept it, at least one.
 * The event id contains the first name, because another app may receive the same message. `conversation` is
 * the name of the sender's conversation (sender-aliases.ts).
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
  { id, phoneNumberId, payload }: ReceivedMessage,
  request: WebhookRequest,
): NewEvent {
  const meta: MessengerMeta = {
    triggers,
    principal: principalText(principal),
    ...(isDecision && { isDecision }),
  };
  const key = `conversation/businessmessenger/${phoneNumberId}/${conversation}`;
  return {
    id: messageEventId(triggers, id),
    key: isDecision ? controlKeyOf(key) : key,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(payload)),
    trace: request.traceparent,
  };
}

function isForwarded(message: unknown): boolean {
  return ['context.forwarded', 'context.frequently_forwarded'].some(
    (path) => memberOf(message, path) === true,
  );
}

const REPLY_TITLES = ['interactive.button_reply.title', 'interactive.list_reply.title', 'button.text'];

type ContentMembers = Pick<
  InboundEvent,
  'text' | 'isChoice' | 'isStart' | 'unsupported' | 'isWordless' | 'parameters'
>;

function contentMembers(content: MessageContent): ContentMembers {
  if (content === 'start') return { text: undefined, isStart: true, unsupported: undefined, parameters: {} };
  if ('text' in content) return { ...content, unsupported: undefined };
  const { unsupported, isWordless } = content;
  return {
    text: undefined,
    unsupported: `UnsupportedMessageType: ${unsupported}`,
    isWordless,
    parameters: {},
  };
}

/** Returns the event id for a message id; see `messageEvent`. */
export const messageEventId = (triggers: readonly string[], id: string): string =>
  `businessmessenger:${triggers[0]}/${id}`;

/** Parses a stored event. Throws if the payload is not a message. */
export function readMessageEvent(stored: StoredEvent): InboundEvent {
  const { triggers, isDecision } = JSON.parse(stored.meta) as MessengerMeta;
  const payload = storedPayload(stored);
  const value = memberOf(payload, VALUE);
  const message = memberOf(value, 'messages.0');
  const content = contentOf(message);
  if (content === undefined) throw new Error('the payload is not a message');
  const sender = senderOf(message, memberOf(value, 'contacts.0'));
  const phoneNumberId = textMember(value, 'metadata.phone_number_id');
  const decision = isDecision === true ? decisionOf(message) : undefined;
  const names = [sender.number, sender.userId].filter((name) => name !== undefined);
  return {
    platform: 'businessmessenger',
    account: phoneNumberId,
    triggers,
    names: [],
    ...contentMembers(content),
    channel: phoneNumberId,
    user: sender.userId ?? sender.number,
    // Filters may contain the number, even for a sender with a user id.
    userAliases: sender.number === undefined ? [] : [sender.number],
    senderName: sender.name,
    channelName: textMember(value, 'metadata.display_phone_number'),
    quoted: isForwarded(message) ? [{ relation: 'forwarded' }] : [],
    context: definedContext({
      [MESSAGE_ID]: textMember(message, 'id'),
      'message.type': textMember(message, 'type'),
      [REPLIES_TO]: textMember(message, 'context.id'),
      'reply.title': textMember(message, ...REPLY_TITLES),
      'sender.name': sender.name,
      [SENDER_NUMBER]: sender.number,
      [SENDER_USER_ID]: sender.userId,
      'business.number': textMember(value, 'metadata.display_phone_number'),
      'business.phone_number_id': phoneNumberId,
    }),
    payload,
    // Approval requests are sent to a direct chat and decided there, so the sender is also the channel.
    ...(decision !== undefined && { ...decisionMembers(decision), channelAliases: names }),
  };
}
