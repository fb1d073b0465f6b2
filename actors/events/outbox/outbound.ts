// How an adapter sends: the part of it that knows its platform's form, limits and API. Rows, order, attempts, receipts and
// expiry are neutral (outbox-rows.ts, automation/works/outbox-work.ts) and the same for all.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../inbound-event.ts';
import type { OutboundLimits } from './limits.ts';
import type { MentionRule } from './mentions.ts';
import type { OutboundMessage, OutboundTarget } from './outbound-message.ts';

/** What the platform said of a message that it took. */
export interface Receipt {
  /** Its id of the message; empty where it names none. */
  readonly id: string;
  /** What its record is to say besides: that it may have arrived twice. */
  readonly note?: string | undefined;
}

export interface SendContext {
  readonly signal: AbortSignal;
  /** The same at each attempt. */
  readonly rowId: string;
  /** When the row was made, epoch ms. */
  readonly madeAt: number;
  /** An attempt was begun before, and what it did nobody may know: where the platform can be asked, it is asked first. */
  readonly wasTried: boolean;
  /** Of another row; undefined while it has none, or where it has ended without. */
  receiptOf(rowId: string): Promise<Receipt | undefined>;
}

/**
 * `Rendered` is one request to the platform: what its API takes, and what the adapter needs to send it. It becomes one row, as
 * JSON, and comes back to `send` from that: no class, no Date, nothing that JSON loses.
 */
export interface Outbound<T extends Trigger = Trigger, Rendered extends object = object> {
  /** Where an answer to this goes; undefined: nowhere. Pure. */
  target(trigger: T, inbound: InboundEvent): OutboundTarget | undefined;
  /**
   * Where a message goes that answers nothing: `conversation` is as handlers are told it, `teamboard/…`. Undefined where that is no
   * conversation of the trigger's account, or nobody knows how to reach it. Rejects as the store does.
   */
  destination?(trigger: T, conversation: string): Promise<OutboundTarget | undefined>;
  /**
   * In the order in which they are sent. Pure. Throws UnrenderableError. Of an edit the first is the one that edits, and has all
   * that it takes to be posted.
   */
  render(trigger: T, message: OutboundMessage): readonly Rendered[];
  /**
   * What its platform reads as a mention in a text: taken apart before `render`. `rendered`: the platform has a field for that,
   * which `render` fills by `message.mentions`. Undefined where nothing in a text notifies anybody.
   */
  readonly mentions?: MentionRule | 'rendered' | undefined;
  /**
   * The platform's name of a press that decides about an approval, where it shows an answer to whoever pressed, alone and at once; that
   * answer is the matter of `tell` then. Undefined for anything else. Pure.
   */
  pressOf?(inbound: InboundEvent): string | undefined;
  /** What is in force for messages of the trigger now, for an operator. Pure. */
  limits?(trigger: T): OutboundLimits;
  /** The address that `send` goes to: what hangs there hangs for every trigger that sends there. */
  sendsTo(trigger: T): string;
  /**
   * A word for the credential that the trigger sends with, where triggers of one account may have several: a trigger sends what was
   * made for another one only with the same. It stands in rows, and says nothing of the credential. Pure.
   */
  senderOf?(trigger: T): string | undefined;
  /** The host that a message goes to, where each place of an account has its own: one that is down says nothing of another. Pure. */
  serviceOf?(rendered: Rendered): string | undefined;
  /**
   * Rejects with a DeliveryError. An edit asks `receiptOf` for the message, and posts where that gives none; where the platform
   * says that the message is gone it rejects with `isTargetGone`, and the core comes again without the receipt.
   */
  send(trigger: T, rendered: Rendered, context: SendContext): Promise<Receipt>;
  /**
   * How far edits of one message there are to be apart, in ms, so that enough is left for what else is said. Where it is missing
   * an answer under way is not shown.
   */
  editsEveryMs?(target: OutboundTarget): number;
  /**
   * A first message that answers an event replaces what was shown for it, as an edit does: whatever edit is under way then may come
   * after it, and is waited for.
   */
  readonly isPostInPlace?: boolean | undefined;
  /** For how long the platform shows what `typing` has said. */
  readonly typingLastsMs?: number | undefined;
  /** So long an answer may take before it is shown, where that counts as a message. @default a moment */
  readonly typingAfterMs?: number | undefined;
  /** Shows that an answer is being made: repeated while a run lasts. What it rejects with is of no consequence. */
  typing?(trigger: T, target: OutboundTarget, signal: AbortSignal): Promise<void>;
  /** Marks the message as seen, once it is known that somebody takes it. As above. */
  seen?(trigger: T, inbound: InboundEvent, signal: AbortSignal): Promise<void>;
}
