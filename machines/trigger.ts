// State machine for a trigger: opening → open ⇄ paused → closing → ended. It is `refused` while the platform
// rejects its connection; the connection keeps trying. It is `failed` after it could not be opened, or was
// lost. Supervised by machines/supervisor.ts, like tool servers.
//
// - A paused trigger stays connected and accepts events, which their handler holds back. The pause survives
//   failures.
// - The resource that the actor `open` returns is closed exactly once, before `ended` and before the next
//   attempt. A trigger that is stopped while opening is closed after it has opened.
// - Each entry to `failed` reports one failure to the supervisor. Only `due` and `start` lead back to
//   `opening`.

import { type AnyActorRef, assign, enqueueActions, type PromiseActorLogic, setup } from 'xstate';

export interface TriggerInput {
  readonly key: string;
  readonly generation: number;
  readonly isPaused?: boolean;
  /** Context of the provided actors; not used by the machine. */
  readonly actorContext?: unknown;
}

interface TriggerContext extends TriggerInput {
  readonly isPaused: boolean;
  /** Resource that the actor `open` returned, until it is closed. */
  readonly openResource: unknown;
  readonly lastError: unknown;
  /** Reason why the platform rejects its connection; undefined if it does not. */
  readonly refusal: string | undefined;
  /** The supervisor is stopping this actor. */
  readonly isEnding: boolean;
}

export type TriggerEvent =
  /** The supervisor's backoff has passed. */
  | { type: 'due' }
  /** An operator's start, or the supervisor's wake. */
  | { type: 'start' }
  | { type: 'pause' }
  | { type: 'resume' }
  /** The platform rejects the connection. */
  | { type: 'refused'; reason: string }
  /** The connection works again. */
  | { type: 'restored' }
  /** The open trigger no longer receives events. */
  | { type: 'lost'; error: unknown }
  /** The supervisor stops this actor. */
  | { type: 'shutdown' };

const noteRefusal = {
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
    /** Opens the trigger. If it completes only after the termination of this actor, it closes the trigger. */
    open: {} as PromiseActorLogic<unknown, TriggerInput>,
    /**
     * Closes the trigger. If this fails, the trigger still counts as closed, because another attempt would
     * not help.
     */
    close: {} as PromiseActorLogic<unknown, TriggerInput & { readonly openResource: unknown }>,
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
    forgetResource: assign({ openResource: undefined, refusal: undefined }),
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
  // Context fields shown by the inspector.
  meta: { inspect: ['isPaused'] },
  context: ({ input }) => ({
    key: input.key,
    generation: input.generation,
    actorContext: input.actorContext,
    isPaused: input.isPaused ?? false,
    openResource: undefined,
    lastError: undefined,
    refusal: undefined,
    isEnding: false,
  }),
  on: {
    pause: { actions: 'markPaused' },
    resume: { actions: 'markResumed' },
    refused: { actions: noteRefusal },
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
          {
            guard: 'isEnding',
            target: 'closing',
            actions: assign({ openResource: ({ event }) => event.output }),
          },
          {
            guard: 'isRefused',
            target: 'refused',
            actions: assign({ openResource: ({ event }) => event.output }),
          },
          {
            guard: 'isPaused',
            target: 'paused',
            actions: assign({ openResource: ({ event }) => event.output }),
          },
          { target: 'open', actions: assign({ openResource: ({ event }) => event.output }) },
        ],
        onError: [
          { guard: 'isEnding', target: 'ended' },
          { target: 'failed', actions: ['noteError', 'forgetResource'] },
        ],
      },
      on: { shutdown: { actions: 'markEnding' } },
    },
    open: {
      on: {
        pause: { target: 'paused', actions: 'markPaused' },
        refused: { target: 'refused', actions: noteRefusal },
        lost: { target: 'closing', actions: 'noteError' },
        shutdown: { target: 'closing', actions: 'markEnding' },
      },
    },
    paused: {
      on: {
        resume: { target: 'open', actions: 'markResumed' },
        refused: { target: 'refused', actions: noteRefusal },
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
      exit: 'forgetResource',
      on: { shutdown: { actions: 'markEnding' } },
    },
    failed: {
      entry: 'reportFailure',
      on: { due: 'opening', start: 'opening', shutdown: 'ended' },
    },
    ended: { type: 'final' },
  },
});
