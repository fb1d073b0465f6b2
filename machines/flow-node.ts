// State machine for a flow node: idle → working ⇄ waiting → done, failed, skipped or dropped. Its events are
// the journal rows of the run (flow-run/rows.ts) and their consequences for other nodes. It has no clock and
// no effects.

import { assign, setup } from 'xstate';

export type FlowNodeEvent =
  /** The node starts, or resumes from a wait. */
  | { readonly type: 'entered' }
  /** When the node stops waiting, in epoch milliseconds. */
  | { readonly type: 'waits'; readonly until: number }
  /** The attempt has failed; the node retries it at `until`, in epoch milliseconds. */
  | { readonly type: 'again'; readonly until: number; readonly reason: string }
  /** A loop iteration starts. */
  | { readonly type: 'turn'; readonly n: number }
  /**
   * The failed flow is retried at this node. Its failure is not in the replayed rows (flow-run/retry.ts), so
   * the node is still `working`.
   */
  | { readonly type: 'retried' }
  /** The node has completed. */
  | { readonly type: 'left' }
  | { readonly type: 'failed'; readonly reason: string }
  /** The flow took too few connections to the node, so it never starts. */
  | { readonly type: 'skipped'; readonly why: string }
  /** The flow has finished, so the result of the node is not needed. */
  | { readonly type: 'dropped' };

export interface FlowNodeContext {
  /** Number of starts. */
  readonly attempts: number;
  /** Current or last loop iteration, from 1; 0 before the first. */
  readonly turn: number;
  /** Epoch milliseconds; undefined if the node does not wait for a time. */
  readonly until: number | undefined;
  /** Reason of the last failure or of the skip. */
  readonly why: string | undefined;
}

export const flowNodeMachine = setup({
  types: { context: {} as FlowNodeContext, events: {} as FlowNodeEvent },
  actions: {
    begin: assign(({ context }) => ({ attempts: context.attempts + 1, until: undefined })),
    wait: assign(({ event }) => ({ until: 'until' in event ? event.until : undefined })),
    restart: assign(() => ({ attempts: 1, until: undefined })),
    turn: assign(({ context, event }) => ({ turn: event.type === 'turn' ? event.n : context.turn })),
    noteReason: assign(({ context, event }) => ({
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
        skipped: { target: 'skipped', actions: 'noteReason' },
        dropped: 'dropped',
      },
    },
    working: {
      on: {
        waits: { target: 'waiting', actions: 'wait' },
        again: { target: 'waiting', actions: ['wait', 'noteReason'] },
        turn: { actions: 'turn' },
        retried: { actions: 'restart' },
        left: 'done',
        failed: { target: 'failed', actions: 'noteReason' },
        dropped: 'dropped',
      },
    },
    waiting: {
      on: {
        entered: { target: 'working', actions: 'begin' },
        left: 'done',
        failed: { target: 'failed', actions: 'noteReason' },
        dropped: 'dropped',
      },
    },
    done: { type: 'final' },
    failed: { type: 'final' },
    skipped: { type: 'final' },
    dropped: { type: 'final' },
  },
});
