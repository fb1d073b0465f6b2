// Reads the messages that an update answers, quotes or forwards. A forward contains the forwarded text as its
// own. A button press concerns the message with the button.

import type { MessageParty, QuotedMessage } from '../../events/message-origin.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { writtenTextIn } from './message-text.ts';

export function quotedMessages(update: unknown): readonly QuotedMessage[] {
  const pressed = memberOf(update, 'callback_query.message');
  if (pressed !== undefined) return answeredMessage(pressed);
  const message = memberOf(update, 'message');
  const answered = memberOf(message, 'reply_to_message');
  const external = memberOf(message, 'external_reply');
  const quote = textMember(message, 'quote.text');
  const author = external === undefined ? partyIn(answered) : originIn(memberOf(external, 'origin'));
  return [
    ...(isForwarded(message) ? [{ relation: 'forwarded', sender: forwarder(message) } as const] : []),
    ...answeredMessage(answered),
    ...(quote === undefined ? [] : [{ relation: 'quoted', sender: author, text: quote } as const]),
  ];
}

function answeredMessage(message: unknown): readonly QuotedMessage[] {
  const text = writtenTextIn(message);
  return text === undefined ? [] : [{ relation: 'answered', sender: partyIn(message), text }];
}

function isForwarded(message: unknown): boolean {
  return ['forward_origin', 'forward_date'].some((name) => memberOf(message, name) !== undefined);
}

/** Returns the original author, also from older servers. */
function forwarder(message: unknown): MessageParty | undefined {
  const origin = memberOf(message, 'forward_origin');
  if (origin !== undefined) return originIn(origin);
  const party = memberOf(message, 'forward_from_chat') ?? memberOf(message, 'forward_from');
  return partyOf(party, textMember(message, 'forward_sender_name'));
}

function originIn(origin: unknown): MessageParty | undefined {
  const party = ['sender_user', 'sender_chat', 'chat'].map((name) => memberOf(origin, name));
  return partyOf(
    party.find((each) => each !== undefined),
    textMember(origin, 'sender_user_name'),
  );
}

/** Returns the sender, possibly a chat in whose name a person writes. */
function partyIn(message: unknown): MessageParty | undefined {
  return partyOf(memberOf(message, 'sender_chat') ?? memberOf(message, 'from'), undefined);
}

function partyOf(party: unknown, hiddenName: string | undefined): MessageParty | undefined {
  const id = memberOf(party, 'id');
  const name = nameOf(party) ?? hiddenName;
  const idText = Number.isSafeInteger(id) ? String(id) : undefined;
  return idText === undefined && name === undefined ? undefined : { id: idText, name };
}

/** Returns the displayed name. */
export function nameOf(party: unknown): string | undefined {
  const names = [textMember(party, 'first_name', 'title'), textMember(party, 'last_name')];
  return names.filter((name) => name !== undefined).join(' ') || undefined;
}
