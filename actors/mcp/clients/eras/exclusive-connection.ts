// A connection to a legacy server (with sessions) that serves one request of a modern client (stateless) at a
// time. Server requests over stdio do not name the call they belong to, so a client that accepts input
// requests needs its own connection. Afterwards the connection is reused for equal clients. It is not evicted
// while in use, except that a suspended call (suspended-calls.ts) may lose it to another request. After an
// unexpected server request between two calls it is closed, because the server might repeat that request
// during the next call.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { latestSessionVersion } from '../../servers/cache/introduction.ts';
import type { ClientShares } from '../../servers/calls/client-shares.ts';
import type { CallOwner, ConnectionEnd, ServerPeer } from '../../servers/calls/owner.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import { ClientDescription } from '../description.ts';
import type { ModernCaller } from './modern-caller.ts';

/** Receives the server messages on an exclusive connection while a request uses it. */
export interface ExclusiveUser extends Pick<CallOwner, 'suspendedAt' | 'yieldConnection'> {
  readonly client?: ClientShares | undefined;
  onServerRequest(connection: ServerPeer, envelope: Envelope): void;
  onServerNotification(connection: ServerPeer, envelope: Envelope): void;
}

interface ExclusiveEvents {
  /** Called when the connection has closed. */
  readonly onEnd: () => void;
  /** Called when the server sends a request while no client request uses the connection. */
  readonly onStrayRequest: () => void;
}

export class ExclusiveConnection implements CallOwner {
  readonly label: string;
  readonly era = 'legacy';
  readonly isListener = false;
  /** Version for the handshake with the legacy server. */
  readonly protocolVersion = latestSessionVersion;
  /** Request that uses the connection; undefined while the connection is unused. */
  user: ExclusiveUser | undefined;
  readonly key: string;
  readonly shares: ClientShares | undefined;
  readonly #description: ClientDescription;
  readonly #events: ExclusiveEvents;

  constructor(
    label: string,
    key: string,
    caller: ModernCaller,
    shares: ClientShares | undefined,
    events: ExclusiveEvents,
  ) {
    this.label = label;
    this.key = key;
    this.shares = shares;
    this.#description = new ClientDescription(caller.clientInfo, caller.capabilities);
    this.#events = events;
  }

  get clientInfo(): unknown {
    return this.#description.clientInfo;
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return this.#description.capabilities;
  }

  get hasOpenStream(): boolean {
    return this.user !== undefined;
  }

  get suspendedAt(): number | undefined {
    return this.user?.suspendedAt;
  }

  yieldConnection(error: GatewayError): void {
    this.user?.yieldConnection?.(error);
  }

  /** True: the connection exists at one server only. While a request uses it, the server must not stop. */
  belongsTo(): boolean {
    return true;
  }

  onServerRequest(connection: ServerPeer, envelope: Envelope): void {
    if (this.user !== undefined) {
      this.user.onServerRequest(connection, envelope);
      return;
    }
    refuseServerRequest(connection, envelope);
    this.#events.onStrayRequest();
  }

  onServerNotification(connection: ServerPeer, envelope: Envelope): void {
    this.user?.onServerNotification(connection, envelope);
  }

  onConnectionEnd(_server: string, _why: ConnectionEnd, _error: GatewayError): void {
    this.#events.onEnd();
  }
}

/** A server's unused exclusive connections, by client identity, capabilities and log level. */
export class ExclusiveConnections {
  readonly #server: ManagedServer;
  /** Unused connections by key. An empty entry remains for the next call of the same client. */
  readonly #free = new Map<string, ExclusiveConnection[]>();
  #count = 0;

  constructor(server: ManagedServer) {
    this.#server = server;
  }

  /** Returns true if an unused connection matches this client. */
  has(caller: ModernCaller): boolean {
    return (this.#free.get(keyOf(caller))?.length ?? 0) > 0;
  }

  /** Number of keys with connections. */
  get size(): number {
    return this.#free.size;
  }

  /** Returns a matching unused connection, or opens one. Release it with `release`. */
  take(caller: ModernCaller, user: ExclusiveUser): ExclusiveConnection {
    const key = keyOf(caller);
    const exclusive = this.#free.get(key)?.shift() ?? this.#open(key, caller, user.client);
    exclusive.user = user;
    return exclusive;
  }

  /**
   * Releases a connection for reuse. With `isAbandoned` the connection is closed instead: later messages
   * about the abandoned request must not reach other requests.
   */
  release(exclusive: ExclusiveConnection, isAbandoned = false): void {
    exclusive.user = undefined;
    // The pool's entry for the open connection.
    const member = this.#server.pool.memberOf(exclusive);
    if (isAbandoned || member === undefined) {
      this.#remove(exclusive);
      // The pool fails a closed connection's calls before it removes the connection. This code may run
      // between the two steps, so the release is deferred.
      if (member?.connection.isEnded === true) queueMicrotask(() => this.#server.release(exclusive));
      else this.#server.release(exclusive);
      return;
    }
    const unused = this.#free.get(exclusive.key);
    if (unused === undefined) this.#free.set(exclusive.key, [exclusive]);
    else unused.push(exclusive);
    // More keys than connections: some connections were lost.
    if (this.#free.size > this.#server.pool.members.size) this.#removeLost();
  }

  /**
   * Removes connections whose remote session was lost and could not be renewed, because `onConnectionEnd` is
   * not called for them.
   */
  #removeLost(): void {
    const { pool, subscriptions } = this.#server;
    for (const [key, exclusives] of this.#free) if (exclusives.length === 0) this.#free.delete(key);
    for (const exclusive of [...this.#free.values()].flat()) {
      if (pool.memberOf(exclusive) !== undefined) continue;
      this.#remove(exclusive);
      subscriptions.release(exclusive);
    }
  }

  #open(key: string, caller: ModernCaller, shares: ClientShares | undefined): ExclusiveConnection {
    this.#count += 1;
    const label = `exclusive ${this.#count}`;
    const exclusive: ExclusiveConnection = new ExclusiveConnection(label, key, caller, shares, {
      onEnd: () => {
        this.#remove(exclusive);
        this.#server.subscriptions.release(exclusive);
      },
      onStrayRequest: () => {
        this.#remove(exclusive);
        this.#server.release(exclusive);
      },
    });
    if (caller.logLevel !== undefined) this.#server.setLevel(exclusive, caller.logLevel);
    return exclusive;
  }

  /** Removes a closed connection, and its key if no other connection has it. */
  #remove(exclusive: ExclusiveConnection): void {
    const unused = this.#free.get(exclusive.key);
    if (unused === undefined) return;
    const at = unused.indexOf(exclusive);
    if (at !== -1) unused.splice(at, 1);
    if (unused.length === 0) this.#free.delete(exclusive.key);
  }
}

/** Returns a key that is equal for clients that may use the same connection in turn. */
function keyOf({ capabilities, clientInfo, logLevel, principal }: ModernCaller): string {
  return JSON.stringify([capabilities, clientInfo, logLevel, principal]);
}
