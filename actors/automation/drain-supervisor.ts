// Ends a supervisor that hangs under the root, and all its children.

import type { AnyActorRef } from 'xstate';

/** Resolves when it has ended, also where it had before, or was never there. */
export function drainSupervisor(supervisor: AnyActorRef | undefined): Promise<void> {
  if (supervisor === undefined || supervisor.getSnapshot().status !== 'active') return Promise.resolve();
  return new Promise((resolve) => {
    supervisor.subscribe({ complete: resolve, error: () => resolve() });
    supervisor.send({ type: 'shutdown' });
  });
}
