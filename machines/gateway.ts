// State machine of the gateway, the root of the actor tree. It boots the parts (for example the store) on
// request, serves, and drains them in reverse order.
//
// booting → serving → draining → stopped; failed if a part cannot be booted or fails later
//
// Parts boot sequentially, in request order; a failed boot drains the earlier parts. Each part is drained
// once, also after errors. A part may spawn actors under the root, which stop with the root if they have not
// finished earlier. Their failure is an infrastructure failure and drains all parts.

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
  /** Names of the parts in boot order. */
  readonly parts: readonly string[];
  /** Number of running parts. */
  readonly up: number;
  readonly error: unknown;
}

export type GatewayEvent =
  /** Boots a part. Ignored during the boot of another part. */
  | { type: 'part.boot'; part: string }
  /** Every part is running. */
  | { type: 'serve' }
  | { type: 'shutdown' }
  /** A running part has failed permanently. */
  | { type: 'part.failed'; part: string; error: unknown }
  /** Spawns a part's actor under the root; the name is also its system id. Ignored if the name exists. */
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
      // XState would throw for an existing name and stop the whole tree.
      if (event.type !== 'part.spawn' || system.get(event.name) !== undefined) return;
      const { name, logic, input } = event;
      enqueue.assign(({ spawn }) => {
        // Dynamic logic is not declared in `setup`.
        (spawn as unknown as Spawner<ProvidedActor>)(logic, { id: name, systemId: name, input });
        return {};
      });
    }),
    /** Removes finished spawned actors, which XState retains. */
    dropEnded: enqueueActions(({ enqueue, event }) => {
      if ('actorId' in event) enqueue.stopChild(event.actorId);
    }),
  },
}).createMachine({
  id: 'gateway',
  // Context fields shown by the inspector.
  meta: { inspect: ['up'] },
  context: { parts: [], up: 0, error: undefined },
  on: {
    'part.failed': { actions: 'noteError' },
    'part.spawn': { actions: 'spawnForPart' },
    'xstate.done.actor.*': { actions: 'dropEnded' },
    // Only notes the error: the states decide when to drain, so each part is drained once.
    'xstate.error.actor.*': { actions: ['noteError', 'dropEnded'] },
  },
  initial: 'booting',
  states: {
    booting: {
      on: {
        // A booting part cannot be drained, so the boot is completed first.
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
