// Connections to platforms: one actor per platform account, under the supervisor `connections`, shared by all
// triggers of the account (its users).
//
// An account never has two connections, not even while connecting, across joins, leaves, reloads and
// failures. The actor exists while the account has users, and reconnects after failures. Triggers are
// notified only of refusals by the platform: a temporary loss is not a trigger failure.

import { type AnyActorLogic, type AnyActorRef, fromCallback } from 'xstate';
import type { ChildChange } from '../../../machines/child.ts';
import {
  type ConnectionContext,
  type ConnectionEvent,
  type ConnectionInput,
  type ConnectionState,
  connectionMachine,
} from '../../../machines/connection.ts';
import type { SupervisorInput } from '../../../machines/supervisor-setup.ts';
import type { Log } from '../../base/errors/log.ts';
import { stopChildrenOnThrow } from '../../base/supervision/stop-children-on-throw.ts';
import { childOf, persistentPolicy, supervisorInput } from '../../base/supervision/supervision.ts';
import { monotonicNow } from '../../base/time/monotonic-clock.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import type { ConnectionLease } from './connection-lease.ts';
import { ConnectionRun } from './connection-run.ts';
import { type ConnectionHandle, type ConnectionUse, failureOf } from './connector.ts';
import { type ConnectionStatus, type OnRefused, SharedConnection, type User } from './shared-connection.ts';

export const CONNECTIONS = 'connections';

export interface ConnectionRegistryOptions {
  readonly log: Log;
  supervisor(): AnyActorRef | undefined;
  readonly lease: ConnectionLease;
}

/** A trigger's handle of the connection, with the connection's status. */
export interface WatchedConnection extends ConnectionHandle {
  status(): ConnectionStatus;
}

/**
 * Grace period in which running batches of events commit. Together with the abort it is shorter than the
 * deadline for closing a trigger.
 */
const CLOSE_MS = 3_000;
const SHUTDOWN_MS = 4_500;

export class ConnectionRegistry {
  readonly #options: ConnectionRegistryOptions;
  readonly #logic: AnyActorLogic;
  readonly #connections = new Map<string, SharedConnection>();

  constructor(options: ConnectionRegistryOptions) {
    this.#options = options;
    this.#logic = stopChildrenOnThrow(
      connectionMachine.provide({
        actors: {
          run: fromCallback<{ type: 'close' }, ConnectionInput>(({ input, sendBack, receive }) => {
            const run = this.#run(input.actorContext as SharedConnection, sendBack);
            receive(() => run?.close());
            return () => run?.abort();
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

  /** Adds a user. Calls `onRefused` immediately if the connection is already refused. */
  use(use: ConnectionUse & ConnectedAccount, onRefused: OnRefused): WatchedConnection {
    const { trigger, connector } = use;
    const user: User = { trigger, connector, onRefused };
    const key = `${use.platform}/${use.account}`;
    const shared = this.#connections.get(key) ?? new SharedConnection(use, monotonicNow());
    this.#connections.set(key, shared);
    this.#sendEvents(shared, shared.join(user));
    return { release: () => this.#release(shared, user), status: () => shared.status };
  }

  async #release(shared: SharedConnection, user: User): Promise<void> {
    const events = shared.leave(user);
    if (events.length === 0 || shared.isUsed) {
      this.#sendEvents(shared, events);
      return;
    }
    // The last user waits until the connection is closed.
    const ended = shared.whenEnded();
    this.#sendEvents(shared, events);
    await ended;
  }

  /** Sends events to the connection's actor; starts the actor if it is missing but needed. */
  #sendEvents(shared: SharedConnection, events: readonly ConnectionEvent[]): void {
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
    // Without `ref`, the supervisor restarts the actor after a pause; without users this is not needed.
    else if (!shared.isUsed) supervisor.send({ type: 'child.stop', key: shared.key });
  }

  #start(supervisor: AnyActorRef, shared: SharedConnection): void {
    const input = { actorContext: shared, now: monotonicNow, random: Math.random };
    // Only a bug in the machine causes a restart; the triggers' connection must survive it.
    const policy = persistentPolicy;
    const spec = { key: shared.key, logic: this.#logic, input, policy, shutdownMs: SHUTDOWN_MS };
    supervisor.send({ type: 'child.start', spec });
  }

  #run(shared: SharedConnection, send: (event: ConnectionEvent) => void): ConnectionRun | undefined {
    const connector = shared.takeConnector();
    if (connector === undefined) {
      // The last user has left, but the actor has not received that event yet.
      send({ type: 'lost', failure: { kind: 'transient', reason: 'no trigger uses it' } });
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
      onOpen: (userUpdates) => {
        send({ type: 'opened' });
        shared.onOpen(userUpdates);
      },
      onUsersRefused: (refusals) => shared.onUsersRefused(refusals),
    });
    void run
      .run()
      .then((failure) => send(failure === undefined ? { type: 'closed' } : { type: 'lost', failure }));
    return run;
  }

  #onStandby(shared: SharedConnection, by: { readonly node: string | undefined } | undefined): void {
    const wasStandby = shared.onStandby(by, monotonicNow());
    if (by === undefined || wasStandby) return;
    const log = this.#options.log;
    log.info({ connection: shared.key, node: by.node }, 'another node is connected; standing by');
  }

  #onState({ actorContext, since, failure, pauseMs }: ConnectionContext, state: ConnectionState): void {
    const shared = actorContext as SharedConnection;
    const log = this.#options.log;
    const connection = shared.key;
    if (state === 'connected') log.info({ connection }, 'connected');
    else if (state === 'backingOff' || state === 'failed') {
      const fields = { connection, reason: failure?.reason, in_ms: pauseMs };
      if (state === 'failed') log.error(fields, 'connection refused by the platform; retrying after a pause');
      else log.warn(fields, 'connection lost; reconnecting after a pause');
    } else if (state === 'ended') log.info({ connection }, 'connection ended');
    shared.onState({ state, since, failure, pauseMs });
  }

  #onChange({ key, what, error, inMs = 0, wasCutOff }: ChildChange): void {
    const shared = this.#connections.get(key);
    if (what === 'restarting') {
      // The machine threw. A lost connection does not restart it.
      const failure = failureOf(error);
      this.#options.log.error({ connection: key, reason: failure.reason }, 'internal error in a connection');
      shared?.onState({ state: 'backingOff', since: monotonicNow(), failure, pauseMs: inMs });
    }
    if (wasCutOff === true)
      this.#options.log.error({ connection: key }, 'connection did not close in time and was aborted');
    if (shared === undefined || (what !== 'ended' && what !== 'stopped')) return;
    const supervisor = this.#options.supervisor();
    // A user has joined since. The supervisor is in a transition and processes this event afterwards.
    if (shared.isUsed && supervisor !== undefined) this.#start(supervisor, shared);
    else this.#forget(shared);
  }

  #forget(shared: SharedConnection): void {
    if (this.#connections.get(shared.key) === shared) this.#connections.delete(shared.key);
    shared.end();
  }
}
