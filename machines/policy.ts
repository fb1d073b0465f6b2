// The restart policy: when a child that ended is started again, and after what pause. A pure decision (A7): no clock, no
// timer, no XState. The supervisor asks for a verdict and carries it out, so that every rule of restarting stands on one
// page.
//
// PO1  within any `periodMs` at most `intensity` restarts are given; the next failure parks or escalates.
// PO2  a pause lies between `backoff.minMs` and `backoff.maxMs` and is never 0: a child that fails at its start
//     must not spin inside one call of `send`.

export interface RestartPolicy {
  /** After which endings a child is started again: all, failures only, none. */
  readonly restart: 'permanent' | 'transient' | 'temporary';
  /** How many restarts are allowed within `periodMs`. */
  readonly intensity: number;
  readonly periodMs: number;
  /** Beyond the limit: leave this child alone for `parkMs`, or fail the supervisor itself. */
  readonly onLimit: 'park' | 'escalate';
  readonly parkMs: number;
  /** The pause doubles from `minMs` to `maxMs`; `jitter` (0…1) is the share that chance may take off. */
  readonly backoff: { readonly minMs: number; readonly maxMs: number; readonly jitter: number };
}

export type Ending = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: unknown };

export type Verdict =
  | { readonly do: 'restart'; readonly inMs: number }
  | { readonly do: 'park'; readonly forMs: number }
  | { readonly do: 'forget' }
  | { readonly do: 'escalate' };

/** The `restart:` block of a catalog entry, as the operator wrote it. */
export interface RestartSettings {
  readonly intensity: number;
  readonly period_seconds: number;
  readonly min_backoff_ms: number;
  readonly max_backoff_seconds: number;
  readonly park_seconds: number;
}

/** A child failed more often than its policy allows; `cause` is its last error. Ends the supervisor. */
export class RestartLimitError extends Error {
  readonly code = 'ERR_RESTART_LIMIT';
  override get name(): string {
    return 'RestartLimitError';
  }
}

/** Node fires a timer beyond 2^31-1 ms at once, which would turn a very long pause into none. */
const longestTimerMs = 2 ** 31 - 1;

/** Servers that were started at the same moment should not come back at the same moment. */
const serverJitter = 0.2;

/** Those of `restarts` (in ms) that still count at `now`. The window moves on by itself, which is the only reset. */
export function recentRestarts(policy: RestartPolicy, restarts: readonly number[], now: number): number[] {
  return restarts.filter((at) => now - at < policy.periodMs);
}

/**
 * What to do about a child that ended or reported a failure.
 * `restarts` are the times of its earlier restarts and `now` the present, in ms; `random` lies in 0…1.
 */
export function verdict(
  policy: RestartPolicy,
  ending: Ending,
  restarts: readonly number[],
  now: number,
  random: number,
): Verdict {
  if (policy.restart === 'temporary') return { do: 'forget' };
  if (policy.restart === 'transient' && ending.kind === 'done') return { do: 'forget' };
  const count = recentRestarts(policy, restarts, now).length;
  if (count >= policy.intensity) {
    return policy.onLimit === 'park' ? { do: 'park', forMs: policy.parkMs } : { do: 'escalate' };
  }
  const { minMs, maxMs, jitter } = policy.backoff;
  const pauseMs = Math.min(maxMs, minMs * 2 ** count) * (1 - jitter * random);
  return { do: 'restart', inMs: Math.max(1, minMs, Math.round(pauseMs)) };
}

/**
 * The policy of a tool server, from its catalog entry: transient, and parked at the limit, because one bad server
 * never takes the gateway down (A6). Throws RangeError for a pause of 0, which the config's schema refuses first.
 */
export function restartPolicy(settings: RestartSettings): RestartPolicy {
  const minMs = Math.min(settings.min_backoff_ms, longestTimerMs);
  if (!(minMs > 0)) throw new RangeError(`restart.min_backoff_ms must be above 0, not ${minMs}`);
  return {
    restart: 'transient',
    intensity: settings.intensity,
    periodMs: settings.period_seconds * 1000,
    onLimit: 'park',
    parkMs: settings.park_seconds * 1000,
    backoff: {
      minMs,
      maxMs: Math.max(minMs, Math.min(settings.max_backoff_seconds * 1000, longestTimerMs)),
      jitter: serverJitter,
    },
  };
}
