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

import {
  type AnyActorRef,
  type DoneActorEvent,
  type ErrorActorEvent,
  type ProvidedActor,
  type Spawner,
  setup,
} from 'xstate';
import type { Change, Child, ChildSpec } from './child.ts';
import { type Ending, RestartLimitError, recentRestarts, verdict } from './policy.ts';

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

type Step = Parameters<Parameters<typeof frame.enqueueActions>[0]>[0];

const dueId = (key: string) => `due:${key}`;
const overdueId = (key: string) => `overdue:${key}`;

function report(step: Step, child: Child, what: Change['what'], more: Partial<Change> = {}): void {
  const change = {
    key: child.key,
    generation: child.generation,
    what,
    restarts: child.restarts.length,
    ...more,
  };
  step.enqueue({ type: 'report', params: change });
}

function keep(step: Step, child: Child): void {
  step.enqueue.assign(({ context }) => ({ children: new Map(context.children).set(child.key, child) }));
}

/** Ends what is left of the child and drops it from the registry. */
function forget(step: Step, child: Child): void {
  step.enqueue.cancel(dueId(child.key));
  step.enqueue.cancel(overdueId(child.key));
  if (child.ref) step.enqueue.stopChild(child.ref);
  step.enqueue.assign(({ context }) => {
    const children = new Map(context.children);
    children.delete(child.key);
    return { children };
  });
}

function spawn(step: Step, old: Child, what: 'started' | 'restarted' | 'woken'): void {
  const { key, spec } = old;
  const systemId = `${step.context.path}/${key}`;
  const generation = step.context.lastGeneration + 1;
  const id = `${key}#${generation}`;
  const child: Child = { ...old, generation, phase: 'up', retryAt: undefined, parkedUntil: undefined };
  step.enqueue.assign({ lastGeneration: generation });
  // XState would throw within this machine, and so end every child of it.
  if (step.system.get(systemId) !== undefined) {
    settle(step, child, { kind: 'failed', error: new Error(`the actor name ${systemId} is taken`) });
    return;
  }
  step.enqueue.assign(({ context, spawn }) => {
    const input = { ...spec.input, key, generation };
    // Dynamic logic has no place among the actors that `setup` knows.
    const spawnAny = spawn as unknown as Spawner<ProvidedActor>;
    const ref: AnyActorRef = spawnAny(spec.logic, { id, systemId, input });
    return { children: new Map(context.children).set(key, { ...child, ref }) };
  });
  if (what === 'woken') step.enqueue.sendTo(id, { type: 'start' });
  report(step, child, what);
}

/** Carries out the verdict on a child; `child.ref` is the actor where it is still alive. */
function settle(step: Step, child: Child, ending: Ending): void {
  const { key, generation, ref } = child;
  const { policy } = child.spec;
  const now = step.context.now();
  const recent = recentRestarts(policy, child.restarts, now);
  const given = verdict(policy, ending, recent, now, step.context.random());
  const failure = ending.kind === 'failed' ? { error: ending.error } : {};
  const lastError = ending.kind === 'failed' ? ending.error : child.lastError;
  const judged: Child = { ...child, restarts: recent, lastError, retryAt: undefined, parkedUntil: undefined };
  step.enqueue.cancel(dueId(key));
  switch (given.do) {
    case 'restart': {
      const { inMs } = given;
      const next: Child = { ...judged, phase: 'waiting', restarts: [...recent, now], retryAt: now + inMs };
      keep(step, next);
      step.enqueue.raise({ type: 'child.due', key, generation }, { id: dueId(key), delay: inMs });
      report(step, next, 'restarting', { inMs, ...failure });
      return;
    }
    case 'park': {
      const until = now + given.forMs;
      keep(step, { ...judged, phase: 'parked', parkedUntil: until });
      if (ref) step.enqueue.sendTo(ref, { type: 'park', until, error: lastError });
      report(step, judged, 'parked', { until, ...failure });
      return;
    }
    case 'forget':
      forget(step, child);
      report(step, child, 'ended', failure);
      return;
    case 'escalate': {
      forget(step, child);
      report(step, child, 'ended', failure);
      const name = `${step.context.path}/${key}`;
      const limit = `${policy.intensity} times within ${policy.periodMs} ms`;
      // Sent, not raised: only then XState takes it for an unhandled error, stops all children and tells our parent.
      step.enqueue.sendTo(step.self, {
        type: 'xstate.error.actor.escalation',
        actorId: 'escalation',
        error: new RestartLimitError(`${name} was restarted ${limit}, and failed again`, {
          cause: lastError,
        }),
      });
    }
  }
}

