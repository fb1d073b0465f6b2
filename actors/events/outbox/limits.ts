// The limits within which messages leave, as an operator is shown them: those of the platform that the adapter keeps to, and what
// may not leave just now.

import type { TextUnit } from './split-text.ts';

export interface RateLimit {
  /** Whom it is about: `account`, or a kind of destination, `group`. */
  readonly of: string;
  readonly most: number;
  readonly perMs: number;
  /** So many of them may leave together, after a rest. */
  readonly atOnce?: number | undefined;
}

export interface HeldBack {
  /** `account`, or the platform's id of the destination. */
  readonly of: string;
  readonly forMs: number;
}

export interface OutboundLimits {
  /** Of one message; what is longer becomes several. */
  readonly text: { readonly most: number; readonly unit: TextUnit };
  /** Beside one message; undefined where the platform has none. What is beyond stands in the text, or in further messages. */
  readonly buttons?: number | undefined;
  /** `Pacing.inForce` gives these two. */
  readonly rates: readonly RateLimit[];
  /** What is to wait longest comes first; not all of it, where it is much. */
  readonly held: readonly HeldBack[];
}
