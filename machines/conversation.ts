// The life of an active mailbox: ready → busy → ready … → ended.
//
// A conversation that has nothing to do is no actor at all; a busy one's stays for some seconds after each turn, so that it
// is not made anew for the next. Turns are its traffic: one that ends within a moment goes past the machine, as a call goes
// past that of its server. The machine owns what is out of the ordinary: a run that lasts, that has to be told to end, or
// that does not end then. It reads no clock: that a run lasts, deadlines, lost claims and quiet come as events (A7).
//
// CV1  a run that lasts is an actor, which lives exactly in `busy`; that is left when the run has really ended (A4).
// CV2  each run that lasted is settled once: committed, unless its claim was lost.
// CV3  the place among those that work at the same time is given back by `yieldPlace` when a run goes on although it was
//     told to end and has been waited for.

import { assign, type CallbackActorLogic, setup } from 'xstate';

export interface ConversationInput {
  readonly key: string;
  /** Whom the provided actions and the run work for; the machine never looks at it. */
  readonly bearer?: unknown;
}

interface ConversationContext extends ConversationInput {
  /** The attempt of the run that lasts, or lasted last. */
  readonly attempt: number;
}

export type ConversationEvent =
  /** The run of a turn goes on for more than a moment, or has to be told something. */
  | { type: 'lasting'; attempt: number }
  /** The run that lasted is over, however it went. */
  | { type: 'run.ended' }
  /** The attempt has taken as long as it may. */
  | { type: 'deadline' }
  /** The run is to end: the gateway is stopping and has waited long enough, or the event is not wanted any more. */
  | { type: 'stop' }
  /** The run was told to end, was waited for, and has not ended. */
  | { type: 'patience.over' }
  /** Somebody else may have the mailbox by now. */
  | { type: 'claim.lost' }
  /** No event for some time. */
  | { type: 'quiet' };

export const conversationMachine = setup({
  types: {
    context: {} as ConversationContext,
    events: {} as ConversationEvent,
    input: {} as ConversationInput,
  },
  actors: {
    /** Follows the run until `run.ended`. */
    run: {} as CallbackActorLogic<{ type: 'none' }, ConversationInput>,
  },
  actions: {
    abort: () => {},
    yieldPlace: () => {},
    /** What came of the run is committed, or dropped with a claim that was lost. */
    settle: () => {},
    noteAttempt: assign({
      attempt: ({ context, event }) => (event.type === 'lasting' ? event.attempt : context.attempt),
    }),
  },
}).createMachine({
  id: 'conversation',
  // What the inspector may show of the context.
  meta: { inspect: ['attempt'] },
  context: ({ input }) => ({ key: input.key, attempt: 1, bearer: input.bearer }),
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
        overrun: { entry: 'yieldPlace', on: { 'claim.lost': 'leaving' } },
        leaving: { entry: 'abort', on: { 'patience.over': { actions: 'yieldPlace' } } },
      },
    },
    ended: { type: 'final' },
  },
});
