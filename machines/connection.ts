// State machine for a platform connection, which several triggers may share: connecting → connected →
// backingOff → connecting …; `failed` instead of `backingOff` if the operator must correct the cause;
// closing → ended when no trigger uses it.
// Supervised by machines/supervisor.ts, but this machine decides the pauses between attempts, because
// platforms request them. The actor `run` owns the connection. It lives exactly in `connecting`, `connected`
// and `closing`; stopping it releases all its resources. `backingOff` and `failed` pause and lead back to
// `connecting`. Consecutive failures of the same kind are counted; a steady connection or another kind resets
// the count. `unwanted` and `shutdown` lead to `ended` from every state; `wanted` during `closing` leads to
// another attempt.

import {
  assign,
  type CallbackActorLogic,
  cancel,
  enqueueActions,
  raise,
  sendTo,
  setup,
  stopChild,
} from 'xstate';
import {
  type ConnectionFailure,
  connectionPause,
  type FailureKind,
  isVisible,
} from './connection-failure.ts';

export type ConnectionState = 'connecting' | 'connected' | 'backingOff' | 'failed' | 'closing' | 'ended';

export interface ConnectionInput {
  readonly key: string;
  readonly generation: number;
  /** Current time in epoch milliseconds, from a clock that never goes back. */
  readonly now: () => number;
  /** Returns 0…1. */
  readonly random: () => number;
  /** Context of the provided actors and actions; not used by the machine. */
  readonly actorContext?: unknown;
}

export interface ConnectionContext extends ConnectionInput {
  /** Time of entry into the current state. */
  readonly since: number;
  /** Number of consecutive failures of `failureKind`. */
  readonly failures: number;
  readonly failureKind: FailureKind | undefined;
  /** Last failure; cleared by the next success. */
  readonly failure: ConnectionFailure | undefined;
  /** Pause before the next attempt, in milliseconds. */
  readonly pauseMs: number;
  readonly isWanted: boolean;
  /** The supervisor is stopping this actor. */
  readonly isEnding: boolean;
}

export type ConnectionEvent =
  /** From the run: the platform has accepted the connection. */
  | { type: 'opened' }
  /** From the run: the connection is lost, and its resources are released. */
  | { type: 'lost'; failure: ConnectionFailure }
  /** From the run: the connection has closed after `close`. */
  | { type: 'closed' }
  /** The pause has passed. */
  | { type: 'due' }
  /** Requests an immediate attempt. */
  | { type: 'start' }
  /** The credential or other settings have changed. */
  | { type: 'renew' }
  /** The last trigger has released the connection. */
  | { type: 'unwanted' }
  /** Another trigger uses the connection. */
  | { type: 'wanted' }
  /** The supervisor stops this actor. */
  | { type: 'shutdown' };

/** Uptime after which a failure no longer continues the previous ones. */
const STEADY_MS = 10_000;

const lostTransitions = (state: 'connecting' | 'connected') => {
  const actions = { type: 'noteFailure', params: { wasConnected: state === 'connected' } } as const;
  // A failure is visible if the operator must correct its cause, such as a rejected credential.
  return [
    { guard: 'isVisible', target: 'failed', actions },
    { target: 'backingOff', actions },
  ] as const;
};

/** Transitions of the states with an open or opening connection. */
const runningEvents = {
  renew: { target: 'closing', actions: 'forgetFailures' },
  unwanted: { target: 'closing', actions: 'markUnwanted' },
  shutdown: { target: 'closing', actions: 'markEnding' },
} as const;

/** Transitions of the states between two attempts. */
const pausedEvents = {
  due: 'connecting',
  start: 'connecting',
  renew: { target: 'connecting', actions: 'forgetFailures' },
  unwanted: 'ended',
  shutdown: 'ended',
} as const;

export const connectionMachine = setup({
  types: {
    context: {} as ConnectionContext,
    events: {} as ConnectionEvent,
    input: {} as ConnectionInput,
  },
  actors: {
    /** A connection attempt: opens the connection, reports when it is lost, and closes on request. */
    run: {} as CallbackActorLogic<{ type: 'close' }, ConnectionInput>,
  },
  actions: {
    /** Reports the entered state. */
    announce: (_, _params: { state: ConnectionState }) => {},
    startRun: enqueueActions(({ enqueue, context }) => {
      enqueue.spawnChild('run', { id: 'run', input: context });
    }),
    endRun: stopChild('run'),
    closeRun: sendTo('run', { type: 'close' }),
    noteTime: assign({ since: ({ context }) => context.now() }),
    noteSuccess: assign({ failure: undefined, pauseMs: 0 }),
    noteFailure: assign(({ context, event }, { wasConnected }: { wasConnected: boolean }) => {
      if (event.type !== 'lost') return {};
      const { failure } = event;
      const wasSteady = wasConnected && context.now() - context.since >= STEADY_MS;
      const { kind: failureKind } = failure;
      const failures = wasSteady || failureKind !== context.failureKind ? 1 : context.failures + 1;
      return {
        failure,
        failures,
        failureKind,
        pauseMs: connectionPause(failure, failures, context.random()),
      };
    }),
    forgetFailures: assign({ failures: 0 }),
    markWanted: assign({ isWanted: true }),
    markUnwanted: assign({ isWanted: false }),
    markEnding: assign({ isEnding: true }),
    setPause: raise({ type: 'due' }, { id: 'due', delay: ({ context }) => context.pauseMs }),
    endPause: cancel('due'),
  },
  guards: {
    isVisible: ({ event }) => event.type === 'lost' && isVisible(event.failure),
    isWantedAgain: ({ context }) => context.isWanted && !context.isEnding,
  },
}).createMachine({
  id: 'connection',
  // Context fields shown by the inspector.
  meta: { inspect: ['failures'] },
  context: ({ input }) => ({
    key: input.key,
    generation: input.generation,
    now: input.now,
    random: input.random,
    actorContext: input.actorContext,
    since: 0,
    failures: 0,
    failureKind: undefined,
    failure: undefined,
    pauseMs: 0,
    isWanted: true,
    isEnding: false,
  }),
  on: {
    wanted: { actions: 'markWanted' },
  },
  initial: 'connecting',
  states: {
    connecting: {
      entry: ['noteTime', 'startRun', { type: 'announce', params: { state: 'connecting' } }],
      on: {
        opened: 'connected',
        lost: lostTransitions('connecting'),
        ...runningEvents,
      },
    },
    connected: {
      entry: ['noteTime', 'noteSuccess', { type: 'announce', params: { state: 'connected' } }],
      on: {
        lost: lostTransitions('connected'),
        ...runningEvents,
      },
    },
    backingOff: {
      entry: ['noteTime', 'endRun', 'setPause', { type: 'announce', params: { state: 'backingOff' } }],
      on: pausedEvents,
      exit: 'endPause',
    },
    failed: {
      entry: ['noteTime', 'endRun', 'setPause', { type: 'announce', params: { state: 'failed' } }],
      on: pausedEvents,
      exit: 'endPause',
    },
    closing: {
      entry: ['noteTime', 'closeRun', { type: 'announce', params: { state: 'closing' } }],
      on: {
        closed: [{ guard: 'isWantedAgain', target: 'connecting' }, { target: 'ended' }],
        lost: [{ guard: 'isWantedAgain', target: 'connecting' }, { target: 'ended' }],
        unwanted: { actions: 'markUnwanted' },
        shutdown: { actions: 'markEnding' },
      },
      exit: 'endRun',
    },
    ended: {
      entry: ['noteTime', { type: 'announce', params: { state: 'ended' } }],
      type: 'final',
    },
  },
});
