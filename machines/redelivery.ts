// Retry policy of events: decides if and when the gateway handles a failed event again. An event becomes dead
// (never retried) by a final failure, or when the last of the configured `attempts` has failed. The function
// is pure: time and randomness are inputs. A pause is positive and not longer than configured, but a longer
// pause that the receiver requests is respected up to an hour.
//
// A rate limit of the receiver is no failed attempt during the first hour after the event was accepted.
// Afterwards it counts as one, so that no event is retried forever. A delay by the gateway's own rate limit
// never counts.

import type { TriggerRetry } from '../config/resources/triggers/trigger-of.ts';
import { boundedPauseMs } from './requested-pause.ts';

export interface FailedAttempt {
  /** Counted from 1. */
  readonly attempt: number;
  /** A retry cannot help. */
  readonly isFinal?: boolean | undefined;
  /** Minimum pause requested by the receiver. */
  readonly retryAfterMs?: number | undefined;
}

export type Redelivery = { readonly do: 'retry'; readonly inMs: number } | { readonly do: 'dead' };

/** Default for failures outside triggers: six attempts over about ten minutes. */
export const defaultRetry: TriggerRetry = {
  attempts: 6,
  min_backoff_seconds: 5,
  max_backoff_seconds: 600,
  factor: 3,
};

/** Event age from which a deferral by the receiver counts as a failed attempt. */
const UNCOUNTED_DEFERRALS_MS = 3_600_000;
/** Tolerated clock difference. */
const CLOCK_STEP_MS = 60_000;

/** Prevents simultaneous retries of events that failed together. */
const JITTER = 0.2;

/** Returns the decision for a failed attempt. `random`: 0…1; the pause is in milliseconds. */
export function redelivery(settings: TriggerRetry, failure: FailedAttempt, random: number): Redelivery {
  const { attempt, isFinal = false, retryAfterMs = 0 } = failure;
  if (isFinal || attempt >= settings.attempts) return { do: 'dead' };
  const backoffMs = settings.min_backoff_seconds * 1000 * settings.factor ** (attempt - 1);
  const pauseMs = Math.min(settings.max_backoff_seconds * 1000, backoffMs) * (1 - JITTER * random);
  const requestedMs = boundedPauseMs(retryAfterMs);
  return { do: 'retry', inMs: Math.max(1, Math.round(pauseMs), Math.ceil(requestedMs)) };
}

export interface RateLimited {
  /** Counted from 1. */
  readonly attempt: number;
  /** Time since the event was accepted. */
  readonly ageMs: number;
  /** Time until the receiver may accept it. */
  readonly inMs: number;
  /** The receiver was not contacted, because the gateway's own rate limit applies. */
  readonly isUncontacted?: boolean | undefined;
}

/** Returns the decision if the receiver does not accept the event now. `random`: 0…1. */
export function deferral(
  settings: TriggerRetry,
  { attempt, ageMs, inMs, isUncontacted = false }: RateLimited,
  random: number,
): Redelivery | { readonly do: 'defer'; readonly inMs: number } {
  // A negative age means that the clock was wrong when the event was accepted: the real age is unknown.
  if (!isUncontacted && (ageMs >= UNCOUNTED_DEFERRALS_MS || ageMs < -CLOCK_STEP_MS))
    return redelivery(settings, { attempt, retryAfterMs: inMs }, random);
  return { do: 'defer', inMs: Math.max(1, Math.ceil(boundedPauseMs(inMs))) };
}
