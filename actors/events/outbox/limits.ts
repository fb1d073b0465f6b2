// Limits for outbound messages that operators see: the platform limits that the adapter enforces, and the
// current pauses.

import type { TextUnit } from './split-text.ts';

export interface OutboundRateLimit {
  /** Scope: `account`, or a kind of destination such as `group`. */
  readonly of: string;
  /** Maximum number of messages per `perMs`. */
  readonly most: number;
  readonly perMs: number;
  /** Burst that is allowed after idle time. */
  readonly atOnce?: number | undefined;
}

export interface SendPause {
  /** Scope: `account`, or the platform's id of the destination. */
  readonly of: string;
  readonly forMs: number;
}

export interface OutboundLimits {
  /** Maximum message size; a longer text is split. */
  readonly text: { readonly most: number; readonly unit: TextUnit };
  /**
   * Maximum number of buttons per message; undefined if the platform has no buttons. Further actions become
   * text or further messages.
   */
  readonly buttons?: number | undefined;
  /** Adapters get `rates` and `held` from `Pacing.currentLimits`. */
  readonly rates: readonly OutboundRateLimit[];
  /** The longest pauses, longest first. */
  readonly held: readonly SendPause[];
}
