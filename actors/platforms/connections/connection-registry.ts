// The connections to platforms, each an actor under the supervisor `connections`: one per platform and account, however many
// triggers use it.
//
// CG1  at most one connection of an account is being made or open at a time, over joins, leaves, reloads and failures.
// CG2  an account that somebody uses has an actor that goes on trying; one that nobody uses has none, and nothing open.
// CG3  what a trigger hears of its connection is what the platform says of it: a loss that passes is no failure of a trigger.

import { type AnyActorLogic, type AnyActorRef, fromCallback } from 'xstate';
import type { Change } from '../../../machines/child.ts';
import {
  type ConnectionContext,
  type ConnectionEvent,
  type ConnectionInput,
  type ConnectionState,
  connectionMachine,
} from '../../../machines/connection.ts';
import type { SupervisorInput } from '../../../machines/supervisor-setup.ts';
import type { Log } from '../../base/errors/log.ts';
import { guarded } from '../../base/supervision/guarded.ts';
import { childOf, persistentPolicy, supervisorInput } from '../../base/supervision/supervision.ts';
import { steadyNow } from '../../base/time/steady-clock.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import type { ConnectionLease } from './connection-lease.ts';
import { ConnectionRun } from './connection-run.ts';
import { type ConnectionUse, failureOf, type UsedConnection } from './connector.ts';
import { type ConnectionStatus, type OnRefused, SharedConnection, type User } from './shared-connection.ts';

export const CONNECTIONS = 'connections';

export interface ConnectionRegistryOptions {
  readonly log: Log;
  supervisor(): AnyActorRef | undefined;
  readonly lease: ConnectionLease;
}

/** With what is shown of it. */
export interface WatchedConnection extends UsedConnection {
  status(): ConnectionStatus;
}

/** For a batch under way to be committed. Together with what is cut then it fits into the time of a trigger's end. */
const CLOSE_MS = 3_000;
const SHUTDOWN_MS = 4_500;

export class ConnectionRegistry {
  readonly #options: ConnectionRegistryOptions;
  readonly #logic: AnyActorLogic;
  readonly #connections = new Map<string, SharedConnection>();

