// The life of one connection to a platform, which several triggers may use: connecting → connected → backingOff →
// connecting …; failed when the platform refuses it, and tried again all the same; closing → ended when nobody uses it.
// Its supervisor is machines/supervisor.ts; the pauses between two tries are its own, since platforms ask for theirs.
//
// CM1  the run lives exactly in `connecting`, `connected` and `closing`, one at a time; leaving them ends it, and its end
//     cuts whatever it holds.
// CM2  every entry of `backingOff` and `failed` leads back to `connecting` after one pause, for ever.
// CM3  failures of one kind count in a row; one that comes after the connection has held for a while is the first again, and
//     so is a refusal after lost lines: how long a platform was away says nothing of how often it has refused.
// CM4  `unwanted` and `shutdown` lead to `ended` from everywhere; `wanted` during `closing` leads to another try after it.

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
  /** Epoch ms; only grows. */
  readonly now: () => number;
  /** 0…1. */
  readonly random: () => number;
  /** Whom the provided actors and actions work for; the machine never looks at it. */
  readonly bearer?: unknown;
}

export interface ConnectionContext extends ConnectionInput {
  /** When the present state began. */
  readonly since: number;
  /** In a row, of that kind. */
  readonly failures: number;
  readonly failureKind: FailureKind | undefined;
  /** The last one; undefined from the next success on. */
  readonly failure: ConnectionFailure | undefined;
  /** Of the pause before the next try. */
  readonly pauseMs: number;
  readonly isWanted: boolean;
  /** The supervisor asked this actor to end. */
  readonly isEnding: boolean;
}

export type ConnectionEvent =
  /** From the run: the platform has taken us. */
  | { type: 'opened' }
  /** From the run: it is over, and nothing of it is left. */
  | { type: 'lost'; failure: ConnectionFailure }
  /** From the run: the same after `close`. */
  | { type: 'closed' }
  /** The pause is over. */
  | { type: 'due' }
  /** Somebody wants it tried now. */
  | { type: 'start' }
  /** The credential, or what else it is opened with, is another now. */
  | { type: 'renew' }
  /** Nobody uses it any more. */
  | { type: 'unwanted' }
  /** Somebody uses it again. */
  | { type: 'wanted' }
  /** The supervisor ends this actor. */
  | { type: 'shutdown' };

/** A connection that held so long was a good one: what comes then is no continuation of the failures before. */
const STEADY_MS = 10_000;

const lostWhile = (state: 'connecting' | 'connected') => {
  const actions = { type: 'noteFailure', params: { wasConnected: state === 'connected' } } as const;
  return [
    { guard: 'isVisible', target: 'failed', actions },
    { target: 'backingOff', actions },
  ] as const;
};

/** While a run is alive that the platform has, or may yet have, taken. */
const runningEvents = {
  renew: { target: 'closing', actions: 'forgetFailures' },
  unwanted: { target: 'closing', actions: 'markUnwanted' },
  shutdown: { target: 'closing', actions: 'markEnding' },
} as const;

/** Between two tries. */
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
    /** One try and what comes of it: opens, tells, closes when it is asked to. */
    run: {} as CallbackActorLogic<{ type: 'close' }, ConnectionInput>,
  },
  actions: {
    /** The state with its name has begun. */
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
  // What the inspector may show of the context.
  meta: { inspect: ['failures'] },
  context: ({ input }) => ({
    key: input.key,
    generation: input.generation,
    now: input.now,
    random: input.random,
    bearer: input.bearer,
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
        lost: lostWhile('connecting'),
        ...runningEvents,
      },
    },
    connected: {
      entry: ['noteTime', 'noteSuccess', { type: 'announce', params: { state: 'connected' } }],
      on: {
        lost: lostWhile('connected'),
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
