// The life of a managed server: binds whichever actor runs its machine right now, carries out what that machine
// decides, and tells everybody who waits for a state. It outlives the actor: after a bug the supervisor spawns a new
// one from the same logic, which binds itself here when it enters its first state.

import { type ActorRefFrom, type AnyActorLogic, fromCallback, type Subscription } from 'xstate';
import {
  type ServerEvent,
  type ServerInput,
  type ServerState,
  serverMachine,
  serverState,
} from '../../../../machines/server.ts';
import { tell } from '../../../base/supervision/dead-letters.ts';
import { guarded } from '../../../base/supervision/guarded.ts';

/** Carries out the decisions of the machine. */
export interface LifeHooks {
  /** The pool actor has begun: open the first connection. */
  begin(): void;
  /** Let calls in flight end, then close every connection. */
  drain(): Promise<void>;
  /** The pool actor is over: nothing of its connections may be left (A5). */
  kill(): void;
  openGate(): void;
  closeGate(): void;
  /** Parked until `until`, in epoch milliseconds. */
  refuse(until: number): void;
  /** Whether a start is wanted by now; after a crash open streams count as well. */
  isWanted(isAfterCrash: boolean): boolean;
  onFailure(error: unknown): void;
  onState(state: ServerState, before: ServerState): void;
}

type ServerActorRef = ActorRefFrom<typeof serverMachine>;

/** The logic of every server's actor: a machine of its own would cost each server some 30 KB. Its bearer is a ServerLife. */
export const serverLogic: AnyActorLogic = guarded(
  serverMachine.provide({
    actors: {
      pool: fromCallback<{ type: 'drain' }, ServerInput>(({ input, sendBack, receive }) => {
        const life = lifeOf(input);
        receive(() => void life.hooks.drain().then(() => sendBack({ type: 'pool.drained' })));
        return life.beginPool(sendBack);
      }),
    },
    actions: {
      openGate: ({ context }) => lifeOf(context).hooks.openGate(),
      closeGate: ({ context, self }) => {
        const life = lifeOf(context);
        life.bind(self as ServerActorRef);
        life.hooks.closeGate();
      },
      refuse: ({ context }, { until }) => lifeOf(context).hooks.refuse(until),
      askDemand: ({ context, self }, { isAfterCrash }) => {
        // Asked for later, so that whoever watches sees the state that was entered first.
        setImmediate(() => {
          if (lifeOf(context).hooks.isWanted(isAfterCrash)) self.send({ type: 'demand' });
        });
      },
      reportFailure: ({ context }, { error, parent }) => {
        lifeOf(context).hooks.onFailure(error);
        parent?.send({ type: 'child.failed', key: context.key, generation: context.generation, error });
      },
    },
  }),
);

function lifeOf({ bearer }: ServerInput): ServerLife {
  return bearer as ServerLife;
}

export class ServerLife {
  readonly hooks: LifeHooks;
  readonly #listeners = new Set<(state: ServerState) => void>();
  #ref: ServerActorRef | undefined;
  #subscription: Subscription | undefined;
  #state: ServerState = 'stopped';
  #report: ((event: ServerEvent) => void) | undefined;

  constructor(hooks: LifeHooks) {
    this.hooks = hooks;
  }

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

  onState(listener: (state: ServerState) => void): () => void {
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

  /** The pool actor has begun, and hears of the connections by `report`; what is returned ends it. */
  beginPool(report: (event: ServerEvent) => void): () => void {
    this.#report = report;
    this.hooks.begin();
    return () => {
      if (this.#report === report) this.#report = undefined;
      this.hooks.kill();
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
    this.hooks.onState(state, before);
    for (const listener of [...this.#listeners]) listener(state);
  }
}
