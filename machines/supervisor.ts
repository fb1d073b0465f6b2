// Supervisor: starts children, restarts each failed child by its policy, and drains all children on shutdown.
// The same machine serves every level: infrastructure, tool servers, sessions, conversations.
//
// - Two kinds of failure share one policy. A live child in its `failed` state reports `child.failed`, and
//   receives `due` after the pause. A child whose machine threw is respawned as the next generation.
// - Every live child is in the registry (`children`); finished children are stopped and removed. Events for
//   an earlier generation or a removed key are ignored.
// - A failing child affects no other child unless its policy is `escalate`. `shutdown` always leads to
//   `stopped`: a child is terminated after `shutdownMs`.
// - Clock and randomness are inputs; timers belong to the actor system and stop with this machine.

import type { Child } from './child.ts';
import { applyPolicy, askToStop, removeEnded, resume, start, terminate, wake } from './child-steps.ts';
import type { Ending } from './policy.ts';
import { childOf, type SupervisorAction, type SupervisorEvent, supervisorSetup } from './supervisor-setup.ts';

function endingOf(event: SupervisorEvent): Ending {
  return 'error' in event ? { kind: 'failed', error: event.error } : { kind: 'done' };
}

const startFirst = supervisorSetup.enqueueActions((action) => {
  // One event per child, so that the guard for `child.start` also rejects duplicate keys here.
  for (const spec of action.context.specs) action.enqueue.raise({ type: 'child.start', spec });
  action.enqueue.assign({ specs: [] });
});

const startOne = supervisorSetup.enqueueActions((action) => {
  if (action.event.type === 'child.start') start(action, action.event.spec);
});

/** Applies `act` to the child of the event. */
const withChild = (act: (action: SupervisorAction, child: Child) => void) =>
  supervisorSetup.enqueueActions((action) => {
    const child = childOf(action);
    if (child) act(action, child);
  });

/** Handles a failure reported by a live child, in any phase except stopping. */
const onFailure = withChild((action, child) => {
  if (child.phase !== 'stopping') applyPolicy(action, child, endingOf(action.event));
});

/** Handles a stopped actor, normal or by an exception. */
const onEnd = withChild((action, child) => {
  if (child.phase === 'stopping') removeEnded(action, child, endingOf(action.event));
  else if (child.ref) {
    action.enqueue.stopChild(child.ref);
    applyPolicy(action, { ...child, ref: undefined }, endingOf(action.event));
  }
});

/** Handles a stopped actor while draining: it is not restarted. */
const onEndWhileDraining = withChild((action, child) => removeEnded(action, child, endingOf(action.event)));

const drainNext = supervisorSetup.enqueueActions((action) => {
  for (const child of [...action.context.children.values()].reverse()) {
    askToStop(action, child);
    // An inactive child is removed immediately and sends no event that would continue the drain.
    if (child.ref && action.context.drain === 'ordered') return;
  }
});

export const supervisorMachine = supervisorSetup.createMachine({
  id: 'supervisor',
  context: ({ input }) => ({
    path: input.path,
    now: input.now,
    random: input.random,
    drain: input.drain ?? 'ordered',
    onChange: input.onChange ?? (() => {}),
    children: new Map(),
    specs: input.children ?? [],
    lastGeneration: 0,
  }),
  initial: 'supervising',
  states: {
    supervising: {
      entry: startFirst,
      on: {
        'child.start': { guard: 'isUnknown', actions: startOne },
        'child.stop': { guard: 'isCurrent', actions: withChild(askToStop) },
        'child.wake': { guard: 'isCurrent', actions: withChild(wake) },
        'child.failed': { guard: 'isLive', actions: onFailure },
        'child.due': { guard: 'isCurrent', actions: withChild(resume) },
        'child.overdue': { guard: 'isCurrent', actions: withChild(terminate) },
        'xstate.done.actor.*': { guard: 'isCurrent', actions: onEnd },
        // Errors of earlier generations are ignored. An error that matches neither guard is an escalation.
        'xstate.error.actor.*': [{ guard: 'isCurrent', actions: onEnd }, { guard: 'isOfChild' }],
        shutdown: 'draining',
      },
    },
    draining: {
      entry: drainNext,
      always: { guard: 'isEmpty', target: 'stopped' },
      on: {
        'child.overdue': { guard: 'isCurrent', actions: [withChild(terminate), drainNext] },
        'xstate.done.actor.*': { guard: 'isCurrent', actions: [onEndWhileDraining, drainNext] },
        'xstate.error.actor.*': [
          { guard: 'isCurrent', actions: [onEndWhileDraining, drainNext] },
          { guard: 'isOfChild' },
        ],
      },
    },
    stopped: { type: 'final' },
  },
});
