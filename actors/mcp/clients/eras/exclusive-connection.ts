// A connection to a legacy server that serves one modern request at a time. Over stdio a request of a legacy server names no
// call, so a modern request whose client can be asked needs a connection on which it is the only one. Afterwards the connection
// is reused for clients with the same capabilities; unused ones end like the connection of a session.
//
// LN1  an exclusive connection serves one request at a time: whatever comes on its connection belongs to that request.
// LN2  an exclusive connection in use is neither idle nor evicted. While its call is suspended it is closed for a request
//      that finds no connection free. An unused one is idle, and is evicted before any other connection.
// LN3  an exclusive connection on which the server sends a request between two calls is not used again: the server might do
//      the same during the next call.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { latestSessionVersion } from '../../servers/cache/server-description.ts';
import type { CallOwner, ConnectionEnd, ServerPeer } from '../../servers/calls/call-owner.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import { ClientDescription } from '../client-description.ts';
import type { ModernCaller } from './modern-caller.ts';

/** The request an exclusive connection serves. */
export interface ExclusiveUser extends Pick<CallOwner, 'suspendedAt' | 'giveWay'> {
  onServerRequest(connection: ServerPeer, envelope: Envelope): void;
  onServerNotification(connection: ServerPeer, envelope: Envelope): void;
}

interface ExclusiveEvents {
  /** The connection has ended. */
  readonly onGone: () => void;
  /** The server asks although nobody uses the exclusive connection. */
  readonly onStray: () => void;
}

export class ExclusiveConnection implements CallOwner {
  readonly label: string;
  readonly era = 'legacy';
  readonly isListener = false;
  readonly protocolVersion = latestSessionVersion;
  user: ExclusiveUser | undefined;
  readonly key: string;
  readonly #description: ClientDescription;
  readonly #events: ExclusiveEvents;

  constructor(label: string, key: string, caller: ModernCaller, events: ExclusiveEvents) {
    this.label = label;
    this.key = key;
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

  giveWay(error: GatewayError): void {
    this.user?.giveWay?.(error);
  }

  belongsTo(): boolean {
    return true;
  }

  onServerRequest(connection: ServerPeer, envelope: Envelope): void {
    if (this.user !== undefined) {
      this.user.onServerRequest(connection, envelope);
      return;
    }
    refuseServerRequest(connection, envelope);
    this.#events.onStray();
  }

  onServerNotification(connection: ServerPeer, envelope: Envelope): void {
    this.user?.onServerNotification(connection, envelope);
  }

  onConnectionEnd(_server: string, _why: ConnectionEnd, _error: GatewayError): void {
    this.#events.onGone();
  }
}

/**
 * The exclusive connections of one server that nobody uses right now, by what their clients are, can do and want to be told. Calls that
 * come one after the other empty and fill a list of a kind; its place in the table stays meanwhile.
 */
export class ExclusiveConnections {
  readonly #server: ManagedServer;
  readonly #free = new Map<string, ExclusiveConnection[]>();
  #count = 0;

  constructor(server: ManagedServer) {
    this.#server = server;
  }

  /** Whether an exclusive connection is free for such a client. */
  has(caller: ModernCaller): boolean {
    return (this.#free.get(keyOf(caller))?.length ?? 0) > 0;
  }

  /** For how many kinds of clients exclusive connections are kept. */
  get size(): number {
    return this.#free.size;
  }

  /** Gives an exclusive connection for a request, to be given back with `giveBack`. */
  take(caller: ModernCaller, user: ExclusiveUser): ExclusiveConnection {
    const key = keyOf(caller);
    const exclusive = this.#free.get(key)?.shift() ?? this.#open(key, caller);
    exclusive.user = user;
    return exclusive;
  }

  /** `isSpoilt`: the request was given up, and what its server still says must reach no other. */
  giveBack(exclusive: ExclusiveConnection, isSpoilt: boolean): void {
    exclusive.user = undefined;
    const member = this.#server.pool.memberOf(exclusive);
    if (isSpoilt || member === undefined) {
      this.#takeOut(exclusive);
      // A connection that ends by itself fails its calls first, and is then reported and taken out by its pool.
      if (member?.connection.isEnded === true) queueMicrotask(() => this.#server.release(exclusive));
      else this.#server.release(exclusive);
      return;
    }
    const free = this.#free.get(exclusive.key);
    if (free === undefined) this.#free.set(exclusive.key, [exclusive]);
    else free.push(exclusive);
    if (this.#free.size > this.#server.pool.members.size) this.#forgetLost();
  }

  /** A remote session that could not be renewed is gone without `onConnectionEnd`. */
  #forgetLost(): void {
    const { pool, subscriptions } = this.#server;
    for (const [key, exclusives] of this.#free) if (exclusives.length === 0) this.#free.delete(key);
    for (const exclusive of [...this.#free.values()].flat()) {
      if (pool.memberOf(exclusive) !== undefined) continue;
      this.#takeOut(exclusive);
      subscriptions.release(exclusive);
    }
  }

  #open(key: string, caller: ModernCaller): ExclusiveConnection {
    this.#count += 1;
    const exclusive: ExclusiveConnection = new ExclusiveConnection(`exclusive ${this.#count}`, key, caller, {
      onGone: () => {
        this.#takeOut(exclusive);
        this.#server.subscriptions.release(exclusive);
      },
      onStray: () => {
        this.#takeOut(exclusive);
        this.#server.release(exclusive);
      },
    });
    if (caller.logLevel !== undefined) this.#server.setLevel(exclusive, caller.logLevel);
    return exclusive;
  }

  /** The exclusive connection is over. A kind of which none is free keeps no place; another that is in use gets it one again. */
  #takeOut(exclusive: ExclusiveConnection): void {
    const free = this.#free.get(exclusive.key);
    if (free === undefined) return;
    const at = free.indexOf(exclusive);
    if (at !== -1) free.splice(at, 1);
    if (free.length === 0) this.#free.delete(exclusive.key);
  }
}

function keyOf({ capabilities, clientInfo, logLevel, principal }: ModernCaller): string {
  return JSON.stringify([capabilities, clientInfo, logLevel, principal]);
}
