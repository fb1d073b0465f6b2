// The life of one trigger: opening → open ⇄ paused → closing → ended; refused while the platform refuses the connection that it
// uses, which the connection mends by itself; failed when it cannot be opened, or is lost.
// Its supervisor is machines/supervisor.ts, as that of the tool servers.
//
// Pausing changes nothing in the world: events are accepted as before, and whoever would handle them holds them back. So
// it is only a mark here, kept through failures, for everybody to see.
//
// TM1  what `open` gave is closed exactly once before `ended`, and before it is opened again. A trigger that is to end while
//     it opens is waited for, and then closed.
// TM2  a failure is reported to the supervisor once per entry of `failed`; only `due` and `start` lead on from there.

import { type AnyActorRef, assign, enqueueActions, type PromiseActorLogic, setup } from 'xstate';

export interface TriggerInput {
  readonly key: string;
  readonly generation: number;
  readonly isPaused?: boolean;
  /** Whom the provided actors work for; the machine never looks at it. */
  readonly bearer?: unknown;
}

interface TriggerContext extends TriggerInput {
  readonly isPaused: boolean;
  /** What `open` gave, from then on until it is closed. */
  readonly opened: unknown;
  readonly lastError: unknown;
  /** Why its connection is refused; undefined when it is not. */
  readonly refusal: string | undefined;
  /** The supervisor asked this actor to end. */
  readonly isEnding: boolean;
}

export type TriggerEvent =
  /** The supervisor's backoff is over. */
  | { type: 'due' }
  /** An operator's start, or the supervisor's wake. */
  | { type: 'start' }
  | { type: 'pause' }
  | { type: 'resume' }
  /** The platform refuses its connection. */
  | { type: 'refused'; reason: string }
  /** It is connected again. */
  | { type: 'restored' }
  /** It was open, and no longer hears anything. */
  | { type: 'lost'; error: unknown }
  /** The supervisor ends this actor. */
  | { type: 'shutdown' };

const noted = {
  type: 'noteRefusal',
  params: ({ event }: { event: { reason: string } }) => ({ reason: event.reason }),
} as const;

export const triggerMachine = setup({
  types: {
    context: {} as TriggerContext,
    events: {} as TriggerEvent,
    input: {} as TriggerInput,
  },
  actors: {
    /** One that is stopped before its end, by a supervisor that waits no longer, closes what it still opens. */
    open: {} as PromiseActorLogic<unknown, TriggerInput>,
    /** Its failure is a nuisance, not a reason to go on: there is nobody to close it again. */
    close: {} as PromiseActorLogic<unknown, TriggerInput & { readonly opened: unknown }>,
  },
  actions: {
    reportFailure: enqueueActions(({ enqueue, context, self }) => {
      const { key, generation, lastError: error } = context;
      const parent: AnyActorRef | undefined = self._parent;
      if (parent !== undefined) enqueue.sendTo(parent, { type: 'child.failed', key, generation, error });
    }),
    markEnding: assign({ isEnding: true }),
    markPaused: assign({ isPaused: true }),
    markResumed: assign({ isPaused: false }),
    forgetOpened: assign({ opened: undefined, refusal: undefined }),
    noteRefusal: assign({ refusal: (_, { reason }: { reason: string }) => reason }),
    forgetRefusal: assign({ refusal: undefined }),
    noteError: assign({ lastError: ({ event }) => ('error' in event ? event.error : undefined) }),
  },
  guards: {
    isEnding: ({ context }) => context.isEnding,
    isPaused: ({ context }) => context.isPaused,
    isRefused: ({ context }) => context.refusal !== undefined,
  },
}).createMachine({
  id: 'trigger',
  // What the inspector may show of the context.
  meta: { inspect: ['isPaused'] },
  context: ({ input }) => ({
    key: input.key,
    generation: input.generation,
    bearer: input.bearer,
    isPaused: input.isPaused ?? false,
    opened: undefined,
    lastError: undefined,
    refusal: undefined,
    isEnding: false,
  }),
  on: {
    pause: { actions: 'markPaused' },
    resume: { actions: 'markResumed' },
    refused: { actions: noted },
    restored: { actions: 'forgetRefusal' },
  },
  initial: 'opening',
  states: {
    opening: {
      invoke: {
        id: 'open',
        src: 'open',
        input: ({ context }) => context,
        onDone: [
          { guard: 'isEnding', target: 'closing', actions: assign({ opened: ({ event }) => event.output }) },
          { guard: 'isRefused', target: 'refused', actions: assign({ opened: ({ event }) => event.output }) },
          { guard: 'isPaused', target: 'paused', actions: assign({ opened: ({ event }) => event.output }) },
          { target: 'open', actions: assign({ opened: ({ event }) => event.output }) },
        ],
        onError: [
          { guard: 'isEnding', target: 'ended' },
          { target: 'failed', actions: ['noteError', 'forgetOpened'] },
        ],
      },
      on: { shutdown: { actions: 'markEnding' } },
    },
    open: {
      on: {
        pause: { target: 'paused', actions: 'markPaused' },
        refused: { target: 'refused', actions: noted },
        lost: { target: 'closing', actions: 'noteError' },
        shutdown: { target: 'closing', actions: 'markEnding' },
      },
    },
    paused: {
      on: {
        resume: { target: 'open', actions: 'markResumed' },
        refused: { target: 'refused', actions: noted },
        lost: { target: 'closing', actions: 'noteError' },
        shutdown: { target: 'closing', actions: 'markEnding' },
      },
    },
    refused: {
      on: {
        restored: [
          { guard: 'isPaused', target: 'paused', actions: 'forgetRefusal' },
          { target: 'open', actions: 'forgetRefusal' },
        ],
        lost: { target: 'closing', actions: 'noteError' },
        shutdown: { target: 'closing', actions: 'markEnding' },
      },
    },
    closing: {
      invoke: {
        id: 'close',
        src: 'close',
        input: ({ context }) => context,
        onDone: [{ guard: 'isEnding', target: 'ended' }, { target: 'failed' }],
        onError: [{ guard: 'isEnding', target: 'ended' }, { target: 'failed' }],
      },
      exit: 'forgetOpened',
      on: { shutdown: { actions: 'markEnding' } },
    },
    failed: {
      entry: 'reportFailure',
      on: { due: 'opening', start: 'opening', shutdown: 'ended' },
    },
    ended: { type: 'final' },
  },
});
