// The types of a supervisor's children: their specification, what the supervisor knows of one, and what it reports.

import type { AnyActorLogic, AnyActorRef } from 'xstate';
import type { RestartPolicy } from './policy.ts';

/**
 * How to start a child. It gets `{ ...input, key, generation }` as input, answers `shutdown` by ending, and reports
 * an expected failure to its parent as `child.failed` with that key and generation. Wrap machines in `guarded`.
 */
export interface ChildSpec {
  readonly key: string;
  readonly logic: AnyActorLogic;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly policy: RestartPolicy;
  /** How long the child may take to end after `shutdown`, before it is cut off. */
  readonly shutdownMs: number;
}

/**
 * up: its life is its own affair. waiting: will be started again at `retryAt`. parked: left alone until
 * `child.wake`. stopping: was asked to end. Waiting and parked children may be alive (`ref`) or not.
 */
export type ChildPhase = 'up' | 'waiting' | 'parked' | 'stopping';

export interface Child {
  readonly key: string;
  readonly spec: ChildSpec;
  /** Counted over all children of one supervisor, so that it stays unique when a key comes back. */
  readonly generation: number;
  readonly phase: ChildPhase;
  /** Times of the restarts that counted at the last failure, in ms. */
  readonly restarts: readonly number[];
  readonly lastError: unknown;
  readonly retryAt: number | undefined;
  readonly parkedUntil: number | undefined;
  /** The live actor. */
  readonly ref: AnyActorRef | undefined;
}

/** One line of the life of a child, for logs and counters. */
export interface Change {
  readonly key: string;
  readonly generation: number;
  /** `ended`: over by itself and not started again. `stopped`: over because we asked, or cut it off. */
  readonly what: 'started' | 'restarting' | 'restarted' | 'parked' | 'woken' | 'stopped' | 'ended';
  /** Restarts within the policy's period, this one included. */
  readonly restarts: number;
  readonly error?: unknown;
  /** Only with `restarting`: the pause. */
  readonly inMs?: number;
  /** Only with `parked`: time in ms. */
  readonly until?: number;
  /** Only with `stopped`: it did not end within `shutdownMs`. */
  readonly wasCutOff?: true;
}
