// How long an answer may take where a platform takes none after a while (`InboundEvent.answerBy`). What is not answered a little
// before that is given up, while there is still time to say so.
//
// The clock may have been set since the event was accepted: no more is left than there was then.

import type { InboundEvent } from '../../events/inbound-event.ts';
import type { StoredEvent } from '../../store/event.ts';

export interface AnswerTime {
  /** When it is given up, epoch ms. */
  readonly endsAt: number;
  /** Until then; 0 when that is over. */
  readonly leftMs: number;
  /** For how long the platform takes an answer, in words. */
  readonly inWords: string;
}

/** So that what is said of the end arrives in time. */
const MARGIN_MS = 30_000;
/** Of a short time a part only. */
const LARGEST_PART = 4;

/** Undefined where an answer may take as long as it takes. `now` is epoch ms. */
export function answerTime(
  { at }: StoredEvent,
  { answerBy }: InboundEvent,
  now: number,
): AnswerTime | undefined {
  if (answerBy === undefined) return undefined;
  const wholeMs = Math.max(0, answerBy - at);
  const marginMs = Math.min(MARGIN_MS, wholeMs / LARGEST_PART);
  const endsAt = answerBy - marginMs;
  const leftMs = Math.max(0, Math.min(endsAt - now, wholeMs - marginMs));
  return { endsAt, leftMs, inWords: inWords(wholeMs) };
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}