  constructor(options: ConnectionRegistryOptions) {
    this.#options = options;
    this.#logic = guarded(
      connectionMachine.provide({
        actors: {
          run: fromCallback<{ type: 'close' }, ConnectionInput>(({ input, sendBack, receive }) => {
            const run = this.#run(input.bearer as SharedConnection, sendBack);
            receive(() => run?.close());
            return () => run?.cut();
          }),
        },
        actions: {
          announce: ({ context }, { state }) => this.#onState(context, state),
        },
      }),
    );
  }

  supervisorInput(): SupervisorInput {
    return supervisorInput(CONNECTIONS, (change) => this.#onChange(change));
  }

  /** `onRefused` is called at once where it is refused already. */
  use(use: ConnectionUse & ConnectedAccount, onRefused: OnRefused): WatchedConnection {
    const { trigger, connector } = use;
    const user: User = { trigger, connector, onRefused };
    const key = `${use.platform}/${use.account}`;
    const shared = this.#connections.get(key) ?? new SharedConnection(use, steadyNow());
    this.#connections.set(key, shared);
    this.#tell(shared, shared.join(user));
    return { release: () => this.#release(shared, user), status: () => shared.status };
  }

  async #release(shared: SharedConnection, user: User): Promise<void> {
    const events = shared.leave(user);
    if (events.length === 0 || shared.isUsed) {
      this.#tell(shared, events);
      return;
    }
    const ended = shared.ended();
    this.#tell(shared, events);
    await ended;
  }

  /** Starts its actor where there is none, and there should be one. */
  #tell(shared: SharedConnection, events: readonly ConnectionEvent[]): void {
    const supervisor = this.#options.supervisor();
    if (supervisor?.getSnapshot().status !== 'active') {
      if (!shared.isUsed) this.#forget(shared);
      return;
    }
    const child = childOf(supervisor, shared.key);
    if (child === undefined) {
      if (shared.isUsed) this.#start(supervisor, shared);
      else this.#forget(shared);
    } else if (child.ref !== undefined) for (const event of events) child.ref.send(event);
    else if (!shared.isUsed) supervisor.send({ type: 'child.stop', key: shared.key });
  }

  #start(supervisor: AnyActorRef, shared: SharedConnection): void {
    const input = { bearer: shared, now: steadyNow, random: Math.random };
    // Only a machine that threw is restarted: a bug, and no reason to leave its triggers without a connection for good.
    const policy = persistentPolicy;
    const spec = { key: shared.key, logic: this.#logic, input, policy, shutdownMs: SHUTDOWN_MS };
    supervisor.send({ type: 'child.start', spec });
  }

  #run(shared: SharedConnection, tell: (event: ConnectionEvent) => void): ConnectionRun | undefined {
    const connector = shared.takeConnector();
    if (connector === undefined) {
      // The last user has left, and the word of it is on its way.
      tell({ type: 'lost', failure: { kind: 'transient', reason: 'no trigger uses it' } });
      return undefined;
    }
    const run = new ConnectionRun({
      key: shared.key,
      connector,
      users: shared.users,
      lease: this.#options.lease,
      log: this.#options.log,
      closeMs: CLOSE_MS,
      onStandby: (by) => this.#onStandby(shared, by),
      onOpen: (notice) => {
        tell({ type: 'opened' });
        shared.onOpen(notice);
      },
      onUsersRefused: (refusals) => shared.onUsersRefused(refusals),
    });
    void run
      .run()
      .then((failure) => tell(failure === undefined ? { type: 'closed' } : { type: 'lost', failure }));
    return run;
  }

  #onStandby(shared: SharedConnection, by: { readonly node: string | undefined } | undefined): void {
    const wasStandby = shared.onStandby(by, steadyNow());
    if (by === undefined || wasStandby) return;
    const log = this.#options.log;
    log.info({ connection: shared.key, node: by.node }, 'another node is connected; this one stands by');
  }

  #onState({ bearer, since, failure, pauseMs }: ConnectionContext, state: ConnectionState): void {
    const shared = bearer as SharedConnection;
    const log = this.#options.log;
    const connection = shared.key;
    if (state === 'connected') log.info({ connection }, 'connected');
    else if (state === 'backingOff' || state === 'failed') {
      const fields = { connection, reason: failure?.reason, in_ms: pauseMs };
      if (state === 'failed') log.error(fields, 'connection is refused; it is tried again after a pause');
      else log.warn(fields, 'connection is lost; it is made again after a pause');
    } else if (state === 'ended') log.info({ connection }, 'connection ended');
    shared.onState({ state, since, failure, pauseMs });
  }

  #onChange({ key, what, error, inMs = 0, wasCutOff }: Change): void {
    const shared = this.#connections.get(key);
    if (what === 'restarting') {
      // Its machine threw; one that has lost its connection lives on.
      const failure = failureOf(error);
      this.#options.log.error({ connection: key, reason: failure.reason }, 'connection failed by a fault');
      shared?.onState({ state: 'backingOff', since: steadyNow(), failure, pauseMs: inMs });
    }
    if (wasCutOff === true)
      this.#options.log.error({ connection: key }, 'connection did not end in time and was cut off');
    if (shared === undefined || (what !== 'ended' && what !== 'stopped')) return;
    const supervisor = this.#options.supervisor();
    // Somebody came while it ended. The supervisor is in the middle of a step, and begins the next one with this.
    if (shared.isUsed && supervisor !== undefined) this.#start(supervisor, shared);
    else this.#forget(shared);
  }

  #forget(shared: SharedConnection): void {
    if (this.#connections.get(shared.key) === shared) this.#connections.delete(shared.key);
    shared.end();
  }
}
