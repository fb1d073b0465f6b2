// The life of one node of a flow: idle → working ⇄ waiting → done, failed, skipped or dropped.
//
// It hears of what the journal of the run says of it, and of what follows from that; it reads no clock and does nothing.
//
// FN1  a node that has come to an end never leaves it.

import { assign, setup } from 'xstate';

export type FlowNodeEvent =
  /** Its work begins, or is tried again. */
  | { readonly type: 'entered' }
  /** Nothing is to be done before that time, in epoch ms. */
  | { readonly type: 'waits'; readonly until: number }
  /** It has failed and is tried again at that time, in epoch ms. */
  | { readonly type: 'again'; readonly until: number; readonly reason: string }
  /** A turn of its loop begins. */
  | { readonly type: 'turn'; readonly n: number }
  /** The flow goes on after it had failed here. */
  | { readonly type: 'retried' }
  | { readonly type: 'left' }
  | { readonly type: 'failed'; readonly reason: string }
  /** No connection that leads to it was taken. */
  | { readonly type: 'skipped'; readonly why: string }
  /** The flow has ended without it. */
  | { readonly type: 'dropped' };

export interface FlowNodeContext {
  /** How often its work was begun. */
  readonly attempts: number;
  /** Of a loop: the turn that runs, or ran last, from 1; 0 before the first. */
  readonly turn: number;
  /** Epoch ms; undefined where it waits for no time. */
  readonly until: number | undefined;
  /** Why it failed last, or was skipped. */
  readonly why: string | undefined;
}

export const flowNodeMachine = setup({
  types: { context: {} as FlowNodeContext, events: {} as FlowNodeEvent },
  actions: {
    begin: assign(({ context }) => ({ attempts: context.attempts + 1, until: undefined })),
    wait: assign(({ event }) => ({ until: 'until' in event ? event.until : undefined })),
    beginAnew: assign(() => ({ attempts: 1, until: undefined })),
    turn: assign(({ context, event }) => ({ turn: event.type === 'turn' ? event.n : context.turn })),
    say: assign(({ context, event }) => ({
      why: 'reason' in event ? event.reason : 'why' in event ? event.why : context.why,
    })),
  },
}).createMachine({
  id: 'flow node',
  meta: { inspect: ['attempts', 'turn', 'until', 'why'] },
  context: { attempts: 0, turn: 0, until: undefined, why: undefined },
  initial: 'idle',
  states: {
    idle: {
      on: {
        entered: { target: 'working', actions: 'begin' },
        skipped: { target: 'skipped', actions: 'say' },
        dropped: 'dropped',
      },
    },
    working: {
      on: {
        waits: { target: 'waiting', actions: 'wait' },
        again: { target: 'waiting', actions: ['wait', 'say'] },
        turn: { actions: 'turn' },
        retried: { actions: 'beginAnew' },
        left: 'done',
        failed: { target: 'failed', actions: 'say' },
        dropped: 'dropped',
      },
    },
    waiting: {
      on: {
        entered: { target: 'working', actions: 'begin' },
        left: 'done',
        failed: { target: 'failed', actions: 'say' },
        dropped: 'dropped',
      },
    },
    done: { type: 'final' },
    failed: { type: 'final' },
    skipped: { type: 'final' },
    dropped: { type: 'final' },
  },
});
