// The life of a managed server: binds whichever actor runs its machine right now, and notifies the listeners of its state.
// It outlives the actor: after a bug the supervisor spawns a new
// one from the same logic, which binds itself here when it enters its first state.

import { type ActorRefFrom, type AnyActorLogic, fromCallback, type Subscription } from 'xstate';
import {
  type ServerEvent,
  type ServerInput,
  type ServerState,
  serverMachine,
  serverState,
} from '../../../../machines/server.ts';
import type { GatewayError } from '../../../base/errors/errors.ts';
import { tell } from '../../../base/supervision/dead-letters.ts';
import { guarded } from '../../../base/supervision/guarded.ts';

/** The parts of a server that carry out the decisions of its machine. */
export interface ServerActions {
  readonly life: ServerLife;
  readonly start: {
    /** Opens the first connection. */
    begin(): void;
    /** Returns true if calls, or after a crash open streams, need the server. */
    isWanted(isAfterCrash: boolean): boolean;
  };
  readonly gate: {
    open(): void;
    close(): void;
    /** Resolves when no connection is left. */
    drain(): Promise<void>;
    kill(): void;
    /** Refuses calls until this time. */
    refuse(until: number): void;
  };
  readonly observer: {
    /** Reports the failure to the waiting calls and the log. */
    onFailure(error: GatewayError): void;
  };
}

/** `before` is the state that was left. */
export type StateListener = (state: ServerState, before: ServerState) => void;

type ServerActorRef = ActorRefFrom<typeof serverMachine>;

/** The logic of every server's actor: a machine of its own would cost each server some 30 KB. Its bearer is ServerActions. */
export const serverLogic: AnyActorLogic = guarded(
  serverMachine.provide({
    actors: {
      pool: fromCallback<{ type: 'drain' }, ServerInput>(({ input, sendBack, receive }) => {
        const { life, start, gate } = actionsOf(input);
        receive(() => void gate.drain().then(() => sendBack({ type: 'pool.drained' })));
        const endReports = life.takeReports(sendBack);
        start.begin();
        return () => {
          endReports();
          // Nothing of the connections may be left (A5).
          gate.kill();
        };
      }),
    },
    actions: {
      openGate: ({ context }) => actionsOf(context).gate.open(),
      closeGate: ({ context, self }) => {
        const { life, gate } = actionsOf(context);
        life.bind(self as ServerActorRef);
        gate.close();
      },
      refuse: ({ context }, { until }) => actionsOf(context).gate.refuse(until),
      askDemand: ({ context, self }, { isAfterCrash }) => {
        // Asked for later, so that whoever watches sees the state that was entered first.
        setImmediate(() => {
          if (actionsOf(context).start.isWanted(isAfterCrash)) self.send({ type: 'demand' });
        });
      },
      reportFailure: ({ context }, { error, parent }) => {
        actionsOf(context).observer.onFailure(error as GatewayError);
        parent?.send({ type: 'child.failed', key: context.key, generation: context.generation, error });
      },
    },
  }),
);

function actionsOf({ bearer }: ServerInput): ServerActions {
  return bearer as ServerActions;
}

export class ServerLife {
  readonly #listeners = new Set<StateListener>();
  #ref: ServerActorRef | undefined;
  #subscription: Subscription | undefined;
  #state: ServerState = 'stopped';
  #report: ((event: ServerEvent) => void) | undefined;

  get state(): ServerState {
    return this.#state;
  }

  get isRunning(): boolean {
    return this.#state === 'running' || this.#state === 'idle';
  }

  /** Sends an event from outside to the machine: of an operator, or a waiting call. A dead letter while it has no actor. */
  send(event: ServerEvent): void {
    if (this.#ref !== undefined) tell(this.#ref, event);
  }

  /** Sends an event of the connections to the machine; dropped when the pool actor has ended. */
  report(event: ServerEvent): void {
    this.#report?.(event);
  }

  onState(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves with the first state from now on that `isReached`. */
  until(isReached: (state: ServerState) => boolean): Promise<ServerState> {
    return new Promise((resolve) => {
      const forget = this.onState((state) => {
        if (!isReached(state)) return;
        forget();
        resolve(state);
      });
    });
  }

  /** Has the machine stop; resolves once nothing of the server is left, or a start that came after it has taken over. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    const done = this.until((state) => state === 'stopped' || state === 'starting');
    this.send({ type: 'stop' });
    await done;
  }

  /** Sends the reports of the connections to the pool actor. Returns a function that ends this. */
  takeReports(report: (event: ServerEvent) => void): () => void {
    this.#report = report;
    return () => {
      if (this.#report === report) this.#report = undefined;
    };
  }

  /** This actor runs the machine from now on. */
  bind(self: ServerActorRef): void {
    if (this.#ref === self) return;
    this.#subscription?.unsubscribe();
    this.#ref = self;
    this.#subscription = self.subscribe({
      next: (snapshot) => this.#enter(serverState(snapshot.value)),
      error: () => this.#enter('failed'),
      complete: () => this.#enter('stopped'),
    });
  }

  #enter(state: ServerState): void {
    const before = this.#state;
    if (state === before) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(state, before);
  }
}
