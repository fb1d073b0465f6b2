// Messages as rows of the outbox: one for each request to the platform, in the mailbox of its destination, so that they are
// sent in order and each is claimed, tried again, kept when dead and replayed by what does that for all events.
//
// OR1  the ids of an event's rows are the same at each attempt and each replay: the store takes each once.
// OR2  rows of one destination are in one mailbox, whatever trigger or event they come from; what a target is to be in order with
//      decides what one destination is.
// OR3  a message is no more rows than MAX_PARTS: what is left out of it is said in its last line.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { NewEvent } from '../../store/event.ts';
import type { ConnectedAccount } from './connected-account.ts';
import { messageWithoutMentions } from './mentions.ts';
import type { Outbound } from './outbound.ts';
import type { OutboundMessage } from './outbound-message.ts';
import { boundedParts } from './split-text.ts';

/** In the `meta` of a row: what is neutral. Its body is what the adapter has rendered. */
export interface RowMeta {
  readonly trigger: string;
  readonly action: OutboundMessage['action']['do'];
  /** See `Outbound.senderOf`. */
  readonly sender?: string | undefined;
  /** Epoch ms. */
  readonly expiresAt?: number | undefined;
  /** It only changes the message of that row: without one nothing leaves. */
  readonly onlyEdits?: string | undefined;
  /** Rows of which each stands in its place: once one is there this one does not leave, and it never leaves a second time. */
  readonly replacedBy?: readonly string[] | undefined;
  /** Who has asked for it, where it answers nothing. */
  readonly principal?: string | undefined;
}

/** What a message is about, for the ids of its rows: the answer, or a notice of some kind. */
export interface RowOrigin {
  /** Of the event that it comes from. */
  readonly eventId: string;
  readonly trace: string;
  /** Tells its rows from others of the same event: `failed`. @default the answer */
  readonly about?: string | undefined;
  /** See `RowMeta`. */
  readonly replacedBy?: readonly string[] | undefined;
  /** The same. */
  readonly principal?: string | undefined;
}

/** Rows for a message of the account. Throws UnrenderableError. */
export function outboxRows<T extends Trigger>(
  outbound: Outbound<T>,
  account: ConnectedAccount,
  trigger: T,
  message: OutboundMessage,
  { eventId, trace, about, replacedBy, principal }: RowOrigin,
): readonly NewEvent[] {
  const { target, action, expiresAt } = message;
  const key = destinationKey(account, target.orderedWith ?? target.place);
  const onlyEdits = action.do === 'edit' && action.orElse === 'nothing' ? action.of : undefined;
  const meta: RowMeta = {
    trigger: trigger.name,
    action: action.do,
    sender: outbound.senderOf?.(trigger),
    ...{ expiresAt, onlyEdits, replacedBy, principal },
  };
  const parts = boundedParts(harmless(outbound, message), (bounded) => outbound.render(trigger, bounded));
  return parts.map((rendered, i) => ({
    id: rowId(eventId, about, i + 1),
    key,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(rendered, wellFormed)),
    trace,
  }));
}

function harmless<T extends Trigger>({ mentions }: Outbound<T>, message: OutboundMessage): OutboundMessage {
  if (message.mentions === 'allow' || mentions === undefined || mentions === 'rendered') return message;
  return messageWithoutMentions(message, mentions);
}

/** Half a character, as agents leave it that cut a text themselves, would have the platform refuse all of the message. */
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);

/** The id of a row of an event, counted from 1; without `about` of its answer. */
export function rowId(eventId: string, about: string | undefined, n: number): string {
  return `outbox:${eventId}/${about === undefined ? '' : `${about}/`}${n}`;
}

/** The key of a destination, in which rows leave in order; with an empty one what all keys of the account begin with. */
export function destinationKey({ platform, account }: ConnectedAccount, destination: string): string {
  return `outbox/${platform}/${account}/${destination}`;
}

/** What `Outbound.render` gave for the row. */
export function renderedOf(row: Pick<NewEvent, 'body'>): object {
  return JSON.parse(Buffer.from(row.body).toString('utf8')) as object;
}
