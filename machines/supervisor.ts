// A supervisor (one_for_one): starts children, starts them again as their policy says, drains them at the end.
// One machine for every level: the root with its infrastructure, the tool servers, sessions, conversations.
// Two kinds of failure, one policy: a child that lives on in its `failed` state reports `child.failed` and is told
// `due` after the pause; a child whose machine threw is gone and is spawned anew, as the next generation.
//
// V1  every live child is in the registry, and what ended is stopped and dropped: no orphan, no leak (A5).
// V2  news of an earlier generation, or of a key that is forgotten, changes nothing.
// V3  a failing child touches nobody else, unless its own policy says `escalate` (A6).
// V4  `shutdown` always ends in `stopped`: a child that does not end by itself is cut off after its `shutdownMs`.
// V5  clock and chance come as input; timers belong to the actor system and end with this machine (A7).

import type { Child } from './child.ts';
import { askToStop, bury, cutOff, resume, settle, start, wake } from './child-steps.ts';
import type { Ending } from './policy.ts';
import { childOf, type Step, type SupervisorEvent, supervisorSetup } from './supervisor-setup.ts';

function endingOf(event: SupervisorEvent): Ending {
  return 'error' in event ? { kind: 'failed', error: event.error } : { kind: 'done' };
}

const startFirst = supervisorSetup.enqueueActions((step) => {
  // One event per child, so that a key that occurs twice is refused by the same guard as later.
  for (const spec of step.context.specs) step.enqueue.raise({ type: 'child.start', spec });
  step.enqueue.assign({ specs: [] });
});

const startOne = supervisorSetup.enqueueActions((step) => {
  if (step.event.type === 'child.start') start(step, step.event.spec);
});

/** What is done about the child that the event is about. */
const about = (act: (step: Step, child: Child) => void) =>
  supervisorSetup.enqueueActions((step) => {
    const child = childOf(step);
    if (child) act(step, child);
  });

/** A live child reported an expected failure; whatever we thought of it before, this is news. */
const hearFailure = about((step, child) => {
  if (child.phase !== 'stopping') settle(step, child, endingOf(step.event));
});

/** The actor is gone: by its own end, or by a throw. */
const hearEnd = about((step, child) => {
  if (child.phase === 'stopping') bury(step, child, endingOf(step.event));
  else if (child.ref) {
    step.enqueue.stopChild(child.ref);
    settle(step, { ...child, ref: undefined }, endingOf(step.event));
  }
});

/** The same while draining: whatever ends now stays ended. */
const hearLast = about((step, child) => bury(step, child, endingOf(step.event)));

const drainNext = supervisorSetup.enqueueActions((step) => {
  for (const child of [...step.context.children.values()].reverse()) {
    askToStop(step, child);
    // A child that waited for its restart is forgotten at once, and nobody would tell us to go on.
    if (child.ref && step.context.drain === 'ordered') return;
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
        'child.stop': { guard: 'isCurrent', actions: about(askToStop) },
        'child.wake': { guard: 'isCurrent', actions: about(wake) },
        'child.failed': { guard: 'isLive', actions: hearFailure },
        'child.due': { guard: 'isCurrent', actions: about(resume) },
        'child.overdue': { guard: 'isCurrent', actions: about(cutOff) },
        'xstate.done.actor.*': { guard: 'isCurrent', actions: hearEnd },
        // Old news is taken and dropped; what matches neither is an escalation (V2, V3).
        'xstate.error.actor.*': [{ guard: 'isCurrent', actions: hearEnd }, { guard: 'isOfChild' }],
        shutdown: 'draining',
      },
    },
    draining: {
      entry: drainNext,
      always: { guard: 'isEmpty', target: 'stopped' },
      on: {
        'child.overdue': { guard: 'isCurrent', actions: [about(cutOff), drainNext] },
        'xstate.done.actor.*': { guard: 'isCurrent', actions: [hearLast, drainNext] },
        'xstate.error.actor.*': [
          { guard: 'isCurrent', actions: [hearLast, drainNext] },
          { guard: 'isOfChild' },
        ],
      },
    },
    stopped: { type: 'final' },
  },
});
