// What goes from the gateway to a page about deliveries, for both ends, as feed-wire.ts has it for the rest. Types only. Field names are
// those of the JSON; times are epoch milliseconds. Texts are redacted and cut before they leave.

import type { DeliveryState } from '../../../actors/store/delivery.ts';

/** One line of the list of deliveries. */
export interface DeliveryRow {
  /** Whole: it is asked for by this. */
  readonly id: string;
  readonly seq: number;
  readonly state: DeliveryState;
  readonly trigger: string | null;
  /** Key of its mailbox. */
  readonly conversation: string;
  readonly attempts: number;
  readonly received_at: number;
  readonly ended_at: number | null;
  /** With `retrying`. */
  readonly next_attempt_at: number | null;
  /** With `waiting`. */
  readonly waiting_for: string | null;
  readonly until: number | null;
  readonly note: string | null;
}

/** The newest first. */
export interface DeliveryList {
  readonly at: number;
  readonly deliveries: readonly DeliveryRow[];
  /** Where the page of older ones begins; null at the end. */
  readonly next_before: number | null;
}

/** A delivery as it is shown by itself. */
export interface DeliveryShown extends DeliveryRow {
  readonly kind: string;
  readonly crashes: number;
  readonly deferrals: number;
  readonly started_at: number | null;
  /** Who has sent it. */
  readonly principal: string | null;
  readonly answer: string | null;
  readonly receipt: string | null;
  /** It has a journal. */
  readonly has_run: boolean;
  /** Each attempt that failed. */
  readonly failures: readonly { readonly attempt: number; readonly at: number; readonly note: string }[];
  readonly body: {
    readonly bytes: number;
    /** Null where it is no text. */
    readonly text: string | null;
    /** The text is not all of it. */
    readonly is_cut: boolean;
  };
}

export interface DeliveryAnswer {
  readonly at: number;
  readonly delivery: DeliveryShown;
}