function endingOf(event: SupervisorEvent): Ending {
  return 'error' in event ? { kind: 'failed', error: event.error } : { kind: 'done' };
}

/** A child that was not to come back has ended, as the event tells. */
function bury(step: Step, child: Child): void {
  const ending = endingOf(step.event);
  forget(step, child);
  report(step, child, 'stopped', ending.kind === 'failed' ? { error: ending.error } : {});
}

/** Asks a live child to end, and sets its deadline; one that is not alive is simply forgotten. */
function askToStop(step: Step, child: Child): void {
  if (child.phase === 'stopping') return;
  if (!child.ref) {
    forget(step, child);
    report(step, child, 'stopped');
    return;
  }
  const { key, generation } = child;
  keep(step, { ...child, phase: 'stopping', retryAt: undefined, parkedUntil: undefined });
  step.enqueue.cancel(dueId(key));
  const delay = child.spec.shutdownMs;
  step.enqueue.raise({ type: 'child.overdue', key, generation }, { id: overdueId(key), delay });
  step.enqueue.sendTo(child.ref, { type: 'shutdown' });
}

const startFirst = frame.enqueueActions((step) => {
  // One event per child, so that a key that occurs twice is refused by the same guard as later.
  for (const spec of step.context.specs) step.enqueue.raise({ type: 'child.start', spec });
  step.enqueue.assign({ specs: [] });
});

const start = frame.enqueueActions((step) => {
  if (step.event.type !== 'child.start') return;
  const { spec } = step.event;
  const fresh = { generation: 0, phase: 'up', restarts: [], lastError: undefined } as const;
  const gone = { retryAt: undefined, parkedUntil: undefined, ref: undefined };
  spawn(step, { key: spec.key, spec, ...fresh, ...gone }, 'started');
});

const stop = frame.enqueueActions((step) => {
  const child = subject(step);
  if (child) askToStop(step, child);
});

const cutOff = frame.enqueueActions((step) => {
  const child = subject(step);
  if (child?.phase !== 'stopping') return;
  forget(step, child);
  report(step, child, 'stopped', { wasCutOff: true });
});

/** A live child reported an expected failure; whatever we thought of it before, this is news. */
const hearFailure = frame.enqueueActions((step) => {
  const child = subject(step);
  if (child && child.phase !== 'stopping') settle(step, child, endingOf(step.event));
});

/** The actor is gone: by its own end, or by a throw. */
const hearEnd = frame.enqueueActions((step) => {
  const child = subject(step);
  if (child?.phase === 'stopping') bury(step, child);
  else if (child?.ref) {
    step.enqueue.stopChild(child.ref);
    settle(step, { ...child, ref: undefined }, endingOf(step.event));
  }
});

/** The same while draining: whatever ends now stays ended. */
const hearLast = frame.enqueueActions((step) => {
  const child = subject(step);
  if (child) bury(step, child);
});

const due = frame.enqueueActions((step) => {
  const child = subject(step);
  if (child?.phase !== 'waiting') return;
  if (!child.ref) {
    spawn(step, child, 'restarted');
    return;
  }
  const next: Child = { ...child, phase: 'up', retryAt: undefined };
  keep(step, next);
  step.enqueue.sendTo(child.ref, { type: 'due' });
  report(step, next, 'restarted');
});

const wake = frame.enqueueActions((step) => {
  const child = subject(step);
  if (!child || child.phase === 'stopping') return;
  const next: Child = { ...child, phase: 'up', restarts: [], retryAt: undefined, parkedUntil: undefined };
  step.enqueue.cancel(dueId(child.key));
  if (!child.ref) {
    spawn(step, next, 'woken');
    return;
  }
  keep(step, next);
  step.enqueue.sendTo(child.ref, { type: 'start' });
  report(step, next, 'woken');
});

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
        'child.start': { guard: 'isUnknown', actions: start },
        'child.stop': { guard: 'isCurrent', actions: stop },
        'child.wake': { guard: 'isCurrent', actions: wake },
        'child.failed': { guard: 'isLive', actions: hearFailure },
        'child.due': { guard: 'isCurrent', actions: due },
        'child.overdue': { guard: 'isCurrent', actions: cutOff },
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
        'child.overdue': { guard: 'isCurrent', actions: [cutOff, drainNext] },
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
