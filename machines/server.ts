// The life of one managed tool server: stopped → starting → running ⇄ idle → stopping; failed.
//
// The machine decides; what it decides is carried out by the actions and the `pool` actor that are provided to it.
// It reads no clock and asks nobody: every fact comes as an event, so the same snapshot and event always give the
// same result (A7).
//
// SV1  the gate is open exactly in `running` and `idle` (A1): every other state closes it on entry.
// SV2  the pool actor lives exactly in `starting`, `running`, `idle` and `stopping`; leaving them ends it, and its
//     end kills whatever is left of its processes (A5).
// SV3  a failure is reported to the supervisor once per entry of `failed`; only the supervisor ends a backoff.

import {
  type AnyActorRef,
  assign,
  type CallbackActorLogic,
  enqueueActions,
  sendTo,
  setup,
  stopChild,
} from 'xstate';

/** What GET /servers shows as `state`. */
export type ServerState = 'stopped' | 'starting' | 'running' | 'idle' | 'stopping' | 'failed';

export interface ServerInput {
  readonly key: string;
  readonly generation: number;
  /** Whom the provided actions and actors work for, where one machine serves many; the machine never looks at it. */
  readonly bearer?: unknown;
}

interface ServerContext extends ServerInput {
  readonly lastError: unknown;
  /** A start that was asked for while the server was stopping. */
  readonly isWanted: boolean;
  /** The supervisor asked this actor to end. */
  readonly isEnding: boolean;
}

export type ServerEvent =
  /** An operator's start, or the supervisor's wake. */
  | { type: 'start' }
  /** A request waits. */
  | { type: 'demand' }
  /** The supervisor's backoff is over. */
  | { type: 'due' }
  /** The supervisor gives up until `until` (epoch milliseconds). */
  | { type: 'park'; until: number; error?: unknown }
  /** An operator's stop, or an entry that was switched off. */
  | { type: 'stop' }
  /** The supervisor ends this actor. */
  | { type: 'shutdown' }
  | { type: 'pool.ready' }
  /** The last connection is gone, or the first could not be opened. */
  | { type: 'pool.lost'; error: unknown }
  | { type: 'pool.drained' }
  /** The first call on an idle server. */
  | { type: 'used' }
  /** No call for half, or for the whole, of `idle_timeout_seconds`. */
  | { type: 'quiet'; span: 'half' | 'whole' };

/** The machine's state as one word: the parts of `failed` are one, and what has ended is stopped. */
export function serverState(value: unknown): ServerState {
  if (typeof value !== 'string') return 'failed';
  return value === 'ended' ? 'stopped' : (value as ServerState);
}

export const serverMachine = setup({
  types: {
    context: {} as ServerContext,
    events: {} as ServerEvent,
    input: {} as ServerInput,
  },
  actors: {
    /** Owns the connections; its end kills what is left of them. */
    pool: {} as CallbackActorLogic<{ type: 'drain' }, ServerInput>,
  },
  actions: {
    openGate: () => {},
    closeGate: () => {},
    /** Waiting requests are told at once that the server is parked. */
    refuse: (_, _params: { until: number }) => {},
    /** Answers with a `demand` if requests wait, or, after a crash, if clients keep streams open. */
    askDemand: (_, _params: { isAfterCrash: boolean }) => {},
    reportFailure: (_, _params: { error: unknown; parent: AnyActorRef | undefined }) => {},
  },
  guards: {
    isEnding: ({ context }) => context.isEnding,
    isWanted: ({ context }) => context.isWanted,
    isHalf: ({ event }) => event.type === 'quiet' && event.span === 'half',
    isWhole: ({ event }) => event.type === 'quiet' && event.span === 'whole',
  },
}).createMachine({
  id: 'server',
  context: ({ input }) => ({
    key: input.key,
    generation: input.generation,
    bearer: input.bearer,
    lastError: undefined,
    isWanted: false,
    isEnding: false,
  }),
  initial: 'stopped',
  states: {
    stopped: {
      entry: ['closeGate', { type: 'askDemand', params: { isAfterCrash: false } }],
      on: { start: 'starting', demand: 'starting', shutdown: 'ended' },
    },
    starting: {
      entry: [
        assign({ isWanted: false }),
        enqueueActions(({ enqueue, context }) => {
          const { key, generation, bearer } = context;
          enqueue.spawnChild('pool', { id: 'pool', input: { key, generation, bearer } });
        }),
      ],
      on: {
        'pool.ready': 'running',
        'pool.lost': 'failed',
        stop: 'stopping',
        shutdown: { target: 'stopping', actions: assign({ isEnding: true }) },
      },
    },
    running: {
      entry: 'openGate',
      on: {
        quiet: [
          { guard: 'isHalf', target: 'idle' },
          { guard: 'isWhole', target: 'stopping' },
        ],
        'pool.lost': 'failed',
        stop: 'stopping',
        shutdown: { target: 'stopping', actions: assign({ isEnding: true }) },
      },
    },
    idle: {
      on: {
        used: 'running',
        quiet: { guard: 'isWhole', target: 'stopping' },
        'pool.lost': 'failed',
        stop: 'stopping',
        shutdown: { target: 'stopping', actions: assign({ isEnding: true }) },
      },
    },
    stopping: {
      // The pool lets the calls in flight end, closes every connection and answers `pool.drained`.
      entry: ['closeGate', sendTo('pool', { type: 'drain' })],
      on: {
        'pool.drained': [
          { guard: 'isEnding', target: 'ended', actions: stopChild('pool') },
          { guard: 'isWanted', target: 'starting', actions: stopChild('pool') },
          { target: 'stopped', actions: stopChild('pool') },
        ],
        start: { actions: assign({ isWanted: true }) },
        stop: { actions: assign({ isWanted: false }) },
        shutdown: { actions: assign({ isEnding: true }) },
      },
    },
    failed: {
      entry: [
        'closeGate',
        assign({ lastError: ({ event }) => (event.type === 'pool.lost' ? event.error : undefined) }),
        enqueueActions(({ enqueue, context, self }) => {
          enqueue.stopChild('pool');
          enqueue({ type: 'reportFailure', params: { error: context.lastError, parent: self._parent } });
        }),
      ],
      initial: 'backingOff',
      states: {
        backingOff: {
          on: { due: 'ready', park: 'parked' },
        },
        ready: {
          entry: { type: 'askDemand', params: { isAfterCrash: true } },
          on: { demand: '#server.starting' },
        },
        parked: {
          entry: enqueueActions(({ enqueue, event }) => {
            if (event.type === 'park') enqueue({ type: 'refuse', params: { until: event.until } });
          }),
        },
      },
      on: { start: 'starting', stop: 'stopped', shutdown: 'ended' },
    },
    ended: { type: 'final' },
  },
});
