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

import { type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import type { Change, Child, ChildSpec } from './child.ts';
import { askToStop, bury, cutOff, resume, settle, start, wake } from './child-steps.ts';
import type { Ending } from './policy.ts';

export interface SupervisorInput {
  /** Prefix of the children's system ids: `path/key`. */
  readonly path: string;
  readonly now: () => number;
  readonly random: () => number;
  readonly children?: readonly ChildSpec[];
  /** @default 'ordered' (reverse order of start, one at a time); 'together' for children that need not each other. */
  readonly drain?: 'ordered' | 'together';
  /**
   * Called for every change, within the transition that makes it: it may send events, must be quick, and a throw
   * fails the supervisor. A callback rather than XState's `emit`, whose listeners would not survive a respawn.
   */
  readonly onChange?: (change: Change) => void;
}

export interface SupervisorContext extends Required<Omit<SupervisorInput, 'children'>> {
  readonly children: ReadonlyMap<string, Child>;
  /** Children of the input, until they are spawned. */
  readonly specs: readonly ChildSpec[];
  readonly lastGeneration: number;
}

export type SupervisorEvent =
  /** Ignored when the key is known: stop it first, and wait for its `stopped`. */
  | { type: 'child.start'; spec: ChildSpec }
  | { type: 'child.stop'; key: string }
  /** An operator's start, or the first request after the park time: clean slate, then `start` to the child. */
  | { type: 'child.wake'; key: string }
  /** From a child that is alive. */
  | { type: 'child.failed'; key: string; generation: number; error: unknown }
  | { type: 'shutdown' }
  /** Our own timers. */
  | { type: 'child.due'; key: string; generation: number }
  | { type: 'child.overdue'; key: string; generation: number }
  | DoneActorEvent
  | ErrorActorEvent;

type Told = { readonly context: SupervisorContext; readonly event: SupervisorEvent };

/** The child an event is about, unless the event belongs to an earlier generation. */
function subject({ context, event }: Told): Child | undefined {
  if ('actorId' in event) {
    const child = context.children.get(event.actorId.slice(0, event.actorId.lastIndexOf('#')));
    return child?.ref?.id === event.actorId ? child : undefined;
  }
  const child = 'key' in event ? context.children.get(event.key) : undefined;
  return child && 'generation' in event && event.generation !== child.generation ? undefined : child;
}

const isCurrent = (told: Told) => subject(told) !== undefined;
const isLive = (told: Told) => subject(told)?.ref !== undefined;
/** Only children have a `#` in their ids; our own escalation has none and must stay unhandled. */
const isOfChild = ({ event }: Told) => 'actorId' in event && event.actorId.includes('#');
const isUnknown = ({ context, event }: Told) =>
  event.type === 'child.start' && !context.children.has(event.spec.key);
const isEmpty = ({ context }: Told) => context.children.size === 0;

const frame = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    input: {} as SupervisorInput,
  },
  actions: {
    report: ({ context }, change: Change) => context.onChange(change),
  },
  guards: { isCurrent, isEmpty, isLive, isOfChild, isUnknown },
});

/** A transition under way: what it says of the event, and what it has done. */
export type Step = Parameters<Parameters<typeof frame.enqueueActions>[0]>[0];

function endingOf(event: SupervisorEvent): Ending {
  return 'error' in event ? { kind: 'failed', error: event.error } : { kind: 'done' };
}

const startFirst = frame.enqueueActions((step) => {
  // One event per child, so that a key that occurs twice is refused by the same guard as later.
  for (const spec of step.context.specs) step.enqueue.raise({ type: 'child.start', spec });
  step.enqueue.assign({ specs: [] });
});

const startOne = frame.enqueueActions((step) => {
  if (step.event.type === 'child.start') start(step, step.event.spec);
});

/** What is done about the child that the event is about. */
const about = (act: (step: Step, child: Child) => void) =>
  frame.enqueueActions((step) => {
    const child = subject(step);
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

const drainNext = frame.enqueueActions((step) => {
  for (const child of [...step.context.children.values()].reverse()) {
    askToStop(step, child);
    // A child that waited for its restart is forgotten at once, and nobody would tell us to go on.
    if (child.ref && step.context.drain === 'ordered') return;
  }
});

export const supervisorMachine = frame.createMachine({
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
