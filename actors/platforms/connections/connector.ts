// What an adapter gives to have a connection of ours to its platform, a socket or a poller, and what it gets. Who connects,
// when, and how often is not its affair: it only knows how.
//
// `connect` resolves when the platform has answered that it takes us, not before: until then nothing is known of the
// credential. What fails says so by a ConnectionError; any other error counts as transient.
//
// CT2  once `signal` is aborted everything that `connect` has begun or opened ends at once: nobody asks for it again.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ConnectionFailure, FailureKind } from '../../../machines/connection-failure.ts';

/** Triggers that use the connection now, in the order of their names, each once: of two while one is exchanged the newer. */
export type Users<T extends Trigger = Trigger> = () => readonly T[];

export interface Connector<T extends Trigger = Trigger> {
  /**
   * Names everything that it connects with, the credential included. It is compared and shown nowhere: what is the same stays
   * connected over a reload, what is another closes the connection and opens it anew.
   */
  readonly identity: string;
  /** It tells the platform something, and holds nothing there: of a cluster each node may have its own. */
  readonly isOnEveryNode?: boolean | undefined;
  /** How long `connect` may take. @default 30000 */
  readonly connectMs?: number | undefined;
  connect(signal: AbortSignal, users: Users<T>): Promise<OpenConnection<T>>;
}

export interface OpenConnection<T extends Trigger = Trigger> {
  /** Settles when it is over, whoever ended it. A rejection says why; otherwise the platform has just closed it. */
  readonly closed: Promise<unknown>;
  /** Takes nothing new, ends what is under way, and resolves within `graceMs` when nothing is left. */
  close(graceMs: number): Promise<void>;
  /**
   * Called once it is connected and whenever a trigger joins, is exchanged or leaves: a menu of commands is renewed here. One
   * call at a time, and several changes at once are one. A transient failure is tried again, a refusal is logged; one of single
   * triggers (`UsersRefusedError`) is theirs alone, and is tried again as well.
   */
  onUsers?(triggers: readonly T[], signal: AbortSignal): Promise<void>;
}

/** One trigger's use of the connection of its account, which `Adapter.account` names. */
export interface ConnectionUse<T extends Trigger = Trigger> {
  readonly trigger: T;
  readonly connector: Connector<T>;
}

export interface UsedConnection {
  /** Resolves when the trigger no longer uses it; after the last one the connection is closed then. Never rejects. */
  release(): Promise<void>;
}

/**
 * The connections of the gateway: one per platform and account, shared by all triggers that use it. The connector of the
 * newest of them applies. Ask for it in `Adapter.open` before anything is waited for, and release it in `close`: a reload
 * opens the new trigger before it closes the old one, so the connection stays.
 */
export interface Connections {
  use<T extends Trigger>(use: ConnectionUse<T>): UsedConnection;
}

/** Why a connection could not be made, or is over, as its platform says it. */
export class ConnectionError extends Error implements ConnectionFailure {
  readonly code = 'ERR_CONNECTION';
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    { kind, retryAfterMs, ...options }: ErrorOptions & Omit<ConnectionFailure, 'reason'>,
  ) {
    super(message, options);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }

  override get name(): string {
    return 'ConnectionError';
  }

  get reason(): string {
    return this.message;
  }
}

/**
 * The platform refuses what some triggers of a connection have of their own, as the token of a bot, and the connection goes on for
 * the others. Thrown by `onUsers`.
 */
export class UsersRefusedError extends Error implements ConnectionFailure {
  readonly code = 'ERR_USERS_REFUSED';
  readonly kind = 'refused';
  /** Why, as the platform says it. */
  readonly refusals: ReadonlyMap<Trigger, string>;
  readonly retryAfterMs: number | undefined;

  constructor(refusals: ReadonlyMap<Trigger, string>, retryAfterMs?: number | undefined) {
    super([...refusals].map(([{ name }, reason]) => `${name}: ${reason}`).join('; '));
    this.refusals = refusals;
    this.retryAfterMs = retryAfterMs;
  }

  override get name(): string {
    return 'UsersRefusedError';
  }

  get reason(): string {
    return this.message;
  }
}

/** What the machine is told of an error. */
export function failureOf(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionError || error instanceof UsersRefusedError) {
    const { kind, reason, retryAfterMs } = error;
    return { kind, reason, retryAfterMs };
  }
  return { kind: 'transient', reason: error instanceof Error ? error.message : String(error) };
}
