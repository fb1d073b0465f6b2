// Connects a managed server with the actor that runs its state machine, and notifies listeners of the state.
// Outlives the actor: if the actor fails because of a bug, the supervisor spawns a new actor, which binds
// itself here when it enters its first state.

import { type ActorRefFrom, type AnyActorLogic, fromCallback, type Subscription } from 'xstate';
import {
  type ServerEvent,
  type ServerInput,
  type ServerState,
  serverMachine,
  serverState,
} from '../../../../machines/server.ts';
import type { GatewayError } from '../../../base/errors/errors.ts';
import { sendOrCount } from '../../../base/supervision/dead-letters.ts';
import { stopChildrenOnThrow } from '../../../base/supervision/stop-children-on-throw.ts';

/** Parts of the server that carry out the decisions of the machine. */
export interface ServerActions {
  readonly life: ServerLife;
  readonly start: {
    /** Opens the first connection. */
    begin(): void;
    /** Returns true if calls need the server. After a crash, clients with open streams also count. */
    isWanted(isAfterCrash: boolean): boolean;
  };
  readonly gate: {
    open(): void;
    close(): void;
    /** Resolves after all connections have closed. */
    drain(): Promise<void>;
    kill(): void;
    /** Rejects calls until this time. */
    refuse(until: number): void;
  };
  readonly observer: {
    /** Reports the failure to the queued calls and the log. */
    onFailure(error: GatewayError): void;
  };
}

/** `before` is the previous state. */
export type StateListener = (state: ServerState, before: ServerState) => void;

type ServerActorRef = ActorRefFrom<typeof serverMachine>;

/**
 * Actor logic shared by all servers; the input refers to the parts (ServerActions) of one server. A separate
 * machine per server would cost about 30 KB each.
 */
export const serverLogic: AnyActorLogic = stopChildrenOnThrow(
  serverMachine.provide({
    actors: {
      // Child actor that exists while the server starts and runs. Its end closes all connections.
      pool: fromCallback<{ type: 'drain' }, ServerInput>(({ input, sendBack, receive }) => {
        const { life, start, gate } = actionsOf(input);
        receive(() => void gate.drain().then(() => sendBack({ type: 'pool.drained' })));
        const stopReports = life.routeReports(sendBack);
        start.begin();
        return () => {
          stopReports();
          // Connections must not survive the actor (A5, ARCHITECTURE.md).
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
        // The check runs later, so that listeners see the entered state first.
        setImmediate(() => {
          if (actionsOf(context).start.isWanted(isAfterCrash)) self.send({ type: 'demand' });
        });
      },
      reportFailure: ({ context }, { error, parent }) => {
        actionsOf(context).observer.onFailure(error as GatewayError);
        // The generation counts the actors of this server, so that the supervisor ignores outdated events.
        parent?.send({ type: 'child.failed', key: context.key, generation: context.generation, error });
      },
    },
  }),
);

/** Returns the parts of the server. The supervisor passes them to the actor without knowing their type. */
function actionsOf({ actorContext }: ServerInput): ServerActions {
  return actorContext as ServerActions;
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

  /**
   * Sends an event from outside (an operator, a queued call) to the machine. Without an actor the event is a
   * dead letter (an event without a receiver).
   */
  send(event: ServerEvent): void {
    if (this.#ref !== undefined) sendOrCount(this.#ref, event);
  }

  /** Sends an event about connections to the machine. Dropped when the pool actor has stopped. */
  report(event: ServerEvent): void {
    this.#report?.(event);
  }

  onState(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves with the first new state that matches. */
  until(isReached: (state: ServerState) => boolean): Promise<ServerState> {
    return new Promise((resolve) => {
      const forget = this.onState((state) => {
        if (!isReached(state)) return;
        forget();
        resolve(state);
      });
    });
  }

  /** Stops the machine. Resolves after the cleanup, or when a later start has replaced the stop. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    const whenStopped = this.until((state) => state === 'stopped' || state === 'starting');
    this.send({ type: 'stop' });
    await whenStopped;
  }

  /** Routes the events of `report` to the pool actor. Returns a function that undoes this. */
  routeReports(report: (event: ServerEvent) => void): () => void {
    this.#report = report;
    return () => {
      if (this.#report === report) this.#report = undefined;
    };
  }

  /** Binds the actor that now runs the machine. */
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
