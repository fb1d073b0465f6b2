// Types, guards and actions of the supervisor's machine (supervisor.ts). Its steps (child-steps.ts) use them too.

import { type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import type { Change, Child, ChildSpec } from './child.ts';

export interface SupervisorInput {
  /** Prefix of the children's system ids: `path/key`. */
  readonly path: string;
  readonly now: () => number;
  readonly random: () => number;
  readonly children?: readonly ChildSpec[];
  /** @default 'ordered' (reverse order of start, one at a time); 'together' for independent children. */
  readonly drain?: 'ordered' | 'together';
  /**
   * Called for every change, within its transition: it may send events and must return quickly; an exception fails the
   * supervisor. This is not XState's `emit`, because listeners of that do not survive a respawn.
   */
  readonly onChange?: (change: Change) => void;
}

export interface SupervisorContext extends Required<Omit<SupervisorInput, 'children'>> {
  readonly children: ReadonlyMap<string, Child>;
  /** Children of the input that are not spawned yet. */
  readonly specs: readonly ChildSpec[];
  readonly lastGeneration: number;
}

export type SupervisorEvent =
  /** Ignored if the key is in use: stop that child first, and wait for its `stopped`. */
  | { type: 'child.start'; spec: ChildSpec }
  | { type: 'child.stop'; key: string }
  /** Manual start, or first request after the park time: clears the restarts and sends `start` to the child. */
  | { type: 'child.wake'; key: string }
  /** Reported by a running child. */
  | { type: 'child.failed'; key: string; generation: number; error: unknown }
  | { type: 'shutdown' }
  /** Timers of the supervisor. */
  | { type: 'child.due'; key: string; generation: number }
  | { type: 'child.overdue'; key: string; generation: number }
  | DoneActorEvent
  | ErrorActorEvent;

type Received = { readonly context: SupervisorContext; readonly event: SupervisorEvent };

/** Returns the child that an event belongs to; undefined if the event is of an earlier generation. */
export function childOf({ context, event }: Received): Child | undefined {
  if ('actorId' in event) {
    const child = context.children.get(event.actorId.slice(0, event.actorId.lastIndexOf('#')));
    return child?.ref?.id === event.actorId ? child : undefined;
  }
  const child = 'key' in event ? context.children.get(event.key) : undefined;
  return child && 'generation' in event && event.generation !== child.generation ? undefined : child;
}

const isCurrent = (received: Received) => childOf(received) !== undefined;
const isLive = (received: Received) => childOf(received)?.ref !== undefined;
/** Only children have a `#` in their ids. The supervisor's own escalation has none and must stay unhandled. */
const isOfChild = ({ event }: Received) => 'actorId' in event && event.actorId.includes('#');
const isUnknown = ({ context, event }: Received) =>
  event.type === 'child.start' && !context.children.has(event.spec.key);
const isEmpty = ({ context }: Received) => context.children.size === 0;

export const supervisorSetup = setup({
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

/** Arguments of an action within a transition: the event, the context, and the effects to enqueue. */
export type Step = Parameters<Parameters<typeof supervisorSetup.enqueueActions>[0]>[0];
