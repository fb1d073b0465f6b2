// Types, guards and actions of the supervisor's machine (supervisor.ts), shared with child-steps.ts.

import { type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import type { Child, ChildChange, ChildSpec } from './child.ts';

export interface SupervisorInput {
  /** Prefix of the children's system ids: `path/key`. */
  readonly path: string;
  readonly now: () => number;
  readonly random: () => number;
  readonly children?: readonly ChildSpec[];
  /**
   * Stop order in a shutdown. `ordered`: one child at a time, in reverse order of start. `together`: all
   * children simultaneously; only for children that do not depend on each other. @default 'ordered'
   */
  readonly drain?: 'ordered' | 'together';
  /**
   * Called for every change, within its transition. It may send events and must return quickly; an exception
   * fails the supervisor. XState's `emit` is not used, because its listeners do not survive a respawn.
   */
  readonly onChange?: (change: ChildChange) => void;
}

export interface SupervisorContext extends Required<Omit<SupervisorInput, 'children'>> {
  readonly children: ReadonlyMap<string, Child>;
  /** Children of the input that are not spawned yet. */
  readonly specs: readonly ChildSpec[];
  readonly lastGeneration: number;
}

export type SupervisorEvent =
  /** Ignored if the key exists: stop that child first and wait for its `stopped`. */
  | { type: 'child.start'; spec: ChildSpec }
  | { type: 'child.stop'; key: string }
  /**
   * Manual start, or first request after the park time: sends `start` to the child. Clears the restarts,
   * except after an unreachable failure (external-failure.ts).
   */
  | { type: 'child.wake'; key: string }
  /** Reported by a running child. */
  | { type: 'child.failed'; key: string; generation: number; error: unknown }
  | { type: 'shutdown' }
  /** Timers of the supervisor: the pause before a restart has passed, or the time for stopping has. */
  | { type: 'child.due'; key: string; generation: number }
  | { type: 'child.overdue'; key: string; generation: number }
  | DoneActorEvent
  | ErrorActorEvent;

type ReceivedEvent = { readonly context: SupervisorContext; readonly event: SupervisorEvent };

/** Returns the event's child; undefined for events from an earlier generation. */
export function childOf({ context, event }: ReceivedEvent): Child | undefined {
  if ('actorId' in event) {
    const child = context.children.get(event.actorId.slice(0, event.actorId.lastIndexOf('#')));
    return child?.ref?.id === event.actorId ? child : undefined;
  }
  const child = 'key' in event ? context.children.get(event.key) : undefined;
  return child && 'generation' in event && event.generation !== child.generation ? undefined : child;
}

const isCurrent = (received: ReceivedEvent) => childOf(received) !== undefined;
const isLive = (received: ReceivedEvent) => childOf(received)?.ref !== undefined;
/**
 * Only child ids contain `#`. The error by which the supervisor fails itself (`escalate` in child-steps.ts)
 * has another id; it must match no guard, because XState fails the supervisor by an unhandled error.
 */
const isOfChild = ({ event }: ReceivedEvent) => 'actorId' in event && event.actorId.includes('#');
const isUnknown = ({ context, event }: ReceivedEvent) =>
  event.type === 'child.start' && !context.children.has(event.spec.key);
const isEmpty = ({ context }: ReceivedEvent) => context.children.size === 0;

export const supervisorSetup = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    input: {} as SupervisorInput,
  },
  actions: {
    report: ({ context }, change: ChildChange) => context.onChange(change),
  },
  guards: { isCurrent, isEmpty, isLive, isOfChild, isUnknown },
});

/** Arguments of an action: the event, the context, and `enqueue` for the effects of the transition. */
export type SupervisorAction = Parameters<Parameters<typeof supervisorSetup.enqueueActions>[0]>[0];
