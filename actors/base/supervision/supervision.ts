// How the children of a supervisor (machines/supervisor.ts) are kept, where servers, triggers and connections agree.

import type { AnyActorRef } from 'xstate';
import type { Change, Child } from '../../../machines/child.ts';
import type { RestartPolicy } from '../../../machines/policy.ts';
import type { SupervisorContext, SupervisorInput } from '../../../machines/supervisor-setup.ts';
import { steadyNow } from '../time/steady-clock.ts';

/** For a child that is worth another try for as long as the gateway runs, however often it has failed. */
export const persistentPolicy: RestartPolicy = {
  restart: 'transient',
  intensity: Number.MAX_SAFE_INTEGER,
  periodMs: 600_000,
  onLimit: 'park',
  parkMs: 60_000,
  backoff: { minMs: 500, maxMs: 30_000, jitter: 0.2 },
};

/** Of a supervisor whose children end all at once, and that tells what it does with them. */
export function supervisorInput(path: string, onChange: (change: Change) => void): SupervisorInput {
  return { path, now: steadyNow, random: Math.random, drain: 'together', onChange };
}

/** What the supervisor knows of the child; undefined for one that it does not have. */
export function childOf(supervisor: AnyActorRef | undefined, key: string): Child | undefined {
  const context: SupervisorContext | undefined = supervisor?.getSnapshot().context;
  return context?.children.get(key);
}

/** Ends a supervisor and all its children. Resolves when it has ended, also where it had before, or was never there. */
export function drainSupervisor(supervisor: AnyActorRef | undefined): Promise<void> {
  if (supervisor === undefined || supervisor.getSnapshot().status !== 'active') return Promise.resolve();
  return new Promise((resolve) => {
    supervisor.subscribe({ complete: resolve, error: () => resolve() });
    supervisor.send({ type: 'shutdown' });
  });
}
