// The machine of the gateway, the root of the actor tree: boots parts on request, serves, and drains them in reverse.
//
//   booting → serving → draining → stopped;  failed when a part cannot be booted
//
// B1  parts boot sequentially, in request order; a failed boot drains the earlier parts.
// B2  draining asks the parts in reverse order, each once, whatever the others answer.
// B3  actors that parts hang under the root live until they end by themselves or the root ends; one that fails is
//     infrastructure, so everything is drained.

import {
  type AnyActorLogic,
  assign,
  type DoneActorEvent,
  type ErrorActorEvent,
  enqueueActions,
  type PromiseActorLogic,
  type ProvidedActor,
  type Spawner,
  setup,
} from 'xstate';

interface GatewayContext {
  /** Names of the parts in the order of their start. */
  readonly parts: readonly string[];
  /** How many parts are up. */
  readonly up: number;
  readonly error: unknown;
}

export type GatewayEvent =
  /** Boots a part. Ignored during the boot of another part. */
  | { type: 'part.boot'; part: string }
  /** Every part is up. */
  | { type: 'serve' }
  | { type: 'shutdown' }
  /** A part that was up has failed for good. */
  | { type: 'part.failed'; part: string; error: unknown }
  /** Hangs an actor of a part under the root, under this name in the system too. Ignored when the name is taken. */
  | { type: 'part.spawn'; name: string; logic: AnyActorLogic; input?: unknown }
  | DoneActorEvent
  | ErrorActorEvent;

export const gatewayMachine = setup({
  types: {
    context: {} as GatewayContext,
    events: {} as GatewayEvent,
  },
  actors: {
    bootPart: {} as PromiseActorLogic<void, { part: string }>,
    drainPart: {} as PromiseActorLogic<void, { part: string }>,
  },
  guards: {
    isAllDown: ({ context }) => context.up === 0,
    hasError: ({ context }) => context.error !== undefined,
    isAllDownByError: ({ context }) => context.up === 0 && context.error !== undefined,
  },
  actions: {
    noteError: assign({
      error: ({ context, event }) => context.error ?? ('error' in event ? event.error : undefined),
    }),
    spawnForPart: enqueueActions(({ enqueue, event, system }) => {
      // XState would throw for a name that is taken, and so end the whole tree.
      if (event.type !== 'part.spawn' || system.get(event.name) !== undefined) return;
      const { name, logic, input } = event;
      enqueue.assign(({ spawn }) => {
        // Dynamic logic has no place among the actors that `setup` knows.
        (spawn as unknown as Spawner<ProvidedActor>)(logic, { id: name, systemId: name, input });
        return {};
      });
    }),
    /** XState keeps spawned actors that have ended. */
    dropEnded: enqueueActions(({ enqueue, event }) => {
      if ('actorId' in event) enqueue.stopChild(event.actorId);
    }),
  },
}).createMachine({
  id: 'gateway',
  // What the inspector may show of the context.
  meta: { inspect: ['up'] },
  context: { parts: [], up: 0, error: undefined },
  on: {
    'part.failed': { actions: 'noteError' },
    'part.spawn': { actions: 'spawnForPart' },
    'xstate.done.actor.*': { actions: 'dropEnded' },
    // The states decide when to drain, so that each part is drained once.
    'xstate.error.actor.*': { actions: ['noteError', 'dropEnded'] },
  },
  initial: 'booting',
  states: {
    booting: {
      on: {
        // A part in the middle of its boot is waited for: it could not be drained otherwise.
        shutdown: { actions: assign({ error: () => new Error('stopped while starting') }) },
      },
      initial: 'idle',
      states: {
        idle: {
          always: { guard: 'hasError', target: '#gateway.draining' },
          on: {
            'part.boot': {
              target: 'part',
              actions: assign({ parts: ({ context, event }) => [...context.parts, event.part] }),
            },
            serve: '#gateway.serving',
          },
        },
        part: {
          invoke: {
            src: 'bootPart',
            input: ({ context }) => ({ part: context.parts[context.up] ?? '' }),
            onDone: { target: 'idle', actions: assign({ up: ({ context }) => context.up + 1 }) },
            onError: { target: '#gateway.draining', actions: 'noteError' },
          },
        },
      },
    },
    serving: {
      always: { guard: 'hasError', target: 'draining' },
      on: { shutdown: 'draining' },
    },
    draining: {
      initial: 'next',
      states: {
        next: {
          always: [
            { guard: 'isAllDownByError', target: '#gateway.failed' },
            { guard: 'isAllDown', target: '#gateway.stopped' },
            { target: 'part' },
          ],
        },
        part: {
          invoke: {
            src: 'drainPart',
            input: ({ context }) => ({ part: context.parts[context.up - 1] ?? '' }),
            onDone: { target: 'next', actions: assign({ up: ({ context }) => context.up - 1 }) },
            onError: {
              target: 'next',
              actions: ['noteError', assign({ up: ({ context }) => context.up - 1 })],
            },
          },
        },
      },
    },
    stopped: { type: 'final' },
    failed: { type: 'final' },
  },
  output: ({ context }) => ({ error: context.error }),
});
