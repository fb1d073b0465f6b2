// Converts outbound messages to outbox rows, one row per request to the platform. Rows are events in the
// destination's mailbox, so order, retries, dead letters and replay work as for all events.
//
// Row ids are stable across attempts and replays, and the store accepts each id once; so no message is sent
// twice. An account's triggers share the mailbox per destination. A message has up to MAX_PARTS rows; the
// last row states how much was omitted.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { NewEvent } from '../../store/event.ts';
import type { ConnectedAccount } from './connected-account.ts';
import { escapeMarkdown } from './escape-markdown.ts';
import { messageWithMentionsNeutralised } from './mentions.ts';
import type { OutboundMessage } from './message.ts';
import type { Outbound } from './outbound.ts';
import { boundedParts } from './split-text.ts';

/** The platform-independent `meta` of a row. The body is the request that the adapter rendered. */
export interface RowMeta {
  readonly trigger: string;
  readonly action: OutboundMessage['action']['do'];
  /** Name of the credential that sends the row; see `Outbound.credentialNameOf`. */
  readonly sender?: string | undefined;
  /** Expiry time, epoch ms. */
  readonly expiresAt?: number | undefined;
  /** Id of the row whose message this row edits. If that message does not exist, this row is dropped. */
  readonly onlyEdits?: string | undefined;
  /**
   * Ids of the rows that replace this row. If one of them exists, this row is not sent. A row with
   * `replacedBy` gets only one attempt.
   */
  readonly replacedBy?: readonly string[] | undefined;
  /** Name of the principal that requested the message; undefined for an answer to an event. */
  readonly principal?: string | undefined;
}

/** Origin of the message, for row ids. */
export interface RowOrigin {
  /** Id of the event that caused the message. */
  readonly eventId: string;
  readonly trace: string;
  /**
   * Kind of message, such as the notice `failed`; makes the row ids unique within the event. Undefined for
   * the answer.
   */
  readonly about?: string | undefined;
  /** See `RowMeta`. */
  readonly replacedBy?: readonly string[] | undefined;
  /** See `RowMeta`. */
  readonly principal?: string | undefined;
}

/** Renders the message as rows. Throws UnrenderableError. */
export function outboxRows<T extends Trigger>(
  outbound: Outbound<T>,
  account: ConnectedAccount,
  trigger: T,
  message: OutboundMessage,
  { eventId, trace, about, replacedBy, principal }: RowOrigin,
): readonly NewEvent[] {
  const { target, action, expiresAt } = message;
  // Rows with the same key are sent in order. The key names the place, or `orderedWith` if that is set.
  const key = destinationKey(account, target.orderedWith ?? target.place);
  const onlyEdits = action.do === 'edit' && action.orElse === 'nothing' ? action.of : undefined;
  const meta: RowMeta = {
    trigger: trigger.name,
    action: action.do,
    sender: outbound.credentialNameOf?.(trigger),
    expiresAt,
    onlyEdits,
    replacedBy,
    principal,
  };
  const parts = boundedParts(neutraliseMentions(outbound, inMarkdown(outbound, message)), (boundedMessage) =>
    outbound.render(trigger, boundedMessage),
  );
  return parts.map((rendered, i) => ({
    id: rowId(eventId, about, i + 1),
    key,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(rendered, wellFormed)),
    trace,
  }));
}

/** Escapes a plain text, unless the adapter itself handles all forms. */
function inMarkdown<T extends Trigger>(
  { rendersFormats = false }: Outbound<T>,
  message: OutboundMessage,
): OutboundMessage {
  if (rendersFormats || message.format !== 'plain') return message;
  return { ...message, text: escapeMarkdown(message.text) };
}

function neutraliseMentions<T extends Trigger>(
  { mentions }: Outbound<T>,
  message: OutboundMessage,
): OutboundMessage {
  if (message.mentions === 'allow' || mentions === undefined || mentions === 'rendered') return message;
  return messageWithMentionsNeutralised(message, mentions);
}

/**
 * JSON replacer that replaces lone surrogates, which occur when an agent truncates a text. A platform would
 * refuse the whole message.
 */
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);

/** Returns the id of the `n`th row, counted from 1, for the event's answer or, with `about`, a notice. */
export function rowId(eventId: string, about: string | undefined, n: number): string {
  return `outbox:${eventId}/${about === undefined ? '' : `${about}/`}${n}`;
}

/**
 * Returns the mailbox key of the destination. With an empty `destination`, returns the prefix of all keys of
 * the account.
 */
export function destinationKey({ platform, account }: ConnectedAccount, destination: string): string {
  return `outbox/${platform}/${account}/${destination}`;
}

/** Returns the request of the row, as rendered by `Outbound.render`. */
export function renderedOf(row: Pick<NewEvent, 'body'>): object {
  return JSON.parse(Buffer.from(row.body).toString('utf8')) as object;
}
