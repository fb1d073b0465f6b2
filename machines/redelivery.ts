// The retry policy of events: after a failed attempt, when the event is tried again, and when it is dead. A pure
// decision (A7): no clock, no timer, no chance of its own, so that every rule of retrying stands on one page.
//
// R1  of one event at most `attempts` attempts fail; the last of them, or one that is final, makes it dead.
// R2  a pause is never longer than the longest that was configured, nor 0, unless the other side asked for a longer one.
// R3  what the other side asked for is kept to, up to an hour.
// R4  "not now" is no failure: it is no attempt either, for an hour from the event's acceptance. From then on it is one like
//      any other, or the event would wait for ever. Where nobody was asked, since we keep to a pace of our own, it never is one:
//      the event's turn comes.

import type { TriggerRetry } from '../config/resources/triggers/trigger-of.ts';

export interface FailedAttempt {
  /** Counted from 1. */
  readonly attempt: number;
  /** Trying again cannot help. */
  readonly isFinal?: boolean | undefined;
  /** Not before this, as the other side asked. */
  readonly retryAfterMs?: number | undefined;
}

export type Redelivery = { readonly do: 'retry'; readonly inMs: number } | { readonly do: 'dead' };

/** For failures of which no trigger says how they are to be repeated: six attempts over about ten minutes. */
export const defaultRetry: TriggerRetry = {
  attempts: 6,
  min_backoff_seconds: 5,
  max_backoff_seconds: 600,
  factor: 3,
};

/** Whoever asks for a longer pause is tried in between: a mistaken date must not silence a conversation for a year. */
const LONGEST_ASKED_MS = 3_600_000;

/** After this an event has waited long enough for its turn. */
const PATIENCE_MS = 3_600_000;
/** By so much clocks may differ. */
const CLOCK_STEP_MS = 60_000;

/** Events that failed together, because one service was down, should not come back together. */
const JITTER = 0.2;

/** What becomes of an event whose attempt has failed. `random` lies in 0…1; the pause is in whole milliseconds. */
export function redelivery(settings: TriggerRetry, failed: FailedAttempt, random: number): Redelivery {
  const { attempt, isFinal = false, retryAfterMs = 0 } = failed;
  if (isFinal || attempt >= settings.attempts) return { do: 'dead' };
  const grownMs = settings.min_backoff_seconds * 1000 * settings.factor ** (attempt - 1);
  const pauseMs = Math.min(settings.max_backoff_seconds * 1000, grownMs) * (1 - JITTER * random);
  const askedMs = Math.min(LONGEST_ASKED_MS, Math.max(0, retryAfterMs));
  return { do: 'retry', inMs: Math.max(1, Math.round(pauseMs), Math.ceil(askedMs)) };
}

export interface TooSoon {
  /** Counted from 1. */
  readonly attempt: number;
  /** Since the event was accepted. */
  readonly ageMs: number;
  /** When the other side may take it. */
  readonly inMs: number;
  /** It was not asked: what is sent to it already is as much as it takes. */
  readonly isUnasked?: boolean | undefined;
}

/** What becomes of an event that the other side does not take now. `random` as above. */
export function deferral(
  settings: TriggerRetry,
  { attempt, ageMs, inMs, isUnasked = false }: TooSoon,
  random: number,
): Redelivery | { readonly do: 'defer'; readonly inMs: number } {
  // One of the future was accepted when the clock was ahead: nobody knows for how long it has waited.
  if (!isUnasked && (ageMs >= PATIENCE_MS || ageMs < -CLOCK_STEP_MS))
    return redelivery(settings, { attempt, retryAfterMs: inMs }, random);
  return { do: 'defer', inMs: Math.max(1, Math.ceil(Math.min(LONGEST_ASKED_MS, inMs))) };
}
