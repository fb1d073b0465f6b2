// Finds the message that a reply answers. The platform sends only its id, but the store contains received
// messages as events, and sent messages as outbox rows with receipts, until their records expire.

import type { InboundEvent } from '../../events/inbound-event.ts';
import type { QuotedMessage } from '../../events/message-origin.ts';
import { destinationKey } from '../../events/outbox/rows.ts';
import type { Store } from '../../store/store.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { messageEventId, REPLIES_TO, VALUE } from './event.ts';
import { contentOf } from './message-content.ts';
import { senderOf } from './notification.ts';

type Records = Pick<Store, 'delivery' | 'withReceipt'>;

/** Returns the event with the answered message, if found; undefined for events that answer none. */
export function withAnsweredMessage(
  event: InboundEvent,
  records: Records,
): Promise<InboundEvent> | undefined {
  const id = event.context[REPLIES_TO];
  if (typeof id !== 'string' || event.decision !== undefined) return undefined;
  // Best effort: the event is handled without the quotation if the store fails.
  return findMessage(event, id, records).then(
    (found) => (found === undefined ? event : { ...event, quoted: [...(event.quoted ?? []), found] }),
    () => event,
  );
}

async function findMessage(
  { account = '', triggers, user, userAliases = [] }: InboundEvent,
  id: string,
  records: Records,
): Promise<QuotedMessage | undefined> {
  const names = [user, ...userAliases].filter((name) => name !== undefined);
  const received = await records.delivery(messageEventId(triggers, id));
  if (received !== undefined) return receivedMessage(received.body, names);
  for (const name of names) {
    const row = await records.withReceipt(
      destinationKey({ platform: 'businessmessenger', account }, name),
      id,
    );
    const sent = row === undefined ? undefined : await records.delivery(row);
    if (sent !== undefined) return sentMessage(sent.body, account);
  }
  return undefined;
}

/** Returns the received message, if the same person wrote it. */
function receivedMessage(body: Uint8Array, names: readonly string[]): QuotedMessage | undefined {
  const value = memberOf(jsonObjectIn(body), VALUE);
  const message = memberOf(value, 'messages.0');
  const { number, userId, name } = senderOf(message, memberOf(value, 'contacts.0'));
  const content = contentOf(message);
  if (content === undefined || content === 'start' || !('text' in content)) return undefined;
  const isSameSender = [number, userId].some((each) => each !== undefined && names.includes(each));
  return isSameSender ? { relation: 'answered', sender: { name }, text: content.text } : undefined;
}

function sentMessage(body: Uint8Array, account: string): QuotedMessage | undefined {
  const message = memberOf(jsonObjectIn(body), 'body');
  const text = textMember(message, 'text.body', 'interactive.body.text');
  return text === undefined ? undefined : { relation: 'answered', sender: { id: account }, text };
}
