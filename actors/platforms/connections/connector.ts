// Interface between adapters and their platform connections (sockets or pollers). An adapter knows how to
// connect; the registry decides when and how often.
//
// `connect` resolves only after the platform has accepted the credential. Failures are ConnectionErrors;
// other errors count as transient. When `signal` aborts, everything that `connect` has started or opened must
// stop immediately.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ConnectionFailure, FailureKind } from '../../../machines/connection-failure.ts';

/**
 * Returns the triggers that use the connection, sorted by name. During a reload the newer trigger replaces
 * the older.
 */
export type Users<T extends Trigger = Trigger> = () => readonly T[];

export interface Connector<T extends Trigger = Trigger> {
  /**
   * Everything the connection depends on, including the credential. Only compared, never shown. A reload
   * keeps a connection with the same identity, and replaces a connection with another identity.
   */
  readonly identity: string;
  /** True if each cluster node can open a connection, because the connection is stateless at the platform. */
  readonly isOnEveryNode?: boolean | undefined;
  /** Timeout of `connect`. @default 30000 */
  readonly connectMs?: number | undefined;
  connect(signal: AbortSignal, users: Users<T>): Promise<OpenConnection<T>>;
}

export interface OpenConnection<T extends Trigger = Trigger> {
  /**
   * Settles when the connection is closed. Rejects with the reason if it failed; otherwise the platform
   * closed it.
   */
  readonly closed: Promise<unknown>;
  /** Accepts no new events, completes running work, and resolves within `graceMs`. */
  close(graceMs: number): Promise<void>;
  /**
   * Called after the connect, and whenever a trigger joins, is replaced or leaves; updates a command menu,
   * for example. Calls do not overlap, and several changes are combined. Transient failures are retried;
   * refusals are logged. A `TriggersRefusedError` affects only the triggers that it contains, and is also
   * retried.
   */
  onUsers?(triggers: readonly T[], signal: AbortSignal): Promise<void>;
}

/** A trigger's use of the account's connection (`Adapter.account`). */
export interface ConnectionUse<T extends Trigger = Trigger> {
  readonly trigger: T;
  readonly connector: Connector<T>;
}

export interface ConnectionHandle {
  /**
   * Resolves when the trigger no longer uses the connection; after the last user, when the connection is
   * closed. Never rejects.
   */
  release(): Promise<void>;
}

/**
 * Connections of the gateway, one per platform and account, shared by all triggers of the account. The newest
 * trigger's connector applies. Call `use` in `Adapter.open` before any await, and `release` in `close`: a
 * reload opens the new trigger before it closes the old one, so the connection stays open.
 */
export interface Connections {
  use<T extends Trigger>(use: ConnectionUse<T>): ConnectionHandle;
}

/**
 * A connection to a platform failed; the message contains the reason.
 *
 * @remedy Correct the credential or the right in the reason, or stop another client of the account that holds
 * the connection. Temporary failures need no action: the gateway reconnects.
 */
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
 * A platform refuses only some triggers of a connection, for example because of a bot's token. The connection
 * continues for the other triggers.
 *
 * Thrown by `onUsers`.
 *
 * @remedy Correct the token of each trigger in the message.
 */
export class TriggersRefusedError extends Error implements ConnectionFailure {
  readonly code = 'ERR_USERS_REFUSED';
  readonly kind = 'refused';
  /** The platform's reason per trigger. */
  readonly refusals: ReadonlyMap<Trigger, string>;
  readonly retryAfterMs: number | undefined;

  constructor(refusals: ReadonlyMap<Trigger, string>, retryAfterMs?: number | undefined) {
    super([...refusals].map(([{ name }, reason]) => `${name}: ${reason}`).join('; '));
    this.refusals = refusals;
    this.retryAfterMs = retryAfterMs;
  }

  override get name(): string {
    return 'TriggersRefusedError';
  }

  get reason(): string {
    return this.message;
  }
}

/** Converts an error for the connection machine. */
export function failureOf(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionError || error instanceof TriggersRefusedError) {
    const { kind, reason, retryAfterMs } = error;
    return { kind, reason, retryAfterMs };
  }
  return { kind: 'transient', reason: error instanceof Error ? error.message : String(error) };
}
