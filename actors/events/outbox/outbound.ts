// Outbound part of adapters, which knows the platform's message format, limits and API. A message is stored
// as outbox rows, one row per request to the platform (rows.ts). Order, retries, receipts and expiry of rows
// do not depend on the platform (automation/works/outbox-work.ts).

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../inbound-event.ts';
import type { OutboundLimits } from './limits.ts';
import type { MentionRule } from './mentions.ts';
import type { OutboundMessage, OutboundTarget } from './message.ts';

/** Response of the platform to an accepted message. */
export interface SendReceipt {
  /** Message id of the platform; empty if it returns none. */
  readonly id: string;
  /** Note for the delivery record, such as a possible duplicate. */
  readonly note?: string | undefined;
}

export interface SendContext {
  readonly signal: AbortSignal;
  /** Id of the outbox row; stable across attempts. */
  readonly rowId: string;
  /** Creation time of the row, epoch ms. */
  readonly createdAt: number;
  /**
   * True if an earlier attempt possibly sent the message. The adapter then first searches for the message on
   * the platform, if the platform can search.
   */
  readonly wasTried: boolean;
  /** Returns the receipt of another row, if any. */
  receiptOf(rowId: string): Promise<SendReceipt | undefined>;
}

/**
 * `Rendered` is the content of a single request to the platform. It contains only JSON values, because it is
 * stored in an outbox row and passed to `send` later.
 */
export interface Outbound<T extends Trigger = Trigger, Rendered extends object = object> {
  /** Returns the target for answers to the event; undefined if it cannot be answered. Pure. */
  target(trigger: T, inbound: InboundEvent): OutboundTarget | undefined;
  /**
   * Returns the target for a message that answers no event. `conversation` is the conversation name that
   * handlers receive, such as `teamboard/…`. Undefined if the conversation belongs to another account or
   * cannot be reached. Rejects with errors of the store.
   */
  destination?(trigger: T, conversation: string): Promise<OutboundTarget | undefined>;
  /**
   * Renders a message as requests, in send order. Pure. Throws UnrenderableError. For the action `edit`, the
   * first request is the edit; it also contains the data to post the message instead.
   */
  render(trigger: T, message: OutboundMessage): readonly Rendered[];
  /**
   * True if `render` handles all forms of texts (`OutboundMessage.format`). Otherwise it receives Markdown: a
   * plain text is escaped, and a native text is the platform's Markdown. @default false
   */
  readonly rendersFormats?: boolean | undefined;
  /**
   * Syntax of the platform's mentions, which are neutralised before `render` (mentions.ts). 'rendered': the
   * platform has a request field that disables mentions, and `render` sets it from `message.mentions`.
   * Undefined if a text never notifies a person.
   */
  readonly mentions?: MentionRule | 'rendered' | undefined;
  /**
   * Returns the platform's id of a button press that decides an approval; undefined for other events. The
   * action `tell` uses the id for a private answer. Only for platforms that can answer a press privately.
   * Pure.
   */
  pressOf?(inbound: InboundEvent): string | undefined;
  /** Returns the current limits for the trigger's messages, for operators. Pure. */
  limits?(trigger: T): OutboundLimits;
  /** Returns the address that `send` contacts. Concurrent sends are limited per address. */
  addressOf(trigger: T): string;
  /**
   * Returns a name of the trigger's credential, if triggers with the same account can have different
   * credentials. A row may be sent by another trigger of the account, but only with the same credential. The
   * name is stored in rows, and must not reveal the credential. Pure.
   */
  credentialNameOf?(trigger: T): string | undefined;
  /**
   * Returns the host that receives the request, if an account's destinations have different hosts. Each host
   * has a separate circuit breaker (circuits.ts). Pure.
   */
  hostOf?(rendered: Rendered): string | undefined;
  /**
   * Sends the request. Rejects with a DeliveryError. For edits, `receiptOf` returns the id of the message to
   * edit; without a receipt the adapter posts a new message. If the platform reports that the message does
   * not exist, `send` rejects with `isTargetMissing`, and the next attempt receives no receipt.
   */
  send(trigger: T, rendered: Rendered, context: SendContext): Promise<SendReceipt>;
  /**
   * Returns the minimum interval between edits of a growing answer, in ms. A growing answer is a message that
   * shows the answer of a run before its end; each edit adds text. The interval must leave part of the rate
   * limit to other messages. Without this method, growing answers are not shown.
   */
  editIntervalMs?(target: OutboundTarget): number;
  /**
   * True if the platform shows a growing answer as a preview, and the first message with the answer replaces
   * it. Before that message, the gateway awaits pending edits of the preview, which could otherwise arrive
   * later.
   */
  readonly replacesPreview?: boolean | undefined;
  /** Display time of typing indicators. */
  readonly typingDurationMs?: number | undefined;
  /** Delay before the first indicator, for platforms that count indicators towards a rate limit. */
  readonly typingDelayMs?: number | undefined;
  /** Shows a typing indicator; repeated while the run lasts. Errors are ignored. */
  showTyping?(trigger: T, target: OutboundTarget, signal: AbortSignal): Promise<void>;
  /** Marks an accepted message as seen by the bot. Errors are ignored. */
  markSeen?(trigger: T, inbound: InboundEvent, signal: AbortSignal): Promise<void>;
}
