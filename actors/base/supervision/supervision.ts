// Common settings and helpers for supervisors (machines/supervisor.ts) of servers, triggers and connections.

import type { AnyActorRef } from 'xstate';
import type { Child, ChildChange } from '../../../machines/child.ts';
import type { RestartPolicy } from '../../../machines/policy.ts';
import type { SupervisorContext, SupervisorInput } from '../../../machines/supervisor-setup.ts';
import { monotonicNow } from '../time/monotonic-clock.ts';

/** Restart policy for a child that is retried as long as the gateway runs. */
export const persistentPolicy: RestartPolicy = {
  restart: 'transient',
  intensity: Number.MAX_SAFE_INTEGER,
  periodMs: 600_000,
  onLimit: 'park',
  parkMs: 60_000,
  backoff: { minMs: 500, maxMs: 30_000, jitter: 0.2 },
};

/** Input for supervisors that drain all children in parallel and report changes. */
export function supervisorInput(path: string, onChange: (change: ChildChange) => void): SupervisorInput {
  return { path, now: monotonicNow, random: Math.random, drain: 'together', onChange };
}

/** Returns the supervisor's record of the child; undefined if unknown. */
export function childOf(supervisor: AnyActorRef | undefined, key: string): Child | undefined {
  const context: SupervisorContext | undefined = supervisor?.getSnapshot().context;
  return context?.children.get(key);
}

/**
 * Shuts down a supervisor and its children. Resolves once it has stopped; immediately if it is missing or not
 * active.
 */
export function drainSupervisor(supervisor: AnyActorRef | undefined): Promise<void> {
  if (supervisor === undefined || supervisor.getSnapshot().status !== 'active') return Promise.resolve();
  return new Promise((resolve) => {
    supervisor.subscribe({ complete: resolve, error: () => resolve() });
    supervisor.send({ type: 'shutdown' });
  });
}
