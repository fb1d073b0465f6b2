// Restart policy of supervised children: decides if and when a child is restarted. A pure function without
// clock or timer; the supervisor executes the decisions.
//
// - Within any `periodMs` up to `intensity` restarts are allowed. The next failure parks the child (no
//   restart until `child.wake`) or fails the supervisor.
// - Failures whose cause is outside the child do not count, but lengthen the pause. A remote server that is
//   away is parked only briefly, so that it serves as soon as it is back.
// - A pause is between `backoff.minMs` and `backoff.maxMs`, or longer if the failure requests it. It is never
//   0: a child that always fails during its start would be restarted in an endless loop.

import { isExternal, isUnreachable } from './external-failure.ts';
import { pauseRequestedIn } from './requested-pause.ts';

export interface RestartPolicy {
  /** Outcomes after which a child is restarted: all, failures only, no outcome. */
  readonly restart: 'permanent' | 'transient' | 'temporary';
  /** Number of restarts allowed within `periodMs`. */
  readonly intensity: number;
  readonly periodMs: number;
  /** Above the limit: park this child for `parkMs` or the requested pause, or fail the supervisor. */
  readonly onLimit: 'park' | 'escalate';
  readonly parkMs: number;
  /** The pause doubles from `minMs` to `maxMs`; `jitter` (0…1) is the maximum random reduction. */
  readonly backoff: { readonly minMs: number; readonly maxMs: number; readonly jitter: number };
}

export type Ending = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: unknown };

export type RestartDecision =
  | { readonly do: 'restart'; readonly inMs: number }
  | { readonly do: 'park'; readonly forMs: number }
  | { readonly do: 'forget' }
  | { readonly do: 'escalate' };

/** The catalog's `restart:` block. */
export interface RestartSettings {
  readonly intensity: number;
  readonly period_seconds: number;
  readonly min_backoff_ms: number;
  readonly max_backoff_seconds: number;
  readonly park_seconds: number;
}

/**
 * A part of the gateway failed more often than its restart policy allows, which is a bug. The gateway ends.
 *
 * Fails the supervisor. `cause` is the child's last error.
 *
 * @remedy Report it, with the log, and start the gateway again.
 */
export class RestartLimitError extends Error {
  readonly code = 'ERR_RESTART_LIMIT';
  override get name(): string {
    return 'RestartLimitError';
  }
}

/** Longest delay of Node timers; a timer with a longer delay fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Longest park of a server that is away, in milliseconds: limits the attempts of frequent calls. */
const UNREACHABLE_PARK_MS = 1_000;

/** Maximum random reduction, so that servers started together do not restart together. */
const SERVER_JITTER = 0.2;

/**
 * Returns the times of the restarts within the period before `now`, in milliseconds. Older restarts no longer
 * count; there is no other reset.
 */
export function recentRestarts(policy: RestartPolicy, restarts: readonly number[], now: number): number[] {
  return restarts.filter((at) => now - at < policy.periodMs);
}

/** Returns true if the policy counts the restart after this ending. */
export function isCounted(ending: Ending): boolean {
  return ending.kind === 'done' || !isExternal(ending.error);
}

/**
 * Returns the decision for a child that has stopped or reported a failure. `restarts` and `uncounted` are the
 * times of earlier restarts and `now` is the current time, in milliseconds; `random`: 0…1.
 */
export function decideRestart(
  policy: RestartPolicy,
  ending: Ending,
  restarts: readonly number[],
  now: number,
  random: number,
  uncounted: readonly number[] = [],
): RestartDecision {
  if (policy.restart === 'temporary') return { do: 'forget' };
  if (policy.restart === 'transient' && ending.kind === 'done') return { do: 'forget' };
  const error = ending.kind === 'failed' ? ending.error : undefined;
  const requestedMs = pauseRequestedIn(error);
  const count = recentRestarts(policy, restarts, now).length;
  if (count >= policy.intensity && isCounted(ending)) {
    if (policy.onLimit === 'escalate') return { do: 'escalate' };
    const parkMs = isUnreachable(error) ? Math.min(policy.parkMs, UNREACHABLE_PARK_MS) : policy.parkMs;
    return { do: 'park', forMs: Math.max(parkMs, requestedMs) };
  }
  const { minMs, maxMs, jitter } = policy.backoff;
  const total = count + recentRestarts(policy, uncounted, now).length;
  const pauseMs = Math.min(maxMs, minMs * 2 ** total) * (1 - jitter * random);
  return { do: 'restart', inMs: Math.max(1, minMs, requestedMs, Math.round(pauseMs)) };
}

/**
 * Returns a tool server's policy from the catalog entry: transient, and parked at the limit, because one
 * failing server must not stop the gateway. Throws RangeError for a pause of 0.
 */
export function restartPolicy(settings: RestartSettings): RestartPolicy {
  const minMs = Math.min(settings.min_backoff_ms, MAX_TIMER_MS);
  if (!(minMs > 0)) throw new RangeError(`restart.min_backoff_ms must be above 0, not ${minMs}`);
  return {
    restart: 'transient',
    intensity: settings.intensity,
    periodMs: settings.period_seconds * 1000,
    onLimit: 'park',
    parkMs: settings.park_seconds * 1000,
    backoff: {
      minMs,
      maxMs: Math.max(minMs, Math.min(settings.max_backoff_seconds * 1000, MAX_TIMER_MS)),
      jitter: SERVER_JITTER,
    },
  };
}
