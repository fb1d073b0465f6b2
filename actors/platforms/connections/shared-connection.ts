// One account of a platform, and the triggers that use its connection. It says what its actor should do; whether there is an
// actor is the registry's affair.
//
// SN1  the connector of the newest user applies; what is connected by another identity is closed and opened anew.
// SN2  a refusal by the platform is told to every user, and to those that join later, until it is connected again; that of a single
//      trigger is told to this one alone, until it is accepted.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ConnectionEvent, ConnectionState } from '../../../machines/connection.ts';
import { type ConnectionFailure, isVisible } from '../../../machines/connection-failure.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import type { Connector } from './connector.ts';
import type { UsersNotice } from './users-notice.ts';

/** What GET /triggers, the inspector and `top` show of a connection. Times are epoch ms. */
export interface ConnectionStatus extends ConnectedAccount {
  /** `standby`: another node of the cluster is connected. */
  readonly state: ConnectionState | 'standby';
  readonly since: number;
  /** The name of that node, where it is known. */
  readonly heldBy?: string | undefined;
  /** From a failure on until it is connected. */
  readonly lastError: string | undefined;
  readonly retryAt: number | undefined;
}

/** What a trigger hears of its connection: why it is refused, or undefined when it works again. */
export type OnRefused = (reason: string | undefined) => void;

export interface User {
  readonly trigger: Trigger;
  readonly connector: Connector;
  readonly onRefused: OnRefused;
}

/** What the machine says of itself. */
export interface StateChange {
  readonly state: ConnectionState;
  readonly since: number;
  readonly failure: ConnectionFailure | undefined;
  readonly pauseMs: number;
}

export class SharedConnection {
  readonly platform: string;
  readonly account: string;
  /** The newest last. */
  readonly #users: User[] = [];
  #lastChange: StateChange;
  #refusal: string | undefined;
  /** Of single triggers. */
  #refusals: ReadonlyMap<Trigger, string> = new Map();
  /** What each has heard last. */
  readonly #told = new WeakMap<User, string>();
  /** With which the present run connects, or the last one did. */
  #identity: string | undefined;
  #standby: { readonly node: string | undefined; readonly since: number } | undefined;
  #notice: UsersNotice | undefined;
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
    // What has failed before says nothing of the node that is connected.
    if (standby !== undefined)
      return {
        ...{ platform, account, state: 'standby', since: standby.since, heldBy: standby.node },
        ...{ lastError: undefined, retryAt: undefined },
      };
    const retryAt = isWaiting ? since + pauseMs : undefined;
    return { platform, account, state, since, lastError: failure?.reason, retryAt };
  }

  /** Gives what the actor has to be told. */
  join(user: User): readonly ConnectionEvent[] {
    this.#users.push(user);
    for (const onEnded of this.#onEnded.splice(0)) onEnded();
    this.#tell(user);
    return [{ type: 'wanted' }, ...this.#changed()];
  }

  /** The same; does nothing for one that has left. */
  leave(user: User): readonly ConnectionEvent[] {
    const at = this.#users.indexOf(user);
    if (at < 0) return [];
    this.#users.splice(at, 1);
    return this.isUsed ? this.#changed() : [{ type: 'unwanted' }];
  }

  /** Resolves when it has ended, or somebody uses it again. */
  ended(): Promise<void> {
    return new Promise((resolve) => this.#onEnded.push(resolve));
  }

  end(): void {
    for (const onEnded of this.#onEnded.splice(0)) onEnded();
  }

  /** For a run that begins. Undefined when the last user has just left. */
  takeConnector(): Connector | undefined {
    const connector = this.#users.at(-1)?.connector;
    this.#identity = connector?.identity;
    return connector;
  }

  readonly users = (): readonly Trigger[] => {
    const newest = new Map(this.#users.map(({ trigger }) => [trigger.name, trigger]));
    return [...newest.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  };

  onOpen(notice: UsersNotice): void {
    this.#notice = notice;
  }

  /** Another node is connected, or not any more. Gives whether that was so before. */
  onStandby(by: { readonly node: string | undefined } | undefined, now: number): boolean {
    const before = this.#standby;
    this.#standby = by && { node: by.node, since: before?.since ?? now };
    if (by !== undefined) this.#refuse(undefined);
    return before !== undefined;
  }

  /** Of single triggers, while it is connected. */
  onUsersRefused(refusals: ReadonlyMap<Trigger, string>): void {
    this.#refusals = refusals;
    for (const user of [...this.#users]) this.#tell(user);
  }

  /** A state of its actor has begun. */
  onState(change: StateChange): void {
    this.#lastChange = change;
    const { state, failure } = change;
    if (state !== 'connected') this.#notice = undefined;
    if (state === 'failed' && failure !== undefined && isVisible(failure)) this.#refuse(failure.reason);
    else if (state === 'connected') this.#refuse(undefined);
  }

  #refuse(reason: string | undefined): void {
    if (reason === this.#refusal) return;
    this.#refusal = reason;
    for (const user of [...this.#users]) this.#tell(user);
  }

  #tell(user: User): void {
    const reason = this.#refusal ?? this.#refusals.get(user.trigger);
    if (reason === this.#told.get(user)) return;
    if (reason === undefined) this.#told.delete(user);
    else this.#told.set(user, reason);
    user.onRefused(reason);
  }

  #changed(): readonly ConnectionEvent[] {
    const wanted = this.#users.at(-1)?.connector.identity;
    if (this.#identity !== undefined && wanted !== this.#identity) return [{ type: 'renew' }];
    this.#notice?.changed();
    return [];
  }
}
