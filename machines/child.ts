// Types for the children of a supervisor (supervisor.ts): specification, state, and reported changes.

import type { AnyActorLogic, AnyActorRef } from 'xstate';
import type { RestartPolicy } from './policy.ts';

/**
 * Specification of a child. The actor receives the input `{ ...input, key, generation }`, stops on
 * `shutdown`, and reports an expected failure to the parent as `child.failed` with key and generation.
 * Machines must be wrapped in `stopChildrenOnThrow` (actors/base/supervision).
 */
export interface ChildSpec {
  readonly key: string;
  readonly logic: AnyActorLogic;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly policy: RestartPolicy;
  /** Time limit for `shutdown`, then the child is terminated. */
  readonly shutdownMs: number;
}

/**
 * up: the child controls itself. waiting: it restarts at `retryAt`. parked: it is not started until
 * `child.wake`. stopping: it received `shutdown`. The actor of a waiting or parked child may be alive
 * (`ref`).
 */
export type ChildPhase = 'up' | 'waiting' | 'parked' | 'stopping';

export interface Child {
  readonly key: string;
  readonly spec: ChildSpec;
  /** Counted over all children, so it stays unique when a key is reused. */
  readonly generation: number;
  readonly phase: ChildPhase;
  /** Times of the restarts that counted at the last failure, in milliseconds. */
  readonly restarts: readonly number[];
  /** Same as `restarts`, for restarts that do not count (machines/external-failure.ts). */
  readonly uncounted: readonly number[];
  readonly lastError: unknown;
  readonly retryAt: number | undefined;
  readonly parkedUntil: number | undefined;
  /** The live actor, if any. */
  readonly ref: AnyActorRef | undefined;
}

/** A child state change, for logs and metrics. */
export interface ChildChange {
  readonly key: string;
  readonly generation: number;
  /** `ended`: finished by itself and is not restarted. `stopped`: stopped on request, or terminated. */
  readonly what: 'started' | 'restarting' | 'restarted' | 'parked' | 'woken' | 'stopped' | 'ended';
  /** Number of restarts within the policy's period, including this one. */
  readonly restarts: number;
  readonly error?: unknown;
  /** Pause of `restarting`, in milliseconds. */
  readonly inMs?: number;
  /** Deadline of `parked`, in milliseconds. */
  readonly until?: number;
  /** For `stopped`: the child failed to stop within `shutdownMs`. */
  readonly wasCutOff?: true;
}
