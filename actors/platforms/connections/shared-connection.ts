// State of one platform account and its users, the triggers that share the connection. Methods return the
// events that the registry sends to the connection's actor.
//
// The newest user's connector applies; a connection with a different identity is replaced. If the platform
// refuses the account, all users are notified, including later users, until the connection works again. If it
// refuses a single trigger, only that trigger is notified.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ConnectionEvent, ConnectionState } from '../../../machines/connection.ts';
import { type ConnectionFailure, isVisible } from '../../../machines/connection-failure.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import type { Connector } from './connector.ts';
import type { UserUpdates } from './user-updates.ts';

/** Connection status in GET /triggers, the inspector and `top`. Times are epoch ms. */
export interface ConnectionStatus extends ConnectedAccount {
  /** `standby`: another node of the cluster is connected. */
  readonly state: ConnectionState | 'standby';
  readonly since: number;
  /** Name of the connected node, if known. */
  readonly connectedNode?: string | undefined;
  /** Set from a failure until the next connect. */
  readonly lastError: string | undefined;
  readonly retryAt: number | undefined;
}

/**
 * Notifies a trigger that its connection is refused, with the reason, or with undefined that it works again.
 */
export type OnRefused = (reason: string | undefined) => void;

/** A trigger that uses the connection. */
export interface User {
  readonly trigger: Trigger;
  readonly connector: Connector;
  readonly onRefused: OnRefused;
}

/** State change of the connection machine. */
export interface StateChange {
  readonly state: ConnectionState;
  readonly since: number;
  readonly failure: ConnectionFailure | undefined;
  readonly pauseMs: number;
}

export class SharedConnection {
  readonly platform: string;
  readonly account: string;
  /** Newest last. */
  readonly #users: User[] = [];
  #lastChange: StateChange;
  #refusal: string | undefined;
  /** Refusals of single triggers. */
  #refusals: ReadonlyMap<Trigger, string> = new Map();
  /** Last reported reason per user. */
  readonly #lastReasons = new WeakMap<User, string>();
  /** Identity of the current or last run's connector. */
  #identity: string | undefined;
  #standby: { readonly node: string | undefined; readonly since: number } | undefined;
  #userUpdates: UserUpdates | undefined;
  #onEnded: (() => void)[] = [];

  constructor({ platform, account }: ConnectedAccount, now: number) {
    this.platform = platform;
    this.account = account;
    this.#lastChange = { state: 'connecting', since: now, failure: undefined, pauseMs: 0 };
  }

  get key(): string {
    return `${this.platform}/${this.account}`;
  }

  get isUsed(): boolean {
    return this.#users.length > 0;
  }

  get status(): ConnectionStatus {
    const { state, since, failure, pauseMs } = this.#lastChange;
    const isWaiting = state === 'backingOff' || state === 'failed';
    const { platform, account } = this;
    const standby = state === 'connecting' ? this.#standby : undefined;
    // The connected node is not affected by an earlier failure here.
    if (standby !== undefined)
      return {
        ...{ platform, account, state: 'standby', since: standby.since, connectedNode: standby.node },
        ...{ lastError: undefined, retryAt: undefined },
      };
    const retryAt = isWaiting ? since + pauseMs : undefined;
    return { platform, account, state, since, lastError: failure?.reason, retryAt };
  }

  /** Adds a user. Returns events for the actor. */
  join(user: User): readonly ConnectionEvent[] {
    this.#users.push(user);
    for (const onEnded of this.#onEnded.splice(0)) onEnded();
    this.#notify(user);
    return [{ type: 'wanted' }, ...this.#eventsOfChange()];
  }

  /** Removes a user, if present. Returns events for the actor. */
  leave(user: User): readonly ConnectionEvent[] {
    const at = this.#users.indexOf(user);
    if (at < 0) return [];
    this.#users.splice(at, 1);
    return this.isUsed ? this.#eventsOfChange() : [{ type: 'unwanted' }];
  }

  /** Resolves when the connection is closed or has a user again. */
  whenEnded(): Promise<void> {
    return new Promise((resolve) => this.#onEnded.push(resolve));
  }

  /** Resolves the promises of `whenEnded`. */
  end(): void {
    for (const onEnded of this.#onEnded.splice(0)) onEnded();
  }

  /**
   * Returns the connector for a new run, and stores its identity; undefined if the last user has just left.
   */
  takeConnector(): Connector | undefined {
    const connector = this.#users.at(-1)?.connector;
    this.#identity = connector?.identity;
    return connector;
  }

  readonly users = (): readonly Trigger[] => {
    const newest = new Map(this.#users.map(({ trigger }) => [trigger.name, trigger]));
    return [...newest.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  };

  onOpen(userUpdates: UserUpdates): void {
    this.#userUpdates = userUpdates;
  }

  /** Updates the standby state. Returns true if the node already was in standby. */
  onStandby(by: { readonly node: string | undefined } | undefined, now: number): boolean {
    const current = this.#standby;
    this.#standby = by && { node: by.node, since: current?.since ?? now };
    if (by !== undefined) this.#refuse(undefined);
    return current !== undefined;
  }

  /** Sets refusals of single triggers of an open connection. */
  onUsersRefused(refusals: ReadonlyMap<Trigger, string>): void {
    this.#refusals = refusals;
    for (const user of [...this.#users]) this.#notify(user);
  }

  /** Applies a state change of the actor. */
  onState(change: StateChange): void {
    this.#lastChange = change;
    const { state, failure } = change;
    if (state !== 'connected') this.#userUpdates = undefined;
    if (state === 'failed' && failure !== undefined && isVisible(failure)) this.#refuse(failure.reason);
    else if (state === 'connected') this.#refuse(undefined);
  }

  #refuse(reason: string | undefined): void {
    if (reason === this.#refusal) return;
    this.#refusal = reason;
    for (const user of [...this.#users]) this.#notify(user);
  }

  #notify(user: User): void {
    const reason = this.#refusal ?? this.#refusals.get(user.trigger);
    if (reason === this.#lastReasons.get(user)) return;
    if (reason === undefined) this.#lastReasons.delete(user);
    else this.#lastReasons.set(user, reason);
    user.onRefused(reason);
  }

  #eventsOfChange(): readonly ConnectionEvent[] {
    const identity = this.#users.at(-1)?.connector.identity;
    if (this.#identity !== undefined && identity !== this.#identity) return [{ type: 'renew' }];
    this.#userUpdates?.notifyChange();
    return [];
  }
}
