// State machine of an active mailbox (a conversation's event queue): ready → busy → ready … → ended. Its
// actor exists while the conversation is busy, and for some seconds afterwards, for reuse.
//
// - A turn is the handling of one event. Short turns bypass the machine. It handles turns that take long,
//   that must be stopped, or that do not stop in time (long runs).
// - A long run is an actor that lives exactly in `busy`. The machine leaves `busy` only after the run has
//   really stopped. Each long run is settled once: its result is committed, or dropped if this node has lost
//   the claim on the event.
// - The machine has no clock: long runs, deadlines, lost claims and idleness arrive as events.

import { assign, type CallbackActorLogic, setup } from 'xstate';

export interface ConversationInput {
  readonly key: string;
  /** Context of the provided actions and the run; not used by the machine. */
  readonly actorContext?: unknown;
}

interface ConversationContext extends ConversationInput {
  /** Attempt of the current or last long run. */
  readonly attempt: number;
}

export type ConversationEvent =
  /** The turn has become a long run: it takes long, or it must receive a `stop` or a deadline. */
  | { type: 'lasting'; attempt: number }
  /** The long run has finished, with any outcome. */
  | { type: 'run.ended' }
  /** The attempt has reached its time limit. */
  | { type: 'deadline' }
  /** The run must stop: the gateway is stopping, or the event is obsolete. */
  | { type: 'stop' }
  /** The run is still running after the grace period for the stop. */
  | { type: 'patience.over' }
  /** Another node may own the mailbox. */
  | { type: 'claim.lost' }
  /** The conversation has had no event for some time. */
  | { type: 'quiet' };

export const conversationMachine = setup({
  types: {
    context: {} as ConversationContext,
    events: {} as ConversationEvent,
    input: {} as ConversationInput,
  },
  actors: {
    /** Follows the run until `run.ended`. Accepts no events; `none` is a placeholder type. */
    run: {} as CallbackActorLogic<{ type: 'none' }, ConversationInput>,
  },
  actions: {
    abort: () => {},
    /** Releases the concurrency slot if a run ignores the stop. */
    yieldSlot: () => {},
    /** Commits the run's result, or drops it if the claim was lost. */
    settle: () => {},
    noteAttempt: assign({
      attempt: ({ context, event }) => (event.type === 'lasting' ? event.attempt : context.attempt),
    }),
  },
}).createMachine({
  id: 'conversation',
  // Context fields shown by the inspector.
  meta: { inspect: ['attempt'] },
  context: ({ input }) => ({ key: input.key, attempt: 1, actorContext: input.actorContext }),
  initial: 'ready',
  states: {
    ready: {
      on: { lasting: { target: 'busy', actions: 'noteAttempt' }, quiet: 'ended' },
    },
    busy: {
      invoke: { id: 'run', src: 'run', input: ({ context }) => context },
      on: { 'run.ended': { target: 'ready', actions: 'settle' } },
      initial: 'handling',
      states: {
        handling: { on: { deadline: 'aborting', stop: 'aborting', 'claim.lost': 'leaving' } },
        aborting: { entry: 'abort', on: { 'patience.over': 'overrun', 'claim.lost': 'leaving' } },
        overrun: { entry: 'yieldSlot', on: { 'claim.lost': 'leaving' } },
        leaving: { entry: 'abort', on: { 'patience.over': { actions: 'yieldSlot' } } },
      },
    },
    ended: { type: 'final' },
  },
});
