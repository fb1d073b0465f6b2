// The life of an active mailbox, one turn at a time: busy → committing → (busy …) → lingering → ended.
//
// One that has nothing to do is no actor at all; while a conversation is busy its actor stays for some seconds after each
// turn, so that it is not made anew for the next one. The machine decides; the run, and what its actions do, are provided.
// It reads no clock: deadlines, lost claims and quiet come as events (A7).
//
// C1  the run lives exactly in `busy`, which is left when the run has really ended: no turn begins before (A4).
// C2  each turn is committed once, unless its claim was lost.
// C3  the place among those that work at the same time is given back on entering `lingering`, or by `yieldPlace` when a
//     run goes on although it was told to end and has been waited for.

import { assign, type CallbackActorLogic, setup } from 'xstate';

export interface ConversationInput {
  readonly key: string;
  /** The attempt at the first event. */
  readonly attempt: number;
  /** Whom the provided actions and the run work for; the machine never looks at it. */
  readonly bearer?: unknown;
}

interface ConversationContext extends ConversationInput {
  /** Turns that this actor has begun. */
  readonly turns: number;
}

export type ConversationEvent =
  /** There is an event to be handled, under a claim that holds. */
  | { type: 'turn'; attempt: number }
  /** The run is over, however it went. */
  | { type: 'run.ended' }
  /** The attempt has taken as long as it may. */
  | { type: 'deadline' }
  /** The run is to end: the gateway is stopping and has waited long enough, or the event is not wanted any more. */
  | { type: 'stop' }
  /** The run was told to end, was waited for, and has not ended. */
  | { type: 'patience.over' }
  /** Somebody else may have the mailbox by now. */
  | { type: 'claim.lost' }
  /** The commit was taken, and nothing more is to be done. */
  | { type: 'over' }
  /** No event for some time. */
  | { type: 'quiet' };

export const conversationMachine = setup({
  types: {
    context: {} as ConversationContext,
    events: {} as ConversationEvent,
    input: {} as ConversationInput,
  },
  actors: {
    /** Handles one event and sends `run.ended`; told to end by `abort`, and by its own end. */
    run: {} as CallbackActorLogic<{ type: 'none' }, ConversationInput>,
  },
  actions: {
    abort: () => {},
    yieldPlace: () => {},
    commit: () => {},
    /** The mailbox may have a turn under another claim waiting, and then answers with `turn`. */
    rest: () => {},
    countTurn: assign({
      turns: ({ context }) => context.turns + 1,
      attempt: ({ context, event }) => (event.type === 'turn' ? event.attempt : context.attempt),
    }),
  },
}).createMachine({
  id: 'conversation',
  // What the inspector may show of the context.
  meta: { inspect: ['turns', 'attempt'] },
  context: ({ input }) => ({ key: input.key, attempt: input.attempt, bearer: input.bearer, turns: 1 }),
  initial: 'busy',
  states: {
    busy: {
      invoke: { id: 'run', src: 'run', input: ({ context }) => context },
      on: { 'run.ended': 'committing' },
      initial: 'handling',
      states: {
        handling: { on: { deadline: 'aborting', stop: 'aborting', 'claim.lost': 'leaving' } },
        aborting: { entry: 'abort', on: { 'patience.over': 'stray', 'claim.lost': 'leaving' } },
        stray: { entry: 'yieldPlace', on: { 'claim.lost': 'leaving' } },
        leaving: {
          entry: 'abort',
          on: { 'patience.over': { actions: 'yieldPlace' }, 'run.ended': '#conversation.lingering' },
        },
      },
    },
    committing: {
      entry: 'commit',
      on: { turn: { target: 'busy', actions: 'countTurn' }, over: 'lingering', 'claim.lost': 'lingering' },
    },
    lingering: {
      entry: 'rest',
      on: { turn: { target: 'busy', actions: 'countTurn' }, quiet: 'ended' },
    },
    ended: { type: 'final' },
  },
});
