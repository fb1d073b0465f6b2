// State machine for a tool server: stopped → starting → running ⇄ idle → stopping → stopped, and failed.
// ARCHITECTURE.md explains the invariants A1, A5 and A7.
//
// - The machine decides. The actions and the `pool` actor, which the gateway provides, execute the decisions.
// - It has no clock and runs no queries: every fact arrives as an event, so the same snapshot and event yield
//   the same result (A7).
// - The gate, through which calls reach the server, is open exactly in `running` and `idle` (A1). It is
//   closed on entry to `stopped`, `stopping` and `failed`; `starting` and `ended` follow only these states.
// - The pool owns the connections. It lives exactly in `starting`, `running`, `idle` and `stopping`, and
//   kills the remaining processes on exit (A5).
// - Each entry to `failed` reports one failure to the supervisor. Only the supervisor completes a backoff.

import {
  type AnyActorRef,
  assign,
  type CallbackActorLogic,
  enqueueActions,
  sendTo,
  setup,
  stopChild,
} from 'xstate';

/** The `state` in GET /servers. */
export type ServerState = 'stopped' | 'starting' | 'running' | 'idle' | 'stopping' | 'failed';

export interface ServerInput {
  readonly key: string;
  readonly generation: number;
  /** Context of the provided actions and actors, which serve many machines; not used by the machine. */
  readonly actorContext?: unknown;
}

interface ServerContext extends ServerInput {
  readonly lastError: unknown;
  /** A start was requested while the server was stopping. */
  readonly isWanted: boolean;
  /** The supervisor is stopping this actor. */
  readonly isEnding: boolean;
}

export type ServerEvent =
  /** An operator's start, or the supervisor's wake. */
  | { type: 'start' }
  /** A request is waiting. */
  | { type: 'demand' }
  /** The supervisor's backoff has passed. */
  | { type: 'due' }
  /** The supervisor parks the server until `until` (epoch milliseconds). */
  | { type: 'park'; until: number; error?: unknown }
  /** An operator's stop, or the server's catalog entry is disabled. */
  | { type: 'stop' }
  /** The supervisor stops this actor. */
  | { type: 'shutdown' }
  | { type: 'pool.ready' }
  /** The last connection is lost, or the first could not be opened. */
  | { type: 'pool.lost'; error: unknown }
  | { type: 'pool.drained' }
  /** First call on an idle server. */
  | { type: 'used' }
  /** No call for half, or for the whole, of `idle_timeout_seconds`. */
  | { type: 'quiet'; span: 'half' | 'whole' };

/** Converts the machine state: substates of `failed` are merged, and `ended` counts as stopped. */
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
    /** Owns the connections, and kills them on exit. */
    pool: {} as CallbackActorLogic<{ type: 'drain' }, ServerInput>,
  },
  actions: {
    openGate: () => {},
    closeGate: () => {},
    /** Rejects waiting requests because the server is parked. */
    refuse: (_, _params: { until: number }) => {},
    /** Sends `demand` if requests are queued, or after a crash if clients keep streams open. */
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
    actorContext: input.actorContext,
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
          const { key, generation, actorContext } = context;
          enqueue.spawnChild('pool', { id: 'pool', input: { key, generation, actorContext } });
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
      // The pool lets the calls in flight finish, closes every connection and sends `pool.drained`.
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
